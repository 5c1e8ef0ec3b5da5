//! Runs a comparison and writes its proof as a certificate.
//!
//! Steps are written in depth-first order. A search with one thread makes them in that order; with
//! several threads, each makes stretches of it. [`Recorder`] therefore collects each thread's steps
//! in stretches. A stretch is known by the path of its first box; it is written when all stretches
//! before it are written, and its end determines which path comes next. Threads work in the order
//! of paths, so few stretches wait.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secateur_certificate::{BandClaim, Claim, Digest, Effect, Slack, Statement, Step, Writer, encode};

use crate::compare::{Compared, Comparison, Verdict};
use crate::jobs::wire::{In, Out, WireError};
use crate::jobs::{About, CheckpointError};
use crate::layout::Layout;
use crate::record::{ProofStep, Record};
use crate::scores::{Limit, ScoreComparison};
use crate::solve::Options;

/// Bytes of steps that a thread collects before they are written.
const STRETCH: usize = 1 << 15;
/// The number of locks that threads are shared out over. Up to this many threads do not wait for
/// each other.
const SHARDS: usize = 64;

impl Comparison<'_> {
    /// The claim that a certificate of this comparison makes.
    pub fn claim(&self) -> Claim {
        if let Some(twins) = self.twins {
            let band = if self.is_exact() { BandClaim::Exact } else { BandClaim::Score(self.band()) };
            let local_rounding = self.knows_rounding_by_input();
            return twins.claim(Effect::Decides { band, local_rounding });
        }
        let [original, pruned] = self.models().map(Digest::of);
        let band = if self.is_exact() { BandClaim::Exact } else { BandClaim::Score(self.band()) };
        let (domain, local_rounding) = (self.domain(), self.knows_rounding_by_input());
        let statement = Statement::Decisions { band, local_rounding, cuts: self.cuts() };
        Claim { original, pruned, statement, domain }
    }

    /// Proves or refutes the claim as [`run`](Self::run) does, and writes the proof. There is a
    /// certificate only if the verdict is [`Verdict::Identical`]; the caller may add bounds to it
    /// and has to [`finish`](Writer::finish) it.
    pub fn certify<W: Write + Send + 'static>(
        &self,
        options: &Options,
        out: W,
    ) -> io::Result<(Compared, Option<Writer<W>>)> {
        let about = || About::decisions(self.models(), self.given_band());
        certified(out, &self.claim(), self.layout(), options, about, |options, recorder| {
            let compared = self.run_with(options, &mut |question| {
                let slack = if question.by_input { Slack::Local } else { Slack::Global };
                let (winner, other) = (question.winner.0, question.other.0);
                recorder.begin(&Step::System { winner, other, slack });
            });
            let proved = compared.verdict == Verdict::Identical;
            (compared, proved)
        })
    }
}

impl ScoreComparison<'_> {
    /// The claim that a certificate of this comparison makes.
    pub fn claim(&self, within: f64) -> Claim {
        // Claims have no negative zero.
        let within = within + 0.0;
        if let Some(twins) = self.twins {
            return twins.claim(Effect::Apart { within });
        }
        let [original, pruned] = self.models().map(Digest::of);
        Claim { original, pruned, statement: Statement::Scores { within }, domain: self.domain() }
    }

    /// Answers as [`within`](Self::within) does, and writes the proof. There is a certificate only
    /// if the answer is [`Limit::Within`]; the caller has to [`finish`](Writer::finish) it.
    pub fn certify<W: Write + Send + 'static>(
        &self,
        within: f64,
        options: &Options,
        out: W,
    ) -> io::Result<(Limit, u64, Option<Writer<W>>)> {
        let about = || About::scores(self.models());
        let claim = self.claim(within);
        let certified = certified(out, &claim, self.layout(), options, about, |options, recorder| {
            let (limit, nodes) = self.within_with(within, options, &mut |output, below| {
                recorder.begin(&Step::ScoreSystem { output: output as u32, below });
            });
            let proved = limit == Limit::Within;
            ((limit, nodes), proved)
        });
        certified.map(|((limit, nodes), writer)| (limit, nodes, writer))
    }
}

/// Runs a search and writes down its proof. `run` returns its answer, and whether that is a proof;
/// only then is there a certificate.
fn certified<W: Write + Send + 'static, T>(
    out: W,
    claim: &Claim,
    layout: &Layout,
    options: &Options,
    about: impl FnOnce() -> Arc<About>,
    run: impl FnOnce(&Options, &Recorder<W>) -> (T, bool),
) -> io::Result<(T, Option<Writer<W>>)> {
    let recorder = begin(out, claim, layout)?;
    let options = resumed(options, &recorder, layout, about)?;
    let (answer, proved) = run(&options, &recorder);
    drop(options);
    if !proved {
        return Ok((answer, None));
    }
    Ok((answer, Some(finish(recorder)?)))
}

/// The certificate as far as it is written; the search has ended.
pub(crate) fn finish<W: Write>(recorder: Arc<Recorder<W>>) -> io::Result<Writer<W>> {
    Arc::into_inner(recorder).expect("the search has ended and nobody else holds the record").finish()
}

/// Begins a certificate: its claim, and how the trees are laid over each other.
pub(crate) fn begin<W: Write + Send>(out: W, claim: &Claim, layout: &Layout) -> io::Result<Arc<Recorder<W>>> {
    let mut writer = Writer::new(out, claim)?;
    for piece in layout.pieces() {
        let [original, pruned] = piece.trees().map(<[u32]>::to_vec);
        if original.len() + pruned.len() > 1 {
            writer.step(&Step::Stack { original, pruned })?;
        }
    }
    Ok(Arc::new(Recorder::new(writer)))
}

/// The options with the record, for questions without workers and checkpoints.
pub(crate) fn recorded<W: Write + Send + 'static>(options: &Options, recorder: &Arc<Recorder<W>>) -> Options {
    Options { record: Some(recorder.clone()), crew: None, ..options.clone() }
}

/// The options with the record, and with the checkpoint to resume from if there is one.
fn resumed<W: Write + Send + 'static>(
    options: &Options,
    recorder: &Arc<Recorder<W>>,
    layout: &Layout,
    about: impl FnOnce() -> Arc<About>,
) -> io::Result<Options> {
    let mut options = Options { record: Some(recorder.clone()), ..options.clone() };
    if let Some(crew) = &mut options.crew
        && let Some(keeper) = &crew.keeper
    {
        let refused = |error: CheckpointError| io::Error::new(io::ErrorKind::InvalidData, error);
        let subject = about().subject().ok_or(CheckpointError::Impossible).map_err(refused)?;
        let saved = keeper.take(&subject.id, &layout.axis_sizes()).map_err(refused)?;
        recorder.keep(saved.as_ref().map(|saved| saved.proof.clone()).unwrap_or_default());
        crew.saved = saved.map(Arc::new);
    }
    Ok(options)
}

/// Takes the steps of a search and writes them in order.
pub(crate) struct Recorder<W: Write> {
    /// The stretch that each thread is working on, with the thread's number. Threads whose numbers
    /// are equal modulo the number of shards share a shard.
    shards: Vec<Mutex<Vec<(usize, Stretch)>>>,
    page: Mutex<Page<W>>,
}

/// Steps of boxes that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The path of the first box.
    start: Vec<bool>,
    /// The path that comes next in order; `None` after the last box.
    next: Option<Vec<bool>>,
    bytes: Vec<u8>,
    steps: u64,
}

/// The steps written, and the stretches that wait for their turn.
struct Page<W: Write> {
    writer: Writer<W>,
    /// The path that comes next; `None` between two systems.
    next: Option<Vec<bool>>,
    waiting: BTreeMap<Vec<bool>, Stretch>,
    /// If checkpoints are kept: the bytes of all steps after those that stack trees, and the number
    /// of these steps.
    log: Option<(Vec<u8>, u64)>,
    /// The first error of the writer.
    error: Option<io::Error>,
}

/// The proof up to some point, for a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The steps in their order, without those at the start that stack trees.
    pub(crate) bytes: Vec<u8>,
    /// The number of these steps.
    pub(crate) steps: u64,
    /// The path that comes next.
    pub(crate) next: Option<Vec<bool>>,
    /// Stretches that come later in the order.
    pub(crate) waiting: Vec<Stretch>,
}

impl<W: Write> fmt::Debug for Recorder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// A number for each thread, different from those of all others.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    OWN.with(|own| *own)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write> Recorder<W> {
    fn new(writer: Writer<W>) -> Self {
        let page = Page { writer, next: None, waiting: BTreeMap::new(), log: None, error: None };
        Self { shards: (0..SHARDS).map(|_| Mutex::new(Vec::new())).collect(), page: Mutex::new(page) }
    }

    /// Keeps the steps for checkpoints from now on, starting with those of `kept`.
    fn keep(&self, kept: Kept) {
        let mut page = lock(&self.page);
        page.log = Some(Default::default());
        page.encoded(&kept.bytes, kept.steps);
        page.next = kept.next;
        kept.waiting.into_iter().for_each(|stretch| page.add(stretch));
    }

    /// Begins the section of a system.
    pub(crate) fn begin(&self, system: &Step) {
        self.collect();
        lock(&self.page).write(system);
    }

    /// Writes the stretches that threads have not handed over, and fails if one is missing.
    fn collect(&self) {
        self.hand_over();
        let mut page = lock(&self.page);
        if page.next.is_some() || !page.waiting.is_empty() {
            page.fail(io::Error::other("the record of the search has a gap"));
        }
    }

    /// Hands the stretches that threads are working on to the page.
    fn hand_over(&self) {
        for shard in &self.shards {
            for (_, stretch) in lock(shard).drain(..) {
                lock(&self.page).add(stretch);
            }
        }
    }

    fn finish(self) -> io::Result<Writer<W>> {
        self.collect();
        let page = self.page.into_inner().unwrap_or_else(PoisonError::into_inner);
        match page.error {
            Some(error) => Err(error),
            None => Ok(page.writer),
        }
    }
}

impl<W: Write> Page<W> {
    fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    fn write(&mut self, step: &Step) {
        let mut bytes = Vec::new();
        encode(step, &mut bytes);
        self.encoded(&bytes, 1);
    }

    fn encoded(&mut self, bytes: &[u8], steps: u64) {
        if let Some((log, count)) = &mut self.log {
            log.extend_from_slice(bytes);
            *count += steps;
        }
        if let Err(error) = self.writer.encoded(bytes, steps) {
            self.fail(error);
        }
    }

    fn add(&mut self, stretch: Stretch) {
        // A stretch without steps: another thread continued from that box.
        if stretch.steps == 0 {
            return;
        }
        self.waiting.insert(stretch.start.clone(), stretch);
        while let Some(next) = &self.next
            && let Some(stretch) = self.waiting.remove(next)
        {
            self.encoded(&stretch.bytes, stretch.steps);
            self.next = stretch.next;
        }
    }
}

/// The steps of one job.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    stretches: Vec<Stretch>,
    /// Bytes of all stretches but the last.
    before: usize,
}

impl Collected {
    pub(crate) fn step(&mut self, path: &[bool], step: ProofStep) {
        match self.stretches.last_mut() {
            Some(last) if last.next.as_deref() == Some(path) => last.push(path, step),
            last => {
                self.before += last.map_or(0, |last| last.bytes.len());
                let mut stretch = Stretch::begin(path.to_vec());
                stretch.push(path, step);
                self.stretches.push(stretch);
            }
        }
    }

    /// Bytes of all steps.
    pub(crate) fn bytes(&self) -> usize {
        self.before + self.stretches.last().map_or(0, |last| last.bytes.len())
    }

    pub(crate) fn into_stretches(self) -> Vec<Stretch> {
        self.stretches
    }
}

impl<W: Write + Send> Record for Recorder<W> {
    fn stretch(&self, stretch: Stretch) {
        lock(&self.page).add(stretch);
    }

    fn flush(&self) -> bool {
        self.hand_over();
        true
    }

    fn kept(&self) -> Option<Kept> {
        let page = lock(&self.page);
        let (bytes, steps) = page.log.clone()?;
        let waiting = page.waiting.values().cloned().collect();
        Some(Kept { bytes, steps, next: page.next.clone(), waiting })
    }

    fn lenses(&self, multipliers: &[Vec<u64>]) {
        let mut page = lock(&self.page);
        for multipliers in multipliers {
            page.write(&Step::Lens { multipliers: multipliers.clone() });
        }
        page.next = Some(Vec::new());
    }

    fn step(&self, path: &[bool], step: ProofStep) {
        let thread = thread_number();
        let mut shard = lock(&self.shards[thread % SHARDS]);
        let place = match shard.iter().position(|(own, _)| *own == thread) {
            Some(place) => place,
            None => {
                shard.push((thread, Stretch::begin(path.to_vec())));
                shard.len() - 1
            }
        };
        let stretch = &mut shard[place].1;
        if stretch.next.as_deref() != Some(path) {
            let done = std::mem::replace(stretch, Stretch::begin(path.to_vec()));
            lock(&self.page).add(done);
        }
        let goes_on = matches!(step, ProofStep::Narrow { .. });
        stretch.push(path, step);
        if stretch.bytes.len() >= STRETCH && !goes_on {
            let done = match &stretch.next {
                Some(next) => std::mem::replace(stretch, Stretch::begin(next.clone())),
                None => return,
            };
            lock(&self.page).add(done);
        }
    }

    fn meet(&self, first: &[usize]) {
        let first = first.iter().map(|&axis| axis as u32).collect();
        lock(&self.page).write(&Step::Meet { first });
    }
}

impl Stretch {
    pub(crate) fn encode(&self, out: &mut Out) {
        out.path(&self.start);
        out.option(self.next.as_ref(), |out, next| out.path(next));
        out.number(self.steps);
        out.bytes(&self.bytes);
    }

    pub(crate) fn decode(input: &mut In<'_>) -> Result<Self, WireError> {
        Ok(Self {
            start: input.path()?,
            next: input.option(In::path)?,
            steps: input.number()?,
            bytes: input.bytes()?.to_vec(),
        })
    }

    #[cfg(test)]
    pub(crate) fn starts_at(&self, path: &[bool]) -> bool {
        self.start == path
    }

    #[cfg(test)]
    pub(crate) fn next(&self) -> Option<Vec<bool>> {
        self.next.clone()
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    fn begin(start: Vec<bool>) -> Self {
        Self { next: Some(start.clone()), start, bytes: Vec::new(), steps: 0 }
    }

    fn push(&mut self, path: &[bool], step: ProofStep) {
        let index = |value: usize| value as u32;
        let step = match step {
            ProofStep::Narrow { axis, low, high, lens } => {
                Step::Narrow { axis: index(axis), low, high, lens: index(lens) }
            }
            ProofStep::Close { lens } => Step::Close { lens: index(lens) },
            ProofStep::Split { axis, cell, low_first } => Step::Split { axis: index(axis), cell, low_first },
            ProofStep::Cells => Step::Cells,
            ProofStep::Join { row, fixed } => {
                Step::Join { row: index(row), fixed: fixed.into_iter().map(index).collect() }
            }
        };
        encode(&step, &mut self.bytes);
        self.steps += 1;
        let next = self.next.get_or_insert_default();
        match step {
            Step::Narrow { .. } => {}
            Step::Split { .. } => next.push(false),
            _ => {
                // After this box comes the second side of the last split on the path whose first
                // side was taken.
                let last_first = path.iter().rposition(|&second| !second);
                match last_first {
                    Some(at) => {
                        next.truncate(at);
                        next.push(true);
                    }
                    None => self.next = None,
                }
            }
        }
    }
}
