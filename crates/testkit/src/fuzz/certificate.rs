//! The reader of certificates and the checker, about two models that differ: whatever the steps are, no false claim is
//! accepted.

use std::sync::LazyLock;
use std::{fs, io};

use secateur_certificate::{BandClaim, Claim, Digest, Domain, Reader, Statement, Step, Writer, encode};
use secateur_checker::{Limits, Verdict, check};
use secateur_formats::ModelFile;

use super::{files, root};

/// Two stumps of which the first decides, and the second stump alone: they decide otherwise on some inputs, and their
/// scores are up to two apart.
static MODELS: LazyLock<[ModelFile; 2]> = LazyLock::new(|| {
    let parse = |bytes: &[u8]| ModelFile::parse(bytes).expect("a fixture");
    [
        parse(include_bytes!("../../../../testdata/certificates/models/stumps.json")),
        parse(include_bytes!("../../../../testdata/certificates/models/second_stump.json")),
    ]
});

/// What is not true of the two models, on every input: claims of each kind, so that every kind of step has its place.
const FALSE: [Statement; 4] = [
    Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts: None },
    Statement::Decisions { band: BandClaim::Score(0.5), local_rounding: false, cuts: None },
    Statement::Decisions { band: BandClaim::Score(0.5), local_rounding: true, cuts: None },
    Statement::Scores { within: 1.9 },
];

/// Checks an input as a certificate, and as a byte that picks a false claim with steps after it; true where either can
/// be read.
pub(super) fn check_input(input: &[u8]) -> bool {
    let [original, pruned] = MODELS.each_ref().map(ModelFile::ensemble);
    // Whatever this claims may be true: of the inputs of a small domain, the two models decide alike.
    let is_certificate = check(original, pruned, input, &Limits::default()).is_ok();
    let Some((&pick, encoded)) = input.split_first() else { return false };
    let claim = Claim {
        original: Digest::of(original),
        pruned: Digest::of(pruned),
        statement: FALSE[usize::from(pick) % FALSE.len()],
        domain: Domain::everything(),
    };
    let mut raw = Writer::new(Vec::new(), &claim).expect("memory takes everything");
    raw.encoded(encoded, 0).expect("memory takes everything");
    let raw = raw.finish(true).expect("memory takes everything");
    // As many steps as can be read, and an end that counts them: nothing but the rules can refuse this one.
    let mut whole = Writer::new(Vec::new(), &claim).expect("memory takes everything");
    steps(&raw).for_each(|step| whole.step(&step).expect("memory takes everything"));
    let readable = is_certificate || whole.steps() > 0;
    for bytes in [raw, whole.finish(true).expect("memory takes everything")] {
        match check(original, pruned, &bytes[..], &Limits::default()) {
            Ok(Verdict::Valid(_)) => panic!("a false claim was accepted: {:?}", claim.statement),
            Ok(_) => {}
            Err(error) => super::check::short("reading", &error.to_string()),
        }
    }
    readable
}

/// The steps of a certificate up to its end, or up to what cannot be read.
fn steps(bytes: &[u8]) -> impl Iterator<Item = Step> {
    let mut reader = Reader::new(bytes).expect("the claim is whole");
    let next = move || reader.next_step().ok().flatten();
    std::iter::from_fn(next).take_while(|step| !matches!(step, Step::End { .. }))
}

/// The accepted certificates of the corpus, and the steps of each for every false claim.
pub(super) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for path in files(&root().join("testdata/certificates/accept"), None)? {
        let bytes = fs::read(path)?;
        let mut encoded = Vec::new();
        steps(&bytes).for_each(|step| encode(&step, &mut encoded));
        // Two equal models need no step.
        if !encoded.is_empty() {
            seeds.extend((0..FALSE.len() as u8).map(|pick| [&[pick], &encoded[..]].concat()));
        }
        seeds.push(bytes);
    }
    Ok(seeds)
}
