//! The systems of a claim, rebuilt from the two models.
//!
//! The one of a pair of classes asks for a cell where the original leads with y over every other class by more than the band (a row
//! for each), and the pruned model's lead of y over c is within its rounding (the last row). If no cell
//! solves it, then wherever the original decides y so clearly, the pruned model puts y above c for certain.
//! All systems empty is the claim. Where the claim's domain asks for scores of other models, each is one more row, before the
//! last: an input of the domain reaches its bound, less what that model's rounding can do.
//!
//! The one of an output of a claim about scores has one row of its own, behind those of the domain: the pruned model's exact score is above the
//! original's (or below it) by more than the limit without the rounding of both (`scores.rs`).
//!
//! Rows are `sum over pieces of value >= bound` over integers, so a strict row is one with a bound one higher.

use num_bigint::BigInt;
use secateur_certificate::{Digest, Slack};
use secateur_model::{ClassId, Exact, Side};

use crate::layout::Layout;
use crate::pair::{Claimed, Decisions, Lead, Pair, Question, others};
use crate::reason::Reason;
use crate::scores::Scores;

/// Rows over the pieces of a layout.
pub(crate) struct System {
    pub(crate) rows: usize,
    /// For each piece: for each joint leaf one integer for each row.
    pub(crate) values: Vec<Vec<BigInt>>,
    /// What the sum over all pieces must reach.
    pub(crate) bounds: Vec<BigInt>,
}

/// One row: a combination of sums, and what it must reach or exceed.
struct Row {
    terms: Vec<(usize, i64)>,
    bound: Exact,
    strict: bool,
}

impl System {
    pub(crate) fn new(
        pair: &Pair<'_>,
        layout: &Layout<'_>,
        question: Question,
        slack: Slack,
    ) -> Result<Self, Reason> {
        let rows = match (&pair.claimed, question) {
            (Claimed::Decisions(claimed), Question::Classes { winner, other }) => {
                let mut rows: Vec<Row> = others(pair.original, winner)
                    .map(|class| original_leads(pair, claimed, layout, winner, class))
                    .collect();
                rows.extend(in_domain(pair, layout)?);
                rows.push(pruned_fails(pair, claimed, layout, [winner, other], slack)?);
                rows
            }
            (Claimed::Scores(claimed), Question::Output { output, below }) => {
                let mut rows = in_domain(pair, layout)?;
                rows.push(too_far(claimed, layout, output, below));
                rows
            }
            // No claim has systems of the other kind.
            _ => {
                return Err(Reason::OrderUnexpected { found: "System", place: "in a claim of another kind" });
            }
        };
        let combine = |row: &Row, sums: &[BigInt]| -> BigInt {
            row.terms.iter().map(|&(sum, factor)| &sums[sum] * factor).sum()
        };
        let sums = layout.sums();
        let values = layout.pieces.iter().map(|piece| {
            piece.values.chunks(sums).flat_map(|leaf| rows.iter().map(|row| combine(row, leaf))).collect()
        });
        let bounds = rows.iter().map(|row| {
            integer_bound(&row.bound, layout.exponent, row.strict) - combine(row, &layout.constants)
        });
        Ok(Self { rows: rows.len(), values: values.collect(), bounds: bounds.collect() })
    }

    /// Do these joint leaves, one for each piece, satisfy every row?
    pub(crate) fn holds(&self, leaves: &[usize]) -> bool {
        (0..self.rows).all(|row| {
            let total: BigInt =
                self.values.iter().zip(leaves).map(|(values, leaf)| &values[leaf * self.rows + row]).sum();
            total >= self.bounds[row]
        })
    }
}

/// The original's lead exceeds the band; in exact arithmetic: its winner wins.
fn original_leads(
    pair: &Pair<'_>,
    claimed: &Decisions,
    layout: &Layout<'_>,
    winner: ClassId,
    class: ClassId,
) -> Row {
    let lead = Lead::of(pair.original, winner, class);
    let (needed, strict) = match &claimed.band {
        Some(band) => (band * &lead.divisor, true),
        None => (Exact::zero(), !lead.wins_ties),
    };
    let terms = lead.terms.iter().map(|&(group, factor)| (layout.sum_of(0, group), factor)).collect();
    Row { terms, bound: &needed - &lead.constant, strict }
}

/// What the scores of other models that the domain asks for reach on every input of the domain.
fn in_domain(pair: &Pair<'_>, layout: &Layout<'_>) -> Result<Vec<Row>, Reason> {
    let mut rows = Vec::new();
    for (scorer, own) in pair.original.inputs().wheres().iter().enumerate() {
        let error = || Reason::ClaimWhere { digest: Box::new(Digest(own.digest())) };
        let model = own.model().ok_or_else(error)?;
        let group = own.output() as usize;
        let rounding = model.rounding().and_then(|rounding| Exact::from_f64(rounding.scores[group]));
        let rounding = rounding.ok_or_else(error)?;
        let average = model.accumulation().average;
        let divisor = Exact::finite(model.accumulation().divisor());
        // Sums are compared: of a library whose raw scores are averages the bound is one of averages.
        let averaged = average.is_some_and(|average| average.in_raw_scores);
        let bound = Exact::finite(own.bound());
        let bound = if averaged { &bound * &divisor } else { bound };
        let sign = match own.side() {
            Side::AtLeast => 1,
            Side::AtMost => -1,
        };
        let bound = &(&bound * &Exact::from(sign)) - &(&rounding * &divisor);
        rows.push(Row { terms: vec![(layout.sum_of_scorer(scorer, group), sign)], bound, strict: false });
    }
    Ok(rows)
}

/// The pruned model's lead is within its rounding, `-lead >= -rounding`; in exact arithmetic: y does not win.
fn pruned_fails(
    pair: &Pair<'_>,
    claimed: &Decisions,
    layout: &Layout<'_>,
    [winner, other]: [ClassId; 2],
    slack: Slack,
) -> Result<Row, Reason> {
    let no_slack = Reason::SystemSlack { winner: winner.0, other: other.0 };
    let (winner, other) = (claimed.classes[winner.index()], claimed.classes[other.index()]);
    let lead = Lead::of(pair.pruned, winner, other);
    let mut terms: Vec<(usize, i64)> =
        lead.terms.iter().map(|&(group, factor)| (layout.sum_of(1, group), -factor)).collect();
    let (rounding, strict) = match (slack, &claimed.local, &claimed.band) {
        (Slack::Global, _, None) => (Exact::zero(), lead.wins_ties),
        (Slack::Global, _, Some(_)) => (claimed.slack.clone(), false),
        (Slack::Local, None, _) => return Err(no_slack),
        (Slack::Local, Some(local), _) => {
            // Each sum errs by its own part of the rounding; what depends on the input is a sum of its own.
            let finite =
                |value: f64| Exact::from_f64(value).ok_or(Reason::ClaimLocalRounding { exact: false });
            let mut fixed = finite(local.gap)?;
            for &(group, _) in &lead.terms {
                terms.push((layout.sum_of(2, group), 1));
                fixed = &fixed + &finite(local.fixed[group])?;
            }
            (fixed, false)
        }
    };
    Ok(Row { terms, bound: &lead.constant - &(&rounding * &lead.divisor), strict })
}

/// The pruned model's score of an output is too far above the original's, or below it.
fn too_far(claimed: &Scores, layout: &Layout<'_>, output: usize, below: bool) -> Row {
    let [original, pruned] = claimed.factors;
    let sign = if below { -1 } else { 1 };
    let [ours, theirs] = claimed.groups(output);
    let terms = vec![(layout.sum_of(1, theirs), sign * pruned), (layout.sum_of(0, ours), -sign * original)];
    Row { terms, bound: claimed.bound(output), strict: true }
}

/// The smallest integer `n` with `n * 2^exponent >= bound` (`> bound` where strict).
fn integer_bound(bound: &Exact, exponent: i64, strict: bool) -> BigInt {
    match bound.scaled(exponent) {
        Some(integer) if strict => integer + 1,
        Some(integer) => integer,
        // Between two integers: the upper one. Shifting a BigInt right rounds down.
        None => (bound.mantissa() >> (exponent - bound.exponent()) as u64) + 1,
    }
}
