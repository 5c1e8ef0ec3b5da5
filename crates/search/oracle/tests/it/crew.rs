//! Searches that are dealt out to workers give the same answer and the same certificate, byte by
//! byte, as one thread, for any order of answers, and with workers that are lost, silent, slow or
//! wrong.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use secateur_model::{CategoryRule, Decision, Ensemble, Value};
use secateur_oracle::{
    Band, Comparison, Crew, Limit, Options, Reply, ScoreComparison, SearchBudget, StopReason, Undecided,
    Verdict, Workers, WorkersGone, work,
};
use secateur_testkit::{Shape, ensemble, mutate};

/// The fewest boxes that a search has (so that there are many jobs), and the most.
const LONG: u64 = 1_500;
const MOST: u64 = 60_000;

/// Failures on the way, in percent of all jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    lost: u32,
    silent: u32,
    damaged: u32,
    twice: u32,
    mixed: u32,
}

/// Workers that do one job at a time, in a random order, when the search waits for an answer.
#[derive(Debug)]
struct Bench {
    state: Mutex<State>,
    count: usize,
    trouble: Trouble,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    waiting: Vec<(u64, Arc<Vec<u8>>, Vec<u8>)>,
    again: Vec<(u64, Reply)>,
    jobs: u64,
    largest: usize,
}

impl Bench {
    fn new(seed: u64, count: usize, trouble: Trouble) -> Arc<Self> {
        let state =
            State { rng: Rng::with_seed(seed), waiting: Vec::new(), again: Vec::new(), jobs: 0, largest: 0 };
        Arc::new(Self { state: Mutex::new(state), count, trouble })
    }

    fn jobs(&self) -> u64 {
        self.state.lock().unwrap().jobs
    }
}

impl Workers for Bench {
    fn count(&self) -> usize {
        self.count
    }

    fn send(
        &self,
        number: u64,
        _: &[u8; 32],
        subject: &Arc<Vec<u8>>,
        job: Vec<u8>,
    ) -> Result<(), WorkersGone> {
        let mut state = self.state.lock().unwrap();
        state.largest = state.largest.max(job.len());
        state.waiting.push((number, subject.clone(), job));
        Ok(())
    }

    fn receive(&self, _: Duration) -> Result<Option<(u64, Reply)>, WorkersGone> {
        let mut state = self.state.lock().unwrap();
        if let Some(reply) = state.again.pop() {
            return Ok(Some(reply));
        }
        if state.waiting.is_empty() {
            // Waiting for a silent worker takes some time.
            std::thread::sleep(Duration::from_millis(2));
            return Ok(None);
        }
        let count = state.waiting.len();
        let at = state.rng.usize(..count);
        let (number, subject, job) = state.waiting.swap_remove(at);
        state.jobs += 1;
        let dice = state.rng.u32(..100);
        let Trouble { lost, silent, damaged, twice, mixed } = self.trouble;
        if dice < lost {
            return Ok(Some((number, Reply::Lost)));
        }
        if dice < lost + silent {
            return Ok(None);
        }
        let mut answer = work(Some(&subject), &job).unwrap().unwrap();
        // The same job has the same answer.
        assert_eq!(work(Some(&subject), &job).unwrap().as_ref(), Some(&answer));
        if dice < lost + silent + damaged {
            let cut = state.rng.usize(..answer.len());
            answer.truncate(cut);
        } else if dice < lost + silent + damaged + twice {
            state.again.push((number, Reply::Done(answer.clone())));
        } else if dice < lost + silent + damaged + twice + mixed {
            // Send the answer under the number of another job.
            if let Some(&(other, ..)) = state.waiting.first() {
                return Ok(Some((other, Reply::Done(answer))));
            }
        }
        Ok(Some((number, Reply::Done(answer))))
    }

    fn forget(&self) {
        // Drop the waiting jobs; an answer in `again` still arrives.
        self.state.lock().unwrap().waiting.clear();
    }
}

fn crew(bench: &Arc<Bench>) -> Crew {
    let mut crew = Crew::new(bench.clone());
    (crew.after, crew.patience) = (Duration::ZERO, Duration::from_millis(1));
    crew
}

fn troubles(seed: u64) -> Trouble {
    match seed % 4 {
        0 => Trouble::default(),
        1 => Trouble { lost: 30, ..Trouble::default() },
        2 => Trouble { silent: 10, twice: 20, ..Trouble::default() },
        _ => Trouble { lost: 10, silent: 5, damaged: 10, twice: 10, mixed: 5 },
    }
}

fn shape(rng: &mut Rng, decision: Option<Decision>) -> Shape {
    let random = Shape::random(rng);
    let decision = decision.unwrap_or(random.decision);
    let classes = if matches!(decision, Decision::Scores(_)) { 2 } else { random.classes.min(3) };
    let rule = if random.rule == CategoryRule::Hashed { CategoryRule::Whole } else { random.rule.clone() };
    Shape { features: 6, trees: 10, depth: 3, thresholds: 4, decision, classes, rule, ..random }
}

fn pair(seed: u64, decision: Option<Decision>) -> [Ensemble; 2] {
    let mut rng = Rng::with_seed(seed);
    let shape = shape(&mut rng, decision);
    let first = ensemble(&mut rng, &shape);
    let second = mutate(&mut rng, &first);
    [first, second]
}

/// Two unrelated models: every score is different.
fn strangers(seed: u64, decision: Option<Decision>) -> [Ensemble; 2] {
    let mut rng = Rng::with_seed(seed);
    let shape = Shape {
        categorical: 0,
        features: 9,
        trees: 44,
        depth: 4,
        thresholds: 6,
        ..shape(&mut rng, decision)
    };
    [ensemble(&mut rng, &shape), ensemble(&mut rng, &shape)]
}

#[test]
fn decisions_have_the_answer_and_the_certificate_of_one_thread() {
    let (mut proofs, mut differences, mut jobs) = (0, 0, 0);
    for seed in 0..500 {
        let [first, second] = pair(seed, None);
        let band = if seed & 1 == 0 { Band::Exact } else { Band::Auto };
        let Ok(comparison) = Comparison::new(&first, &second, band) else { continue };
        let budget = SearchBudget { nodes: Some(MOST), ..SearchBudget::unlimited() };
        let alone = Options { shortcuts: seed & 2 == 0, small_boxes: seed & 8 == 0, ..Options::unlimited() };
        let limited = Options { budget, progress: Arc::default(), ..alone.clone() };
        let (expected, certificate) = comparison.certify(&limited, Vec::new()).unwrap();
        let stopped = matches!(expected.verdict, Verdict::Undecided(Undecided::Stopped(_)));
        if expected.nodes < LONG || stopped {
            continue;
        }
        let certificate = certificate.map(|writer| writer.finish(true).unwrap());
        let bench = Bench::new(seed, 1 + seed as usize % 5, troubles(seed));
        let options = Options { crew: Some(crew(&bench)), ..alone };
        let (compared, written) = comparison.certify(&options, Vec::new()).unwrap();
        // Compared as text, because a missing value in a row is not equal to itself.
        assert_eq!(format!("{:?}", compared.verdict), format!("{:?}", expected.verdict), "seed {seed}");
        let written = written.map(|writer| writer.finish(true).unwrap());
        assert!(written == certificate, "seed {seed}: another certificate");
        // The same boxes were visited, each of them once.
        if compared.verdict == Verdict::Identical {
            assert_eq!(compared.nodes, expected.nodes, "seed {seed}");
            assert_eq!(options.progress.share(), limited.progress.share(), "seed {seed}");
            proofs += 1;
        } else {
            differences += 1;
        }
        // The same answer comes without a record.
        let again = comparison.run(&Options { crew: Some(crew(&bench)), ..options.clone() });
        let here = comparison.run(&Options { crew: None, ..options });
        assert_eq!(format!("{:?}", again.verdict), format!("{:?}", here.verdict), "seed {seed}");
        jobs += bench.jobs();
        assert!(bench.state.lock().unwrap().largest < 100_000);
    }
    assert!(proofs > 15 && differences > 1 && jobs > 400, "{proofs} {differences} {jobs}: a one-sided test");
}

#[test]
fn scores_have_the_answer_and_the_certificate_of_one_thread() {
    let (mut proofs, mut exceeded, mut jobs) = (0, 0, 0);
    for seed in 0..150 {
        let decision = (seed & 1 == 0).then_some(Decision::Scores(Value::Score));
        let [first, second] = strangers(seed, decision);
        let Ok(comparison) = ScoreComparison::new(&first, &second, &SearchBudget::unlimited()) else {
            continue;
        };
        let budget = SearchBudget { nodes: Some(MOST), ..SearchBudget::unlimited() };
        let alone = Options { shortcuts: false, small_boxes: false, ..Options::unlimited() };
        let measured = comparison.measure(&Options {
            budget: SearchBudget { nodes: Some(2_000), ..SearchBudget::unlimited() },
            ..Options::unlimited()
        });
        let within = if seed & 2 == 0 { measured.at_most } else { measured.at_least.distance * 0.99 };
        let limited = Options { budget, ..alone.clone() };
        let (expected, nodes, certificate) = comparison.certify(within, &limited, Vec::new()).unwrap();
        if nodes < LONG || matches!(expected, Limit::Stopped(_)) {
            continue;
        }
        let certificate = certificate.map(|writer| writer.finish(true).unwrap());
        let bench = Bench::new(seed, 3, troubles(seed));
        let options = Options { crew: Some(crew(&bench)), ..alone };
        let (limit, _, written) = comparison.certify(within, &options, Vec::new()).unwrap();
        // Compared as text, because a missing value in a row is not equal to itself.
        assert_eq!(format!("{limit:?}"), format!("{expected:?}"), "seed {seed}");
        assert!(written.map(|writer| writer.finish(true).unwrap()) == certificate, "seed {seed}");
        *if limit == Limit::Within { &mut proofs } else { &mut exceeded } += 1;
        jobs += bench.jobs();
    }
    assert!(proofs > 4 && exceeded > 1 && jobs > 20, "{proofs} {exceeded} {jobs}: a one-sided test");
}

/// Workers that are always gone.
#[derive(Debug)]
struct Nobody;

impl Workers for Nobody {
    fn count(&self) -> usize {
        1
    }

    fn send(&self, _: u64, _: &[u8; 32], _: &Arc<Vec<u8>>, _: Vec<u8>) -> Result<(), WorkersGone> {
        Err(WorkersGone)
    }

    fn receive(&self, _: Duration) -> Result<Option<(u64, Reply)>, WorkersGone> {
        panic!("nothing was sent")
    }

    fn forget(&self) {}
}

#[test]
fn without_workers_there_is_no_answer_and_a_limit_ends_those_who_never_come() {
    let mut seen = 0;
    for seed in 0..300 {
        let [first, second] = pair(seed, None);
        let Ok(comparison) = Comparison::new(&first, &second, Band::Exact) else { continue };
        let alone = Options { shortcuts: false, small_boxes: false, ..Options::unlimited() };
        let budget = SearchBudget { nodes: Some(2 * LONG), ..SearchBudget::unlimited() };
        let expected = comparison.run(&Options { budget, ..alone.clone() });
        if expected.verdict != Verdict::Undecided(Undecided::Stopped(StopReason::Nodes)) {
            continue;
        }
        let mut gone = Crew::new(Arc::new(Nobody));
        gone.after = Duration::ZERO;
        let compared = comparison.run(&Options { crew: Some(gone), ..alone.clone() });
        assert_eq!(
            compared.verdict,
            Verdict::Undecided(Undecided::Stopped(StopReason::Workers)),
            "seed {seed}"
        );
        // With only silent workers the time limit ends the search.
        let bench = Bench::new(seed, 2, Trouble { silent: 100, ..Trouble::default() });
        let budget = SearchBudget::seconds(0.05);
        let compared = comparison.run(&Options { crew: Some(crew(&bench)), budget, ..alone });
        assert_eq!(compared.verdict, Verdict::Undecided(Undecided::Stopped(StopReason::Time)), "seed {seed}");
        seen += 1;
        if seen == 5 {
            return;
        }
    }
    panic!("{seen} long searches: too few for a test");
}

#[test]
fn a_worker_refuses_what_is_no_job() {
    assert!(work(None, b"").is_err());
    assert!(work(None, b"secateur job 0.0.0\n").is_err());
    assert!(work(Some(b"models"), b"secateur job").is_err());
}
