//! The file form of a certificate: what is written is read back in every bit, equal steps give
//! equal files, and all other bytes are refused at the step where they stand.

use fastrand::Rng;
use num_bigint::BigUint;
use secateur_certificate::{
    BandClaim, Claim, CoverTerm, CutTerm, Digest, Domain, Effect, Intercept, LONGEST_LIST, LONGEST_NUMBER,
    MAGIC, MAGIC_2, OutputRange, ReadError, Reader, Slack, Statement, Step, Writer, encode, explain_claim,
    explain_step,
};
use secateur_model::{ClassId, Cut, FeatureId, Near};
use secateur_testkit::{Shape, domain, ensemble, scored_domain};

const EXACT: Statement = Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts: None };
const SCORES: Statement = Statement::Scores { within: 0.125 };

fn claim(statement: Statement, domain: Domain) -> Claim {
    Claim { original: Digest([1; 32]), pruned: Digest([2; 32]), statement, domain }
}

/// Every kind of step, with the smallest and the largest numbers, short and long lists, and numbers
/// on both sides of the places where their form changes.
fn steps(scores: bool) -> Vec<Step> {
    let mut steps = vec![Step::Cells, Step::Lens { multipliers: vec![] }, Step::Meet { first: vec![] }];
    for number in [0, 1, 30, 31, 32, 127, 128, 16_383, 16_384, u32::MAX - 1, u32::MAX] {
        steps.extend([
            Step::Close { lens: number },
            Step::Narrow { axis: number, low: 0, high: number, lens: number },
            Step::Split { axis: number, cell: number, low_first: number % 2 == 0 },
            Step::Join { row: number, fixed: vec![] },
            Step::Join { row: 0, fixed: vec![number] },
            Step::Stack { original: vec![0, 1, number.max(2)], pruned: vec![number] },
            Step::System { winner: number, other: 0, slack: Slack::Global },
            Step::System { winner: 0, other: number, slack: Slack::Local },
            Step::Meet { first: vec![number] },
            Step::Branch { column: number },
            Step::Crossing { point: number, feature: number, low: -0.0, high: f64::INFINITY },
        ]);
        if scores {
            steps.push(Step::ScoreSystem { output: number, below: number % 2 == 0 });
        }
    }
    for number in [0, 1, u64::from(u32::MAX) + 1, 1 << 63, u64::MAX] {
        steps.extend([
            Step::Lens { multipliers: vec![number, 0, number] },
            Step::Cover { costs: None, bound: number },
            Step::Cover { costs: Some(vec![number]), bound: 0 },
            Step::Dual { denominator: number, terms: vec![CoverTerm { cut: 7, numerator: number }] },
        ]);
    }
    let values = vec![0.0, -0.0, f64::NAN, f64::from_bits(1), f64::MIN, f64::INFINITY];
    steps.push(Step::Point { values });
    for intercept in [Intercept::None, Intercept::Scaled, Intercept::Free, Intercept::Counted] {
        steps.push(Step::Columns { intercept, columns: vec![vec![], vec![0, 5], vec![1]] });
    }
    let largest = BigUint::from(2u8).pow(8 * LONGEST_NUMBER as u32) - 1u8;
    for multiplier in [BigUint::ZERO, BigUint::from(255u32), BigUint::from(256u32), largest] {
        steps.push(Step::Cut { terms: vec![CutTerm { point: 3, winner: 0, other: u32::MAX, multiplier }] });
    }
    steps
}

fn written(claim: &Claim, steps: &[Step], complete: bool) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), claim).unwrap();
    steps.iter().for_each(|step| writer.step(step).unwrap());
    assert_eq!(writer.steps(), steps.len() as u64);
    writer.finish(complete).unwrap()
}

/// A certificate whose only step has these bytes.
fn with_bytes(statement: Statement, bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &claim(statement, Domain::everything())).unwrap();
    writer.step(&Step::Cells).unwrap();
    writer.encoded(bytes, 1).unwrap();
    writer.finish(true).unwrap()
}

fn read(bytes: &[u8]) -> Result<(Claim, Vec<Step>), ReadError> {
    let mut reader = Reader::new(bytes)?;
    let mut steps = Vec::new();
    while let Some(step) = reader.next_step()? {
        steps.push(step);
    }
    assert!(matches!(reader.next_step(), Ok(None)), "there is nothing after the end");
    assert_eq!(reader.steps() + 1, steps.len() as u64);
    Ok((reader.claim().clone(), steps))
}

/// The bytes of steps, in which NaN is equal to itself and the zeros differ.
fn bytes_of(steps: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    steps.iter().for_each(|step| encode(step, &mut bytes));
    bytes
}

/// Claims of both versions.
fn claims() -> Vec<Claim> {
    let cuts = Some([Cut { score: -0.0, gap: 0.0 }, Cut { score: 1.5, gap: f64::from_bits(1) }]);
    let band = BandClaim::Score(1e-9);
    // One model is both, and its digest is written once.
    let one =
        |statement: Statement| Claim { pruned: Digest([1; 32]), ..claim(statement, Domain::no_missing()) };
    let cut = Some(Cut { score: 1.5, gap: f64::from_bits(1) });
    let output =
        |output: u32, at_least: Option<f64>, at_most: Option<f64>| OutputRange { output, at_least, at_most };
    let near = |counted: bool| {
        let near = Near { row: vec![0.5, 3.0], than: vec![0.25, -7.0], weights: vec![1.0, 0.0], counted };
        Some(Box::new(near))
    };
    let moves = |effect: Effect| Statement::Moves { columns: vec![FeatureId(0), FeatureId(300)], effect };
    vec![
        one(Statement::Range { outputs: vec![output(0, Some(-1.0), None), output(7, None, Some(0.5))] }),
        one(Statement::Range { outputs: vec![output(0, Some(-1.0), Some(2.0))] }),
        one(Statement::Class { allowed: vec![ClassId(0), ClassId(200)], cut: None, near: None }),
        one(Statement::Class { allowed: vec![ClassId(1)], cut, near: None }),
        one(Statement::Class { allowed: vec![ClassId(1)], cut, near: near(true) }),
        one(Statement::Class { allowed: vec![ClassId(0)], cut: None, near: near(false) }),
        one(moves(Effect::Apart { within: 0.5 })),
        one(moves(Effect::Decides { band, local_rounding: true })),
        one(moves(Effect::Rises { output: 3, falls: true, bits: false })),
        one(moves(Effect::Rises { output: 0, falls: false, bits: true })),
        claim(EXACT, Domain::everything()),
        claim(EXACT, Domain::no_missing()),
        claim(Statement::Decisions { band, local_rounding: true, cuts: None }, Domain::everything()),
        claim(Statement::Decisions { band, local_rounding: true, cuts }, Domain::everything()),
        claim(
            Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts },
            Domain::no_missing(),
        ),
        claim(SCORES, Domain::everything()),
        claim(SCORES, Domain::no_missing()),
    ]
}

#[test]
fn every_kind_of_step_in_every_claim_is_read_back_in_every_bit() {
    for claim in claims() {
        let mut steps = steps(claim.within().is_some());
        for complete in [false, true] {
            let bytes = written(&claim, &steps, complete);
            assert!(bytes.starts_with(if claim.version() == 1 { MAGIC } else { MAGIC_2 }));
            let (own, mut found) = read(&bytes).unwrap();
            assert_eq!(own, claim);
            assert_eq!(found.pop(), Some(Step::End { steps: steps.len() as u64, complete }));
            assert_eq!(bytes_of(&found), bytes_of(&steps));
            assert_eq!(found.len(), steps.len());
        }
        // Each kind has its name and its line.
        steps.sort_by_key(Step::kind);
        steps.dedup_by_key(|step| step.kind());
        assert_eq!(steps.len(), 16 + usize::from(claim.within().is_some()));
        assert!(steps.iter().all(|step| !explain_step(step).contains('\n')));
        assert!(explain_claim(&claim).starts_with(if claim.is_about_one_model() {
            "model    0101"
        } else {
            "original 0101"
        }));
    }
}

#[test]
fn claims_about_random_domains_are_read_back() {
    let digest = |model: &secateur_model::Ensemble| Digest::of(model).0;
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        let drawn =
            if rng.bool() { domain(&mut rng, &model) } else { scored_domain(&mut rng, &model, &digest) };
        let own = claim(if rng.bool() { EXACT } else { SCORES }, drawn);
        let bytes = written(&own, &[Step::Cells], true);
        let found = read(&bytes).unwrap().0;
        assert_eq!(
            (found.original, found.pruned, found.statement.clone()),
            (own.original, own.pruned, own.statement)
        );
        // The models that a domain asks for scores stay outside of the file: their digests are in it.
        assert_eq!(written(&found, &[Step::Cells], true), bytes, "seed {seed}");
    }
}

#[test]
fn equal_steps_give_equal_files_however_they_arrive() {
    let claim = claim(EXACT, Domain::everything());
    let many: Vec<Step> = std::iter::repeat_n(steps(false), 60).flatten().collect();
    let bytes = bytes_of(&many);
    assert!(bytes.len() > 4 << 16, "several blocks");
    let expected = written(&claim, &many, true);
    for size in [1, 1000, 1 << 15, bytes.len()] {
        let mut writer = Writer::new(Vec::new(), &claim).unwrap();
        for part in bytes.chunks(size) {
            writer.encoded(part, 0).unwrap();
        }
        writer.encoded(&[], many.len() as u64).unwrap();
        assert!(writer.finish(true).unwrap() == expected, "in parts of {size} bytes");
    }
}

#[test]
fn bytes_that_are_no_step_are_refused_at_their_step() {
    let mut long_list = vec![2 << 3];
    let mut number = LONGEST_LIST + 1;
    while number >= 0x80 {
        long_list.push(number as u8 | 0x80);
        number >>= 7;
    }
    long_list.push(number as u8);
    let cases: &[(&str, &[u8], &str)] = &[
        ("a kind that does not exist", &[7], "malformed.unknown_step"),
        ("cells with a number", &[5 | 1 << 3], "malformed.unknown_step"),
        ("a long kind that does not exist", &[13 << 3], "malformed.unknown_step"),
        ("the last long kind", &[31 << 3], "malformed.unknown_step"),
        ("a number with an empty last byte", &[1 | 31 << 3, 0xa0, 0], "malformed.number"),
        ("a short number in its long form", &[1 | 31 << 3, 30], "malformed.number"),
        ("an index beyond 32 bits", &[8 << 3, 0x80, 0x80, 0x80, 0x80, 0x10], "malformed.number"),
        (
            "a number beyond 64 bits",
            &[2 << 3, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            "malformed.number",
        ),
        (
            "a number that does not end",
            &[2 << 3, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0],
            "malformed.number",
        ),
        (
            "an ascending list that leaves 32 bits",
            &[3 << 3, 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0],
            "malformed.number",
        ),
        ("a multiplier with an empty last byte", &[6 << 3, 1, 0, 0, 1, 2, 9, 0], "malformed.number"),
        ("a slack that does not exist", &[1 << 3, 0, 1, 2], "malformed.choice"),
        ("an intercept that does not exist", &[5 << 3, 4], "malformed.choice"),
        ("costs that may be there", &[7 << 3, 2], "malformed.choice"),
        ("a multiplier that is too long", &[6 << 3, 1, 0, 0, 1, 0x81, 0x20], "malformed.too_long"),
        ("a list that is too long", &long_list, "malformed.too_long"),
        ("the end too early", &[11 << 3, 1, 1], "malformed.trailing"),
        ("an end that counts wrong", &[11 << 3, 2, 1], "malformed.step_count"),
        ("an end that is perhaps complete", &[11 << 3, 1, 2], "malformed.choice"),
    ];
    for (what, bytes, code) in cases {
        let error = read(&with_bytes(EXACT, bytes)).expect_err(what);
        assert_eq!(error.code(), *code, "{what}: {error}");
        let place = matches!(error, ReadError::Trailing | ReadError::StepCount { .. });
        assert!(place || error.to_string().starts_with("step 1: "), "{what}: {error}");
    }
    // What a claim about scores may hold is no step of a claim about decisions.
    let score_system = &[12 << 3, 0, 1];
    assert_eq!(read(&with_bytes(SCORES, score_system)).unwrap().1.len(), 3);
    assert_eq!(read(&with_bytes(EXACT, score_system)).unwrap_err().code(), "malformed.unknown_step");
    // Lists that do not ascend become bytes that no reader takes.
    for list in [vec![1, 1], vec![5, 4], vec![1, 0]] {
        let error = read(&with_bytes(EXACT, &bytes_of(&[Step::Meet { first: list }]))).unwrap_err();
        assert_eq!(error.code(), "malformed.number");
    }
}

#[test]
fn a_first_line_of_another_kind_is_named() {
    let rest = &written(&claim(EXACT, Domain::everything()), &[], true)[MAGIC.len()..];
    let code = |line: &str| match read(&[line.as_bytes(), rest].concat()) {
        Ok(_) => "read",
        Err(error) => error.code(),
    };
    for (line, expected) in [
        ("secateur certificate 1\n", "read"),
        ("secateur certificate 3\n", "malformed.version"),
        ("secateur certificate 01\n", "malformed.version"),
        ("secateur certificate 1\r\n", "malformed.version"),
        ("Secateur certificate 1\n", "malformed.magic"),
        ("secateur packing 1\n", "malformed.magic"),
        ("\n", "malformed.magic"),
    ] {
        assert_eq!(code(line), expected, "{line:?}");
    }
    // Bytes of version 1 are no claim of version 2.
    assert_ne!(code("secateur certificate 2\n"), "read");
}

#[test]
fn a_certificate_is_whole_or_refused() {
    for claim in claims() {
        let whole = written(&claim, &steps(claim.within().is_some())[..20], true);
        let expected = read(&whole).unwrap();
        for length in 0..whole.len() {
            let error = read(&whole[..length]).expect_err("cut");
            assert_eq!(error.code(), "malformed.truncated", "cut at {length}: {error}");
        }
        let longer = [&whole[..], b"\n"].concat();
        assert_eq!(read(&longer).unwrap_err().code(), "malformed.trailing");
        // A bit that the compression does not use may change: the contents may not.
        let mut harmless = 0;
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(found) = read(&changed) {
                assert_eq!(found, expected, "bit {bit}");
                harmless += 1;
            }
        }
        assert!(harmless < 16, "{harmless} bits of {} bytes", whole.len());
    }
}
