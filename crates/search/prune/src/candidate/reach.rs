//! Which cells a path through a tree can still reach: splits as sets of cells, and the regions that
//! they divide.
//!
//! Two splits are the same cut if they send the same cells left, however their thresholds are
//! written. Short axes are represented by sets of cells. On long axes only splits by order are
//! understood (a range of cells, with or without the missing one). A cut that is not understood
//! equals only itself, and both of its sides count as reachable.

use std::collections::HashMap;

use secateur_model::{Axis, CellId, Ensemble, Grid, Split, Test};

/// Axes of up to this many cells are represented by sets.
const SHORT: usize = 512;

/// The index of a cut in its [`Cuts`].
pub(crate) type CutId = usize;

/// The cells that go left at a split.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LeftCells {
    /// On a short axis: one bit for each cell.
    Set(Vec<u64>),
    /// On a long axis: the first `cells` cells, and missing values if `missing`.
    Below { cells: u32, missing: bool },
    /// Not understood; the number distinguishes it from others.
    Opaque(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AxisSide {
    axis: usize,
    side: LeftCells,
}

/// The part of an axis that can be reached on the way to a node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Region {
    Set(Vec<u64>),
    Range { low: u32, high: u32, missing: bool },
}

/// All cuts of a model over its grid.
pub(crate) struct Cuts<'a> {
    model: &'a Ensemble,
    grid: Grid,
    by_split: HashMap<Vec<u64>, CutId>,
    by_side: HashMap<AxisSide, CutId>,
    cuts: Vec<AxisSide>,
}

impl<'a> Cuts<'a> {
    pub(crate) fn new(model: &'a Ensemble) -> Self {
        let grid = Grid::new(&[model]).expect("one model has the columns that it has");
        Self { model, grid, by_split: HashMap::new(), by_side: HashMap::new(), cuts: Vec::new() }
    }

    /// The cut that a split makes.
    pub(crate) fn of(&mut self, split: Split<'_>) -> CutId {
        let key = key(split);
        if let Some(&known) = self.by_split.get(&key) {
            return known;
        }
        let axis = self.grid.axis_of(split.feature).expect("every feature that a split uses has an axis");
        let cut = AxisSide { axis, side: self.side(&self.grid.axes()[axis], split) };
        let next = self.cuts.len();
        let id = *self.by_side.entry(cut.clone()).or_insert(next);
        if id == next {
            self.cuts.push(cut);
        }
        self.by_split.insert(key, id);
        id
    }

    fn side(&self, axis: &Axis, split: Split<'_>) -> LeftCells {
        if axis.len() <= SHORT {
            let left = axis.left_cells(self.model, split, self.grid.intake());
            let mut words = vec![0; axis.len().div_ceil(64)];
            left.iter().for_each(|cell| words[cell.index() / 64] |= 1 << (cell.index() % 64));
            return LeftCells::Set(words);
        }
        match (split.test, axis.bounds()) {
            (Test::Less { .. } | Test::LessOrEqual { .. }, Some(bounds)) => {
                let goes_left = |cell: usize| {
                    let value = axis.representative(CellId::new(cell), split.feature, self.grid.intake());
                    let read = self.model.intake().read(value);
                    self.model.goes_left(split, read.expect("a cell's values are inputs"))
                };
                // The first cells go left and all later ones right; a binary search finds where
                // that changes.
                let (mut low, mut high) = (0, bounds.len() + 1);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if goes_left(middle) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                let missing = split.missing_left && axis.missing_cell().is_some();
                LeftCells::Below { cells: low as u32, missing }
            }
            _ => LeftCells::Opaque(self.cuts.len()),
        }
    }

    /// The axis that a cut is on.
    pub(crate) fn axis(&self, cut: CutId) -> usize {
        self.cuts[cut].axis
    }

    /// The whole space, as one region for each axis.
    pub(crate) fn everything(&self) -> Vec<Region> {
        let whole = |axis: &Axis| {
            if axis.len() <= SHORT {
                let full = |word: usize| match axis.len() - word * 64 {
                    64.. => u64::MAX,
                    rest => (1 << rest) - 1,
                };
                return Region::Set((0..axis.len().div_ceil(64)).map(full).collect());
            }
            let missing = axis.missing_cell().is_some();
            Region::Range { low: 0, high: (axis.len() - usize::from(missing)) as u32, missing }
        };
        self.grid.axes().iter().map(whole).collect()
    }

    /// The parts of a region that go left and right at a cut; `None` for an empty part.
    pub(crate) fn divide(&self, region: &Region, cut: CutId) -> [Option<Region>; 2] {
        match (&self.cuts[cut].side, region) {
            (LeftCells::Set(left), Region::Set(words)) => [false, true].map(|right| {
                let mask = |&word: &u64| if right { !word } else { word };
                let part: Vec<u64> = words.iter().zip(left).map(|(word, left)| word & mask(left)).collect();
                part.iter().any(|&word| word != 0).then_some(Region::Set(part))
            }),
            (&LeftCells::Below { cells, missing: with }, &Region::Range { low, high, missing }) => {
                let part = |low: u32, high: u32, missing: bool| {
                    (low < high || missing).then_some(Region::Range { low, high: high.max(low), missing })
                };
                [part(low, high.min(cells), missing && with), part(low.max(cells), high, missing && !with)]
            }
            _ => [Some(region.clone()), Some(region.clone())],
        }
    }
}

/// A key that is equal for splits with the same test.
fn key(split: Split<'_>) -> Vec<u64> {
    let head = |kind: u64, flag: bool| {
        u64::from(split.feature.0) << 8 | kind << 2 | u64::from(flag) << 1 | u64::from(split.missing_left)
    };
    match split.test {
        Test::Less { threshold } => vec![head(0, false), threshold.to_bits()],
        Test::LessOrEqual { threshold } => vec![head(1, false), threshold.to_bits()],
        Test::LessOrEqualButZero { threshold, zero_left } => vec![head(2, zero_left), threshold.to_bits()],
        Test::Equal { value } => vec![head(3, false), value.to_bits()],
        Test::Member { set, members_left } => {
            std::iter::once(head(4, members_left)).chain(set.iter().map(|&code| code.into())).collect()
        }
    }
}
