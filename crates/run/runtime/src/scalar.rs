//! The path without wider instructions: it writes the bytes of a row and walks eight trees side by
//! side.

use alloc::vec::Vec;

use crate::error::PredictError;
use crate::file::File;
use crate::plan::{ALL, CHUNK, Feature, Node, Plan, Root, Special, Values, Variant};
use crate::rows::AnyRows;
use crate::sliced::Bytes;

/// Trees that are walked side by side, so that one waits for its next node from memory while others
/// compare.
const LANES: usize = 8;

/// The bytes of one row. Every column is written.
pub(crate) fn bytes_of(
    file: &File,
    plan: &Plan,
    rows: &AnyRows<'_>,
    row: usize,
    bytes: &mut [u8],
) -> Result<(), PredictError> {
    check(file, rows, row)?;
    plan.features.iter().for_each(|feature| write_row(file, feature, rows, row, bytes));
    Ok(())
}

/// Refuses the row if the library does.
#[inline]
pub(crate) fn check(file: &File, rows: &AnyRows<'_>, row: usize) -> Result<(), PredictError> {
    // Features that no test uses are checked, too: the library would refuse them all the same.
    if !(file.domain.missing && file.domain.infinities && file.categories.is_empty()) {
        for feature in 0..file.features as usize {
            let value = rows.value(row, feature);
            if file.read_value(feature, value).is_none() {
                return Err(PredictError::Refused { row, feature, value });
            }
        }
    }
    Ok(())
}

/// Writes each column of a feature for a row that the library accepts.
pub(crate) fn write_row(file: &File, feature: &Feature, rows: &AnyRows<'_>, row: usize, bytes: &mut [u8]) {
    let value = rows.value(row, feature.index);
    // Refused values do not get here.
    let value = file.domain.read(value).unwrap_or(value);
    if let (Some(first), false) = (feature.specials.first(), feature.of_codes.is_empty()) {
        let sets = feature.specials.len();
        let of_code = &feature.of_codes[usize::from(feature.entry(file, value)) * sets..][..sets];
        // The columns of a feature stand together.
        bytes[first.column as usize..][..sets].copy_from_slice(of_code);
        return;
    }
    write(file, feature, value, |column, byte| bytes[column] = byte);
}

/// Writes each column of a feature for one row of a block.
pub(crate) fn write_bytes(file: &File, feature: &Feature, value: f64, columns: &mut [Bytes], row: usize) {
    write(file, feature, value, |column, byte| columns[column].0[row / 64][row % 64] = byte);
}

/// Calls `write` with each column of a feature and the byte that a value has there.
#[inline]
fn write(file: &File, feature: &Feature, value: f64, mut write: impl FnMut(usize, u8)) {
    for (variant, rank) in ranks(feature, value, |value| feature.rank(value)) {
        for chunk in 0..feature.chunks() {
            let byte = rank.saturating_sub(chunk * CHUNK).min(CHUNK) as u8;
            write(variant.column as usize + chunk, byte);
        }
    }
    for (special, right) in answers(file, feature, value) {
        write(special.column as usize, u8::from(right));
    }
}

/// The rank of a value in each variant of its feature: the number of thresholds that it is above,
/// or the smallest or largest rank for a missing value or a zero with a side.
#[inline]
pub(crate) fn ranks(
    feature: &Feature,
    value: f64,
    rank: impl Fn(f64) -> usize,
) -> impl Iterator<Item = (&Variant, usize)> {
    let count = feature.thresholds.len();
    let rank = if value.is_nan() || feature.variants.is_empty() { 0 } else { rank(value) };
    let side = move |left: bool| if left { 0 } else { count };
    feature.variants.iter().map(move |variant| {
        let rank = match variant.zero_left {
            _ if value.is_nan() => side(variant.missing_left),
            Some(left) if value == 0.0 => side(left),
            _ => rank,
        };
        (variant, rank)
    })
}

/// For each test of a feature that has a column of its own: does it send the value right?
#[inline]
pub(crate) fn answers<'a>(
    file: &'a File,
    feature: &'a Feature,
    value: f64,
) -> impl Iterator<Item = (&'a Special, bool)> {
    let category = feature.category.map(|at| &file.categories[at]);
    let code = match category {
        Some(category) if !value.is_nan() && !feature.specials.is_empty() => category.rule.code(value),
        _ => None,
    };
    let missing = value.is_nan() || category.is_some_and(|known| known.unseen_is_missing && code.is_none());
    feature.specials.iter().map(move |special| {
        let left = if missing { special.missing_left } else { special.question.left(value, code) };
        (special, !left)
    })
}

/// The sums of a row whose bytes are known.
pub(crate) fn add_up(file: &File, plan: &Plan, bytes: &[u8], scores: &mut [f64]) {
    match &plan.values {
        Values::F32(values) => sums::<f32>(file, plan, values, bytes, scores),
        Values::F64(values) => sums::<f64>(file, plan, values, bytes, scores),
    }
}

/// The type of a running sum.
pub(crate) trait Sum: Copy + Default {
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn plus(self, other: Self) -> Self;
}

impl Sum for f32 {
    #[inline]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Sum for f64 {
    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

fn sums<S: Sum>(file: &File, plan: &Plan, values: &[S], bytes: &[u8], scores: &mut [f64]) {
    summed(file, scores, |sums: &mut [S]| match sums {
        [sum] => walk(plan, bytes, |_, at| *sum = sum.plus(values[at])),
        sums => walk(plan, bytes, |root, at| match root.group {
            ALL => sums.iter_mut().zip(&values[at..]).for_each(|(sum, &value)| *sum = sum.plus(value)),
            group => {
                let sum = &mut sums[group as usize];
                *sum = sum.plus(values[at]);
            }
        }),
    });
}

/// Starts the sums of a row, calls `add` to add the trees, and finishes the sums.
#[inline]
pub(crate) fn summed<S: Sum>(file: &File, scores: &mut [f64], add: impl FnOnce(&mut [S])) {
    let groups = scores.len();
    // Most models have few sums, and one row is too little work for an allocation.
    let mut few = [S::default(); 16];
    let mut many = Vec::new();
    let sums = match few.get_mut(..groups) {
        Some(few) => few,
        None => {
            many.resize(groups, S::default());
            &mut many[..]
        }
    };
    starts(file, sums);
    add(sums);
    ends(file, sums, scores);
}

/// The sums of a row before any tree is added.
#[inline]
pub(crate) fn starts<S: Sum>(file: &File, sums: &mut [S]) {
    for (sum, &intercept) in sums.iter_mut().zip(&file.intercepts) {
        *sum = if file.sums.intercept_last { S::default() } else { S::from_f64(intercept) };
    }
}

/// The scores of a row whose trees have been added.
#[inline]
pub(crate) fn ends<S: Sum>(file: &File, sums: &[S], scores: &mut [f64]) {
    let add_last = file.adds_intercepts_last();
    for ((score, &sum), &intercept) in scores.iter_mut().zip(sums).zip(&file.intercepts) {
        let sum = match file.sums.scale {
            // The product of two f32 is exact in f64, so that this rounds once.
            Some(scale) => S::from_f64(sum.to_f64() * scale),
            None => sum,
        };
        *score = if add_last { sum.plus(S::from_f64(intercept)) } else { sum }.to_f64();
    }
}

/// Calls `visit` with each tree in the order of the file, and with the index where the values of
/// its leaf start.
#[inline]
fn walk(plan: &Plan, bytes: &[u8], mut visit: impl FnMut(&Root, usize)) {
    for roots in plan.roots.chunks(LANES) {
        for (root, at) in roots.iter().zip(leaves(plan, bytes, roots)) {
            visit(root, at);
        }
    }
}

/// Walks trees side by side. Returns, for each, the index where the values of the row's leaf start.
#[inline(never)]
fn leaves(plan: &Plan, bytes: &[u8], roots: &[Root]) -> [usize; LANES] {
    let mut at = [0u32; LANES];
    let mut depth = 0;
    for (at, root) in at.iter_mut().zip(roots) {
        *at = root.node;
        depth = depth.max(root.depth);
    }
    for _ in 0..depth {
        let mut moved = 0;
        for at in &mut at {
            let next = step(&plan.nodes, bytes, *at);
            moved |= next ^ *at;
            *at = next;
        }
        if moved == 0 {
            break;
        }
    }
    at.map(|at| plan.leaves[at as usize] as usize)
}

#[inline]
fn step(nodes: &[Node], bytes: &[u8], at: u32) -> u32 {
    let node = nodes[at as usize];
    node.next + u32::from(bytes[node.word.column()] > node.word.rank())
}
