//! What a box leaves of the pieces of a lens, in the row of the lens and in its companion.
//!
//! Inside a small box most pieces have one leaf left and add a constant. The others depend on few
//! axes, and along an axis two neighbouring cells differ only if one of these pieces tells them
//! apart. Neighbouring cells that no piece tells apart form a class and count once. All cells of a
//! class reach the same leaf of every piece, for any setting of the other axes, and therefore the
//! same leaf of every tree.

use crate::fault;
use crate::lens::{Lens, LensPiece, View};

/// At most this many axes may be open, so that a set of them fits into one word. A box with more is
/// not small.
pub(crate) const MOST_AXES: usize = 64;

/// The remaining pieces, axes and classes of a box. The memory is used again for the next box.
#[derive(Default)]
pub(crate) struct Remains {
    /// The sum of the settled pieces and the constants in the two rows.
    pub(crate) settled: (i64, i64),
    /// The pieces with more than one leaf in the box, each with the axes along which it changes, as
    /// bits.
    pub(crate) pieces: Vec<(u32, u64)>,
    /// The axes along which some piece changes, in the order in which they were found.
    axes: Vec<usize>,
    /// For each of these axes, the first cell of each class.
    classes: Vec<Vec<u32>>,
    /// For each axis of the space, its position in `axes` if it has one.
    position: Vec<Option<u8>>,
    /// A bit for each cell of each axis: whether some piece tells the cell from the one before.
    marks: Vec<u64>,
    /// Where the marks of each axis begin in `marks`.
    first_mark: Vec<usize>,
    /// Leaf masks, used while a piece is tabulated.
    masks: [Vec<u64>; 2],
}

impl Remains {
    /// For a space with axes of these sizes.
    pub(crate) fn new(sizes: &[u32]) -> Self {
        let mut words = 0;
        let mut first_mark = Vec::new();
        for &size in sizes {
            first_mark.push(words);
            words += (size as usize).div_ceil(64);
        }
        Self { position: vec![None; sizes.len()], marks: vec![0; words], first_mark, ..Self::default() }
    }

    /// The open axes, in the order of their positions.
    pub(crate) fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// The first cells of the classes of the open axis at this position.
    pub(crate) fn classes(&self, position: usize) -> &[u32] {
        &self.classes[position]
    }

    /// Collects the remaining pieces, axes and classes of a box; `false` if too many axes are open.
    pub(crate) fn collect(&mut self, lens: &Lens, view: &View, ranges: &[(u32, u32)]) -> bool {
        let companion = lens.companion.as_ref().expect("only rows with a companion are looked at");
        for &axis in &self.axes {
            self.position[axis] = None;
        }
        self.axes.clear();
        self.pieces.clear();
        self.settled = (lens.constant, companion.constant);
        let mut small = true;
        for (index, piece) in lens.pieces.iter().enumerate() {
            let mine = &view.masks[piece.place as usize..][..piece.words as usize];
            let set = match mine {
                [one] if one.is_power_of_two() => Some(0),
                _ => self.mark(lens, piece, mine, ranges),
            };
            match set {
                Some(0) => {
                    let (own, other) = companion.pairs[piece.values as usize + lowest(mine)];
                    self.settled = (self.settled.0 + own, self.settled.1 + other);
                }
                Some(set) => self.pieces.push((index as u32, set)),
                None => {
                    small = false;
                    break;
                }
            }
        }
        self.make_classes(ranges);
        small
    }

    /// Marks the cells where a piece with these leaves changes inside the box. Returns the axes
    /// along which it changes, as bits; `None` if there are too many axes.
    fn mark(&mut self, lens: &Lens, piece: &LensPiece, mine: &[u64], ranges: &[(u32, u32)]) -> Option<u64> {
        let words = mine.len();
        let mut set = 0;
        for &(axis, entry) in &piece.axes {
            let (low, high) = ranges[axis];
            if high - low < 2 {
                continue;
            }
            let entry = &lens.by_axis[axis][entry];
            let (from, to) = lens.run_range(entry, low, high);
            let masks = &lens.masks[entry.masks as usize..];
            let starts = lens.runs(entry);
            let mut changes = false;
            for run in from + 1..to {
                let differs = match mine {
                    [mine] => mine & (masks[run] ^ masks[run - 1]) != 0,
                    _ => (0..words).any(|word| {
                        mine[word] & (masks[run * words + word] ^ masks[(run - 1) * words + word]) != 0
                    }),
                };
                if differs {
                    changes = true;
                    let start = starts[run] as usize;
                    self.marks[self.first_mark[axis] + start / 64] |= 1 << (start % 64);
                }
            }
            if changes {
                set |= 1 << self.place(axis)?;
            }
        }
        Some(set)
    }

    /// The position of an open axis; `None` if there are too many axes.
    fn place(&mut self, axis: usize) -> Option<u8> {
        if let Some(position) = self.position[axis] {
            return Some(position);
        }
        let position = self.axes.len() as u8;
        self.position[axis] = Some(position);
        self.axes.push(axis);
        (self.axes.len() <= MOST_AXES).then_some(position)
    }

    /// Turns the marks into classes and clears the marks.
    fn make_classes(&mut self, ranges: &[(u32, u32)]) {
        if self.classes.len() < self.axes.len() {
            self.classes.resize(self.axes.len(), Vec::new());
        }
        for (&axis, classes) in self.axes.iter().zip(&mut self.classes) {
            let (low, high) = ranges[axis];
            classes.clear();
            classes.push(low);
            for word in low as usize / 64..=(high as usize - 1) / 64 {
                let mut mark = std::mem::take(&mut self.marks[self.first_mark[axis] + word]);
                while mark != 0 {
                    classes.push(word as u32 * 64 + mark.trailing_zeros());
                    mark &= mark - 1;
                }
            }
            if fault::merges_too_much() && classes.len() > 1 {
                classes.pop();
            }
        }
    }

    /// Adds the values of a piece in the two rows to a table over the classes of these axes, the
    /// first axis fastest. The axes are all those along which the piece changes.
    pub(crate) fn tabulate(
        &mut self,
        lens: &Lens,
        view: &View,
        piece: u32,
        positions: impl Iterator<Item = usize>,
        table: &mut [(i64, i64)],
    ) {
        let piece = &lens.pieces[piece as usize];
        let words = piece.words as usize;
        let [masks, next] = &mut self.masks;
        masks.clear();
        masks.extend_from_slice(&view.masks[piece.place as usize..][..words]);
        for position in positions {
            let axis = self.axes[position];
            let &(_, entry) =
                piece.axes.iter().find(|(own, _)| *own == axis).expect("the piece looks at this axis");
            let entry = &lens.by_axis[axis][entry];
            let run_masks = &lens.masks[entry.masks as usize..];
            next.clear();
            for &cell in &self.classes[position] {
                let run = lens.run_at(entry, cell);
                if words == 1 {
                    let allowed = run_masks[run];
                    next.extend(masks.iter().map(|mask| mask & allowed));
                } else {
                    let allowed = &run_masks[run * words..][..words];
                    for mask in masks.chunks(words) {
                        next.extend(mask.iter().zip(allowed).map(|(mask, allowed)| mask & allowed));
                    }
                }
            }
            std::mem::swap(masks, next);
        }
        let companion = lens.companion.as_ref().expect("only rows with a companion are looked at");
        let pairs = &companion.pairs[piece.values as usize..][..piece.leaves as usize];
        for (slot, mask) in table.iter_mut().zip(masks.chunks(words)) {
            let (own, other) = pairs[lowest(mask)];
            *slot = (slot.0 + own, slot.1 + other);
        }
    }
}

impl Lens {
    /// The bounds of the lens's row and of its companion.
    pub(crate) fn pair_bounds(&self) -> (i64, i64) {
        let companion = self.companion.as_ref().expect("only rows with a companion are looked at");
        (self.bound, companion.bound)
    }
}

/// The lowest leaf of a mask.
fn lowest(mask: &[u64]) -> usize {
    let word = mask.iter().position(|&bits| bits != 0).expect("the leaves of a piece cover every box");
    word * 64 + mask[word].trailing_zeros() as usize
}
