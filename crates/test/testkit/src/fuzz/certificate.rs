//! Fuzzes the reader of certificates and the checker with two models that differ: no steps make it
//! accept a false claim.

use std::sync::LazyLock;
use std::{fs, io};

use secateur_certificate::{
    BandClaim, Claim, Digest, Domain, Effect, OutputRange, Reader, Statement, Step, Writer, encode,
};
use secateur_checker::{Limits, Verdict, check};
use secateur_formats::ModelFile;
use secateur_model::{ClassId, FeatureId};

use super::{files, root};

/// Two stumps, of which the first decides, and the second stump alone. They decide differently on
/// some inputs, and their scores differ by up to two.
static MODELS: LazyLock<[ModelFile; 2]> = LazyLock::new(|| {
    let parse = |bytes: &[u8]| ModelFile::parse(bytes).expect("a fixture");
    [
        parse(include_bytes!("../../../../../testdata/certificates/models/stumps.json")),
        parse(include_bytes!("../../../../../testdata/certificates/models/second_stump.json")),
    ]
});

/// Claims about all inputs that are false for the two models, or for the first one: one of each kind,
/// so that every kind of step can belong to one.
static FALSE: LazyLock<Vec<Statement>> = LazyLock::new(|| {
    let limit = OutputRange { output: 0, at_least: Some(-2.5), at_most: Some(2.5) };
    let moves = |effect: Effect| Statement::Moves { columns: vec![FeatureId(0)], effect };
    vec![
        Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts: None },
        Statement::Decisions { band: BandClaim::Score(0.5), local_rounding: false, cuts: None },
        Statement::Decisions { band: BandClaim::Score(0.5), local_rounding: true, cuts: None },
        Statement::Scores { within: 1.9 },
        Statement::Range { outputs: vec![limit] },
        Statement::Class { allowed: vec![ClassId(1)], cut: None, near: None },
        moves(Effect::Apart { within: 3.9 }),
        moves(Effect::Decides { band: BandClaim::Score(0.5), local_rounding: true }),
        moves(Effect::Rises { output: 0, falls: true, bits: false }),
        moves(Effect::Rises { output: 0, falls: true, bits: true }),
    ]
});

/// Checks an input as a certificate, and as a byte that picks a false claim followed by steps; true
/// if either can be read.
pub(super) fn check_input(input: &[u8]) -> bool {
    let [original, pruned] = MODELS.each_ref().map(ModelFile::ensemble);
    // A claim in the input itself may be true: on a small domain the two models can decide alike.
    let is_certificate = check(original, pruned, input, &Limits::default()).is_ok();
    let Some((&pick, encoded)) = input.split_first() else { return false };
    let mut claim = Claim {
        original: Digest::of(original),
        pruned: Digest::of(pruned),
        statement: FALSE[usize::from(pick) % FALSE.len()].clone(),
        domain: Domain::everything(),
    };
    let pruned = if claim.is_about_one_model() { original } else { pruned };
    claim.pruned = Digest::of(pruned);
    let mut raw = Writer::new(Vec::new(), &claim).expect("memory takes everything");
    raw.encoded(encoded, 0).expect("memory takes everything");
    let raw = raw.finish(true).expect("memory takes everything");
    // The steps that can be read, with an end step that counts them: only the checker's rules can
    // refuse this certificate.
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

/// The steps of a certificate up to its end step, or up to the first that cannot be read.
fn steps(bytes: &[u8]) -> impl Iterator<Item = Step> {
    let mut reader = Reader::new(bytes).expect("the claim is whole");
    let next = move || reader.next_step().ok().flatten();
    std::iter::from_fn(next).take_while(|step| !matches!(step, Step::End { .. }))
}

/// The accepted certificates of the corpus, and the steps of each one for every false claim in which
/// they can be read: systems of a claim of another kind cannot.
pub(super) fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for path in files(&root().join("testdata/certificates/accept"), None)? {
        let bytes = fs::read(path)?;
        let mut encoded = Vec::new();
        steps(&bytes).for_each(|step| encode(&step, &mut encoded));
        // A certificate for two equal models has no steps.
        if !encoded.is_empty() {
            let picked = (0..FALSE.len() as u8).map(|pick| [&[pick], &encoded[..]].concat());
            seeds.extend(picked.filter(|seed| check_input(seed)));
        }
        seeds.push(bytes);
    }
    Ok(seeds)
}
