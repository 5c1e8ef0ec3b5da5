//! The system of one pair of classes, rebuilt from the two models.
//!
//! It asks for a cell where the original leads with y over every other class by more than the band (a row
//! for each), and the pruned model's lead of y over c is within its rounding (the last row). If no cell
//! solves it, then wherever the original decides y so clearly, the pruned model puts y above c for certain.
//! All systems empty is the claim.
//!
//! Rows are `sum over pieces of value >= bound` over integers, so a strict row is one with a bound one higher.

use num_bigint::BigInt;
use secateur_certificate::Slack;
use secateur_model::{ClassId, Exact};

use crate::layout::Layout;
use crate::pair::{Lead, Pair, others};
use crate::reason::Reason;

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
        winner: ClassId,
        other: ClassId,
        slack: Slack,
    ) -> Result<Self, Reason> {
        let mut rows: Vec<Row> =
            others(pair.original, winner).map(|class| original_leads(pair, layout, winner, class)).collect();
        rows.push(pruned_fails(pair, layout, winner, other, slack)?);
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
fn original_leads(pair: &Pair<'_>, layout: &Layout<'_>, winner: ClassId, class: ClassId) -> Row {
    let lead = Lead::of(pair.original, winner, class);
    let (needed, strict) = match &pair.band {
        Some(band) => (band * &lead.divisor, true),
        None => (Exact::zero(), !lead.wins_ties),
    };
    let terms = lead.terms.iter().map(|&(group, factor)| (layout.sum_of(0, group), factor)).collect();
    Row { terms, bound: &needed - &lead.constant, strict }
}

/// The pruned model's lead is within its rounding, `-lead >= -rounding`; in exact arithmetic: y does not win.
fn pruned_fails(
    pair: &Pair<'_>,
    layout: &Layout<'_>,
    winner: ClassId,
    other: ClassId,
    slack: Slack,
) -> Result<Row, Reason> {
    let no_slack = Reason::SystemSlack { winner: winner.0, other: other.0 };
    let (winner, other) = (pair.classes[winner.index()], pair.classes[other.index()]);
    let lead = Lead::of(pair.pruned, winner, other);
    let mut terms: Vec<(usize, i64)> =
        lead.terms.iter().map(|&(group, factor)| (layout.sum_of(1, group), -factor)).collect();
    let (rounding, strict) = match (slack, &pair.local, &pair.band) {
        (Slack::Global, _, None) => (Exact::zero(), lead.wins_ties),
        (Slack::Global, _, Some(_)) => (pair.slack.clone(), false),
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

/// The smallest integer `n` with `n * 2^exponent >= bound` (`> bound` where strict).
fn integer_bound(bound: &Exact, exponent: i64, strict: bool) -> BigInt {
    match bound.scaled(exponent) {
        Some(integer) if strict => integer + 1,
        Some(integer) => integer,
        // Between two integers: the upper one. Shifting a BigInt right rounds down.
        None => (bound.mantissa() >> (exponent - bound.exponent()) as u64) + 1,
    }
}
