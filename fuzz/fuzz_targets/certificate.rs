//! The reader of certificates and the checker behind it, for two models that differ: the input is steps.
#![no_main]

use std::sync::LazyLock;

use secateur_certificate::{BandClaim, Claim, Digest, Reader, Scope, Step, Writer};
use secateur_checker::{Limits, Verdict, check};
use secateur_formats::ModelFile;

static MODELS: LazyLock<[ModelFile; 2]> = LazyLock::new(|| {
    let parse = |bytes: &[u8]| ModelFile::parse(bytes).expect("a fixture");
    [
        parse(include_bytes!("../../testdata/certificates/models/stumps.json")),
        parse(include_bytes!("../../testdata/certificates/models/second_stump.json")),
    ]
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [original, pruned] = MODELS.each_ref().map(ModelFile::ensemble);
    let claim = Claim {
        original: Digest::of(original),
        pruned: Digest::of(pruned),
        band: BandClaim::Exact,
        scope: Scope::All,
        local_rounding: false,
    };
    // As many steps as can be read, and an end that counts them: nothing but the rules can refuse this one.
    let mut raw = Writer::new(Vec::new(), &claim).expect("memory takes everything");
    raw.encoded(input, 0).expect("memory takes everything");
    let raw = raw.finish(true).expect("memory takes everything");
    let mut whole = Writer::new(Vec::new(), &claim).expect("memory takes everything");
    let mut reader = Reader::new(&raw[..]).expect("the claim is whole");
    while let Ok(Some(step)) = reader.next_step() {
        if !matches!(step, Step::End { .. }) {
            whole.step(&step).expect("memory takes everything");
        }
    }
    let whole = whole.finish(true).expect("memory takes everything");
    for bytes in [&raw[..], &whole, input] {
        let verdict = check(original, pruned, bytes, &Limits::default());
        assert!(!matches!(verdict, Ok(Verdict::Valid(_))), "a false claim was accepted");
    }
});
