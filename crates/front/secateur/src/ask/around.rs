//! What questions about single rows share: which rows, the inputs around each, and what is known of it.

use secateur_model::{ClassId, Column, Domain, Ensemble, Exact, FeatureId, Group, GroupKind, gap};
use secateur_oracle::{
    Around, CompareError, Held, OneModel, Options as Search, Part, StopReason, Surroundings,
};

use super::counterfactual::Nearest;
use super::explain::Because;
use super::{Answer, Asking, Refused, Row, VARIES, stopped};
use crate::error::Error;
use crate::verify::Conclusion;

/// What is known of one row of a table.
#[derive(Clone, Debug)]
pub struct Case {
    /// The position of the row in the table, from 0 on.
    pub at: usize,
    /// What is known.
    pub outcome: Conclusion,
    /// The class that the library decides on the row.
    pub class: ClassId,
    /// The row, and the nearest one found that is decided otherwise.
    pub rows: Vec<Row>,
    /// How far the columns may change, where that was asked for.
    pub radius: Option<Radius>,
    /// How near an input of another class is, where that was asked for.
    pub nearest: Option<Nearest>,
    /// The columns that are enough for the class, where that was asked for.
    pub because: Option<Because>,
    /// Why there is no answer, or why the search ended early.
    pub reason: Option<&'static str>,
    /// The inputs of which it is proved that they are decided as the row is.
    pub inside: Option<Domain>,
    /// The proof, accepted by the independent checker.
    pub certificate: Option<Vec<u8>>,
}

/// How far columns may change, in units of each, before the class changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radius {
    /// Proved: where every column changes by less than this, the class stays.
    pub at_least: f64,
    /// A row is decided otherwise, none of whose columns changes by more than this; `None` if none was
    /// found.
    pub at_most: Option<f64>,
    /// Both are one number, rounded down and up.
    pub exact: bool,
}

/// A model laid out for the rows that miss the same values.
pub(super) struct Pattern<'a> {
    pub(super) of: Surroundings<'a>,
    pub(super) model: &'a Ensemble,
}

/// A row with its position in the table.
type Numbered<'r> = (usize, &'r [f64]);

/// What is done with each row, where the model is laid out for it.
type Each<'e, 'r> = dyn FnMut(&Pattern<'_>, usize, &'r [f64]) -> Result<(), Error> + 'e;

impl Asking<'_> {
    /// The rows that are asked about: one, or all of the table.
    pub(super) fn subjects(&self, row: Option<usize>) -> Result<Vec<(usize, &[f64])>, Error> {
        let mut rows: Vec<(usize, &[f64])> = self.rows.chunks_exact(self.width()).enumerate().collect();
        if rows.is_empty() {
            return Err(Refused::NoRows.into());
        }
        if let Some(row) = row {
            let count = rows.len();
            let found = rows.get(row).copied();
            rows = vec![found.ok_or(Refused::Row { row: row + 1, rows: count })?];
        }
        for (at, row) in &rows {
            if let Some(column) = row.iter().position(|value| value.is_infinite()) {
                let column = self.model.features().name(FeatureId::new(column)).into_owned();
                return Err(Refused::Infinite { row: at + 1, column }.into());
            }
            if !self.model.accepts(row) {
                return Err(Refused::Outside { row: at + 1 }.into());
            }
        }
        Ok(rows)
    }

    /// Refuses models that decide no class, and says what to ask instead.
    pub(super) fn decides_a_class(&self) -> Result<(), Error> {
        if self.model.decision().is_classifier() { Ok(()) } else { Err(Refused::NoClassOfRow.into()) }
    }

    /// The inputs that miss the values that this row misses, and no others.
    pub(super) fn as_missing(&self, row: &[f64]) -> Result<Domain, Error> {
        let (model, domain) = (self.model, self.model.domain());
        if !model.accepts_missing() {
            return Ok(domain.clone());
        }
        let missing = |column: FeatureId| row[column.index()].is_nan();
        let ids = || (0..row.len()).map(FeatureId::new).filter(|&column| domain.group_of(column).is_none());
        let mut groups: Vec<Group> = domain.groups().iter().map(|group| alike(group, row)).collect();
        let any = ids().any(missing);
        let mut columns: Vec<(FeatureId, Column)> = Vec::new();
        for column in ids() {
            let limits = domain.column(column);
            if any && missing(column) {
                groups.push(Group { columns: vec![column], kind: GroupKind::Table(vec![vec![f64::NAN]]) });
            } else if any || limits.is_some() {
                columns.push((column, Column { missing: false, ..limits.cloned().unwrap_or_default() }));
            }
        }
        let product = Domain::new(any && domain.missing(), columns, groups).map_err(Refused::from)?;
        Ok(product.with_wheres(domain.wheres().to_vec()))
    }

    /// Calls `each` with every row, beside the other rows for which the model is laid out in the same way:
    /// those with the same domain. `domain` makes it of a row. Ends early if the time is up.
    pub(super) fn over<'r>(
        &self,
        rows: &[(usize, &'r [f64])],
        domain: &dyn Fn(&[f64]) -> Result<Domain, Error>,
        each: &mut Each<'_, 'r>,
    ) -> Result<Option<StopReason>, Error> {
        let mut known: Vec<(Domain, Vec<Numbered<'_>>)> = Vec::new();
        for &(at, row) in rows {
            let own = domain(row)?;
            match known.iter_mut().find(|(domain, _)| *domain == own) {
                Some((_, rows)) => rows.push((at, row)),
                None => known.push((own, vec![(at, row)])),
            }
        }
        for (domain, rows) in known {
            let model = self.model.within(&domain).map_err(CompareError::from)?;
            let one = match OneModel::new(&model, &self.limits_of_search()) {
                Ok(one) => one,
                Err(CompareError::Stopped(reason)) => return Ok(Some(reason)),
                Err(error) => return Err(error.into()),
            };
            let pattern = Pattern { of: Surroundings::new(&one), model: &model };
            for (at, row) in rows {
                each(&pattern, at, row)?;
            }
        }
        Ok(None)
    }

    /// A row that nothing is known of yet.
    pub(super) fn case(&self, at: usize, row: &[f64]) -> Case {
        let row = self.row(row.to_vec());
        let class = row.class.expect("a model that decides classes decides one for every row");
        Case {
            at,
            outcome: Conclusion::Open,
            class,
            rows: vec![row],
            radius: None,
            nearest: None,
            because: None,
            reason: None,
            inside: None,
            certificate: None,
        }
    }

    /// The search about one box: one thread, since each takes little time.
    pub(super) fn small(&self) -> Search {
        Search { threads: 1, ..self.search() }
    }
}

impl Pattern<'_> {
    /// The surroundings of a row, by the gaps between values.
    pub(super) fn around<'p>(
        &'p self,
        row: &[f64],
        measure: Option<&dyn Fn(FeatureId, f64) -> Option<Exact>>,
    ) -> Result<Around<'p>, Error> {
        let features = self.model.features();
        let plain = |column: FeatureId, value: f64| gap(features, row, column, value);
        let around = Around::new(&self.of, row, measure.unwrap_or(&plain))?;
        Ok(around.expect("the row was found to be an input of the model and of the domain"))
    }
}

/// Why a question about a box has no answer.
pub(super) fn why(held: &Held) -> Option<&'static str> {
    match held {
        Held::Stopped(reason) => Some(stopped(*reason)),
        Held::OrderOfAddition(_) => Some(VARIES),
        Held::Holds | Held::Fails(_) => None,
    }
}

/// The tuples of a group that miss what the row misses.
fn alike(group: &Group, row: &[f64]) -> Group {
    let GroupKind::Table(rows) = &group.kind else { return group.clone() };
    let same = |tuple: &Vec<f64>| {
        group.columns.iter().zip(tuple).all(|(column, value)| row[column.index()].is_nan() == value.is_nan())
    };
    let rows = rows.iter().filter(|tuple| same(tuple)).cloned().collect();
    Group { columns: group.columns.clone(), kind: GroupKind::Table(rows) }
}

/// The parts of the axes that may hold only the row's values.
pub(super) fn fixed(around: &Around<'_>) -> Vec<Part> {
    vec![Part::Row; around.home().len()]
}

impl Answer {
    /// The first answer about a single row becomes that of the question.
    pub(super) fn take(&mut self, case: &Case) {
        self.outcome = case.outcome;
        self.reason = case.reason;
        self.ended = case.reason.is_none();
        self.rows.clone_from(&case.rows);
    }
}
