//! Hostile certificates: whatever the bytes are, the checker answers, and never accepts a false
//! claim.
//!
//! `SECATEUR_FUZZ_CASES=100000 cargo test -p secateur-checker --test it hostile` runs longer; the
//! libFuzzer target `certificate` in `fuzz/` feeds the same steps.

use crate::common::{Opened, stumps};
use fastrand::Rng;
use secateur_certificate::{BandClaim, Claim, Digest, Reader, Statement, Step, Writer, encode};
use secateur_checker::{Answer, Limits, Verdict, check, check_bounds_dump, check_dump};
use secateur_testkit::all_of;

/// Every accepted certificate of the corpus.
fn seeds() -> Vec<Opened> {
    let paths = all_of("certificates/accept", &[], 16);
    paths.iter().map(|path| Opened::read(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..rng.u32(1..6) {
        let at = rng.usize(0..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match rng.u32(0..7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.u32(0..8),
            1 if !bytes.is_empty() => bytes[at] = rng.u8(..),
            2 => bytes.insert(at, rng.u8(..)),
            3 if !bytes.is_empty() => drop(bytes.remove(at)),
            // The corpus also has a certificate without any step: that of two equal models.
            4 if !other.is_empty() => {
                let from = rng.usize(0..other.len());
                let to = rng.usize(from..other.len().min(from + 40));
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            5 => {
                bytes.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x0f]);
            }
            6 if !bytes.is_empty() => bytes.truncate(at),
            _ => {}
        }
    }
}

/// The steps at the beginning that can be read, followed by an end step with the right count.
fn counted(bytes: &[u8], claim: &Claim) -> Vec<u8> {
    let mut reader = Reader::new(bytes).unwrap();
    let mut writer = Writer::new(Vec::new(), claim).unwrap();
    while let Ok(Some(step)) = reader.next_step() {
        if !matches!(step, Step::End { .. }) {
            writer.step(&step).unwrap();
        }
    }
    writer.finish(true).unwrap()
}

#[test]
fn whatever_the_bytes_are_no_false_claim_is_accepted() {
    let cases = std::env::var("SECATEUR_FUZZ_CASES").map_or(6000, |count| count.parse().unwrap());
    // Two stumps of which the first always decides, compared with the second stump alone: they
    // differ.
    let first = stumps(0.0, &[(0, 0.5, -2.0, 2.0), (1, 0.5, -1.0, 1.0)]);
    let second = stumps(0.0, &[(1, 0.5, -1.0, 1.0)]);
    let seeds = seeds();
    let (mut malformed, mut invalid, mut incomplete, mut raw_accepted, mut whole) = (0, 0, 0, 0, 0);
    for case in 0..cases {
        let mut rng = Rng::with_seed(case);
        let body = |opened: &Opened| {
            let mut bytes = Vec::new();
            opened.steps.iter().for_each(|step| encode(step, &mut bytes));
            bytes
        };
        let seed = rng.choice(&seeds).unwrap();
        let mut steps = body(seed);
        let other = body(rng.choice(&seeds).unwrap());
        mutate(&mut rng, &mut steps, &other);
        let mut claim = seed.claim.clone();
        (claim.original, claim.pruned) = (Digest::of(&first), Digest::of(&second));
        let band = if rng.bool() { BandClaim::Exact } else { BandClaim::Score(0.5) };
        let local_rounding = seed.is_local() && band != BandClaim::Exact;
        claim.statement = match rng.u32(0..4) {
            // The scores are up to two apart.
            0 => Statement::Scores { within: *rng.choice(&[0.0, 1e-9, 0.5, 1.9]).unwrap() },
            _ => Statement::Decisions { band, local_rounding, cuts: None },
        };
        let mut writer = Writer::new(Vec::new(), &claim).unwrap();
        writer.encoded(&steps, rng.u64(0..300)).unwrap();
        let mut bytes = writer.finish(rng.u32(0..8) > 0).unwrap();
        if rng.bool() {
            // The readable steps with a correct count, so that only the rules can refuse this
            // certificate.
            bytes = counted(&bytes, &claim);
            whole += 1;
        }
        if rng.u32(0..4) == 0 {
            let at = rng.usize(0..bytes.len());
            bytes[at] ^= 1 << rng.u32(0..8);
            raw_accepted += 1;
        }
        match check(&first, &second, &bytes[..], &Limits::default()) {
            Ok(Verdict::Valid(_)) => panic!("case {case}: a false claim was accepted"),
            Ok(Verdict::Invalid { .. }) => invalid += 1,
            Ok(Verdict::Incomplete { .. }) => incomplete += 1,
            Err(error) => {
                assert!(error.to_string().len() < 300, "case {case}: {error}");
                malformed += 1;
            }
        }
    }
    println!(
        "{malformed} malformed, {invalid} invalid, {incomplete} incomplete, {raw_accepted} with raw damage, \
         {whole} well formed"
    );
    assert!(malformed > cases / 20 && invalid > cases / 20, "{malformed} {invalid}");
}

/// A file of a few lines may name more sums, cells or columns than there is memory for.
#[test]
fn a_dump_that_names_billions_takes_no_memory() {
    let limits = Limits::default().kernel;
    let proof = "secateur proof 1\nlens 1\nclose 0\nend\n";
    for (axes, sums) in [(4_294_967_295u32, 1u32), (2, 4_294_967_295), (2, 2_147_483_648)] {
        for tree in ["leaf 0:1", "split 0 1 2 0-1\nleaf\nleaf 0:1"] {
            let problem = format!("secateur problem 1\naxes {axes}\nsums {sums}\ntree\n{tree}\nrow 5 0:1\n");
            let found = check_dump(&problem, proof, &limits).unwrap();
            let told = format!("{found:?}");
            assert!(found == Answer::Proved(2) || sums > 1 && told.contains("LimitOverlay"), "{told}");
        }
    }
    let problem = "secateur problem 1\naxes 4294967295\nsums 1\ntree\nsplit 0 1 2 0-1\nleaf\nleaf\nrow 5 0:1\nrow 5 0:1\n";
    let found = check_dump(problem, "secateur proof 1\nmeet 0\nend\n", &limits).unwrap();
    assert!(format!("{found:?}").contains("LimitMeet"), "{found:?}");
    let bounds = |columns: u32| {
        let text = format!("secateur bounds 1\nfamily {columns} 0 0 free\ncover 0\ndual 1\nend\n");
        check_bounds_dump(&text, &limits)
    };
    assert_eq!(bounds(1 << 20), Ok(Answer::Proved(2)));
    assert_eq!(bounds((1 << 20) + 1).unwrap_err().line, 2);
}
