//! One claim about two models, whatever it is about: `prune` and its certificates ask the search
//! through this module alone.

use std::io::{self, Write};

use secateur_certificate::Writer;
use secateur_model::Ensemble;

use crate::compare::{Comparison, Undecided, Verdict};
use crate::layout::Layout;
use crate::outline::{Band, CompareError, Outline};
use crate::scores::{Limit, ScoreComparison};
use crate::solve::Options;
use crate::stop::{SearchBudget, StopReason};

/// What a model keeps of another, on every input of the domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// Its decisions.
    Decisions {
        /// The lead up to which nothing is claimed.
        band: Band,
    },
    /// Its scores, with the library's rounding included.
    Scores {
        /// How far a score may be from the original's; finite and at least zero.
        within: f64,
    },
}

impl Default for Claim {
    fn default() -> Self {
        Self::Decisions { band: Band::Auto }
    }
}

impl Claim {
    /// The band, if the claim is about decisions.
    pub fn band(self) -> Option<Band> {
        match self {
            Self::Decisions { band } => Some(band),
            Self::Scores { .. } => None,
        }
    }

    /// The largest distance, if the claim is about scores.
    pub fn within(self) -> Option<f64> {
        match self {
            Self::Decisions { .. } => None,
            Self::Scores { within } => Some(within),
        }
    }
}

/// Two models and a claim about them.
pub struct Claimed<'a>(Laid<'a>);

enum Laid<'a> {
    /// Of a model and itself there is nothing to prove.
    Same(Box<Outline<'a>>),
    Decisions(Box<Comparison<'a>>),
    Scores(Box<ScoreComparison<'a>>, f64),
}

/// What is known of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It holds.
    Proved,
    /// These inputs refute it, or one input is left open because its scores vary.
    Refuted(Vec<Vec<f64>>),
    /// The budget ended.
    Stopped(StopReason),
}

impl<'a> Claimed<'a> {
    /// Lays two models out; [`CompareError::Stopped`] if the budget ends first.
    pub fn new(
        original: &'a Ensemble,
        other: &'a Ensemble,
        claim: Claim,
        budget: &SearchBudget,
    ) -> Result<Self, CompareError> {
        Ok(Self(match claim {
            Claim::Decisions { band } => {
                let outline = Outline::new(original, other, band)?;
                match outline.is_same_model() {
                    true => Laid::Same(Box::new(outline)),
                    false => Laid::Decisions(Box::new(outline.lay_out(budget)?)),
                }
            }
            Claim::Scores { within } => {
                Laid::Scores(Box::new(ScoreComparison::new(original, other, budget)?), within)
            }
        }))
    }

    /// The two models over their common grid; `None` if there is nothing to prove.
    pub fn layout(&self) -> Option<&Layout> {
        match &self.0 {
            Laid::Same(_) => None,
            Laid::Decisions(comparison) => Some(comparison.layout()),
            Laid::Scores(comparison, _) => Some(comparison.layout()),
        }
    }

    /// Proves or refutes the claim; also returns the number of boxes visited. A refusal comes with
    /// as many inputs as the options want of each question.
    pub fn judge(&self, options: &Options) -> (Judgement, u64) {
        match &self.0 {
            Laid::Same(_) => (Judgement::Proved, 0),
            Laid::Decisions(comparison) => {
                let (compared, rows) = comparison.run_for_many(options);
                (Judgement::of_verdict(compared.verdict, rows), compared.nodes)
            }
            Laid::Scores(comparison, within) => {
                let (limit, nodes, rows) = comparison.within_for_many(*within, options);
                (Judgement::of_limit(limit, rows), nodes)
            }
        }
    }

    /// As [`judge`](Self::judge), and writes the proof. There is a certificate only if the claim is
    /// proved; the caller may add bounds to it and has to [`finish`](Writer::finish) it.
    pub fn certify<W: Write + Send + 'static>(
        &self,
        options: &Options,
        out: W,
    ) -> io::Result<(Judgement, u64, Option<Writer<W>>)> {
        match &self.0 {
            // The checker needs no steps for a model and itself.
            Laid::Same(outline) => {
                Ok((Judgement::Proved, 0, Some(Writer::new(out, &outline.claim_of_same_model())?)))
            }
            Laid::Decisions(comparison) => {
                let (compared, writer) = comparison.certify(options, out)?;
                let rows = compared.verdict.example().map(|example| example.row.clone());
                let rows = rows.into_iter().collect();
                Ok((Judgement::of_verdict(compared.verdict, rows), compared.nodes, writer))
            }
            Laid::Scores(comparison, within) => {
                let (limit, nodes, writer) = comparison.certify(*within, options, out)?;
                let rows = match &limit {
                    Limit::Exceeded(point) => vec![point.row.clone()],
                    _ => Vec::new(),
                };
                Ok((Judgement::of_limit(limit, rows), nodes, writer))
            }
        }
    }
}

impl Judgement {
    fn of_verdict(verdict: Verdict, rows: Vec<Vec<f64>>) -> Self {
        match verdict {
            Verdict::Identical => Self::Proved,
            Verdict::Different(_) => Self::Refuted(rows),
            Verdict::Undecided(Undecided::OrderOfAddition(row)) => Self::Refuted(vec![row]),
            Verdict::Undecided(Undecided::Stopped(reason)) => Self::Stopped(reason),
        }
    }

    fn of_limit(limit: Limit, rows: Vec<Vec<f64>>) -> Self {
        match limit {
            Limit::Within => Self::Proved,
            Limit::Exceeded(_) => Self::Refuted(rows),
            Limit::OrderOfAddition(row) => Self::Refuted(vec![row]),
            Limit::Stopped(reason) => Self::Stopped(reason),
        }
    }
}
