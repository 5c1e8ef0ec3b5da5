//! Follows a certificate's steps, in the order that its claim needs them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::rc::Rc;

use secateur_certificate::{ReadError, Reader, Slack, Step};
use secateur_kernel as kernel;
use secateur_kernel::{JoinLimit, Pieces, Progress, Proof, Refusal};
use secateur_lower::{Lowered, MatchedLabels, ModelRole, Pair, Question, Refused};

use crate::bounds::Bounds;
use crate::dump::Dump;
use crate::reason::{Reason, Unproved};
use crate::shares::{Parts, Place, Share};
use crate::verdict::{Limits, Proved, Shown};

/// The number of steps that are checked between two calls of `stop`. Rules whose single steps take
/// long call it themselves.
const POLL: u64 = 16;

/// What a check may spend, when it has to stop, and which share of the steps it checks.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) limits: Limits,
    pub(crate) stop: &'a dyn Fn() -> bool,
    pub(crate) share: Share<'a>,
}

/// A refusal, and the step at which it came.
type Refusals = (Reason, Option<u64>);

/// Checks all steps. The labels of the result are filled in by the caller.
pub(crate) fn follow(
    pair: &Pair<'_>,
    reader: &mut Reader<impl Read>,
    context: Context<'_>,
    mut dump: Option<&mut Dump<'_>>,
) -> Result<Result<Proved, Refusals>, ReadError> {
    let stop = context.stop;
    let stopped = |step| Ok(Err((Unproved::Stopped.into(), step)));
    if stop() {
        return stopped(None);
    }
    let lowered = match Lowered::new(pair, stop) {
        Ok(Some(lowered)) => lowered,
        Ok(None) => return stopped(None),
        Err(refused) => return Ok(Err((refused.into(), None))),
    };
    if let Some(dump) = &mut dump {
        dump.forest(&lowered);
    }
    let mut pieces = Pieces::new(lowered.forest(), context.limits.kernel);
    // Stacks come first: when any other step comes, the pieces are complete.
    let mut at = reader.steps();
    let mut next = reader.next_step()?;
    while let Some(Step::Stack { original, pruned }) = &next {
        if stop() {
            return stopped(Some(at));
        }
        let trees = stacked(&lowered, original, pruned);
        if let Some(dump) = &mut dump {
            dump.stack(&trees);
        }
        if let Err(refusal) = pieces.stack(&trees) {
            return Ok(Err((of_stack(refusal, &lowered, [original, pruned]).into(), Some(at))));
        }
        at = reader.steps();
        next = reader.next_step()?;
    }
    if let Err(refusal) = pieces.place_the_rest(stop) {
        return Ok(Err((of_stack(refusal, &lowered, [&[], &[]]).into(), Some(at))));
    }
    let [_, trees] = lowered.trees();
    let bounds = Bounds::new(pair, trees, context.limits);
    match lowered.holds_treewise(stop) {
        Some(held) => {
            if let Err(refused) = held {
                return Ok(Err((refused.into(), None)));
            }
        }
        None => return stopped(None),
    }
    let mut run = Run {
        pair,
        lowered: &lowered,
        pieces: &pieces,
        context,
        section: None,
        systems: 0,
        bounds,
        shown: BTreeMap::new(),
        dump,
    };
    while let Some(step) = next {
        if at.is_multiple_of(POLL) && stop() {
            return stopped(Some(at));
        }
        match run.step(step, at) {
            Err(reason) => {
                run.end_section();
                return Ok(Err((reason, Some(at))));
            }
            Ok(false) => {}
            Ok(true) => {
                let (columns, cost, thresholds) = run.bounds.proved();
                return Ok(Ok(Proved {
                    claim: reader.claim().clone(),
                    accepted: lowered.accepted(),
                    labels: MatchedLabels::default(),
                    systems: run.systems,
                    steps: at,
                    columns,
                    cost,
                    thresholds,
                    shown: run.shown.into_values().flatten().collect(),
                }));
            }
        }
        at = reader.steps();
        next = reader.next_step()?;
    }
    Ok(Err((run.end_reason(true), Some(at))))
}

/// A stack of trees, numbered as in the kernel. A number of a tree that does not exist stays
/// invalid.
fn stacked(lowered: &Lowered<'_>, original: &[u32], pruned: &[u32]) -> Vec<u32> {
    let [first, second] = lowered.trees();
    let ours = original.iter().map(|&tree| if (tree as usize) < first { tree } else { u32::MAX });
    let theirs =
        pruned.iter().map(|&tree| if (tree as usize) < second { first as u32 + tree } else { u32::MAX });
    ours.chain(theirs).collect()
}

/// Puts into words why the kernel refuses a stack.
fn of_stack(refusal: Refusal, lowered: &Lowered<'_>, stack: [&[u32]; 2]) -> Unproved {
    let trees = lowered.trees();
    match refusal {
        Refusal::StackTree { .. } => {
            let missing = (0..2).find_map(|model| {
                let tree = *stack[model].iter().find(|&&tree| tree as usize >= trees[model])?;
                Some(Unproved::StackTree { model: ModelRole::of(model), tree, trees: trees[model] })
            });
            missing.unwrap_or(Unproved::StackEmpty)
        }
        Refusal::StackTwice { tree } => {
            let second = tree as usize >= trees[0];
            let tree = if second { tree - trees[0] as u32 } else { tree };
            Unproved::StackTwice { model: ModelRole::of(usize::from(second)), tree }
        }
        Refusal::LimitOverlay { bytes, limit } => {
            let what = if bytes { "bytes for masks and values" } else { "joint leaves" };
            Unproved::LimitOverlay { what, limit }
        }
        Refusal::Stopped => Unproved::Stopped,
        _ => Unproved::StackEmpty,
    }
}

/// The state of a check.
struct Run<'a, 'd, 'w> {
    pair: &'a Pair<'a>,
    lowered: &'a Lowered<'a>,
    pieces: &'a Pieces<'a>,
    context: Context<'a>,
    section: Option<Section<'a>>,
    /// How many systems have been proved.
    systems: u64,
    bounds: Bounds<'a>,
    /// For each output the inputs with the least and with the greatest number.
    shown: BTreeMap<usize, Vec<Shown>>,
    dump: Option<&'d mut Dump<'w>>,
}

/// The proof of one system.
struct Section<'a> {
    proof: Proof<'a>,
    question: Question,
    rows: usize,
    /// The exponent of the power of two of which its numbers are multiples.
    unit: i64,
    parts: Parts<'a>,
    /// The cells that were excused, collected if a dump is written.
    excused: Rc<RefCell<BTreeSet<Vec<u32>>>>,
}

impl Run<'_, '_, '_> {
    /// Checks one step. Returns whether it is the end.
    fn step(&mut self, step: Step, at: u64) -> Result<bool, Reason> {
        if let Some(section) = &mut self.section {
            if let Step::End { complete, .. } = step {
                return Err(self.end_reason(complete));
            }
            if section.step(self.lowered, step, at, self.dump.as_deref_mut())? == Progress::Proved {
                self.systems += 1;
                self.end_section();
            }
            return Ok(false);
        }
        let (about_decisions, has_bounds) = (self.pair.is_about_decisions(), self.pair.has_bounds());
        match step {
            Step::System { winner, other, slack } if about_decisions && !self.bounds.is_open() => {
                let expected = match self.pair.question(self.systems) {
                    Some(Question::Classes { winner, other }) => Some((winner.0, other.0)),
                    _ => None,
                };
                match self.pair.question(self.systems) {
                    Some(question) if expected == Some((winner, other)) => self.begin(question, slack),
                    _ => Err(Unproved::SystemPair { winner, other, expected }.into()),
                }
            }
            Step::ScoreSystem { output, below } if !about_decisions => {
                let asked = Question::Output { output: output as usize, below };
                let expected = self.pair.question(self.systems);
                if expected != Some(asked) {
                    let expected = match expected {
                        Some(Question::Output { output, below }) => Some((output, below)),
                        _ => None,
                    };
                    return Err(Unproved::SystemOutput { output, below, expected }.into());
                }
                self.begin(asked, Slack::Global)
            }
            Step::ClassSystem { class } => {
                let expected = self.pair.question(self.systems);
                match expected {
                    Some(question @ Question::Class { class: next }) if next.0 == class => {
                        self.begin(question, Slack::Global)
                    }
                    Some(Question::Class { class: next }) => {
                        Err(Unproved::SystemClass { class, expected: Some(next.0) }.into())
                    }
                    _ => Err(Unproved::SystemClass { class, expected: None }.into()),
                }
            }
            Step::Shown { output, values } => self.show(output, values).map(|()| false),
            Step::End { complete, .. } => {
                // A claim that a model decides as it does itself needs no system to be proved; but
                // if the certificate begins one, it has to prove them all.
                let shown =
                    self.systems == self.pair.systems() || self.systems == 0 && self.pair.is_one_model();
                if complete && !self.bounds.is_open() && shown {
                    return Ok(true);
                }
                Err(self.end_reason(complete))
            }
            step if has_bounds => self.bounds.step(step, self.dump.as_deref_mut()).map(|()| false),
            // Bounds on smaller models are about the decisions of two models.
            step => Err(Unproved::OrderUnexpected {
                found: step.kind(),
                place: "between the proofs of two systems of a claim about scores or about one model",
            }
            .into()),
        }
    }

    /// Computes what the library computes on an input of the claim. Of each output the least and the
    /// greatest number are kept.
    fn show(&mut self, output: u32, values: Vec<f64>) -> Result<(), Reason> {
        let index = output as usize;
        let shown = Shown { output: index, scores: self.lowered.shown(output, &values)?, values };
        let kept = self.shown.entry(index).or_default();
        kept.push(shown);
        kept.sort_by(|a, b| a.number().total_cmp(&b.number()));
        if kept.len() > 2 {
            kept.remove(1);
        }
        Ok(())
    }

    /// Begins the proof of a system.
    fn begin(&mut self, question: Question, slack: Slack) -> Result<bool, Reason> {
        let lowered = self.lowered;
        let rows = lowered.rows(question, slack)?;
        let excused: Rc<RefCell<BTreeSet<Vec<u32>>>> = Rc::default();
        let (kept, keeps) = (Rc::clone(&excused), self.dump.is_some());
        let excuse = Box::new(move |cell: &[u32]| {
            let excused = lowered.excused(question, cell).is_ok();
            if excused && keeps {
                kept.borrow_mut().insert(cell.to_vec());
            }
            excused
        });
        let finer = match slack {
            Slack::Global => 0,
            Slack::Local => lowered.rounding_bits(),
        };
        let unit = lowered.unit() - i64::from(finer);
        if let Some(dump) = &mut self.dump {
            dump.begin(&rows, question, unit, &lowered.rounding_said(slack));
        }
        let proof = Proof::new(self.pieces, &rows, excuse, self.context.stop);
        self.section = Some(Section {
            proof: proof.expect("every row is of sums of the forest"),
            question,
            rows: rows.len(),
            unit,
            parts: Parts::new(self.context.share),
            excused,
        });
        Ok(false)
    }

    /// Ends the proof of the present system, complete or not.
    fn end_section(&mut self) {
        if let (Some(section), Some(dump)) = (self.section.take(), &mut self.dump) {
            dump.end(&section.excused.borrow());
        }
    }

    /// Why this end step does not end a proof; `complete` is what the step says of its certificate.
    fn end_reason(&self, complete: bool) -> Reason {
        let (proved, systems) = (self.systems, self.pair.systems());
        if complete {
            Unproved::EndMissing { proved, systems, cover_open: self.bounds.is_open() }.into()
        } else {
            Unproved::Declared { proved, systems }.into()
        }
    }
}

impl Section<'_> {
    fn step(
        &mut self,
        lowered: &Lowered<'_>,
        step: Step,
        at: u64,
        dump: Option<&mut Dump<'_>>,
    ) -> Result<Progress, Reason> {
        let found = step.kind();
        let Some(step) = of_kernel(step) else {
            let place = "inside the proof of a system, at this point";
            return Err(Unproved::OrderUnexpected { found, place }.into());
        };
        if let Some(dump) = dump {
            dump.step(&step);
        }
        match self.parts.place(&step, at) {
            Place::Here => {}
            Place::LeftOut { done: false } => return Ok(Progress::Open),
            Place::LeftOut { done: true } => return Ok(self.proof.assume()),
        }
        // Only claims about decisions and classes have joins.
        if let (kernel::Step::Join { row, .. }, Question::Output { .. }) = (&step, self.question) {
            return Err(Unproved::JoinRow { row: *row, rows: self.rows }.into());
        }
        self.proof.step(&step).map_err(|refusal| self.reason(lowered, refusal, found))
    }

    /// Puts into words why the kernel refuses a step.
    fn reason(&self, lowered: &Lowered<'_>, refusal: Refusal, found: &'static str) -> Reason {
        let unit = |shift: u64| self.unit + shift as i64;
        let (winner, _) = match self.question {
            Question::Classes { winner, other } => (winner.0, other.0),
            Question::Output { output, .. } => (output as u32, 0),
            Question::Class { class } => (class.0, 0),
        };
        // The kernel has asked whether this cell is excused; here the answer is computed again, in
        // words.
        let not_excused = |cell: &[u32]| {
            let again = Refused::CellsSolution { input: lowered.input(cell), winner };
            lowered.excused(self.question, cell).err().unwrap_or(again)
        };
        let order = |place| Unproved::OrderUnexpected { found, place };
        let unproved = match refusal {
            Refusal::CellsSolution { cell } => return not_excused(&cell).into(),
            Refusal::JoinSolution { cell, alike: true } => match not_excused(&cell) {
                Refused::CellsSolution { input, winner } => {
                    Unproved::JoinSolution { input, winner, alike: true }
                }
                other => return other.into(),
            },
            Refusal::JoinSolution { cell, alike: false } => {
                Unproved::JoinSolution { input: lowered.input(&cell), winner, alike: false }
            }
            Refusal::LensLate => order("behind the first box of a system"),
            Refusal::LensRows { multipliers, rows } => Unproved::LensRows { multipliers, rows },
            Refusal::LensUnknown { lens, lenses } => Unproved::LensUnknown { lens, lenses },
            Refusal::BoxAxis { axis, axes } => Unproved::BoxAxis { axis, axes },
            Refusal::BoxRange { axis, low, high, box_low, box_high } => {
                Unproved::BoxRange { axis, low, high, box_low, box_high }
            }
            Refusal::NarrowBound { lens, axis, low, high, reached, bound, shift } => {
                Unproved::NarrowBound { lens, axis, low, high, reached, bound, unit: unit(shift) }
            }
            Refusal::CloseBound { lens, reached, bound, shift } => {
                Unproved::CloseBound { lens, reached, bound, unit: unit(shift) }
            }
            Refusal::JoinRow { row, rows } => Unproved::JoinRow { row, rows },
            Refusal::JoinAxis { axis, axes } => Unproved::JoinAxis { axis, axes },
            Refusal::MeetShape { rows, piece } => Unproved::MeetShape { rows, piece },
            Refusal::MeetAxis { axis, axes } => Unproved::MeetAxis { axis, axes },
            Refusal::MeetSolution { reached, bounds } => {
                Unproved::MeetSolution { reached, bounds, unit: unit(0) }
            }
            Refusal::LimitLenses { lenses, bytes, limit } => Unproved::LimitLenses { lenses, bytes, limit },
            Refusal::LimitCells { cells, limit } => Unproved::LimitCells { cells, limit },
            Refusal::LimitJoin { what, limit } => {
                let what = match what {
                    JoinLimit::Sums => "sums",
                    JoinLimit::Pairs => "pairs to look at",
                    JoinLimit::Leaves => "joint leaves of a piece that is not settled",
                };
                Unproved::LimitJoin { what, limit }
            }
            Refusal::LimitMeet { entries } => Unproved::LimitMeet { entries },
            Refusal::Stopped => Unproved::Stopped,
            // No other refusal should come from a step of a proof; if one does, the step is not
            // accepted.
            _ => order("inside the proof of a system, at this point"),
        };
        unproved.into()
    }
}

/// The kernel's form of a step; none if the step is of a kind that the kernel does not check.
fn of_kernel(step: Step) -> Option<kernel::Step> {
    Some(match step {
        Step::Lens { multipliers } => kernel::Step::Lens(multipliers),
        Step::Meet { first } => kernel::Step::Meet(first),
        Step::Narrow { axis, low, high, lens } => kernel::Step::Narrow { lens, axis, low, high },
        Step::Split { axis, cell, low_first } => kernel::Step::Split { axis, cell, low_first },
        Step::Close { lens } => kernel::Step::Close(lens),
        Step::Cells => kernel::Step::Cells,
        Step::Join { row, fixed } => kernel::Step::Join { row, fixed },
        _ => return None,
    })
}
