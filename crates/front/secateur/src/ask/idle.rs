//! Which columns never change a decision? Each column is asked about as [`Question::Keeps`] asks, and
//! then those that keep every decision are asked about together, so that one certificate covers all.
//!
//! [`Question::Keeps`]: super::Question::Keeps

use std::time::Instant;

use secateur_model::FeatureId;

use super::{Answer, Asking, Error, Refused, Row};
use crate::verify::{Conclusion, used_columns};

/// What is known of a column, or of columns of which the domain says that they go together.
#[derive(Clone, Debug, PartialEq)]
pub struct Idle {
    /// The columns.
    pub columns: Vec<FeatureId>,
    /// Proved: changing them alone never changes the decision. Refuted: the rows show that it does.
    pub outcome: Conclusion,
    /// The two rows that show it.
    pub rows: Vec<Row>,
}

impl Asking<'_> {
    /// The answer's columns are those that never change a decision, and its proof is about all of them
    /// together. Columns that no split looks at are not asked about.
    pub(super) fn idle(&self, answer: &mut Answer) -> Result<Option<Vec<u8>>, Error> {
        if !self.model.decision().is_classifier() {
            return Err(Refused::NoClasses.into());
        }
        let units = self.units();
        let mut idle = Vec::new();
        let mut last = None;
        for (at, columns) in units.iter().enumerate() {
            // What is left of the time is shared out evenly, with a part for the last question.
            let mut search = self.search();
            search.budget.deadline = search.budget.deadline.map(|end| {
                let now = Instant::now();
                now + end.saturating_duration_since(now) / (units.len() + 1 - at) as u32
            });
            let kept = self.kept(columns, search)?;
            answer.nodes += kept.nodes;
            answer.rounding = kept.band.or(answer.rounding);
            match kept.outcome {
                Conclusion::Proved => {
                    idle.extend(columns);
                    last = kept.proof;
                }
                Conclusion::Refuted => {}
                Conclusion::Open => answer.reason = kept.reason,
            }
            answer.idle.push(Idle { columns: columns.clone(), outcome: kept.outcome, rows: kept.rows });
        }
        let proved = answer.idle.iter().filter(|unit| unit.outcome == Conclusion::Proved).count();
        idle.sort_unstable();
        answer.columns.clone_from(&idle);
        answer.ended = answer.reason.is_none();
        if proved > 1 {
            let kept = self.kept(&idle, self.search())?;
            answer.nodes += kept.nodes;
            if kept.outcome != Conclusion::Proved {
                answer.reason = kept.reason.or(Some(TOGETHER));
            }
            last = kept.proof;
        }
        answer.outcome = if answer.reason.is_none() { Conclusion::Proved } else { Conclusion::Open };
        Ok(last)
    }

    /// The columns that some split looks at; those that a group of the domain ties together are one.
    fn units(&self) -> Vec<Vec<FeatureId>> {
        let used = used_columns(&[self.model]);
        let domain = self.model.domain();
        let mut units: Vec<Vec<FeatureId>> = Vec::new();
        for column in (0..used.len()).filter(|&at| used[at]).map(FeatureId::new) {
            let unit = match domain.group_of(column) {
                Some(group) => domain.groups()[group].columns.clone(),
                None => vec![column],
            };
            if !units.iter().any(|known| known.contains(&column)) {
                units.push(unit);
            }
        }
        units
    }
}

/// Why there is no proof although each column has one.
const TOGETHER: &str = "each of these columns alone changes no decision, and all of them together do";
