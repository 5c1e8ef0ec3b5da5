//! The bytes of steps and claims (section 4 of the specification).
//!
//! Steps that occur in millions take one byte or a few: the low three bits of the first byte are
//! the kind, and the others the lens or the axis. All other steps have kind 0 and are told apart by
//! those other bits.

use num_bigint::BigUint;

use crate::claim::{BandClaim, Claim, Effect, Statement};
use crate::domain::encode_domain;
use crate::step::{Intercept, Slack, Step};

pub(crate) const EXTENDED: u8 = 0;
pub(crate) const CLOSE: u8 = 1;
pub(crate) const NARROW: u8 = 2;
pub(crate) const SPLIT_LOW_FIRST: u8 = 3;
pub(crate) const SPLIT_HIGH_FIRST: u8 = 4;
pub(crate) const CELLS: u8 = 5;
pub(crate) const JOIN: u8 = 6;

/// The value of the high bits if the number itself follows.
pub(crate) const FOLLOWS: u8 = 31;

pub(crate) const STACK: u8 = 0;
pub(crate) const SYSTEM: u8 = 1;
pub(crate) const LENS: u8 = 2;
pub(crate) const MEET: u8 = 3;
pub(crate) const POINT: u8 = 4;
pub(crate) const COLUMNS: u8 = 5;
pub(crate) const CUT: u8 = 6;
pub(crate) const COVER: u8 = 7;
pub(crate) const BRANCH: u8 = 8;
pub(crate) const DUAL: u8 = 9;
pub(crate) const CROSSING: u8 = 10;
pub(crate) const END: u8 = 11;
pub(crate) const SCORE_SYSTEM: u8 = 12;
pub(crate) const CLASS_SYSTEM: u8 = 13;
pub(crate) const SHOWN: u8 = 14;

/// Appends the bytes of a step.
pub fn encode(step: &Step, out: &mut Vec<u8>) {
    match step {
        Step::Close { lens } => short(out, CLOSE, *lens),
        Step::Cells => out.push(CELLS),
        Step::Narrow { axis, low, high, lens } => {
            short(out, NARROW, *lens);
            [*axis, *low, *high].into_iter().for_each(|value| number(out, value.into()));
        }
        Step::Split { axis, cell, low_first } => {
            short(out, if *low_first { SPLIT_LOW_FIRST } else { SPLIT_HIGH_FIRST }, *axis);
            number(out, (*cell).into());
        }
        Step::Join { row, fixed } => {
            short(out, JOIN, *row);
            ascending(out, fixed);
        }
        Step::Stack { original, pruned } => {
            extended(out, STACK);
            ascending(out, original);
            ascending(out, pruned);
        }
        Step::System { winner, other, slack } => {
            extended(out, SYSTEM);
            number(out, (*winner).into());
            number(out, (*other).into());
            out.push(match slack {
                Slack::Global => 0,
                Slack::Local => 1,
            });
        }
        Step::ScoreSystem { output, below } => {
            extended(out, SCORE_SYSTEM);
            number(out, (*output).into());
            out.push(u8::from(*below));
        }
        Step::ClassSystem { class } => {
            extended(out, CLASS_SYSTEM);
            number(out, (*class).into());
        }
        Step::Shown { output, values } => {
            extended(out, SHOWN);
            number(out, (*output).into());
            floats(out, values);
        }
        Step::Lens { multipliers } => {
            extended(out, LENS);
            numbers(out, multipliers);
        }
        Step::Meet { first } => {
            extended(out, MEET);
            ascending(out, first);
        }
        Step::Point { values } => {
            extended(out, POINT);
            floats(out, values);
        }
        Step::Columns { intercept, columns } => {
            extended(out, COLUMNS);
            out.push(match intercept {
                Intercept::None => 0,
                Intercept::Scaled => 1,
                Intercept::Free => 2,
                Intercept::Counted => 3,
            });
            number(out, columns.len() as u64);
            columns.iter().for_each(|column| ascending(out, column));
        }
        Step::Cut { terms } => {
            extended(out, CUT);
            number(out, terms.len() as u64);
            for term in terms {
                [term.point, term.winner, term.other].into_iter().for_each(|value| number(out, value.into()));
                big(out, &term.multiplier);
            }
        }
        Step::Cover { costs, bound } => {
            extended(out, COVER);
            out.push(u8::from(costs.is_some()));
            if let Some(costs) = costs {
                numbers(out, costs);
            }
            number(out, *bound);
        }
        Step::Branch { column } => {
            extended(out, BRANCH);
            number(out, (*column).into());
        }
        Step::Dual { denominator, terms } => {
            extended(out, DUAL);
            number(out, *denominator);
            number(out, terms.len() as u64);
            for term in terms {
                number(out, term.cut.into());
                number(out, term.numerator);
            }
        }
        Step::Crossing { point, feature, low, high } => {
            extended(out, CROSSING);
            number(out, (*point).into());
            number(out, (*feature).into());
            float(out, *low);
            float(out, *high);
        }
        Step::End { steps, complete } => {
            extended(out, END);
            number(out, *steps);
            out.push(u8::from(*complete));
        }
    }
}

/// The byte that says which statement a claim of version 2 makes.
pub(crate) const DECISIONS: u8 = 0;
pub(crate) const SCORES: u8 = 1;
pub(crate) const CUTS: u8 = 2;
pub(crate) const RANGE: u8 = 3;
pub(crate) const CLASS: u8 = 4;
pub(crate) const MOVES: u8 = 5;
pub(crate) const NEAR: u8 = 6;

/// The byte that says what a claim about moved columns says of the two inputs.
pub(crate) const APART: u8 = 0;
pub(crate) const DECIDES: u8 = 1;
pub(crate) const RISES: u8 = 2;

/// The bits of a byte that says which limits an output has.
pub(crate) const AT_LEAST: u8 = 1;
pub(crate) const AT_MOST: u8 = 2;

pub(crate) fn encode_claim(claim: &Claim, out: &mut Vec<u8>) {
    let version = claim.version();
    if version > 1 {
        out.push(match claim.statement {
            Statement::Decisions { cuts: None, .. } => DECISIONS,
            Statement::Decisions { cuts: Some(_), .. } => CUTS,
            Statement::Scores { .. } => SCORES,
            Statement::Range { .. } => RANGE,
            Statement::Class { near: None, .. } => CLASS,
            Statement::Class { near: Some(_), .. } => NEAR,
            Statement::Moves { .. } => MOVES,
        });
    }
    out.extend_from_slice(&claim.original.0);
    if !claim.is_about_one_model() {
        out.extend_from_slice(&claim.pruned.0);
    }
    match &claim.statement {
        Statement::Decisions { band: own, .. } => band(out, *own),
        Statement::Scores { within } => float(out, *within),
        Statement::Range { outputs } => {
            number(out, outputs.len() as u64);
            for own in outputs {
                number(out, own.output.into());
                let bit = |limit: Option<f64>, bit: u8| if limit.is_some() { bit } else { 0 };
                out.push(bit(own.at_least, AT_LEAST) | bit(own.at_most, AT_MOST));
                own.at_least.iter().chain(&own.at_most).for_each(|&limit| float(out, limit));
            }
        }
        Statement::Class { allowed, cut, near } => {
            ascending(out, &allowed.iter().map(|class| class.0).collect::<Vec<_>>());
            out.push(u8::from(cut.is_some()));
            cut.iter().for_each(|cut| [cut.score, cut.gap].into_iter().for_each(|value| float(out, value)));
            if let Some(near) = near {
                out.push(u8::from(near.counted));
                [&near.row, &near.than, &near.weights].into_iter().for_each(|values| floats(out, values));
            }
        }
        Statement::Moves { columns, effect } => {
            ascending(out, &columns.iter().map(|column| column.0).collect::<Vec<_>>());
            match *effect {
                Effect::Apart { within } => {
                    out.push(APART);
                    float(out, within);
                }
                Effect::Decides { band: own, local_rounding } => {
                    out.push(DECIDES);
                    band(out, own);
                    out.push(u8::from(local_rounding));
                }
                Effect::Rises { output, falls, bits } => {
                    out.push(RISES);
                    number(out, output.into());
                    out.extend([falls, bits].map(u8::from));
                }
            }
        }
    }
    match version {
        1 => out.push(u8::from(claim.domain.is_no_missing())),
        _ => encode_domain(&claim.domain, out),
    }
    if let Statement::Decisions { local_rounding, cuts, .. } = claim.statement {
        out.push(u8::from(local_rounding));
        cuts.into_iter().flatten().for_each(|cut| {
            float(out, cut.score);
            float(out, cut.gap);
        });
    }
}

fn band(out: &mut Vec<u8>, band: BandClaim) {
    match band {
        BandClaim::Exact => out.push(0),
        BandClaim::Score(score) => {
            out.push(1);
            float(out, score);
        }
    }
}

fn short(out: &mut Vec<u8>, kind: u8, value: u32) {
    if value < u32::from(FOLLOWS) {
        out.push(kind | (value as u8) << 3);
    } else {
        out.push(kind | FOLLOWS << 3);
        number(out, value.into());
    }
}

fn extended(out: &mut Vec<u8>, which: u8) {
    out.push(EXTENDED | which << 3);
}

/// Seven bits in each byte, the lowest first; all but the last byte have the high bit set.
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn float(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_bits().to_le_bytes());
}

fn floats(out: &mut Vec<u8>, values: &[f64]) {
    number(out, values.len() as u64);
    values.iter().for_each(|&value| float(out, value));
}

fn numbers(out: &mut Vec<u8>, values: &[u64]) {
    number(out, values.len() as u64);
    values.iter().for_each(|&value| number(out, value));
}

/// A strictly ascending list: the first entry, then for each next one how many numbers are skipped.
/// A list that does not ascend cannot be written and becomes bytes that no reader accepts.
fn ascending(out: &mut Vec<u8>, values: &[u32]) {
    number(out, values.len() as u64);
    let mut next = 0u64;
    for &value in values {
        number(out, u64::from(value).wrapping_sub(next));
        next = u64::from(value) + 1;
    }
}

fn big(out: &mut Vec<u8>, value: &BigUint) {
    let bytes = if *value == BigUint::ZERO { Vec::new() } else { value.to_bytes_le() };
    number(out, bytes.len() as u64);
    out.extend_from_slice(&bytes);
}
