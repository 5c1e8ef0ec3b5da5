//! Category labels: a proof about codes is not a proof about labels, and the checker notices that
//! by itself.

use crate::common::{Opened, certified};
use secateur_checker::{MatchedLabels, Reason, Refused, Verdict};
use secateur_formats::ModelFile;
use secateur_oracle::Band;

/// A LightGBM model of one column; the labels whose codes are in the set are class 1.
const MODEL: &str = "tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=0
objective=binary sigmoid:1
feature_names=colour
feature_infos=0:1:2

Tree=0
num_leaves=2
num_cat=1
split_feature=0
split_gain=1
threshold=0
decision_type=1
left_child=-1
right_child=-2
leaf_value=1 -1
leaf_weight=1 1
leaf_count=1 1
internal_value=0
internal_weight=1
internal_count=1
cat_boundaries=0 1
cat_threshold=SET
is_linear=0
shrinkage=1


end of trees

pandas_categorical:LISTS
";

fn model(lists: &str, set: u32) -> ModelFile {
    let text = MODEL.replace("SET", &set.to_string()).replace("LISTS", lists);
    ModelFile::parse(text.as_bytes()).unwrap()
}

#[test]
fn a_proof_that_ignores_labels_is_refused() {
    let plain = model("[]", 5);
    let first = model(r#"[["red", "green", "blue"]]"#, 5);
    let swapped = model(r#"[["green", "red", "blue"]]"#, 5);
    let recoded = model(r#"[["green", "red", "blue"]]"#, 6);
    for band in [Band::Auto, Band::Exact] {
        // Correct for models without labels, and for two models with the same labels.
        let opened = Opened::read(&certified(plain.ensemble(), plain.ensemble(), band).unwrap()).unwrap();
        let about = |a: &ModelFile, b: &ModelFile| opened.clone().about(a.ensemble(), b.ensemble());
        assert_eq!(about(&first, &first).refusal(first.ensemble(), first.ensemble()), None);
        // The same codes stand for other labels.
        let refusal = about(&first, &swapped).refusal(first.ensemble(), swapped.ensemble());
        let (reason, _) = refusal.expect("red is decided differently");
        assert!(!reason.code().starts_with("digest"), "{reason:?}");
        assert!(certified(first.ensemble(), swapped.ensemble(), band).is_none());
        // Other codes for the same labels: different by code, and proved by label.
        let proof = Opened::read(&certified(first.ensemble(), recoded.ensemble(), band).unwrap()).unwrap();
        let Verdict::Valid(proved) = proof.verdict(first.ensemble(), recoded.ensemble()) else {
            panic!("{:?}", proof.verdict(first.ensemble(), recoded.ensemble()))
        };
        let by_label = MatchedLabels { by_label: vec!["colour".to_owned()], ..MatchedLabels::default() };
        assert_eq!(proved.labels, by_label);
        let bare = [model("[]", 5), model("[]", 6)];
        assert!(certified(bare[0].ensemble(), bare[1].ensemble(), band).is_none());
        let forged = proof.about(bare[0].ensemble(), bare[1].ensemble());
        assert!(forged.refusal(bare[0].ensemble(), bare[1].ensemble()).is_some());
    }
}

#[test]
fn labels_on_one_side_are_told_and_hopeless_ones_refused() {
    let plain = model("[]", 5);
    let first = model(r#"[["red", "green", "blue"]]"#, 5);
    let opened = Opened::read(&certified(plain.ensemble(), first.ensemble(), Band::Auto).unwrap()).unwrap();
    let Verdict::Valid(proved) = opened.verdict(plain.ensemble(), first.ensemble()) else { panic!() };
    let by_code = MatchedLabels { by_code: vec!["colour".to_owned()], ..MatchedLabels::default() };
    assert_eq!(proved.labels, by_code);
    for lists in [r#"[["red", 1, "blue"]]"#, r#"[["red", "red", "blue"]]"#, r#"[["a"], ["b"]]"#] {
        let other = model(lists, 5);
        let forged = opened.clone().about(first.ensemble(), other.ensemble());
        let refusal = forged.refusal(first.ensemble(), other.ensemble());
        let Some((Reason::Lowering(Refused::ClaimLabels { .. }), None)) = refusal else {
            panic!("{lists}: {refusal:?}")
        };
    }
}

#[test]
fn the_type_of_a_label_is_part_of_the_digest() {
    use secateur_certificate::Digest;
    let digest = |lists: &str| Digest::of(model(lists, 5).ensemble());
    let lists = [
        r#"[["1", "2", "3"]]"#,
        "[[1, 2, 3]]",
        "[[1.0, 2.0, 3.0]]",
        r#"[["1", 2, 3]]"#,
        "[]",
        r#"[["a"], ["b"]]"#,
        r#"[["b"], ["a"]]"#,
        "[[Infinity, 2, 3]]",
    ];
    let digests: std::collections::HashSet<Digest> = lists.iter().map(|lists| digest(lists)).collect();
    assert_eq!(digests.len(), lists.len());
}
