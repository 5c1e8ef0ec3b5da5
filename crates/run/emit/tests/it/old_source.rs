//! Source written by version 0.2.0, which laid nodes out differently, is accepted with its
//! certificates, and refused after a change.

use secateur_formats::ModelFile;
use secateur_source::{Packed, PackingVerdict, check_packing};
use secateur_testkit::committed;

#[test]
fn source_of_the_first_layout_is_accepted() {
    for (source, model) in [
        ("categorical.c", "lightgbm/categorical_multiclass.txt"),
        ("keys.rs", "xgboost/3.4.1-logistic.json"),
        ("leaves.c", "xgboost/3.4.1-logistic.json"),
    ] {
        let model = ModelFile::parse(&committed(format!("models/{model}"))).unwrap();
        let certificate = committed(format!("source/{source}.cert"));
        let bytes = committed(format!("source/{source}"));
        let verdict =
            |bytes: &[u8]| check_packing(&model, Packed::Source(bytes), &[], &certificate, &|| false, 1);
        assert!(matches!(verdict(&bytes), Ok(PackingVerdict::Valid(_))), "{source}: {:?}", verdict(&bytes));
        let mut changed = bytes.clone();
        let digit = bytes.len() - bytes.iter().rev().position(u8::is_ascii_digit).unwrap() - 1;
        changed[digit] ^= 1;
        assert!(matches!(verdict(&changed), Ok(PackingVerdict::Invalid(_))), "{source}");
    }
}
