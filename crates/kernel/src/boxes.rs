//! A box, and the joint leaves of each piece that it meets.
//!
//! A box is a range of cells on each axis. A joint leaf is a product of sets of cells, so it meets the
//! box exactly if on each axis it holds a run that the range touches: masks of leaves are united over
//! the runs of an axis and intersected over the axes. The leaves of a piece cover all cells, so no
//! mask is empty. In pieces with too many leaves for masks, the ranges of the box lead through the
//! joint tree.
//!
//! Restricting a box changes only the pieces that look at the axis. Old words are kept on a trail, so
//! that the second side of a split starts from where the first one started. Every restriction takes
//! cells away, so the trail is never longer than there are leaves and cells.

use crate::lens::{Lens, View};
use crate::pieces::{Form, Piece, Pieces, Touch, low_bits};
use crate::problem::Range;

pub(crate) struct State {
    pub(crate) ranges: Vec<Range>,
    words: Vec<u64>,
    /// For each piece the number of the state that its words are in. Each new state gets the next number.
    versions: Vec<u64>,
    next_version: u64,
    trail: Vec<Change>,
    scratch: Vec<u64>,
}

enum Change {
    Range { axis: usize, old: Range },
    Word { place: usize, old: u64 },
    Version { piece: usize, old: u64 },
}

/// A point on the trail to come back to.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

/// The state of a table: a range of runs, in one word.
fn packed(from: usize, to: usize) -> u64 {
    from as u64 | (to as u64) << 32
}

fn unpacked(word: u64) -> (usize, usize) {
    ((word & u64::from(u32::MAX)) as usize, (word >> 32) as usize)
}

impl State {
    /// The box of all cells.
    pub(crate) fn whole(pieces: &Pieces<'_>) -> Self {
        let mut words = Vec::with_capacity(pieces.words);
        for piece in &pieces.pieces {
            match piece.form {
                Form::Table => words.push(packed(0, piece.leaves)),
                Form::Masks(count) => words.extend((0..count).map(|word| low_bits(piece.leaves - word * 64))),
                Form::Tree(_) => {}
            }
        }
        Self {
            ranges: pieces.forest.axes().iter().map(|&size| (0, size)).collect(),
            words,
            versions: vec![0; pieces.pieces.len()],
            next_version: 1,
            trail: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    pub(crate) fn undo(&mut self, mark: Mark) {
        for change in self.trail.drain(mark.0..).rev() {
            match change {
                Change::Range { axis, old } => self.ranges[axis] = old,
                Change::Word { place, old } => self.words[place] = old,
                Change::Version { piece, old } => self.versions[piece] = old,
            }
        }
    }

    /// Narrows the box to cells `low..high` of an axis, which are part of it and at least one.
    pub(crate) fn restrict(&mut self, pieces: &Pieces<'_>, axis: usize, low: u32, high: u32) {
        let old = std::mem::replace(&mut self.ranges[axis], (low, high));
        self.trail.push(Change::Range { axis, old });
        for touch in &pieces.touches[axis] {
            let piece = &pieces.pieces[touch.piece];
            let (from, to) = touch.runs(low, high);
            // The same runs as before are the same leaves.
            if (from, to) == touch.runs(old.0, old.1) {
                continue;
            }
            let mut changed = false;
            let mut set = |words: &mut [u64], trail: &mut Vec<Change>, place: usize, new: u64| {
                if words[place] != new {
                    trail.push(Change::Word { place, old: words[place] });
                    words[place] = new;
                    changed = true;
                }
            };
            match piece.form {
                Form::Table => set(&mut self.words, &mut self.trail, piece.place, packed(from, to)),
                Form::Masks(words) => {
                    for word in 0..words {
                        let place = piece.place + word;
                        let new = self.words[place] & touch.leaves_of_runs(from, to, word, words);
                        set(&mut self.words, &mut self.trail, place, new);
                    }
                }
                // The ranges are all its state, and they have changed.
                Form::Tree(_) => changed = true,
            }
            if changed {
                let old = std::mem::replace(&mut self.versions[touch.piece], self.next_version);
                self.trail.push(Change::Version { piece: touch.piece, old });
            }
        }
        self.next_version += 1;
    }

    /// The upper bound of a lens over the box: the sum of each piece's largest value.
    pub(crate) fn upper(&self, pieces: &Pieces<'_>, lens: &Lens, view: &mut View) -> i128 {
        let mut total = 0;
        for (index, piece) in pieces.pieces.iter().enumerate() {
            if view.seen[index] != self.versions[index] {
                view.seen[index] = self.versions[index];
                view.tops[index] = self.top(lens, index, piece);
            }
            total += view.tops[index];
        }
        total
    }

    fn top(&self, lens: &Lens, index: usize, piece: &Piece) -> i128 {
        match &piece.form {
            Form::Table => {
                let (from, to) = unpacked(self.words[piece.place]);
                lens.top_of_runs(index, from, to)
            }
            Form::Masks(words) => lens.top_of_mask(index, &self.words[piece.place..piece.place + words]),
            Form::Tree(joint) => lens.top_of_tree(index, joint, &self.ranges),
        }
    }

    /// The upper bound over the part of the box in cells `low..high` of an axis, at least one; `whole`
    /// is the upper bound over the box.
    pub(crate) fn upper_of_part(
        &mut self,
        pieces: &Pieces<'_>,
        lens: &Lens,
        view: &View,
        whole: i128,
        (axis, low, high): (usize, u32, u32),
    ) -> i128 {
        let mut total = whole;
        let box_range = self.ranges[axis];
        for touch in &pieces.touches[axis] {
            let piece = &pieces.pieces[touch.piece];
            let (from, to) = touch.runs(low, high);
            // The part has the same runs as the box, and so the same leaves.
            if (from, to) == touch.runs(box_range.0, box_range.1) {
                continue;
            }
            let part = match &piece.form {
                Form::Table => lens.top_of_runs(touch.piece, from, to),
                Form::Masks(words) => {
                    self.scratch.clear();
                    for word in 0..*words {
                        let allowed = touch.leaves_of_runs(from, to, word, *words);
                        self.scratch.push(self.words[piece.place + word] & allowed);
                    }
                    lens.top_of_mask(touch.piece, &self.scratch)
                }
                Form::Tree(joint) => {
                    self.ranges[axis] = (low, high);
                    let top = lens.top_of_tree(touch.piece, joint, &self.ranges);
                    self.ranges[axis] = box_range;
                    top
                }
            };
            total += part - view.tops[touch.piece];
        }
        total
    }

    /// The joint leaf of each piece, in a box of one cell.
    pub(crate) fn leaves(&self, pieces: &Pieces<'_>) -> Vec<usize> {
        (0..pieces.pieces.len()).map(|piece| self.leaves_left(pieces, piece).lowest()).collect()
    }

    /// The joint leaves of a piece that meet the box.
    pub(crate) fn leaves_left(&self, pieces: &Pieces<'_>, piece: usize) -> LeavesLeft<'_> {
        let piece = &pieces.pieces[piece];
        match &piece.form {
            Form::Table => {
                let (from, to) = unpacked(self.words[piece.place]);
                LeavesLeft::Runs(from, to)
            }
            Form::Masks(words) => LeavesLeft::Mask(&self.words[piece.place..][..*words]),
            // All that is known of these is one leaf, and whether it is the only one.
            Form::Tree(joint) => match joint.leaf_of(&self.ranges) {
                (leaf, true) => LeavesLeft::Runs(leaf, leaf + 1),
                (leaf, false) => LeavesLeft::Many(leaf),
            },
        }
    }
}

/// Joint leaves of a piece, at least one.
#[derive(Clone, Copy)]
pub(crate) enum LeavesLeft<'a> {
    /// Of a table: these runs, of which each is a leaf.
    Runs(usize, usize),
    /// Of a piece with masks: these bits.
    Mask(&'a [u64]),
    /// Of a piece without either: this one and others.
    Many(usize),
}

/// The same, with a mask of its own.
pub(crate) enum Narrowed {
    Runs(usize, usize),
    Word(u64),
    Words(Vec<u64>),
}

impl Narrowed {
    pub(crate) fn as_left(&self) -> LeavesLeft<'_> {
        match self {
            Self::Runs(from, to) => LeavesLeft::Runs(*from, *to),
            Self::Word(word) => LeavesLeft::Mask(std::slice::from_ref(word)),
            Self::Words(words) => LeavesLeft::Mask(words),
        }
    }
}

impl LeavesLeft<'_> {
    /// The leaf, where there is only one.
    pub(crate) fn only(&self) -> Option<usize> {
        let one = match self {
            Self::Runs(from, to) => to - from == 1,
            Self::Many(_) => false,
            Self::Mask([word]) => word.is_power_of_two(),
            Self::Mask(mask) => mask.iter().map(|word| word.count_ones()).sum::<u32>() == 1,
        };
        one.then(|| self.lowest())
    }

    /// The leaf of lowest number, where all are known; else some leaf.
    pub(crate) fn lowest(&self) -> usize {
        match self {
            Self::Runs(from, _) => *from,
            Self::Many(leaf) => *leaf,
            Self::Mask(mask) => {
                let word = mask.iter().position(|&word| word != 0).expect("every cell is in a leaf");
                word * 64 + mask[word].trailing_zeros() as usize
            }
        }
    }

    /// Do two runs of an axis hold different ones of these leaves?
    pub(crate) fn differ(&self, touch: &Touch, run: usize, next: usize) -> bool {
        match self {
            Self::Runs(..) | Self::Many(_) => true,
            Self::Mask(mask) => {
                let of = |run: usize| &touch.masks[run * mask.len()..][..mask.len()];
                mask.iter().zip(of(run)).zip(of(next)).any(|((own, a), b)| own & (a ^ b) != 0)
            }
        }
    }

    /// Those of them that hold the cells of a run of an axis.
    pub(crate) fn on(&self, touch: &Touch, run: usize) -> Narrowed {
        match self {
            Self::Runs(..) | Self::Many(_) => Narrowed::Runs(run, run + 1),
            Self::Mask([word]) => Narrowed::Word(word & touch.masks[run]),
            Self::Mask(mask) => {
                let allowed = &touch.masks[run * mask.len()..][..mask.len()];
                Narrowed::Words(mask.iter().zip(allowed).map(|(own, allowed)| own & allowed).collect())
            }
        }
    }
}
