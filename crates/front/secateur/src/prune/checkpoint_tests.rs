//! Tests of the checkpoints of `prune`: whichever recorded answers a run starts with, it ends like
//! an uninterrupted run; and a model that only a forged record calls proved is never handed out.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use secateur_certificate::FileDigest;
use secateur_oracle::{Band, In, Keep, Out, WireError};
use secateur_prune::Journal;

use super::*;

/// A model of five trees, all of which are needed, and a model that can do without some of its
/// trees.
const NEEDED: &[u8] = include_bytes!("../../../../../testdata/models/lightgbm/categorical.txt");
const SOME: &[u8] = include_bytes!("../../demo/loans.txt");

#[derive(Clone, Debug, Default)]
struct Place(Arc<Mutex<Vec<u8>>>);

impl Keep for Place {
    fn keep(&self, checkpoint: &[u8]) {
        *self.0.lock().unwrap() = checkpoint.to_vec();
    }
}

/// A journal in its parts: everything before the answers, the answers of the oracle, those of
/// linear programs, and the rest.
struct Parts {
    head: Vec<u8>,
    answers: Vec<(Vec<u8>, Said)>,
    programs: Vec<(Vec<u8>, Program)>,
    tail: Vec<u8>,
}

#[derive(Clone, PartialEq)]
enum Said {
    Proved,
    Refuted(Vec<Vec<f64>>),
    Hard(u8),
}

/// A program with an optimum: the nonzero values of its unknowns, and their number. A program
/// without a solution: its rows with the multipliers that show it, and `None`.
type Program = (Vec<(u64, f64)>, Option<u64>);

impl Parts {
    fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let line = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        let body = &bytes[..bytes.len() - 32];
        let mut input = In::new(&body[line + 32..]);
        let answers = input.list(|input| {
            let mut key = Out::default();
            key.raw(input.raw(32)?);
            key.number(input.number()?);
            let said = match input.byte()? {
                0 => Said::Proved,
                1 => Said::Refuted(input.list(|input| input.list(In::float))?),
                other => Said::Hard(other),
            };
            Ok((key.0, said))
        })?;
        let programs = input.list(|input| {
            let key = input.raw(32)?.to_vec();
            let entries = input.list(|input| Ok((input.number()?, input.float()?)))?;
            let unknowns = if input.byte()? == 0 { Some(input.number()?) } else { None };
            Ok((key, (entries, unknowns)))
        })?;
        let mut tail = Vec::new();
        while let Ok(byte) = input.byte() {
            tail.push(byte);
        }
        Ok(Self { head: bytes[..line + 32].to_vec(), answers, programs, tail })
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Out::default();
        out.raw(&self.head);
        out.list(&self.answers, |out, (key, said)| {
            out.raw(key);
            match said {
                Said::Proved => out.byte(0),
                Said::Refuted(rows) => {
                    out.byte(1);
                    out.list(rows, |out, row| out.list(row, |out, &value| out.float(value)));
                }
                Said::Hard(byte) => out.byte(*byte),
            }
        });
        out.list(&self.programs, |out, (key, (entries, unknowns))| {
            out.raw(key);
            out.list(entries, |out, &(gap, value)| {
                out.number(gap);
                out.float(value);
            });
            out.byte(u8::from(unknowns.is_none()));
            unknowns.iter().for_each(|&unknowns| out.number(unknowns));
        });
        out.raw(&self.tail);
        let digest = FileDigest::of(&out.0);
        out.raw(&digest.0);
        out.0
    }

    /// The keys of all answers.
    fn keys(&self) -> BTreeSet<Vec<u8>> {
        let programs = self.programs.iter().map(|(key, _)| key);
        self.answers.iter().map(|(key, _)| key).chain(programs).cloned().collect()
    }
}

/// Runs the search with a journal: the result, the number of boxes visited, and the journal
/// afterwards.
fn run(model: &ModelFile, options: &PruneOptions, old: Option<&[u8]>) -> (Pruned, u64, Vec<u8>) {
    let digest = options.run_digest(model.ensemble(), &[]).unwrap();
    let place = Place::default();
    let journal = Arc::new(Journal::open(Box::new(place.clone()), digest, old).unwrap());
    let mut config = options.config(&Budget::unlimited());
    config.journal = Some(journal.clone());
    let watch = Watch::default();
    let found = secateur_prune::prune(model, &[], &config, &watch).unwrap();
    journal.flush();
    let kept = place.0.lock().unwrap().clone();
    (found, watch.search.nodes(), kept)
}

fn bytes_of(model: &ModelFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    model.write(&mut bytes).unwrap();
    bytes
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("secateur-{name}-{}", std::process::id()))
}

fn options() -> PruneOptions {
    PruneOptions { threads: Some(1), ..PruneOptions::default() }
}

#[test]
fn a_run_that_goes_on_ends_as_one_in_one_go() {
    let mut rng = fastrand::Rng::with_seed(1);
    let scores = PruneOptions { claim: Claim::Scores { within: 0.3 }, ..options() };
    for (bytes, options) in [(NEEDED, options()), (SOME, options()), (SOME, scores)] {
        let model = ModelFile::parse(bytes).unwrap();
        let alone =
            secateur_prune::prune(&model, &[], &options.config(&Budget::unlimited()), &Watch::default())
                .unwrap();
        let (whole, boxes, kept) = run(&model, &options, None);
        let expected = bytes_of(&alone.file);
        assert_eq!(bytes_of(&whole.file), expected, "a journal changes nothing");
        assert!(!whole.recalled);
        let all = Parts::read(&kept).unwrap();
        assert_eq!(all.write(), kept);
        assert!(all.answers.len() > 1, "{} questions: too few for a test", all.answers.len());
        assert!(all.programs.iter().any(|(_, (_, unknowns))| unknowns.is_some()));
        for share in [0.4, 1.0] {
            let mut part = Parts::read(&kept).unwrap();
            part.answers.retain(|_| rng.f64() < share);
            part.programs.retain(|_| rng.f64() < share);
            let known = part.answers.len();
            let (found, visited, again) = run(&model, &options, Some(&part.write()));
            assert_eq!(bytes_of(&found.file), expected, "{known} answers known");
            assert_eq!((found.lower_bound, found.irreducible), (alone.lower_bound, alone.irreducible));
            assert_eq!((found.points, found.oracle_calls), (alone.points, alone.oracle_calls));
            if known == all.answers.len() {
                assert_eq!(visited, 0, "nothing is asked twice");
            } else {
                assert!(visited <= boxes);
                assert_eq!(Parts::read(&again).unwrap().keys(), all.keys());
            }
        }
    }
}

#[test]
fn a_run_that_is_ended_at_once_has_the_best_model_so_far_and_proves_it_anew() {
    let model = ModelFile::parse(SOME).unwrap();
    let (whole, _, kept) = run(&model, &options(), None);
    assert!(whole.size[1].trees < whole.size[0].trees);
    let path = file("best");
    std::fs::write(&path, &kept).unwrap();
    let options = PruneOptions { checkpoint: Some(path.clone()), ..options() };
    let budget = Budget::unlimited();
    budget.cancel().cancel();
    let pruning = prune(&model, &[], &options, &budget, &Watch::default()).unwrap();
    assert_eq!(pruning.pruned.size, whole.size);
    assert!(pruning.checked() && pruning.interrupted && path.exists());
    // Without time for a proof the recorded model is not handed out, because only the file says
    // that it is proved. (A small proof may finish before the clock is first checked.)
    let budget = Budget::limit(Duration::ZERO);
    let pruning = prune(&model, &[], &options, &budget, &Watch::default()).unwrap();
    assert!(path.exists() && (pruning.checked() || pruning.unchanged()));
    let pruning = prune(&model, &[], &options, &Budget::unlimited(), &Watch::default()).unwrap();
    assert_eq!(pruning.bytes, Some(bytes_of(&whole.file)));
    assert!(pruning.checked() && !path.exists(), "the work is done");
}

#[test]
fn a_forged_checkpoint_hands_nothing_out() {
    let model = ModelFile::parse(SOME).unwrap();
    let head = Parts::read(&run(&model, &options(), None).2).unwrap().head;
    // A proof of a smaller claim is presented as a proof of this one.
    let smaller = PruneOptions { claim: Claim::Decisions { band: Band::Score(1.0) }, ..options() };
    let forged = Parts { head, ..Parts::read(&run(&model, &smaller, None).2).unwrap() }.write();
    let (found, ..) = run(&model, &options(), Some(&forged));
    assert!(found.recalled, "the lie has an effect");
    for self_check in [true, false] {
        let path = file("forged");
        std::fs::write(&path, &forged).unwrap();
        let options = PruneOptions { checkpoint: Some(path.clone()), self_check, ..options() };
        let refused = prune(&model, &[], &options, &Budget::unlimited(), &Watch::default()).unwrap_err();
        assert!(matches!(refused, Error::CheckpointProof { .. }), "{refused}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn inputs_that_are_none_are_not_used() {
    let model = ModelFile::parse(NEEDED).unwrap();
    let options = PruneOptions { domain: secateur_model::Domain::no_missing(), ..options() };
    let digest = |options: &PruneOptions| {
        let narrowed = model.ensemble().within(&options.domain).unwrap();
        options.run_digest(&narrowed, &[]).unwrap()
    };
    let run_within = |old: Option<&[u8]>| {
        let place = Place::default();
        let journal = Arc::new(Journal::open(Box::new(place.clone()), digest(&options), old).unwrap());
        let mut config = options.config(&Budget::unlimited());
        config.journal = Some(journal.clone());
        let found = secateur_prune::prune(&model, &[], &config, &Watch::default()).unwrap();
        journal.flush();
        let kept = place.0.lock().unwrap().clone();
        (found, kept)
    };
    let (honest, kept) = run_within(None);
    let mut forged = Parts::read(&kept).unwrap();
    // Rows of missing values, rows of another length, and no rows at all.
    let width = model.ensemble().features().len();
    let lies = [vec![vec![f64::NAN; width]], vec![vec![0.0; width + 1]], Vec::new()];
    for (at, (_, said)) in forged.answers.iter_mut().enumerate() {
        *said = Said::Refuted(lies[at % lies.len()].clone());
    }
    let (found, _) = run_within(Some(&forged.write()));
    assert_eq!(bytes_of(&found.file), bytes_of(&honest.file));
    assert_eq!((found.points, found.recalled), (honest.points, false));
}

#[test]
fn a_program_without_an_answer_is_believed_only_with_rows_that_show_it() {
    let model = ModelFile::parse(SOME).unwrap();
    let (honest, _, kept) = run(&model, &options(), None);
    let mut forged = Parts::read(&kept).unwrap();
    let shown = forged.programs.iter().filter(|(_, (_, unknowns))| unknowns.is_none()).count();
    assert!(shown > 0, "no program was without an answer: nothing is tested");
    // The forged journal says of every program that it has no solution, shown by its first row.
    forged.programs.iter_mut().for_each(|(_, program)| *program = (vec![(0, 1.0)], None));
    let (found, ..) = run(&model, &options(), Some(&forged.write()));
    assert_eq!(bytes_of(&found.file), bytes_of(&honest.file));
    assert_eq!((found.irreducible, found.lower_bound), (honest.irreducible, honest.lower_bound));
}
