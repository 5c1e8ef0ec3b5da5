//! The reader of certificates and the checker behind it, for two models that differ: the input is the steps.
#![no_main]

use std::sync::LazyLock;

use secateur_certificate::{BandClaim, Claim, Digest, Scope, Writer};
use secateur_checker::{Limits, Verdict, check};
use secateur_formats::ModelFile;

static MODELS: LazyLock<[ModelFile; 2]> = LazyLock::new(|| {
    let parse = |bytes: &[u8]| ModelFile::parse(bytes).expect("a fixture");
    [
        parse(include_bytes!("../../testdata/certificates/models/stumps.json")),
        parse(include_bytes!("../../testdata/certificates/models/second_stump.json")),
    ]
});

libfuzzer_sys::fuzz_target!(|steps: &[u8]| {
    let [original, pruned] = MODELS.each_ref().map(ModelFile::ensemble);
    let claim = Claim {
        original: Digest::of(original),
        pruned: Digest::of(pruned),
        band: BandClaim::Exact,
        scope: Scope::Whole,
        local_rounding: false,
    };
    let mut writer = Writer::new(Vec::new(), &claim).expect("memory takes everything");
    writer.encoded(steps, 0).expect("memory takes everything");
    let bytes = writer.finish(true).expect("memory takes everything");
    let verdict = check(original, pruned, &bytes[..], &Limits::default());
    assert!(!matches!(verdict, Ok(Verdict::Valid(_))), "a false claim was accepted");
    // The bytes as a whole file, too.
    let _ = check(original, pruned, steps, &Limits::default());
});
