//! Trees with too many leaves for masks: rows of a block walk through them side by side.
//!
//! A feature of a deep forest has thousands of thresholds, and would need dozens of byte columns.
//! Here a column is two bytes wide and counts 65,535 thresholds. A block's columns are therefore
//! small, each row writes few numbers, and most of what a walk reads is in the cache.

use alloc::vec::Vec;

use crate::file::File;
use crate::plan::{CHUNK, Feature, Plan, Root};
use crate::scalar::{answers, ranks};
use crate::sliced::ROWS;

/// Thresholds that one column can count.
const WIDE: usize = u16::MAX as usize;

/// Rows that walk side by side, so that one waits for its next node from memory while others
/// compare.
pub(crate) const ABREAST: usize = 16;

/// One column of rows that walk side by side. All columns of the same rows stand together.
pub(crate) type Column = [u16; ABREAST];

/// A node of the plan. A row goes right iff its number in the column is above the rank.
#[derive(Clone, Copy, Debug)]
struct Step {
    column: u16,
    rank: u16,
    next: u32,
}

/// The layout of a model whose trees are walked by rows side by side.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    /// The nodes of the plan, in the same order.
    steps: Vec<Step>,
    /// For each feature of the plan, its first column: the columns of its variants come first, then
    /// one for each test with a column of its own.
    firsts: Vec<usize>,
    /// The number of columns of a row.
    columns: usize,
}

impl Large {
    /// `None` for a model with too many columns.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        // For each byte column: the column that counts its thresholds, and how many thresholds that
        // column counts before them.
        let mut places = alloc::vec![(0u16, 0usize); plan.columns];
        let mut firsts = Vec::with_capacity(plan.features.len());
        let mut columns = 0;
        for feature in &plan.features {
            firsts.push(columns);
            for variant in &feature.variants {
                for chunk in 0..feature.chunks() {
                    let before = chunk * CHUNK;
                    // A column holds whole byte columns: 65,535 is 255 times 257.
                    let column = u16::try_from(columns + before / WIDE).ok()?;
                    places[variant.column as usize + chunk] = (column, before % WIDE);
                }
                columns += wide_columns(feature);
            }
            for special in &feature.specials {
                places[special.column as usize] = (u16::try_from(columns).ok()?, 0);
                columns += 1;
            }
        }
        let steps = plan.nodes.iter().enumerate().map(|(at, node)| {
            if node.next as usize == at {
                // No number is above this rank, so that a row stays at its leaf.
                return Step { column: 0, rank: u16::MAX, next: node.next };
            }
            let (column, before) = places[node.word.column()];
            // Both are below 65,535, and so is their sum: the thresholds of a byte column stay
            // within its column.
            Step { column, rank: (before + usize::from(node.word.rank())) as u16, next: node.next }
        });
        Some(Self { steps: steps.collect(), firsts, columns: columns.max(1) })
    }

    /// Memory for the columns of a block.
    pub(crate) fn room(&self) -> Vec<Column> {
        alloc::vec![[0; ABREAST]; self.columns * ROWS.div_ceil(ABREAST)]
    }

    /// Writes all columns of a feature for the value of one row of a block.
    pub(crate) fn write(
        &self,
        file: &File,
        plan: &Plan,
        index: usize,
        value: f64,
        columns: &mut [Column],
        row: usize,
    ) {
        let feature = &plan.features[index];
        let mut column = row / ABREAST * self.columns + self.firsts[index];
        let lane = row % ABREAST;
        for (_, rank) in ranks(feature, value, |value| feature.rank(value)) {
            for chunk in 0..wide_columns(feature) {
                columns[column][lane] = rank.saturating_sub(chunk * WIDE).min(WIDE) as u16;
                column += 1;
            }
        }
        for (_, right) in answers(file, feature, value) {
            columns[column][lane] = u16::from(right);
            column += 1;
        }
    }

    /// The index where the values of each row's leaf start, in one tree. `first` is the first of
    /// the rows that walk side by side.
    #[inline(never)]
    pub(crate) fn leaves(
        &self,
        plan: &Plan,
        root: &Root,
        columns: &[Column],
        first: usize,
    ) -> [usize; ABREAST] {
        let columns = &columns[first / ABREAST * self.columns..][..self.columns];
        let mut at = [root.node; ABREAST];
        for _ in 0..root.depth {
            let mut moved = 0;
            for (lane, at) in at.iter_mut().enumerate() {
                let step = self.steps[*at as usize];
                let right = columns[usize::from(step.column)][lane] > step.rank;
                let next = step.next + u32::from(right);
                moved |= next ^ *at;
                *at = next;
            }
            if moved == 0 {
                break;
            }
        }
        at.map(|at| plan.leaves[at as usize] as usize)
    }
}

/// The number of columns of each variant of a feature.
fn wide_columns(feature: &Feature) -> usize {
    feature.thresholds.len().div_ceil(WIDE)
}
