//! A search that is stopped again and again, and resumed from its checkpoints, writes the same
//! certificate as one that was not stopped. Bytes that are not a checkpoint of the search are
//! refused.

use std::io;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use secateur_certificate::FileDigest;
use secateur_model::Ensemble;
use secateur_oracle::{
    Band, CheckpointError, Comparison, Crew, Keep, Keeper, Options, SearchBudget, Undecided, Verdict,
};
use secateur_testkit::{Shape, ensemble, mutate};

/// The fewest boxes of a search that is used here, and the most.
const LONG: u64 = 6_000;
const MOST: u64 = 100_000;

#[derive(Clone, Debug, Default)]
struct Place(Arc<Mutex<Option<Vec<u8>>>>);

impl Keep for Place {
    fn keep(&self, checkpoint: &[u8]) {
        *self.0.lock().unwrap() = Some(checkpoint.to_vec());
    }
}

impl Place {
    fn get(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    fn crew(&self, old: Option<Vec<u8>>) -> Crew {
        Crew::keeping(Arc::new(Keeper::new(Box::new(self.clone()), old)))
    }
}

fn pair(seed: u64) -> [Ensemble; 2] {
    let mut rng = Rng::with_seed(seed);
    let random = Shape::random(&mut rng);
    let classes = random.classes.min(3);
    let shape = Shape { features: 7, categorical: 0, trees: 12, depth: 3, thresholds: 5, classes, ..random };
    let first = ensemble(&mut rng, &shape);
    let second = mutate(&mut rng, &first);
    [first, second]
}

/// A seed, its models, the band, the certificate, and the number of boxes visited.
type LongProof = (u64, [Ensemble; 2], Band, Vec<u8>, u64);

/// Pairs with a long proof, and the certificate that one thread writes.
fn long_proofs(most: usize) -> Vec<LongProof> {
    let mut found = Vec::new();
    for seed in 0..600 {
        let models = pair(seed);
        let band = if seed & 1 == 0 { Band::Exact } else { Band::Auto };
        let Ok(comparison) = Comparison::new(&models[0], &models[1], band) else { continue };
        let budget = SearchBudget { nodes: Some(MOST), ..SearchBudget::unlimited() };
        let options = Options { budget, ..alone() };
        let (compared, writer) = comparison.certify(&options, Vec::new()).unwrap();
        if let Some(writer) = writer.filter(|_| compared.nodes > LONG) {
            let bytes = writer.finish(true).unwrap();
            drop(comparison);
            found.push((seed, models, band, bytes, compared.nodes));
            if found.len() == most {
                break;
            }
        }
    }
    assert!(found.len() >= most / 2, "{} long proofs: too few for a test", found.len());
    found
}

fn alone() -> Options {
    Options { shortcuts: false, small_boxes: false, ..Options::unlimited() }
}

/// Stops a search after this many seconds and resumes it with more time in each run, until it ends
/// by itself.
fn in_pieces(comparison: &Comparison<'_>, seconds: f64, threads: usize) -> (u32, u64, Vec<u8>) {
    let place = Place::default();
    for run in 1.. {
        let budget = SearchBudget::seconds(seconds * f64::from(run));
        let options = Options { budget, threads, crew: Some(place.crew(place.get())), ..alone() };
        let (compared, writer) = comparison.certify(&options, Vec::new()).unwrap();
        match compared.verdict {
            Verdict::Identical => return (run, compared.nodes, writer.unwrap().finish(true).unwrap()),
            Verdict::Undecided(Undecided::Stopped(_)) => assert!(run < 10_000),
            other => panic!("{other:?}"),
        }
    }
    unreachable!("it ends at last")
}

#[test]
fn a_search_that_was_ended_goes_on_and_writes_the_same_certificate() {
    let mut pieces = 0;
    for (seed, [first, second], band, expected, nodes) in long_proofs(12) {
        let comparison = Comparison::new(&first, &second, band).unwrap();
        let (runs, visited, bytes) = in_pieces(&comparison, 0.004, 1 + seed as usize % 3);
        assert!(bytes == expected, "seed {seed}: another certificate after {runs} runs");
        // Only work that was under way when a run stopped is done twice.
        assert!(visited >= nodes, "seed {seed}");
        pieces += runs;
    }
    assert!(pieces > 20, "{pieces} runs: too few for a test");
}

fn refusal(comparison: &Comparison<'_>, old: Vec<u8>) -> Option<CheckpointError> {
    let place = Place::default();
    let options = Options { crew: Some(place.crew(Some(old))), ..alone() };
    let error: io::Error = comparison.certify(&options, Vec::new()).err()?;
    error.get_ref().and_then(|inner| inner.downcast_ref()).copied()
}

/// A checkpoint from the middle of a search.
fn middle(comparison: &Comparison<'_>) -> Option<Vec<u8>> {
    let place = Place::default();
    for run in 1..200 {
        let budget = SearchBudget::seconds(0.002 * f64::from(run));
        let options = Options { budget, crew: Some(place.crew(None)), ..alone() };
        let (compared, _) = comparison.certify(&options, Vec::new()).unwrap();
        if compared.verdict == Verdict::Identical {
            return None;
        }
        if let Some(kept) = place.get() {
            return Some(kept);
        }
    }
    None
}

#[test]
fn damaged_and_foreign_checkpoints_are_refused() {
    let (mut damaged, mut foreign) = (0, 0);
    let proofs = long_proofs(6);
    for (at, (seed, [first, second], band, ..)) in proofs.iter().enumerate() {
        let comparison = Comparison::new(first, second, *band).unwrap();
        let Some(kept) = middle(&comparison) else { continue };
        let mut rng = Rng::with_seed(*seed);
        for _ in 0..40 {
            let mut other = kept.clone();
            let place = rng.usize(..other.len());
            other[place] ^= 1 << rng.u8(..8);
            assert!(refusal(&comparison, other).is_some(), "seed {seed}: byte {place}");
            let cut = kept[..rng.usize(..kept.len())].to_vec();
            assert!(refusal(&comparison, cut).is_some(), "seed {seed}");
            damaged += 1;
        }
        assert_eq!(refusal(&comparison, b"my notes".to_vec()), Some(CheckpointError::Magic));
        assert_eq!(
            refusal(&comparison, b"secateur checkpoint 0.0.0\n".to_vec()),
            Some(CheckpointError::Version)
        );
        let (_, [first, second], band, ..) = &proofs[(at + 1) % proofs.len()];
        let other = Comparison::new(first, second, *band).unwrap();
        assert_eq!(refusal(&other, kept.clone()), Some(CheckpointError::Foreign), "seed {seed}");
        foreign += 1;
        // A forger would also replace the digest. Such bytes are refused too, or lead to a search
        // that ends.
        for _ in 0..10 {
            let mut forged = kept.clone();
            let body = forged.len() - 32;
            let place = rng.usize(kept.iter().position(|&byte| byte == b'\n').unwrap() + 33..body);
            forged[place] ^= 1 << rng.u8(..8);
            let digest = FileDigest::of(&forged[..body]);
            forged[body..].copy_from_slice(&digest.0);
            let place = Place::default();
            let budget = SearchBudget::seconds(0.2);
            let options = Options { budget, crew: Some(place.crew(Some(forged))), ..alone() };
            // Any result is allowed here: the checker decides about the certificate.
            let _ = comparison.certify(&options, Vec::new());
        }
    }
    assert!(damaged > 60 && foreign > 1, "{damaged} {foreign}: too few for a test");
}
