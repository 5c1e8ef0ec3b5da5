//! How far apart can the scores of two models be? This module bounds the greatest difference from
//! above and below.
//!
//! A score here is the number that the library decides on or predicts from: its sum, divided where
//! the model averages. For every output the *difference* is the second model's score minus the
//! first's. In exact arithmetic it is, up to a fixed positive factor, an integer that is a sum over
//! pieces. So its largest value over all cells of the grid is found by asking systems of one row:
//! "is there a cell where the difference is at least t?". A solution raises the lower bound, a
//! proof lowers the upper bound.
//!
//! The libraries round. Each score differs from the exact one by at most its model's rounding bound
//! ([`Ensemble::score_rounding`]), which holds for every order of addition if the order is free. So
//! the difference of the libraries' scores is at most the exact one plus both bounds:
//! [`Measured::at_most`]. The lower bound counts only scores that the libraries' own arithmetic
//! gives on an input: [`Measured::at_least`]. If there are few cells, all of them are evaluated in
//! that arithmetic after the search, and then both bounds are those of the libraries themselves.
//!
//! If every score is fixed by file and input, a question about a limit
//! ([`ScoreComparison::within`]) is exact: a cell that solves the system but whose scores, computed
//! as the libraries do, are within the limit is no counterexample, because all inputs of a cell
//! give the same bits.
//!
//! If the domain limits the scores of other models, its rows come before the row of the difference
//! in every system, and a solution outside of the domain does not count.

use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use num_bigint::BigInt;
use num_traits::One;
use secateur_certificate::Digest;
use secateur_model::{CellId, Decision, Domain, DomainError, Ensemble, Exact, Grid, Intake, LabelMatch};

use crate::jobs::{About, Question, Setup, Task, serve_question};
use crate::layout::Layout;
use crate::outline::{self, CompareError};
use crate::series::{Series, distinct};
use crate::solve::{Answer, Options, gather, solve};
use crate::stop::{SearchBudget, StopReason};
use crate::system::{Row, System};
use crate::twins::Twins;

pub(crate) mod extreme;
mod judge;

use extreme::Extreme;
use judge::Judge;

/// The search ends when the gap between its two bounds is at most the upper bound, rounding
/// included, divided by this: four digits.
const PRECISION: i64 = 1 << 14;
/// It also ends when the gap is at most the rounding in that bound divided by this. If rounding is
/// most of the bound, as for conversions with the same trees, a more precise exact difference would
/// not help.
const PRECISION_IN_ROUNDING: i64 = 1 << 10;
/// All cells are evaluated if their number, times the number of trees of both models, is at most
/// this: for example 2^17 cells and 200 trees, which takes a few seconds.
const MOST_LOOKED_AT: f64 = 33_554_432.0;
/// How many of the caller's rows, at most, are evaluated before the search.
const MOST_STARTS: usize = 1_000;

/// Two models whose scores are compared.
pub struct ScoreComparison<'a> {
    labels: LabelMatch<'a>,
    read: [&'a Ensemble; 2],
    intake: Intake,
    layout: Layout,
    outputs: Vec<Scale>,
    /// A cell that has an input of the domain.
    inside: Vec<CellId>,
    /// The second model is the first one's twin.
    pub(crate) twins: Option<&'a Twins<'a>>,
}

/// The difference of one output in integers, with the exponent of the layout:
/// `(factors[1] * second - factors[0] * first) * 2^exponent / divisor`.
struct Scale {
    /// The indices of the sums that are compared, one of each model.
    groups: [usize; 2],
    factors: [i64; 2],
    /// The number that the combination of exact sums has to be divided by.
    divisor: Exact,
    /// How far rounding can move the two libraries' scores apart.
    rounding: Exact,
}

/// An input and the scores that the two libraries compute for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScorePoint {
    /// The row, in the codes of the first model.
    pub row: Vec<f64>,
    /// The index of the output.
    pub output: usize,
    /// The score of each model.
    pub scores: [f64; 2],
    /// Their distance, rounded down.
    pub distance: f64,
}

/// The known bounds of the greatest difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Proved: no input has scores farther apart, rounding of both libraries included.
    pub at_most: f64,
    /// The part of `at_most` that the two libraries' rounding adds to the greatest exact
    /// difference: a bound over all inputs or, if all cells were evaluated, the true effect.
    pub rounding: f64,
    /// The input whose scores are farthest apart among those found.
    pub at_least: ScorePoint,
    /// Whether the search ended by itself. The greatest exact difference is then known up to a
    /// 16,000th of `at_most` or a thousandth of `rounding`, whichever is larger; the rest of the
    /// gap between the two bounds is rounding.
    pub ended: bool,
    /// Why the search ended early; `None` if it did not.
    pub stopped: Option<StopReason>,
    /// Boxes visited.
    pub nodes: u64,
}

/// Whether all differences are within a limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Proved.
    Within,
    /// Refuted by this input.
    Exceeded(Box<ScorePoint>),
    /// Not known: the budget ended.
    Stopped(StopReason),
    /// Not known: on this input the scores as computed here are within the limit, but something
    /// that the files do not fix (the order of addition) could move them beyond it.
    OrderOfAddition(Vec<f64>),
}

impl<'a> ScoreComparison<'a> {
    /// Lays two models out. Their columns must be in the same order, and they must have equally
    /// many scores (or one has a score for each of two classes and the other only for the second
    /// class, see [`outputs`](Self::outputs)). Classes, if there are any, must have the same labels
    /// in the same order.
    pub fn new(
        first: &'a Ensemble,
        second: &'a Ensemble,
        budget: &SearchBudget,
    ) -> Result<Self, CompareError> {
        Self::with([first, second], None, budget)
    }

    /// A model and its twin, paired freely: the difference is how far moving columns moves a score.
    pub fn of_twins(twins: &'a Twins<'a>, budget: &SearchBudget) -> Result<Self, CompareError> {
        Self::with(twins.models(), Some(twins), budget)
    }

    fn with(
        [first, second]: [&'a Ensemble; 2],
        twins: Option<&'a Twins<'a>>,
        budget: &SearchBudget,
    ) -> Result<Self, CompareError> {
        let labels = LabelMatch::new(first, second)?;
        let pairs = matched_outputs(first, second)?;
        if first.decision().is_classifier() && second.decision().is_classifier() {
            let classes = outline::match_classes(first, second)?;
            if classes.iter().enumerate().any(|(at, class)| class.index() != at) {
                return Err(CompareError::ScoreOrder);
            }
        }
        let intake = Grid::common_intake(&[first, second])?.values;
        if !first.domain().is_everything() {
            second.within(first.domain())?;
        }
        let rounding = |model: &Ensemble, name| {
            model.score_rounding().ok_or(CompareError::ScoreOverflow { model: name })
        };
        let roundings = [rounding(first, "first")?, rounding(second, "second")?];
        // A model compared with itself: its library rounds the same way both times, provided that
        // the file fixes every bit.
        let same_bits = twins.is_none() && !first.scores_vary() && Digest::of(first) == Digest::of(second);
        let divisors = [first, second].map(divisor);
        let outputs = pairs
            .into_iter()
            .map(|groups| {
                let errors = [0, 1].map(|model: usize| exact(roundings[model].scores[groups[model]]));
                let rounding = if same_bits { Exact::zero() } else { &errors[0] + &errors[1] };
                Scale::new(groups, &divisors, rounding).ok_or(CompareError::ScoreScale)
            })
            .collect::<Result<_, _>>()?;
        let [ours, theirs] = labels.models();
        let layout = match twins {
            Some(_) => Layout::of_twins(&[ours, theirs], budget)?,
            None => Layout::of_scores(&[ours, theirs], budget)?,
        };
        let inside = some_input(&layout, budget)?;
        Ok(Self { labels, read: [first, second], intake, layout, outputs, inside, twins })
    }

    /// How category labels were matched.
    pub fn labels(&self) -> &LabelMatch<'a> {
        &self.labels
    }

    /// The two models as they were read.
    pub fn models(&self) -> [&'a Ensemble; 2] {
        self.read
    }

    /// For each output, the sum of the first model and the sum of the second that are compared.
    pub fn outputs(&self) -> Vec<[usize; 2]> {
        self.outputs.iter().map(|output| output.groups).collect()
    }

    /// The two models over their common grid.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The inputs of the claim.
    pub fn domain(&self) -> Domain {
        outline::inputs(self.read)
    }

    /// The values that both libraries accept.
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Bounds the greatest difference over all inputs and outputs, as closely as the budget allows.
    pub fn measure(&self, options: &Options) -> Measured {
        let judge = Judge::new(self);
        let mut best: Option<ScorePoint> = None;
        let mut see = |cells: &[CellId]| judge.see(cells, &mut best);
        let given = options.starts.iter().take(MOST_STARTS).filter(|cells| self.holds(cells));
        let starts: Vec<Vec<CellId>> = given.cloned().chain([self.inside.clone()]).collect();
        starts.iter().for_each(|start| see(start));
        let mut sides: Vec<Extreme<'_>> = (0..self.outputs.len())
            .flat_map(|output| self.signs().iter().map(move |&sign| (output, sign)))
            .map(|(output, sign)| Extreme::new(&self.layout, output, self.terms(output, sign), &starts))
            .collect();
        let (mut nodes, mut stopped, mut asked) = (0, None, 0u64);
        // Always take the side with the largest upper bound: once it is settled, no other can be
        // larger.
        while let Some(widest) = self.widest(&sides) {
            let side = &mut sides[widest];
            if side.is_settled() || self.is_precise(side) {
                break;
            }
            if let Some(reason) = options.budget.over() {
                stopped = Some(reason);
                break;
            }
            options.progress.begin(asked.min(98), 100);
            asked += 1;
            if side.lens.is_none() {
                // Local search runs once for each side. Otherwise every question would repeat it
                // from all rows.
                let ends = side.climb(&starts, options);
                ends.iter().filter(|cells| self.holds(cells)).for_each(|cells| see(cells));
                continue;
            }
            let solved = side.ask(options, asked);
            nodes += solved.nodes;
            match solved.answer {
                Answer::Proof | Answer::Witnesses(_) => see(&side.cells),
                // The question was only postponed, unless no more boxes are allowed at all.
                Answer::Undecided(StopReason::Nodes)
                    if options.budget.nodes.is_none_or(|most| nodes < most) => {}
                Answer::Undecided(reason) => {
                    stopped = Some(reason);
                    break;
                }
            }
        }
        let upper = |side: &Extreme<'_>| self.outputs[side.output].score(&side.high, self.layout.exponent());
        let at_most = sides.iter().map(upper).fold(0.0, f64::max);
        let rounding = self.outputs.iter().map(|scale| scale.rounding.to_f64_up()).fold(0.0, f64::max);
        let (mut at_most, mut rounding) = (at_most, rounding);
        let mut at_least = best.expect("a cell of the domain was looked at");
        let open = at_most - at_least.distance > at_most / PRECISION as f64;
        if open && stopped.is_none() && options.shortcuts && self.has_few_cells() {
            let seen = judge.look_at_all(&mut at_least, &options.budget).filter(|&seen| seen < at_most);
            if let Some(seen) = seen {
                // The part of the new bound that exceeds the exact difference.
                rounding = (seen - (at_most - rounding)).max(0.0);
                at_most = seen;
            }
        }
        Measured { at_most, rounding, at_least, ended: stopped.is_none(), stopped, nodes }
    }

    /// Is a cell's input in the domain?
    fn holds(&self, cells: &[CellId]) -> bool {
        self.layout.grid().scores_hold(cells)
    }

    /// The directions of a difference that have to be asked about. Twins are any two rows, so that
    /// each difference is also one in the other direction.
    fn signs(&self) -> &'static [i64] {
        if self.twins.is_some() { &[1] } else { &[1, -1] }
    }

    /// Are the cells few enough to evaluate all of them? If not, a limit below the libraries'
    /// rounding cannot be proved.
    pub fn has_few_cells(&self) -> bool {
        let trees: usize = self.read.iter().map(|model| model.trees().len()).sum();
        let cells = self.layout.axis_sizes().iter().map(|&size| f64::from(size)).product::<f64>();
        // Bounds for every order of addition take several times as long, and the two never become
        // equal.
        let varies = self.read.iter().any(|model| model.scores_vary());
        cells * (trees.max(1) as f64) <= if varies { MOST_LOOKED_AT / 16.0 } else { MOST_LOOKED_AT }
    }

    /// The side with the greatest upper bound.
    fn widest(&self, sides: &[Extreme<'_>]) -> Option<usize> {
        let upper = |side: &Extreme<'_>| self.outputs[side.output].score(&side.high, self.layout.exponent());
        (0..sides.len()).max_by(|&a, &b| upper(&sides[a]).total_cmp(&upper(&sides[b])))
    }

    /// Is the gap between the bounds of a side too small to matter beside the bound that is
    /// reported?
    fn is_precise(&self, side: &Extreme<'_>) -> bool {
        let scale = &self.outputs[side.output];
        let of = |difference: BigInt| Exact::new(difference, self.layout.exponent());
        let rounding = &scale.rounding * &scale.divisor;
        let open = &side.high - &side.low;
        of(&open * PRECISION) <= &of(side.high.clone()) + &rounding
            || of(&open * PRECISION_IN_ROUNDING) <= rounding
    }

    /// Are all differences within this limit?
    pub fn within(&self, limit: f64, options: &Options) -> (Limit, u64) {
        self.within_with(limit, options, &mut |_, _| {})
    }

    /// As [`within`](Self::within). If the limit is exceeded, it also returns more inputs that
    /// exceed it, found by local search: at most `wanted` of them for each output and direction.
    /// The first is the answer's.
    pub fn within_for_many(&self, limit: f64, options: &Options) -> (Limit, u64, Vec<Vec<f64>>) {
        let one = Options { wanted: 1, ..options.clone() };
        let (answer, nodes) = self.within(limit, &one);
        let Limit::Exceeded(point) = &answer else { return (answer, nodes, Vec::new()) };
        let mut rows = vec![point.row.clone()];
        let mut many = options.clone();
        many.starts.extend(self.layout.cells_of(&point.row));
        let most = exact(limit);
        for output in 0..self.outputs.len() {
            for &sign in self.signs() {
                if options.budget.over().is_some() {
                    break;
                }
                // Beyond the limit in exact arithmetic, so that the inputs found show more than
                // rounding.
                let bound = &most * &self.outputs[output].divisor;
                let row = Row { terms: self.terms(output, sign), bound, strict: true };
                let found = gather(&self.layout.system(row), &many, &|cells| self.holds(cells));
                rows.extend(found.iter().map(|cells| self.layout.grid().witness(cells)));
            }
        }
        (answer, nodes, distinct(rows))
    }

    /// As [`within`](Self::within), and calls `begin` before each system with its output, and
    /// whether it is about scores below those of the first model.
    pub(crate) fn within_with(
        &self,
        limit: f64,
        options: &Options,
        begin: &mut dyn FnMut(usize, bool),
    ) -> (Limit, u64) {
        let judge = Judge::new(self);
        // Only claims about decisions have join steps. A join needs two rows, which the rows of a
        // domain would provide here.
        let options =
            &Options { small_boxes: options.small_boxes && self.is_everywhere(), ..options.clone() };
        let mut series = Series::new(options, || About::scores(self.read));
        let open = series.open.clone();
        let signs = self.signs();
        let sides = (0..self.outputs.len()).flat_map(|output| signs.iter().map(move |&sign| (output, sign)));
        for (number, (output, sign)) in sides.enumerate() {
            options.progress.begin(number as u64, (self.outputs.len() * signs.len()) as u64);
            if let Some(reason) = options.budget.over() {
                return (Limit::Stopped(reason), series.nodes);
            }
            let system = self.limit_system(limit, output, sign);
            let accept = |cells: &[CellId]| judge.exceeds(cells, output, limit, &open);
            let question = Question::Score { output: output as u32, below: sign < 0, within: limit };
            match series.ask(&system, question, &accept, || begin(output, sign < 0)) {
                Answer::Proof => {}
                Answer::Witnesses(found) => {
                    return (Limit::Exceeded(Box::new(judge.point(&found[0], output))), series.nodes);
                }
                Answer::Undecided(reason) => return (Limit::Stopped(reason), series.nodes),
            }
        }
        match series.left_open() {
            Some(row) => (Limit::OrderOfAddition(row), series.nodes),
            None => (Limit::Within, series.nodes),
        }
    }

    /// The system of one output and direction: may the difference exceed the limit?
    fn limit_system(&self, limit: f64, output: usize, sign: i64) -> System<'_> {
        let scale = &self.outputs[output];
        let bound = &(&exact(limit) - &scale.rounding) * &scale.divisor;
        self.layout.system(Row { terms: self.terms(output, sign), bound, strict: true })
    }

    /// Does the domain limit no score of another model?
    fn is_everywhere(&self) -> bool {
        self.layout.grid().domain().wheres().is_empty()
    }

    /// Answers jobs of this setup; returns the first task that has another setup.
    pub(crate) fn serve(&self, setup: &Setup, task: Task, tasks: &Receiver<Task>) -> Option<Task> {
        let Question::Score { output, below, within } = setup.question else {
            return task.refuse(tasks);
        };
        let output = output as usize;
        if output >= self.outputs.len() || !(within >= 0.0 && within.is_finite()) {
            return task.refuse(tasks);
        }
        let system = self.limit_system(within, output, if below { -1 } else { 1 });
        let (judge, open) = (Judge::new(self), Mutex::new(None));
        let accept = |cells: &[CellId]| judge.exceeds(cells, output, within, &open);
        serve_question(&system, &accept, &open, setup, task, tasks)
    }

    /// The terms of one output's difference, or of its negative.
    fn terms(&self, output: usize, sign: i64) -> Vec<(usize, i64)> {
        let Scale { factors: [first, second], groups: [ours, theirs], .. } = self.outputs[output];
        vec![(self.layout.sum_of(1, theirs), sign * second), (self.layout.sum_of(0, ours), -sign * first)]
    }
}

/// A cell that has an input of the domain; any cell if the domain limits no score of another model.
/// A domain without an input is an error.
pub(crate) fn some_input(layout: &Layout, budget: &SearchBudget) -> Result<Vec<CellId>, CompareError> {
    if layout.grid().domain().wheres().is_empty() {
        return Ok(vec![CellId(0); layout.axis_sizes().len()]);
    }
    let system = System::new(layout, &layout.domain_rows());
    let options = Options { budget: budget.clone(), ..Options::unlimited() };
    match solve(&system, &options, &|cells| layout.grid().scores_hold(cells)).answer {
        Answer::Witnesses(mut found) => Ok(found.swap_remove(0)),
        Answer::Proof => Err(DomainError::NoInput.into()),
        Answer::Undecided(reason) => Err(CompareError::Stopped(reason)),
    }
}

/// The sums that are compared, output by output. Models with equally many sums are compared index
/// by index. If one of two binary classifiers has a score for each class and takes the higher one,
/// and the other has a single score, which speaks for the second class, the sums of the second
/// class are compared (a forest and its conversion, for example).
fn matched_outputs(first: &Ensemble, second: &Ensemble) -> Result<Vec<[usize; 2]>, CompareError> {
    let counts = [first.group_count(), second.group_count()];
    let both = |model: &Ensemble| matches!(model.decision(), Decision::Argmax) && model.group_count() == 2;
    let single = |model: &Ensemble| matches!(model.decision(), Decision::Threshold { .. });
    match counts {
        [ours, theirs] if ours == theirs => Ok((0..ours).map(|group| [group, group]).collect()),
        [2, 1] if both(first) && single(second) => Ok(vec![[1, 0]]),
        [1, 2] if single(first) && both(second) => Ok(vec![[0, 1]]),
        [first, second] => Err(CompareError::ScoreCount { first, second }),
    }
}

/// The number that a model's sums are divided by.
fn divisor(model: &Ensemble) -> Exact {
    exact(model.accumulation().divisor())
}

impl Scale {
    /// Brings the divisors of two models to integers; `None` if they are too far apart for that.
    fn new(groups: [usize; 2], divisors: &[Exact; 2], rounding: Exact) -> Option<Self> {
        let lowest = divisors[0].exponent().min(divisors[1].exponent());
        let integer = |divisor: &Exact| -> Option<i64> {
            let value: i64 = divisor.scaled(lowest)?.try_into().ok()?;
            // Leave room for the sums of a layout, which are multiplied by this factor.
            (value < 1 << 62).then_some(value)
        };
        // second / d1 - first / d0 = (second * d0 - first * d1) / (d0 * d1)
        let factors = [integer(&divisors[1])?, integer(&divisors[0])?];
        let unit = Exact::new(BigInt::one(), -lowest);
        let divisor = &(&divisors[0] * &divisors[1]) * &unit;
        Some(Self { groups, factors, divisor, rounding })
    }

    /// The score difference that an integer difference stands for, plus both roundings, rounded up.
    fn score(&self, difference: &BigInt, exponent: i64) -> f64 {
        let combined = Exact::new(difference.clone(), exponent);
        quotient_up(&(&combined + &(&self.rounding * &self.divisor)), &self.divisor)
    }
}

/// A number that is at least the quotient, for a positive divisor. If the quotient is not negative,
/// it is the smallest such float.
pub(crate) fn quotient_up(total: &Exact, divisor: &Exact) -> f64 {
    let mut score = total.to_f64() / divisor.to_f64();
    // The quotient of rounded numbers is only an estimate: the exact product decides.
    let reaches = |score: f64| Exact::from_f64(score).is_none_or(|score| &score * divisor >= *total);
    while reaches(score) && score.next_down() >= 0.0 && reaches(score.next_down()) {
        score = score.next_down();
    }
    while !reaches(score) {
        score = score.next_up();
    }
    score
}

/// The exact value of a finite number. Sums that cannot overflow are finite, and so is every number
/// that the builder admits.
fn exact(value: f64) -> Exact {
    Exact::from_f64(value).expect("only finite numbers come here")
}
