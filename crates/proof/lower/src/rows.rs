//! The rows of a claim's systems.
//!
//! The system of a pair of classes (y, c) asks for a cell where the original leads with y over
//! every other class by more than the band (one row for each of them), while the pruned model's
//! lead of y over c is within its rounding (the last row). If no cell solves it, then wherever the
//! original decides y with a lead above the band, the pruned model certainly puts y above c. If no
//! cell solves any of the systems, the claim holds. If the claim's domain asks for scores of other
//! models, each of these adds one row before the last: an input of the domain reaches the required
//! score, up to that model's rounding.
//!
//! The system of an output of a claim about scores has one row after those of the domain: the
//! pruned model's exact score is above the original's (or below it) by more than the limit minus
//! the rounding of both (`scores.rs`).
//!
//! A row is `combination of sums >= bound` over integers. A strict row is written with a bound that
//! is larger by one.

use num_bigint::BigInt;
use secateur_certificate::{Digest, Slack};
use secateur_kernel as kernel;
use secateur_model::{ClassId, Exact, Side};

use crate::forest::{Lowered, int};
use crate::one::{Classes, Range};
use crate::pair::{Claimed, Decisions, Lead, Question, others};
use crate::refused::Refused;
use crate::scores::Scores;

/// One row: a combination of sums, and what it must reach or exceed.
struct Row {
    terms: Vec<Term>,
    bound: Exact,
    strict: bool,
}

/// A sum with its factor.
struct Term {
    sum: usize,
    factor: i64,
    /// The sum counts in the finer unit of rounding by input.
    fine: bool,
}

/// The rounding of the pruned model that the last row of a system allows for, in scores.
#[derive(Clone, Debug, PartialEq)]
pub enum RoundingSaid {
    /// Exact arithmetic: nothing is rounded.
    Nothing,
    /// One bound for all inputs.
    OverAll(f64),
    /// A bound by input: a gap, a fixed part for each sum, and a part that the trees add. That part
    /// counts in a unit that is smaller than the others by this number of bits.
    ByInput {
        /// The number of bits by which the unit is smaller.
        bits: u32,
        /// The gap that the decision rule needs.
        gap: f64,
        /// The fixed part of each sum.
        fixed: Vec<f64>,
    },
}

impl Lowered<'_> {
    /// The rounding of the pruned model that a system about decisions allows for; nothing for a
    /// system about scores.
    pub fn rounding_said(&self, slack: Slack) -> RoundingSaid {
        match &self.pair.claimed {
            Claimed::Decisions(Decisions { band: Some(_), slack: over_all, local, .. }) => {
                match (slack, local) {
                    (Slack::Local, Some(local)) => RoundingSaid::ByInput {
                        bits: local.factor_bits,
                        gap: local.gap,
                        fixed: local.fixed.clone(),
                    },
                    _ => RoundingSaid::OverAll(over_all.to_f64()),
                }
            }
            _ => RoundingSaid::Nothing,
        }
    }

    /// The rows of one system of the claim. The claim holds if, for every system, no cell satisfies
    /// all rows.
    pub fn rows(&self, question: Question, slack: Slack) -> Result<Vec<kernel::Row>, Refused> {
        let rows = match (&self.pair.claimed, question) {
            (Claimed::Decisions(claimed), Question::Classes { winner, other }) => {
                let mut rows: Vec<Row> = others(self.pair.original, winner)
                    .map(|class| self.original_leads(claimed, winner, class))
                    .collect();
                rows.extend(self.in_domain()?);
                rows.push(self.pruned_fails(claimed, [winner, other], slack)?);
                rows
            }
            (Claimed::Scores(claimed), Question::Output { output, below }) => {
                let mut rows = self.in_domain()?;
                rows.push(self.too_far(claimed, output, below));
                rows
            }
            (Claimed::Range(claimed), Question::Output { output, below }) => {
                let mut rows = self.in_domain()?;
                rows.push(self.beyond(claimed, output, below));
                rows
            }
            (Claimed::Class(claimed), Question::Class { class }) => {
                let mut rows = self.in_domain()?;
                rows.extend(
                    others(self.pair.original, class).map(|other| self.may_win(claimed, class, other)),
                );
                rows
            }
            (Claimed::Rises(_), Question::Output { output, below }) => vec![self.falls(output, below)],
            _ => unreachable!("a claim has systems of its own kind"),
        };
        // The first row is that of the distance, which has a unit of its own.
        let mut all: Vec<kernel::Row> = self.is_near().into_iter().collect();
        // Rounding by input counts in a finer unit, so all rows of its system use that unit.
        let bits = match slack {
            Slack::Global => 0,
            Slack::Local => self.rounding_bits(),
        };
        all.extend(rows.iter().map(|row| self.row(row, bits)));
        Ok(all)
    }

    /// The distance is less than that of the other row: minus the distance is at least minus that plus one.
    fn is_near(&self) -> Option<kernel::Row> {
        let (sum, least) = self.near.as_ref()?;
        Some(kernel::Row { terms: vec![(*sum as u32, -1)], bound: int(&(BigInt::from(1) - least)) })
    }

    /// A row in integers. Its unit is smaller by `bits` bits than that of the sums.
    fn row(&self, row: &Row, bits: u32) -> kernel::Row {
        let factor = |term: &Term| if term.fine { term.factor } else { term.factor << bits };
        let constants: BigInt = row.terms.iter().map(|term| &self.constants[term.sum] * factor(term)).sum();
        let bound = integer_bound(&row.bound, self.exponent - i64::from(bits), row.strict) - constants;
        let terms = row.terms.iter().map(|term| (term.sum as u32, factor(term))).collect();
        kernel::Row { terms, bound: int(&bound) }
    }

    /// The original's lead exceeds the band. In exact arithmetic: the original's winner wins.
    fn original_leads(&self, claimed: &Decisions, winner: ClassId, class: ClassId) -> Row {
        let lead = Lead::of(self.pair.original, winner, class);
        let (needed, strict) = match &claimed.band {
            Some(band) => (band * &lead.divisor, true),
            None => (Exact::zero(), !lead.wins_ties),
        };
        let term = |&(group, factor): &(usize, i64)| Term { sum: self.sum_of(0, group), factor, fine: false };
        Row { terms: lead.terms.iter().map(term).collect(), bound: &needed - &lead.constant, strict }
    }

    /// One row for each score of another model that the domain asks for: what every input of the
    /// domain reaches.
    fn in_domain(&self) -> Result<Vec<Row>, Refused> {
        let mut rows = Vec::new();
        for (scorer, own) in self.pair.original.domain().wheres().iter().enumerate() {
            let error = || Refused::ClaimWhere { digest: Box::new(Digest(own.digest())) };
            let model = own.model().ok_or_else(error)?;
            let group = own.output() as usize;
            let rounding = model.rounding().and_then(|rounding| Exact::from_f64(rounding.scores[group]));
            let rounding = rounding.ok_or_else(error)?;
            let average = model.accumulation().average;
            let divisor = Exact::finite(model.accumulation().divisor());
            // Rows compare sums. If the library's raw scores are averages, the bound is one on
            // averages and has to be multiplied by the divisor.
            let averaged = average.is_some_and(|average| average.in_raw_scores);
            let bound = Exact::finite(own.bound());
            let bound = if averaged { &bound * &divisor } else { bound };
            let factor = match own.side() {
                Side::AtLeast => 1,
                Side::AtMost => -1,
            };
            let bound = &(&bound * &Exact::from(factor)) - &(&rounding * &divisor);
            let sum = self.sum_of_scorer(scorer, group);
            rows.push(Row { terms: vec![Term { sum, factor, fine: false }], bound, strict: false });
        }
        Ok(rows)
    }

    /// The pruned model's lead is within its rounding, `-lead >= -rounding`. In exact arithmetic: y
    /// does not win.
    fn pruned_fails(
        &self,
        claimed: &Decisions,
        [winner, other]: [ClassId; 2],
        slack: Slack,
    ) -> Result<Row, Refused> {
        let no_slack = Refused::SystemSlack { winner: winner.0, other: other.0 };
        let (winner, other) = (claimed.classes[winner.index()], claimed.classes[other.index()]);
        let lead = Lead::of(self.pair.pruned, winner, other);
        let term = |&(group, factor): &(usize, i64)| Term {
            sum: self.sum_of(1, group),
            factor: -factor,
            fine: false,
        };
        let mut terms: Vec<Term> = lead.terms.iter().map(term).collect();
        let (rounding, strict) = match (slack, &claimed.local, &claimed.band) {
            (Slack::Global, _, None) => (Exact::zero(), lead.wins_ties),
            (Slack::Global, _, Some(_)) => (claimed.slack.clone(), false),
            (Slack::Local, None, _) => return Err(no_slack),
            (Slack::Local, Some(local), _) => {
                // Each sum has its own fixed part of the rounding. The part that depends on the
                // input is a sum of its own.
                let finite =
                    |value: f64| Exact::from_f64(value).ok_or(Refused::ClaimLocalRounding { exact: false });
                let mut fixed = finite(local.gap)?;
                for &(group, _) in &lead.terms {
                    terms.push(Term { sum: self.sum_of(2, group), factor: 1, fine: true });
                    fixed = &fixed + &finite(local.fixed[group])?;
                }
                (fixed, false)
            }
        };
        Ok(Row { terms, bound: &lead.constant - &(&rounding * &lead.divisor), strict })
    }

    /// The pruned model's score of an output is too far above the original's, or below it.
    fn too_far(&self, claimed: &Scores, output: usize, below: bool) -> Row {
        let [original, pruned] = claimed.factors;
        let sign = if below { -1 } else { 1 };
        let [ours, theirs] = claimed.groups(output);
        let terms = [(self.sum_of(1, theirs), sign * pruned), (self.sum_of(0, ours), -sign * original)];
        let terms = terms.map(|(sum, factor)| Term { sum, factor, fine: false });
        Row { terms: terms.into(), bound: claimed.bound(output), strict: true }
    }
}

impl Lowered<'_> {
    /// A score is above its limit, or below it.
    fn beyond(&self, claimed: &Range, output: usize, below: bool) -> Row {
        let term = Term { sum: self.sum_of(0, output), factor: if below { -1 } else { 1 }, fine: false };
        Row { terms: vec![term], bound: claimed.bound(output, below), strict: true }
    }

    /// The model's lead of the class over another is not below minus its rounding.
    fn may_win(&self, claimed: &Classes, class: ClassId, other: ClassId) -> Row {
        let lead = Lead::of(self.pair.original, class, other);
        let term = |&(group, factor): &(usize, i64)| Term { sum: self.sum_of(0, group), factor, fine: false };
        Row { terms: lead.terms.iter().map(term).collect(), bound: claimed.least(&lead), strict: false }
    }

    /// The twin's exact sum is below the model's, or above it.
    fn falls(&self, output: usize, below: bool) -> Row {
        let sign = if below { 1 } else { -1 };
        let term = |which: usize, factor: i64| Term { sum: self.sum_of(which, output), factor, fine: false };
        Row { terms: vec![term(0, sign), term(1, -sign)], bound: Exact::zero(), strict: true }
    }
}

/// The smallest integer `n` with `n * 2^exponent >= bound` (`> bound` where strict).
fn integer_bound(bound: &Exact, exponent: i64, strict: bool) -> BigInt {
    match bound.scaled(exponent) {
        Some(integer) if strict => integer + 1,
        Some(integer) => integer,
        // The bound lies between two integers, so the upper one is taken. Shifting a BigInt right
        // rounds down.
        None => (bound.mantissa() >> (exponent - bound.exponent()) as u64) + 1,
    }
}
