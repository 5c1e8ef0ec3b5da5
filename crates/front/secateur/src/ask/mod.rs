//! Questions about one model, with proved answers: between which numbers are its scores, what does
//! changing a column do, does a score ever fall when a column rises, which classes does it decide? And of
//! one row: how far may it change and keep its class, which of its columns are the reason, and what is the
//! nearest input that is decided otherwise?
//!
//! Each answer is about every input of a domain. What it proves is written as a certificate, which the
//! independent checker verifies before the answer is returned; what it refutes is shown by rows, with
//! the scores that the model's own library computes for them.
//!
//! ```
//! use secateur::ask::{Options, Question, ask};
//! use secateur::{Budget, ModelFile, Conclusion, demo};
//!
//! let model = ModelFile::parse(demo::MODEL)?;
//! let question = Question::range();
//! let answer = ask(&model, &question, &[], &Options::default(), &Budget::default(), &Default::default())?;
//! assert_eq!(answer.outcome, Conclusion::Proved);
//! assert!(answer.checked() && answer.scores[0].at_least < answer.scores[0].at_most);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod around;
mod counterfactual;
mod explain;
mod idle;
mod robust;
mod row_words;
mod rules;
mod when;
mod words;

use std::sync::Arc;

use secateur_certificate::OutputRange;
use secateur_formats::{DomainFileError, ModelFile, did_you_mean, threshold_cut};
use secateur_model::{
    Accepted, ClassId, ClassLabels, Decision, Domain, DomainError, Ensemble, FeatureId, Grid, Pairing,
    Predictor, TwinError,
};
use secateur_oracle::{
    AskError, Band, CompareError, Held, Limit, OneModel, Options as Search, Outline, Progress,
    ScoreComparison, SearchBudget, StopReason, Twins, Undecided, Verdict, has_inputs,
};
use secateur_prune::{CertifyError, have_checked};
use thiserror::Error;

use crate::budget::Budget;
use crate::error::Error;
use crate::prune::threads;
use crate::verify::Conclusion;
pub use around::{Case, Radius};
pub use counterfactual::{Changes, Nearest};
pub use explain::{Because, Kept};
pub use idle::Idle;
pub use row_words::suffixed;
pub use rules::{Rules, RulesError};
pub use when::Condition;
pub use words::Report;

/// Digits of the range to which its bounds are found.
const DIGITS: u32 = 4;

/// A question about one model. Columns and classes are given by name or, where no name fits, by number.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Between which numbers are the scores? With limits: are they within these?
    Range {
        /// No score is below this.
        at_least: Option<f64>,
        /// No score is above this.
        at_most: Option<f64>,
    },
    /// How far can changing these columns alone move a score? With a limit: is it at most this far?
    Moves {
        /// The columns.
        columns: Vec<String>,
        /// No score moves farther than this.
        at_most: Option<f64>,
    },
    /// Can changing these columns alone change the decision?
    Keeps {
        /// The columns.
        columns: Vec<String>,
    },
    /// Which columns never change a decision?
    Idle,
    /// Does a score never fall when a column rises and all others stay?
    Monotone {
        /// The column.
        column: String,
        /// It never rises, instead.
        down: bool,
        /// The class, or the number of the output, whose score is meant; needed where there are
        /// several.
        of: Option<String>,
    },
    /// Are only these classes decided?
    Decides {
        /// The classes, by label or number.
        classes: Vec<String>,
        /// Classes that are never decided, instead.
        never: Vec<String>,
        /// The inputs on which that is asked, among those of the domain.
        when: Option<Condition>,
    },
    /// Does a row keep its class where columns change by at most this much, or else how far may they
    /// change? Columns that are not named stay as they are.
    Robust {
        /// The position of the row in the table, from 0 on; all rows without one.
        row: Option<usize>,
        /// How much each column may change, in its own unit; 1 is any other category.
        within: Vec<(String, f64)>,
        /// Instead: what counts as one unit of change of each column. The answer is the greatest number
        /// of units below which the class stays.
        units: Vec<(String, f64)>,
        /// How many of the rows have to keep their class: all, unless given.
        share: Option<f64>,
    },
    /// Which columns of a row are enough for its class, whatever the others hold?
    Explain {
        /// The position of the row in the table, from 0 on; the only row without one.
        row: Option<usize>,
        /// Look for a reason with the fewest columns.
        smallest: bool,
        /// Let the kept columns of numbers change as far as the class stays.
        widen: bool,
    },
    /// Which input nearest to a row is decided otherwise?
    Counterfactual {
        /// The position of the row in the table, from 0 on; the only row without one.
        row: Option<usize>,
        /// What may change, and how changes are weighed.
        changes: Changes,
    },
}

impl Question {
    /// The range of the scores, without limits.
    pub fn range() -> Self {
        Self::Range { at_least: None, at_most: None }
    }

    /// The word for the question, in rules and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Range { .. } => "range",
            Self::Moves { .. } => "moves",
            Self::Keeps { .. } => "keeps",
            Self::Idle => "idle",
            Self::Monotone { .. } => "monotone",
            Self::Decides { .. } => "decides",
            Self::Robust { .. } => "robust",
            Self::Explain { .. } => "explain",
            Self::Counterfactual { .. } => "counterfactual",
        }
    }

    /// Is it about the class of inputs, and so about the threshold that decides it?
    pub fn is_about_classes(&self) -> bool {
        matches!(self, Self::Keeps { .. } | Self::Idle | Self::Decides { .. }) || self.is_about_rows()
    }

    /// Is it about rows of the table, which otherwise are starting points of the search?
    pub fn is_about_rows(&self) -> bool {
        matches!(self, Self::Robust { .. } | Self::Explain { .. } | Self::Counterfactual { .. })
    }

    /// The row that it is about, if it is about one that is named.
    pub fn row(&self) -> Option<usize> {
        match self {
            Self::Robust { row, .. } | Self::Explain { row, .. } | Self::Counterfactual { row, .. } => *row,
            _ => None,
        }
    }
}

/// The choices of a caller of [`ask`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The inputs that the question is about.
    pub domain: Domain,
    /// Decide by comparing the probability of class 1 with this number, instead of the library's own
    /// rule; for questions about classes.
    pub threshold: Option<f64>,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// The seed of random choices.
    pub seed: u64,
    /// Class labels that the model's file does not contain, but a live object returns.
    pub labels: Option<ClassLabels>,
}

/// What is known of one score.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The output.
    pub output: usize,
    /// Proved: no score is below this.
    pub at_least: f64,
    /// Proved: no score is above this.
    pub at_most: f64,
    /// Among [`Answer::rows`], the one with the lowest score found.
    pub lowest: usize,
    /// Among [`Answer::rows`], the one with the highest score found.
    pub highest: usize,
}

/// How far scores move.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Proved: no score moves farther than this, rounding included.
    pub at_most: Option<f64>,
    /// The two rows of the answer move a score this far.
    pub at_least: Option<f64>,
    /// The output of the two rows.
    pub output: usize,
    /// Proved: whose score is farther than this from the threshold keeps the decision.
    pub keeps_above: Option<f64>,
}

/// A row, and what the library computes for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// One value for each column; NaN is missing.
    pub values: Vec<f64>,
    /// The scores, averaged where the library averages, before any link function.
    pub scores: Vec<f64>,
    /// The class; `None` for a regressor or ranker.
    pub class: Option<ClassId>,
}

/// The answer to a question.
#[derive(Debug)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// What is known.
    pub outcome: Conclusion,
    /// The rows that show it: the lowest and the highest score of each output; the two rows that
    /// differ in the moved columns; the row of another class.
    pub rows: Vec<Row>,
    /// The bounds of a range without limits, for each output.
    pub scores: Vec<Bounds>,
    /// How far scores move.
    pub moved: Option<Moved>,
    /// What is known of each column that some split looks at, for the question which ones are idle.
    pub idle: Vec<Idle>,
    /// That a score never falls was proved of the very numbers that the library computes; otherwise of
    /// the exact sums.
    pub bits: bool,
    /// How far the library's rounding can move a score from the exact one.
    pub rounding: Option<f64>,
    /// The columns that move, and the output that is meant, by number.
    pub columns: Vec<FeatureId>,
    /// The output that is meant.
    pub output: usize,
    /// The classes that are claimed.
    pub allowed: Vec<ClassId>,
    /// What is known of each row that was asked about.
    pub cases: Vec<Case>,
    /// Did the search end by itself?
    pub ended: bool,
    /// Why there is no answer, or why the search ended early.
    pub reason: Option<&'static str>,
    /// The inputs that the answer is about.
    pub domain: Domain,
    /// The values that the library accepts.
    pub accepted: Accepted,
    /// The probability of class 1 at which the model decides, if it is not its library's own rule.
    pub threshold: Option<f64>,
    /// Boxes that the search visited.
    pub nodes: u64,
    /// How long it took, from the start of the budget's clock.
    pub seconds: f64,
    /// The proof, accepted by the independent checker. `None` where nothing is proved, and where the
    /// time was too short for the check.
    pub certificate: Option<Vec<u8>>,
    compared: Option<Ensemble>,
}

impl Answer {
    /// Has the independent checker accepted the proof; of several rows, that of each proved one?
    pub fn checked(&self) -> bool {
        let proved = |case: &&Case| case.outcome == Conclusion::Proved;
        match self.cases.len() {
            0 | 1 => self.certificate.is_some(),
            _ => self.cases.iter().filter(proved).all(|case| case.certificate.is_some()),
        }
    }

    /// Is something proved that the checker has not accepted, because the time was too short?
    pub fn is_unchecked(&self) -> bool {
        // If no column is idle, rows show it, and there is nothing to prove.
        let shown = self.question == Question::Idle && self.columns.is_empty();
        self.outcome == Conclusion::Proved && !shown && !self.checked()
    }
}

/// Why a question cannot be asked of a model.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum Refused {
    #[error("the model has no column {name:?}; it has {columns}")]
    Column { name: String, columns: String },
    #[error("the model has no class {name:?}; it has {classes}")]
    Class { name: String, classes: String },
    #[error("the model is a regressor or ranker, or gives a row several labels: it decides no class")]
    NoClasses,
    #[error("every class is allowed, or none is: there is nothing to ask")]
    AllClasses,
    #[error("the model has {outputs} scores; say which one is meant: {known}")]
    Output { outputs: usize, known: String },
    #[error("{limit} is no limit of scores; give a finite number")]
    Limit { limit: f64 },
    #[error("{at_least} is above {at_most}: no score is between them")]
    Empty { at_least: f64, at_most: f64 },
    #[error(
        "a threshold is about the class; it goes with the questions keeps, idle, decides, robust, explain and counterfactual"
    )]
    Threshold,
    #[error(
        "the model is a regressor or ranker, or gives a row several labels: a row has no class that could change or have a \
         reason; ask instead between which numbers the scores are (range), how far a column moves them (moves), or whether \
         they only rise with one (monotone)"
    )]
    NoClassOfRow,
    #[error("the question is about rows of a table, and none are given")]
    NoRows,
    #[error("there is no row {row}: the table has {rows}")]
    Row { row: usize, rows: usize },
    #[error("the question is about one row, and the table has {rows}; say which one is meant")]
    OneRow { rows: usize },
    #[error(
        "row {row} is no input of the model, or not of the domain: no answer about the domain would be about it"
    )]
    Outside { row: usize },
    #[error("row {row} has an infinite value in column {column:?}; no distance from it is finite")]
    Infinite { row: usize, column: String },
    #[error("say how much columns may change (within), or what one unit of change is (units): one of them")]
    WithinOrUnits,
    #[error("row {row} has class {class} already")]
    HasClass { row: usize, class: String },
    #[error("{weight} is no weight of column {column:?}; give a finite number from zero up")]
    Weight { column: String, weight: f64 },
    #[error(
        "column {column:?} holds categories or goes together with others: it has no order of its own, and neither rises nor falls"
    )]
    NoOrder { column: String },
    #[error("{share} is no share of rows; give a number from 0 to 1")]
    Share { share: f64 },
    #[error("{change} is no change of column {column:?}; give a finite number above zero")]
    Change { column: String, change: f64 },
    #[error("column {column:?} is named twice")]
    Twice { column: String },
    #[error(
        "the domain says of the columns {columns} that they go together{}; give {}",
        if *table { ", in a table of rows" } else { "" },
        if *table { "no unit for them, so that they stay as they are" } else { "all of them the same unit, or none" }
    )]
    GroupUnits { columns: String, table: bool },
    #[error("{0}")]
    Twins(String),
    #[error("the condition does not fit the model or the domain: {0}")]
    When(#[from] DomainFileError),
    #[error("the condition leaves no input of the domain: {0}")]
    Condition(String),
}

/// Answers a question about one model within a budget. `rows` are those that the question is about, or
/// else starting points of the search, one row of the model's features after the other. `progress` tells
/// another thread how far the search has come.
pub fn ask(
    file: &ModelFile,
    question: &Question,
    rows: &[f64],
    options: &Options,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<Answer, Error> {
    let mut compared =
        options.labels.as_ref().and_then(|labels| file.ensemble().with_classes(labels.clone()));
    if let Some(threshold) = options.threshold {
        if !question.is_about_classes() {
            return Err(Refused::Threshold.into());
        }
        compared = compared.as_ref().unwrap_or(file.ensemble()).cut_at(threshold_cut(file, threshold)?);
    }
    let named = compared.as_ref().unwrap_or(file.ensemble());
    let domain = match question {
        Question::Decides { when: Some(when), .. } => when.within(named, &options.domain)?,
        _ => options.domain.clone(),
    };
    // Names and numbers of classes are those of the object; a certificate is about the file.
    let own = match (named.cut(), compared.is_some()) {
        (Some(cut), _) => file.ensemble().cut_at(cut),
        (None, _) => None,
    };
    let model = own.as_ref().unwrap_or(file.ensemble()).within(&domain).map_err(CompareError::from)?;
    let model = model.as_ref();
    has_inputs(model.domain()).map_err(CompareError::from)?;
    let accepted = Grid::common_intake(&[model]).map_err(CompareError::from)?;
    let mut answer = Answer {
        question: question.clone(),
        outcome: Conclusion::Open,
        rows: Vec::new(),
        scores: Vec::new(),
        moved: None,
        idle: Vec::new(),
        bits: false,
        rounding: None,
        columns: Vec::new(),
        output: 0,
        allowed: Vec::new(),
        cases: Vec::new(),
        ended: true,
        reason: None,
        domain: if model.accepts_missing() { domain } else { domain.without_missing_values() },
        accepted,
        threshold: options.threshold,
        nodes: 0,
        seconds: 0.0,
        certificate: None,
        compared: None,
    };
    let asking = Asking { model, named, rows, options, budget, progress };
    let proof = match question {
        Question::Range { at_least: None, at_most: None } => asking.range(&mut answer)?,
        Question::Range { at_least, at_most } => asking.limits(*at_least, *at_most, &mut answer)?,
        Question::Moves { columns, at_most } => asking.moves(columns, *at_most, &mut answer)?,
        Question::Keeps { columns } => asking.keeps(columns, &mut answer)?,
        Question::Idle => asking.idle(&mut answer)?,
        Question::Monotone { column, down, of } => {
            asking.monotone(column, *down, of.as_deref(), &mut answer)?
        }
        Question::Decides { classes, never, .. } => asking.decides(classes, never, &mut answer)?,
        Question::Robust { row, within, units, share } => {
            asking.robust(*row, within, units, *share, &mut answer)?
        }
        Question::Explain { row, smallest, widen } => asking.explain(*row, *smallest, *widen, &mut answer)?,
        Question::Counterfactual { row, changes } => asking.counterfactual(*row, changes, &mut answer)?,
    };
    if let Some(bytes) = proof {
        answer.certificate = asking.checked(bytes)?;
        if let [case] = &mut answer.cases[..] {
            case.certificate.clone_from(&answer.certificate);
        }
    }
    answer.compared = compared;
    answer.seconds = budget.elapsed().as_secs_f64();
    Ok(answer)
}

/// What is known of columns that may keep every decision.
struct Keeps {
    outcome: Conclusion,
    /// Two rows that differ in the columns and in the decision.
    rows: Vec<Row>,
    reason: Option<&'static str>,
    /// The lead up to which rounding may decide.
    band: Option<f64>,
    nodes: u64,
    ended: bool,
    proof: Option<Vec<u8>>,
}

/// What the answers to all questions need.
struct Asking<'a> {
    /// The model of the file, in the domain and at the cut of the question.
    model: &'a Ensemble,
    /// The same with the labels of a live object.
    named: &'a Ensemble,
    rows: &'a [f64],
    options: &'a Options,
    budget: &'a Budget,
    progress: &'a Arc<Progress>,
}

impl Asking<'_> {
    fn limits_of_search(&self) -> SearchBudget {
        let deadline = self.budget.search_deadline(true);
        SearchBudget { deadline, cancel: self.budget.cancel(), ..SearchBudget::unlimited() }
    }

    fn search(&self) -> Search {
        Search {
            budget: self.limits_of_search(),
            threads: threads(self.options.threads),
            seed: self.options.seed,
            progress: self.progress.clone(),
            ..Search::unlimited()
        }
    }

    /// The search that writes a proof of what is known already, in the time that is kept for it.
    fn last(&self, search: &Search) -> Search {
        let mut last = search.clone();
        last.budget.deadline = self.budget.deadline();
        last
    }

    /// The certificate, if the checker accepts it in time.
    fn checked(&self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        match self.budget.finishing(|stop| have_checked(self.model, self.model, &bytes, stop)) {
            Ok(_) => Ok(Some(bytes)),
            Err(CertifyError::Interrupted) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn width(&self) -> usize {
        self.model.features().len().max(1)
    }

    fn row(&self, values: Vec<f64>) -> Row {
        let predictor = Predictor::new(self.model);
        let scores = predictor.decided_scores(&values).expect("a witness is an input of the model");
        let class = self.model.decision().is_classifier();
        let class = class.then(|| predictor.classes(&values).expect("a witness is an input of the model")[0]);
        Row { values, scores, class }
    }

    fn range(&self, answer: &mut Answer) -> Result<Option<Vec<u8>>, Error> {
        let Some(one) = self.laid_out(answer)? else { return Ok(None) };
        let mut search = self.search();
        search.starts =
            self.rows.chunks_exact(self.width()).filter_map(|row| one.layout().cells_of(row)).collect();
        let outputs = self.model.group_count();
        let end = search.budget.deadline;
        let (mut limits, mut shown) = (Vec::new(), Vec::new());
        for output in 0..outputs {
            // What is left of the time is shared out evenly.
            let now = std::time::Instant::now();
            search.budget.deadline =
                end.map(|end| now + end.saturating_duration_since(now) / (outputs - output) as u32);
            let found = one.range(output, DIGITS, &search)?;
            answer.nodes += found.nodes;
            answer.ended &= found.ended;
            if let Some(reason) = found.stopped {
                answer.reason = Some(stopped(reason));
            }
            let at = answer.rows.len();
            for reached in [found.lowest, found.highest] {
                shown.push((output as u32, reached.row.clone()));
                answer.rows.push(self.row(reached.row));
            }
            let (at_least, at_most) = (found.at_least, found.at_most);
            answer.scores.push(Bounds { output, at_least, at_most, lowest: at, highest: at + 1 });
            let [at_least, at_most] = [at_least, at_most].map(Some);
            limits.push(OutputRange { output: output as u32, at_least, at_most });
        }
        answer.outcome = Conclusion::Proved;
        search.budget.deadline = end;
        let (_, nodes, writer) = one.certify_range(&limits, &shown, &self.last(&search), Vec::new())?;
        answer.nodes += nodes;
        Ok(writer.map(|writer| writer.finish(true)).transpose()?)
    }

    fn limits(
        &self,
        at_least: Option<f64>,
        at_most: Option<f64>,
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        if let Some(limit) = at_least.into_iter().chain(at_most).find(|limit| !limit.is_finite()) {
            return Err(Refused::Limit { limit }.into());
        }
        if let (Some(at_least), Some(at_most)) = (at_least, at_most)
            && at_least > at_most
        {
            return Err(Refused::Empty { at_least, at_most }.into());
        }
        let Some(one) = self.laid_out(answer)? else { return Ok(None) };
        let mut search = self.search();
        search.starts =
            self.rows.chunks_exact(self.width()).filter_map(|row| one.layout().cells_of(row)).collect();
        // Claims have no negative zero.
        let [at_least, at_most] = [at_least, at_most].map(|limit| limit.map(|limit| limit + 0.0));
        let of = |output: usize| OutputRange { output: output as u32, at_least, at_most };
        let limits: Vec<OutputRange> = (0..self.model.group_count()).map(of).collect();
        let (held, nodes, writer) = one.certify_range(&limits, &[], &search, Vec::new())?;
        answer.nodes = nodes;
        self.held(held, answer, |row| vec![row]);
        Ok(writer.map(|writer| writer.finish(true)).transpose()?)
    }

    fn moves(
        &self,
        columns: &[String],
        at_most: Option<f64>,
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        if let Some(limit) = at_most.filter(|limit| !(*limit >= 0.0 && limit.is_finite())) {
            return Err(Error::ScoreLimit { within: limit });
        }
        answer.columns = self.columns(columns)?;
        let twins = self.twins(&answer.columns, Pairing::Free)?;
        let mut search = self.search();
        let comparison = match ScoreComparison::of_twins(&twins, &search.budget) {
            Ok(comparison) => comparison,
            Err(CompareError::Stopped(reason)) => return Ok(open(answer, reason)),
            Err(error) => return Err(error.into()),
        };
        let starts = self.rows.chunks_exact(self.width());
        search.starts = starts.filter_map(|row| comparison.layout().cells_of(&twins.unmoved(row))).collect();
        let mut moved = Moved { at_most: None, at_least: None, output: 0, keeps_above: None };
        let mut show = |answer: &mut Answer, point: &secateur_oracle::ScorePoint| {
            answer.rows = twins.rows(&point.row).map(|row| self.row(row)).into();
            (moved.at_least, moved.output) = (Some(point.distance), point.output);
        };
        let writer = match at_most {
            None => {
                let measured = comparison.measure(&search);
                show(answer, &measured.at_least);
                moved.at_most = Some(measured.at_most);
                answer.outcome = Conclusion::Proved;
                answer.ended = measured.ended;
                answer.reason = measured.stopped.map(stopped);
                let (_, nodes, writer) =
                    comparison.certify(measured.at_most, &self.last(&search), Vec::new())?;
                answer.nodes = measured.nodes + nodes;
                writer
            }
            Some(limit) => {
                let (found, nodes, writer) = comparison.certify(limit, &search, Vec::new())?;
                answer.nodes = nodes;
                match found {
                    Limit::Within => {
                        answer.outcome = Conclusion::Proved;
                        moved.at_most = Some(limit);
                    }
                    Limit::Exceeded(point) => {
                        answer.outcome = Conclusion::Refuted;
                        show(answer, &point);
                    }
                    Limit::Stopped(reason) => answer.reason = Some(stopped(reason)),
                    Limit::OrderOfAddition(_) => answer.reason = Some(VARIES),
                }
                writer
            }
        };
        // A score that moves by less than its distance to the threshold stays on its side.
        let threshold = matches!(self.model.decision(), Decision::Threshold { .. });
        moved.keeps_above = moved.at_most.filter(|_| threshold);
        answer.moved = Some(moved);
        Ok(writer.map(|writer| writer.finish(true)).transpose()?)
    }

    fn keeps(&self, columns: &[String], answer: &mut Answer) -> Result<Option<Vec<u8>>, Error> {
        answer.columns = self.columns(columns)?;
        let kept = self.kept(&answer.columns, self.search())?;
        (answer.outcome, answer.rows, answer.reason) = (kept.outcome, kept.rows, kept.reason);
        (answer.rounding, answer.nodes, answer.ended) = (kept.band, kept.nodes, kept.ended);
        Ok(kept.proof)
    }

    /// Can changing these columns alone change the decision?
    fn kept(&self, columns: &[FeatureId], mut search: Search) -> Result<Keeps, Error> {
        if !self.model.decision().is_classifier() {
            return Err(Refused::NoClasses.into());
        }
        let twins = self.twins(columns, Pairing::Free)?;
        let mut kept = Keeps {
            outcome: Conclusion::Open,
            rows: Vec::new(),
            reason: None,
            band: None,
            nodes: 0,
            ended: true,
            proof: None,
        };
        let outline = Outline::of_twins(&twins, Band::Auto)?;
        let comparison = match outline.lay_out(&search.budget) {
            Ok(comparison) => comparison,
            Err(CompareError::Stopped(reason)) => {
                (kept.reason, kept.ended) = (Some(stopped(reason)), false);
                return Ok(kept);
            }
            Err(error) => return Err(error.into()),
        };
        kept.band = Some(comparison.band());
        let starts = self.rows.chunks_exact(self.width());
        search.starts = starts.filter_map(|row| comparison.layout().cells_of(&twins.unmoved(row))).collect();
        let (compared, writer) = comparison.certify(&search, Vec::new())?;
        kept.nodes = compared.nodes;
        match compared.verdict {
            Verdict::Identical => kept.outcome = Conclusion::Proved,
            Verdict::Different(example) => {
                kept.outcome = Conclusion::Refuted;
                kept.rows = twins.rows(&example.row).map(|row| self.row(row)).into();
            }
            Verdict::Undecided(Undecided::Stopped(reason)) => kept.reason = Some(stopped(reason)),
            Verdict::Undecided(Undecided::OrderOfAddition(_)) => kept.reason = Some(VARIES),
        }
        kept.proof = writer.map(|writer| writer.finish(true)).transpose()?;
        Ok(kept)
    }

    fn monotone(
        &self,
        column: &str,
        down: bool,
        of: Option<&str>,
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        answer.columns = vec![self.column(column)?];
        answer.output = self.output(of)?;
        let output = answer.output as u32;
        let twins = self.twins(&answer.columns, Pairing::Steps)?;
        answer.rounding = self.model.score_rounding().map(|found| found.scores[answer.output]);
        // Tree by tree is one look at the model, and says more than a search; the checker decides.
        let bytes = twins.treewise(output, down)?;
        if let Ok(Some(bytes)) = self.checked(bytes) {
            (answer.outcome, answer.bits) = (Conclusion::Proved, true);
            return Ok(Some(bytes));
        }
        let search = self.search();
        let found = match twins.rises(output, down, &search, Vec::new()) {
            Err(AskError::Model(CompareError::Stopped(reason))) => return Ok(open(answer, reason)),
            found => found?,
        };
        let (held, nodes, writer) = found;
        answer.nodes = nodes;
        self.held(held, answer, |row| twins.rows(&row).into());
        Ok(writer.map(|writer| writer.finish(true)).transpose()?)
    }

    fn decides(
        &self,
        classes: &[String],
        never: &[String],
        answer: &mut Answer,
    ) -> Result<Option<Vec<u8>>, Error> {
        if !self.model.decision().is_classifier() {
            return Err(Refused::NoClasses.into());
        }
        let named: Vec<ClassId> = classes.iter().map(|name| self.class(name)).collect::<Result<_, _>>()?;
        let without: Vec<ClassId> = never.iter().map(|name| self.class(name)).collect::<Result<_, _>>()?;
        let mut allowed: Vec<ClassId> = self.model.classes().ids().collect();
        allowed.retain(|class| (named.is_empty() || named.contains(class)) && !without.contains(class));
        if allowed.is_empty() || allowed.len() == self.model.classes().len() {
            return Err(Refused::AllClasses.into());
        }
        answer.allowed.clone_from(&allowed);
        let Some(one) = self.laid_out(answer)? else { return Ok(None) };
        let mut search = self.search();
        search.starts =
            self.rows.chunks_exact(self.width()).filter_map(|row| one.layout().cells_of(row)).collect();
        let (held, nodes, writer) = one.class(&allowed, &search, Vec::new())?;
        answer.nodes = nodes;
        self.held(held, answer, |row| vec![row]);
        Ok(writer.map(|writer| writer.finish(true)).transpose()?)
    }

    /// The model over its grid; `None` if the time is up before.
    fn laid_out(&self, answer: &mut Answer) -> Result<Option<OneModel<'_>>, Error> {
        match OneModel::new(self.model, &self.limits_of_search()) {
            Ok(one) => Ok(Some(one)),
            Err(CompareError::Stopped(reason)) => {
                open(answer, reason);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn held(&self, held: Held, answer: &mut Answer, rows: impl FnOnce(Vec<f64>) -> Vec<Vec<f64>>) {
        match held {
            Held::Holds => answer.outcome = Conclusion::Proved,
            Held::Fails(row) => {
                answer.outcome = Conclusion::Refuted;
                answer.rows = rows(row).into_iter().map(|row| self.row(row)).collect();
            }
            Held::Stopped(reason) => {
                answer.ended = false;
                answer.reason = Some(stopped(reason));
            }
            Held::OrderOfAddition(row) => {
                answer.rows = rows(row).into_iter().map(|row| self.row(row)).collect();
                answer.reason = Some(VARIES);
            }
        }
    }

    fn twins(&self, columns: &[FeatureId], pairing: Pairing) -> Result<Twins<'_>, Error> {
        let name = |column: FeatureId| format!("{:?}", self.model.features().name(column));
        Twins::new(self.model, columns, pairing).map_err(|error| match error {
            TwinError::Grid(error) => CompareError::from(error).into(),
            TwinError::Domain(error) => CompareError::from(error).into(),
            TwinError::PartOfGroup { column, group } => {
                let group = &self.model.domain().groups()[group];
                let all: Vec<String> = group.columns.iter().map(|&column| name(column)).collect();
                let all = all.join(", ");
                let text = match pairing {
                    Pairing::Free => format!("{} is one of the columns {all}, of which the domain says that they go together; name all of them", name(column)),
                    Pairing::Steps => format!("{} is one of the columns {all}, of which the domain says that they go together; it has no order of its own", name(column)),
                };
                Refused::Twins(text).into()
            }
            TwinError::NoOrder { column } => Refused::Twins(format!("{} holds categories, which have no order", name(column))).into(),
            other => Refused::Twins(other.to_string()).into(),
        })
    }

    fn columns(&self, names: &[String]) -> Result<Vec<FeatureId>, Refused> {
        let mut columns: Vec<FeatureId> =
            names.iter().map(|name| self.column(name)).collect::<Result<_, _>>()?;
        columns.sort_unstable();
        columns.dedup();
        Ok(columns)
    }

    fn column(&self, name: &str) -> Result<FeatureId, Refused> {
        let features = self.model.features();
        let ids = || (0..features.len()).map(FeatureId::new);
        let number = || name.parse::<usize>().ok().filter(|&at| at < features.len()).map(FeatureId::new);
        features.called(name).or_else(number).ok_or_else(|| {
            let names: Vec<String> =
                ids().take(MOST_NAMED).map(|id| features.name(id).into_owned()).collect();
            let columns = match features.has_names() {
                true => crate::text::listed(names.iter().map(String::as_str), MOST_NAMED),
                false => format!("{} columns without names, counted from 0", features.len()),
            };
            let meant = did_you_mean(name, ids().map(|id| features.name(id)));
            Refused::Column { name: name.to_owned(), columns: columns + &meant }
        })
    }

    fn class(&self, name: &str) -> Result<ClassId, Refused> {
        let classes = self.named.classes();
        let text = |class: ClassId| classes.text(class).into_owned();
        let same = |class: &ClassId| {
            let number = || Some(text(*class).parse::<f64>().ok()? == name.parse::<f64>().ok()?);
            text(*class) == name || number() == Some(true)
        };
        classes.ids().find(same).ok_or_else(|| {
            let known: Vec<String> = classes.ids().take(MOST_NAMED).map(text).collect();
            let meant = did_you_mean(name, classes.ids().map(text));
            let classes = crate::text::listed(known.iter().map(String::as_str), MOST_NAMED);
            Refused::Class { name: name.to_owned(), classes: classes + &meant }
        })
    }

    /// The output whose score is meant.
    fn output(&self, of: Option<&str>) -> Result<usize, Refused> {
        let outputs = self.model.group_count();
        let classes = self.named.classes();
        let by_class = self.model.decision().is_classifier() && classes.len() == outputs;
        match of {
            None if outputs == 1 => Ok(0),
            Some(name) if by_class => self.class(name).map(|class| class.index()),
            Some(name) if name.parse::<usize>().is_ok_and(|output| output < outputs) => {
                Ok(name.parse().expect("looked at above"))
            }
            _ => {
                let known = match by_class {
                    true => {
                        let names: Vec<String> =
                            classes.ids().map(|class| classes.text(class).into_owned()).collect();
                        format!(
                            "one of the classes {}",
                            crate::text::listed(names.iter().map(String::as_str), MOST_NAMED)
                        )
                    }
                    false => format!("a number from 0 to {}", outputs - 1),
                };
                Err(Refused::Output { outputs, known })
            }
        }
    }
}

/// How many columns or classes an error names.
const MOST_NAMED: usize = 12;

/// Why a proof is not there although no input refutes it.
const VARIES: &str = "last bits decide: on some input the exact sums do not hold what was asked, and what the library computes \
                      there does, or depends on what its file does not fix, such as the order of addition";

fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Time => "the time limit was reached",
        StopReason::Cancelled => "it was interrupted",
        _ => "the budget was used up",
    }
}

fn open(answer: &mut Answer, reason: StopReason) -> Option<Vec<u8>> {
    answer.ended = false;
    answer.reason = Some(stopped(reason));
    None
}

impl From<AskError> for Error {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Model(error) => error.into(),
            AskError::Write(error) => error.into(),
        }
    }
}

impl From<DomainError> for Refused {
    fn from(error: DomainError) -> Self {
        Self::Condition(error.to_string())
    }
}
