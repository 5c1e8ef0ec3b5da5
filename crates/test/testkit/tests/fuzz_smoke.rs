//! A short run of every fuzz target: the seeds as they are, hostile inputs made from them, and the
//! inputs that once broke something. Each case must end in time, within an amount of memory that
//! depends on the size of its input.
//!
//! `make test` runs a share of the cases (`SECATEUR_TEST_SHARE`), always the first ones.
//! `SECATEUR_FUZZ_CASES=100000 cargo test -p secateur-testkit --test fuzz_smoke` runs longer. The
//! input of the running case is always in `target/tmp/<target>-case`. If a case fails, hangs or
//! ends the whole process (stack overflow), its input is found there and should be kept in
//! `fuzz/regressions/<target>/`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use peak_alloc::PeakAlloc;
use secateur_testkit::fuzz::{Target, follow_up, read, read_and_run, unpacked_size};
use secateur_testkit::share;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The memory that reading may take: the first number of bytes for each byte of the input (after
/// unpacking deflated data), plus the second number of bytes.
const READING: (usize, usize) = (12, 64 << 10);

/// The memory that the checks after reading may take: the grid, predictions and edits, each edit
/// with a file of its own.
const FOLLOWING: (usize, usize) = (40, 256 << 10);

/// The longest time that a case may take. No case takes nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The stack in bytes, less than any thread gets by default: code that recurses as deep as the
/// input overflows it.
const STACK: usize = 512 << 10;

/// Memory is measured for the whole process, so only one target runs at a time.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn hostile_xgboost_json_breaks_no_promise() {
    run(Target::XgBoostJson, 3000);
}

#[test]
fn hostile_xgboost_ubj_breaks_no_promise() {
    run(Target::XgBoostUbj, 4000);
}

#[test]
fn hostile_lightgbm_text_breaks_no_promise() {
    run(Target::LightGbm, 4000);
}

#[test]
fn hostile_catboost_binaries_break_no_promise() {
    run(Target::CatBoostBinary, 3000);
}

#[test]
fn hostile_catboost_json_breaks_no_promise() {
    run(Target::CatBoostJson, 1500);
}

#[test]
fn hostile_skops_archives_break_no_promise() {
    run(Target::Sklearn, 500);
}

#[test]
fn hostile_onnx_breaks_no_promise() {
    run(Target::Onnx, 4000);
}

#[test]
fn hostile_packed_models_break_no_promise() {
    run(Target::Packed, 6000);
}

#[test]
fn hostile_certificates_break_no_promise() {
    run(Target::Certificate, 3000);
}

#[test]
fn hostile_source_breaks_no_promise() {
    run(Target::Source, 2000);
}

/// The memory limits of reading and of the checks that follow. Packed files are dense: a node takes
/// half a byte in the file and 24 bytes in memory. Compressing and reading certificates needs
/// tables of its own.
fn limits(target: Target) -> [(usize, usize); 2] {
    match target {
        Target::Packed => [(200, 64 << 10), (600, 256 << 10)],
        Target::Certificate => [READING, (FOLLOWING.0, 1 << 20)],
        _ => [READING, FOLLOWING],
    }
}

fn run(target: Target, cases: usize) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let cases = env::var("SECATEUR_FUZZ_CASES")
        .map_or(share(cases), |text| text.parse().expect("SECATEUR_FUZZ_CASES is a number"));
    let seeds = target.seeds().expect("fixtures can be read");
    assert!(!seeds.is_empty(), "no fixtures for {}", target.name());
    let regressions = target.regressions().expect("regressions can be read");
    watched(target, move |progress| {
        for (number, seed) in seeds.iter().enumerate() {
            progress.begin(number as u64);
            assert!(case(target, &format!("seed {number}"), seed), "seed {number} cannot be read");
        }
        for (path, bytes) in &regressions {
            progress.begin(u64::MAX);
            case(target, &path.display().to_string(), bytes);
        }
        let mut readable = 0;
        for number in 0..cases as u64 {
            progress.begin(number);
            let bytes = target.hostile(&seeds, number);
            readable += usize::from(case(target, &format!("case {number}"), &bytes));
        }
        println!("{}: {cases} hostile inputs, {readable} of them readable", target.name());
        // The changes must not be so wild that only the first lines of a reader are tested.
        assert!(readable * 50 > cases, "{readable} of {cases} inputs could be read at all");
    });
}

/// Checks one input; true if it can be read.
fn case(target: Target, name: &str, bytes: &[u8]) -> bool {
    fs::write(case_path(target), bytes).expect("the target folder can be written");
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let size = unpacked_size(bytes);
        let [may_read, may_follow] = limits(target);
        if matches!(target, Target::Certificate | Target::Source) {
            let mut readable = false;
            let all = peak(|| readable = target.check(bytes));
            within(may_follow, all, size, "reading and checking");
            return readable;
        }
        let mut file = None;
        let reading = peak(|| file = read(bytes));
        within(may_read, reading, size, "reading");
        read_and_run(bytes);
        let Some(file) = file else { return false };
        let following = peak(|| follow_up(bytes, &file));
        within(may_follow, following, size, "what follows");
        true
    }));
    outcome.unwrap_or_else(|panic| fail(target, name, &words(panic.as_ref())))
}

/// The most memory that `work` holds, beyond what was held before it.
fn peak(work: impl FnOnce()) -> usize {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    work();
    MEMORY.peak_usage().saturating_sub(before)
}

fn within((times, more): (usize, usize), used: usize, length: usize, what: &str) {
    let limit = times * length + more;
    assert!(used <= limit, "{what} takes {used} bytes for an input of {length}; the limit is {limit}");
}

fn case_path(target: Target) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-case", target.name()))
}

fn fail(target: Target, name: &str, words: &str) -> ! {
    let (target, path) = (target.name(), case_path(target));
    panic!("{target} {name}: {words}\nkeep {} in fuzz/regressions/{target}/", path.display());
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// What the watchdog reads: which case is running, and when it began, in milliseconds after
/// `start`.
struct Progress {
    start: Instant,
    case: AtomicU64,
    since: AtomicU64,
}

impl Progress {
    fn begin(&self, case: u64) {
        self.case.store(case, Ordering::Relaxed);
        self.since.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}

/// Runs `work` on a thread with a small stack, and fails if one case takes too long.
fn watched(target: Target, work: impl FnOnce(&Progress) + Send + 'static) {
    let progress =
        Arc::new(Progress { start: Instant::now(), case: AtomicU64::new(0), since: AtomicU64::new(0) });
    let seen = Arc::clone(&progress);
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || work(&progress)).expect("a thread");
    while !worker.is_finished() {
        thread::sleep(Duration::from_millis(20));
        let since = Duration::from_millis(seen.since.load(Ordering::Relaxed));
        if seen.start.elapsed().saturating_sub(since) > PATIENCE {
            let case = seen.case.load(Ordering::Relaxed);
            fail(target, &format!("case {case}"), &format!("takes longer than {PATIENCE:?}"));
        }
    }
    if let Err(panic) = worker.join() {
        panic!("{}", words(panic.as_ref()));
    }
}
