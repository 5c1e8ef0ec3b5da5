//! Questions about one model: between which numbers are its scores, and which classes does it decide
//! on every input of its domain?
//!
//! The search is that of comparisons: a score is a sum over pieces, so its largest value is found as
//! the largest difference of two scores is (`scores/extreme`), and a class that may not occur is a
//! system of rows, one for each other class. The rows are those of `secateur-lower`, written a second
//! time. What a solution means is decided by the library's own arithmetic.

use std::io::{self, Write};
use std::sync::{Mutex, OnceLock};

use num_bigint::BigInt;
use secateur_certificate::{Claim, Digest, OutputRange, Statement, Step, Writer};
use secateur_model::{CellId, ClassId, Domain, Ensemble, Exact, FeatureId, LeafId, Predictor};

use crate::certify;
use crate::compare::Lead;
use crate::layout::Layout;
use crate::outline::{self, CompareError};
use crate::scores::extreme::Extreme;
use crate::scores::{quotient_up, some_input};
use crate::solve::{Answer, Options, Solved, solve};
use crate::stop::{SearchBudget, StopReason};
use crate::system::{Row, System};

/// How many of the caller's rows, at most, are evaluated before the search.
const MOST_STARTS: usize = 1_000;
/// The search for a bound also ends when the gap is at most the rounding divided by this.
const PRECISION_IN_ROUNDING: i64 = 1 << 10;
/// Questions that try to bring a bound down to a score that the library really computes, and the
/// boxes that each of them may take.
const LAST_QUESTIONS: usize = 12;
const LAST_BOXES: u64 = 20_000;

/// One model, laid out for questions.
pub struct OneModel<'a> {
    model: &'a Ensemble,
    predictor: Predictor<'a>,
    layout: Layout,
    divisor: Exact,
    /// A cell that has an input of the domain.
    inside: Vec<CellId>,
    digest: OnceLock<Digest>,
    /// The library's rounding over all inputs, in decisions.
    slack: OnceLock<Result<f64, CompareError>>,
}

/// Cells that a question about classes is asked of, and the inputs that stand for them.
pub(crate) struct Asked<'a> {
    pub(crate) layout: &'a Layout,
    /// An input in a cell.
    pub(crate) row: &'a (dyn Fn(&[CellId]) -> Vec<f64> + Sync),
    /// What every input satisfies, beside the domain's limits of scores.
    pub(crate) near: Option<Row>,
}

/// An input and the score that the library computes for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The row.
    pub row: Vec<f64>,
    /// The score, averaged where the library averages, before any link function.
    pub score: f64,
}

/// The known bounds of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranged {
    /// Proved: no input has a lower score, the library's rounding included.
    pub at_least: f64,
    /// Proved: no input has a higher score, the library's rounding included.
    pub at_most: f64,
    /// The lowest score among those found.
    pub lowest: Reached,
    /// The highest score among those found.
    pub highest: Reached,
    /// Whether the search ended by itself, with bounds as near to the scores found as was asked for.
    pub ended: bool,
    /// Why it ended early.
    pub stopped: Option<StopReason>,
    /// Boxes visited.
    pub nodes: u64,
}

/// Whether something holds of a model on every input.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// Proved.
    Holds,
    /// Refuted by this input; of twins, by the two rows that it stands for.
    Fails(Vec<f64>),
    /// Not known: the budget ended.
    Stopped(StopReason),
    /// Not known: on this input it holds as computed here, but something that the file does not fix
    /// (the order of addition) could change that.
    OrderOfAddition(Vec<f64>),
}

impl<'a> OneModel<'a> {
    /// Lays a model out.
    pub fn new(model: &'a Ensemble, budget: &SearchBudget) -> Result<Self, CompareError> {
        let layout = Layout::within(&[model], budget)?;
        let inside = some_input(&layout, budget)?;
        let divisor = Exact::finite(model.accumulation().divisor());
        let predictor = Predictor::new(model);
        let (digest, slack) = (OnceLock::new(), OnceLock::new());
        Ok(Self { model, predictor, layout, divisor, inside, digest, slack })
    }

    /// The model.
    pub fn model(&self) -> &'a Ensemble {
        self.model
    }

    pub(crate) fn predictor(&self) -> &Predictor<'a> {
        &self.predictor
    }

    /// The model over its grid.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn holds(&self, cells: &[CellId]) -> bool {
        self.layout.grid().scores_hold(cells)
    }

    fn row(&self, cells: &[CellId]) -> Vec<f64> {
        self.layout.grid().witness(cells)
    }

    /// The score of an output, as the library computes it.
    pub fn score(&self, row: &[f64], output: usize) -> f64 {
        self.predictor.decided_scores(row).expect("a witness is an input of the model")[output]
    }

    /// How far the score of an output can be from the exact one; an error if a sum may overflow.
    fn rounding(&self, output: usize) -> Result<Exact, CompareError> {
        let overflow = CompareError::ScoreOverflow { model: "given" };
        let rounding = self.model.score_rounding().ok_or(overflow.clone())?.scores[output];
        Exact::from_f64(rounding).ok_or(overflow)
    }

    /// The claim of a certificate about the model.
    fn claim(&self, statement: Statement) -> Claim {
        let domain = outline::inputs([self.model, self.model]);
        self.claim_of(statement, domain)
    }

    pub(crate) fn claim_of(&self, statement: Statement, domain: Domain) -> Claim {
        let own = *self.digest.get_or_init(|| Digest::of(self.model));
        Claim { original: own, pruned: own, statement, domain }
    }

    /// Bounds the scores of an output from both sides, until each bound is as near to a score found
    /// as the range times `10^-digits`, or as the budget allows.
    pub fn range(&self, output: usize, digits: u32, options: &Options) -> Result<Ranged, CompareError> {
        let rounding = self.rounding(output)?;
        let given = options.starts.iter().take(MOST_STARTS).filter(|cells| self.holds(cells));
        let starts: Vec<Vec<CellId>> = given.cloned().chain([self.inside.clone()]).collect();
        let sum = self.layout.sum_of(0, output);
        let mut sides = [1, -1].map(|sign| Extreme::new(&self.layout, output, vec![(sum, sign)], &starts));
        let mut found = [1.0, -1.0].map(|sign| Best { sign, reached: None });
        let see = |found: &mut [Best; 2], cells: &[CellId]| {
            let row = self.row(cells);
            let score = self.score(&row, output);
            found.iter_mut().for_each(|best| best.see(&row, score));
        };
        starts.iter().for_each(|start| see(&mut found, start));
        let unit = |difference: BigInt| Exact::new(difference, self.layout.exponent());
        let rounded = &rounding * &self.divisor;
        let (mut nodes, mut asked, mut stopped) = (0, 0u64, None);
        loop {
            // The range as far as it is known, at least as wide as it is.
            let width = &sides[0].high + &sides[1].high;
            let near = |side: &Extreme<'_>| {
                let gap = &side.high - &side.low;
                let precise = &gap * BigInt::from(10u32).pow(digits.min(18)) <= width;
                side.is_settled() || precise || unit(gap * PRECISION_IN_ROUNDING) <= rounded
            };
            let open = (0..2).filter(|&at| !near(&sides[at]));
            let Some(at) = open.max_by_key(|&at| &sides[at].high - &sides[at].low) else { break };
            if let Some(reason) = options.budget.over() {
                stopped = Some(reason);
                break;
            }
            options.progress.begin(asked.min(98), 100);
            asked += 1;
            let side = &mut sides[at];
            if side.lens.is_none() {
                let ends = side.climb(&starts, options);
                ends.iter().filter(|cells| self.holds(cells)).for_each(|cells| see(&mut found, cells));
                continue;
            }
            let solved = side.ask(options, asked);
            nodes += solved.nodes;
            match solved.answer {
                Answer::Proof | Answer::Witnesses(_) => see(&mut found, &side.cells),
                // The question was only postponed, unless no more boxes are allowed at all.
                Answer::Undecided(StopReason::Nodes)
                    if options.budget.nodes.is_none_or(|most| nodes < most) => {}
                Answer::Undecided(reason) => {
                    stopped = Some(reason);
                    break;
                }
            }
        }
        let bound =
            |side: &Extreme<'_>| quotient_up(&(&unit(side.high.clone()) + &rounded), &self.divisor) + 0.0;
        let mut bounds = [bound(&sides[0]), bound(&sides[1])];
        for at in 0..2 {
            if stopped.is_none() {
                nodes += self.tighten(output, &rounding, &mut found[at], &mut bounds[at], options);
            }
        }
        let [highest, lowest] = found.map(|best| best.reached.expect("a cell of the domain was looked at"));
        let (at_most, at_least) = (bounds[0], 0.0 - bounds[1]);
        Ok(Ranged { at_least, at_most, lowest, highest, ended: stopped.is_none(), stopped, nodes })
    }

    /// Tries to bring a bound down to the best score that the library computes. Returns the boxes
    /// visited.
    fn tighten(
        &self,
        output: usize,
        rounding: &Exact,
        best: &mut Best,
        bound: &mut f64,
        options: &Options,
    ) -> u64 {
        let mut nodes = 0;
        // Without fixed bits a bound has to allow for more than the scores found.
        if self.model.scores_vary() {
            return nodes;
        }
        let below = best.sign < 0.0;
        for _ in 0..LAST_QUESTIONS {
            let limit = best.sign * best.reached.as_ref().expect("a cell was looked at").score + 0.0;
            if limit >= *bound {
                break;
            }
            let signed = best.sign * limit + 0.0;
            let system = self.limit_system(output, below, signed, rounding);
            let mut options = Options { crew: None, record: None, small_boxes: false, ..options.clone() };
            options.budget.nodes = Some(LAST_BOXES);
            options.starts.clear();
            let accept = |cells: &[CellId]| {
                self.holds(cells) && best.sign * self.score(&self.row(cells), output) > limit
            };
            let solved = solve(&system, &options, &accept);
            nodes += solved.nodes;
            match solved.answer {
                Answer::Proof => {
                    *bound = limit;
                    break;
                }
                Answer::Witnesses(found) => {
                    for cells in found {
                        let row = self.row(&cells);
                        let score = self.score(&row, output);
                        best.see(&row, score);
                    }
                }
                Answer::Undecided(_) => break,
            }
        }
        nodes
    }

    /// The system of a score beyond a limit.
    fn limit_system(&self, output: usize, below: bool, limit: f64, rounding: &Exact) -> System<'_> {
        let sign = if below { -1 } else { 1 };
        let limit = &Exact::finite(limit) * &Exact::from(sign);
        let bound = &(&limit - rounding) * &self.divisor;
        let terms = vec![(self.layout.sum_of(0, output), sign)];
        self.layout.system(Row { terms, bound, strict: true })
    }

    /// Proves or refutes limits of scores, and writes the proof; `shown` are rows that the certificate
    /// shows, each for an output. There is a certificate only if all limits hold; the caller has to
    /// [`finish`](Writer::finish) it.
    pub fn certify_range<W: Write + Send + 'static>(
        &self,
        outputs: &[OutputRange],
        shown: &[(u32, Vec<f64>)],
        options: &Options,
        out: W,
    ) -> Result<(Held, u64, Option<Writer<W>>), AskError> {
        let claim = self.claim(Statement::Range { outputs: outputs.to_vec() });
        let recorder = certify::begin(out, &claim, &self.layout)?;
        // The checker takes no joins in claims about scores.
        let options = certify::recorded(&Options { small_boxes: false, ..options.clone() }, &recorder);
        let open = Mutex::new(None);
        let mut held = Held::Holds;
        let mut nodes = 0;
        let sides = outputs.iter().flat_map(|own| [(own, false, own.at_most), (own, true, own.at_least)]);
        for (own, below, limit) in sides {
            let Some(limit) = limit else { continue };
            let output = own.output as usize;
            let rounding = self.rounding(output)?;
            recorder.begin(&Step::ScoreSystem { output: own.output, below });
            let accept = |cells: &[CellId]| self.beyond(cells, output, below, limit, &open);
            let system = self.limit_system(output, below, limit, &rounding);
            let solved = solve(&system, &options, &accept);
            nodes += solved.nodes;
            held = self::held(&|cells| self.row(cells), &solved, &open);
            if held != Held::Holds {
                break;
            }
        }
        drop(options);
        if held != Held::Holds {
            return Ok((held, nodes, None));
        }
        let mut writer = certify::finish(recorder)?;
        for (output, values) in shown {
            writer.step(&Step::Shown { output: *output, values: values.clone() })?;
        }
        Ok((held, nodes, Some(writer)))
    }

    /// Is the score of a cell beyond the limit? If only last bits that vary could make a difference,
    /// its input is noted in `open`.
    fn beyond(
        &self,
        cells: &[CellId],
        output: usize,
        below: bool,
        limit: f64,
        open: &Mutex<Option<Vec<f64>>>,
    ) -> bool {
        if !self.holds(cells) {
            return false;
        }
        let row = self.row(cells);
        let score = self.score(&row, output);
        if if below { score < limit } else { score > limit } {
            return true;
        }
        if self.model.scores_vary() {
            let sign = Exact::from(if below { -1 } else { 1 });
            let leaves = self.leaves(&row);
            let most = self.model.rounding_at(output, &leaves).and_then(Exact::from_f64).map(|rounding| {
                let sum = &self.model.exact_sums(leaves)[output] * &sign;
                &sum + &(&rounding * &self.divisor)
            });
            if most.is_none_or(|most| most > &(&Exact::finite(limit) * &sign) * &self.divisor) {
                open.lock().expect("no thread panics while it holds the lock").get_or_insert(row);
            }
        }
        false
    }

    fn leaves(&self, row: &[f64]) -> Vec<LeafId> {
        let read = |(at, &value): (usize, &f64)| {
            self.model.read(FeatureId::new(at), value).expect("a witness is an input")
        };
        let read: Vec<f64> = row.iter().enumerate().map(read).collect();
        self.model.leaves(&read).collect()
    }

    /// Does the library decide one of these classes on every input? With `out`, the proof is written
    /// there; there is a certificate only if the answer is [`Held::Holds`]. The model decides at its
    /// cut if it has one.
    pub fn class<W: Write + Send + 'static>(
        &self,
        allowed: &[ClassId],
        options: &Options,
        out: W,
    ) -> Result<(Held, u64, Option<Writer<W>>), AskError> {
        let claim =
            self.claim(Statement::Class { allowed: allowed.to_vec(), cut: self.model.cut(), near: None });
        let recorder = certify::begin(out, &claim, &self.layout)?;
        let options = certify::recorded(options, &recorder);
        let row = |cells: &[CellId]| self.row(cells);
        let asked = Asked { layout: &self.layout, row: &row, near: None };
        let (held, _, nodes) = self.class_in(&asked, allowed, &options, |step| recorder.begin(step))?;
        drop(options);
        if held != Held::Holds {
            return Ok((held, nodes, None));
        }
        Ok((held, nodes, Some(certify::finish(recorder)?)))
    }

    /// The same on some of the cells: the answer, the cells of an input that refutes it, and the
    /// boxes visited. `begin` learns which system comes next.
    pub(crate) fn class_in(
        &self,
        asked: &Asked<'_>,
        allowed: &[ClassId],
        options: &Options,
        begin: impl Fn(&Step),
    ) -> Result<(Held, Option<Vec<CellId>>, u64), CompareError> {
        if !self.model.decision().is_classifier() {
            return Err(CompareError::NoClasses { model: "given" });
        }
        let slack = self.slack.get_or_init(|| outline::certain_margin(self.model, "given")).clone()?;
        let open = Mutex::new(None);
        let mut nodes = 0;
        let gap = if self.model.decisions_vary() { self.model.decision_gap() } else { None };
        let forbidden: Vec<ClassId> =
            self.model.classes().ids().filter(|class| !allowed.contains(class)).collect();
        for (at, &class) in forbidden.iter().enumerate() {
            options.progress.begin(at as u64, forbidden.len() as u64);
            if let Some(reason) = options.budget.over() {
                return Ok((Held::Stopped(reason), None, nodes));
            }
            begin(&Step::ClassSystem { class: class.0 });
            let accept = |cells: &[CellId]| {
                let row = (asked.row)(cells);
                self.layout.grid().domain().scores_hold(&row)
                    && self.decides_other(row, allowed, class, gap, &open)
            };
            let solved = solve(&self.class_system(asked, class, slack), options, &accept);
            nodes += solved.nodes;
            let held = self::held(asked.row, &solved, &open);
            if held != Held::Holds {
                let cells = match solved.answer {
                    Answer::Witnesses(found) => found.into_iter().next(),
                    _ => None,
                };
                return Ok((held, cells, nodes));
            }
        }
        Ok((Held::Holds, None, nodes))
    }

    /// The system of a class that may not occur: its lead over each other class is at least minus the
    /// rounding of the decision.
    fn class_system<'s>(&self, asked: &Asked<'s>, class: ClassId, slack: f64) -> System<'s> {
        let mut rows: Vec<Row> = asked.near.iter().cloned().collect();
        rows.extend(asked.layout.domain_rows());
        let others = self.model.classes().ids().filter(|&other| other != class);
        rows.extend(others.map(|other| {
            let lead = Lead::of(self.model, class, other);
            let terms = lead.terms.iter().map(|&(group, factor)| (self.layout.sum_of(0, group), factor));
            let slack = &Exact::finite(slack) * &lead.divisor;
            let bound = &(&Exact::zero() - &lead.constant) - &slack;
            Row { terms: terms.collect(), bound, strict: false }
        }));
        System::new(asked.layout, &rows)
    }

    /// Does the library decide a class on this row that is not allowed?
    fn decides_other(
        &self,
        row: Vec<f64>,
        allowed: &[ClassId],
        class: ClassId,
        gap: Option<f64>,
        open: &Mutex<Option<Vec<f64>>>,
    ) -> bool {
        let decided = self.predictor.classes(&row).expect("a witness is an input of the model")[0];
        let varies = self.model.decisions_vary();
        let certainly_not = || gap.is_some_and(|gap| self.loses_certainly(&row, class, gap));
        // Within the gap of a cut it is unknown on which side of the caller's threshold the
        // probability is.
        let either_side = self.model.cut().is_some_and(|cut| cut.gap > 0.0);
        if !(allowed.contains(&decided) || varies && either_side && certainly_not()) {
            return true;
        }
        if varies && !certainly_not() {
            open.lock().expect("no thread panics while it holds the lock").get_or_insert(row);
        }
        false
    }

    /// Is some other class ahead of this one for every order in which the library may add?
    fn loses_certainly(&self, row: &[f64], class: ClassId, gap: f64) -> bool {
        let leaves = self.leaves(row);
        let Some(margin) = self.model.certain_margin_at(&leaves, gap).map(Exact::finite) else {
            return false;
        };
        let sums = self.model.exact_sums(leaves);
        self.model.classes().ids().filter(|&other| other != class).any(|other| {
            let lead = Lead::of(self.model, other, class);
            lead.total(&sums) > &margin * &lead.divisor
        })
    }
}

/// What an answer of the search says: a solution refutes, and so may an input that was noted.
pub(crate) fn held(
    row: &dyn Fn(&[CellId]) -> Vec<f64>,
    solved: &Solved,
    open: &Mutex<Option<Vec<f64>>>,
) -> Held {
    let noted = open.lock().expect("no thread panics while it holds the lock").take();
    match (&solved.answer, noted) {
        (Answer::Witnesses(found), _) => Held::Fails(row(&found[0])),
        (Answer::Undecided(reason), _) => Held::Stopped(*reason),
        (Answer::Proof, Some(row)) => Held::OrderOfAddition(row),
        (Answer::Proof, None) => Held::Holds,
    }
}

/// Why a question about one model has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The model has no answer.
    #[error(transparent)]
    Model(#[from] CompareError),
    /// The proof cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// The best score found in one direction.
struct Best {
    sign: f64,
    reached: Option<Reached>,
}

impl Best {
    fn see(&mut self, row: &[f64], score: f64) {
        if self.reached.as_ref().is_none_or(|known| self.sign * score > self.sign * known.score) {
            self.reached = Some(Reached { row: row.to_vec(), score });
        }
    }
}
