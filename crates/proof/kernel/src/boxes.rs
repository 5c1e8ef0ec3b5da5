//! A box, and the joint leaves of each piece that it meets.
//!
//! A box is a range of cells on each axis. A joint leaf is a product of sets of cells, so it meets
//! the box exactly if on each axis it holds a run that the range touches. Masks of leaves are
//! therefore united over the runs of an axis and intersected over the axes. The leaves of a piece
//! cover all cells, so no mask is empty. In pieces with too many leaves for masks, the ranges of
//! the box lead through the joint tree.
//!
//! Restricting a box changes only the pieces that depend on the axis. The words that change are
//! saved on a trail, so that the second side of a split starts from the same state as the first.
//! Every restriction takes cells away, so the trail is never longer than the number of leaves and
//! cells.

use crate::lens::Lens;
use crate::pieces::{Form, Piece, Pieces, Touch, low_bits};
use crate::problem::Range;

pub(crate) struct State {
    pub(crate) ranges: Vec<Range>,
    words: Vec<u64>,
    /// For each piece the number of the state that its words are in. Each new state gets the next
    /// number.
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

/// A position on the trail to which the state can return.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

impl State {
    /// The box of all cells.
    pub(crate) fn whole(pieces: &Pieces<'_>) -> Self {
        let mut words = Vec::with_capacity(pieces.words);
        for piece in &pieces.pieces {
            match piece.form {
                Form::Table => words.extend([0, piece.leaves as u64]),
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

    /// Narrows the box to cells `low..high` of an axis. The range is a part of the box's and not
    /// empty.
    pub(crate) fn restrict(&mut self, pieces: &Pieces<'_>, axis: usize, low: u32, high: u32) {
        let old = std::mem::replace(&mut self.ranges[axis], (low, high));
        self.trail.push(Change::Range { axis, old });
        for touch in &pieces.touches[axis] {
            let piece = &pieces.pieces[touch.piece];
            let (from, to) = touch.runs(low, high);
            // The same runs as before give the same leaves.
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
                Form::Table => {
                    set(&mut self.words, &mut self.trail, piece.place, from as u64);
                    set(&mut self.words, &mut self.trail, piece.place + 1, to as u64);
                }
                Form::Masks(words) => {
                    for word in 0..words {
                        let place = piece.place + word;
                        let new = self.words[place] & touch.leaves_of_runs(from, to, word, words);
                        set(&mut self.words, &mut self.trail, place, new);
                    }
                }
                // Its whole state is the ranges, and they have changed.
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
    pub(crate) fn upper(&self, pieces: &Pieces<'_>, lens: &mut Lens) -> i128 {
        let mut total = 0;
        for (index, piece) in pieces.pieces.iter().enumerate() {
            if lens.seen[index].1 != self.versions[index] {
                lens.seen[index] = (self.top(lens, index, piece), self.versions[index]);
            }
            total += lens.seen[index].0;
        }
        total
    }

    fn top(&self, lens: &Lens, index: usize, piece: &Piece) -> i128 {
        match &piece.form {
            Form::Table => {
                let (from, to) = self.runs(piece);
                lens.top_of_runs(index, from, to)
            }
            Form::Masks(words) => lens.top_of_mask(index, &self.words[piece.place..piece.place + words]),
            Form::Tree(joint) => lens.top_of_tree(index, joint, &self.ranges),
        }
    }

    /// The upper bound over the part of the box in cells `low..high` of an axis; the range is not
    /// empty.
    pub(crate) fn upper_of_part(
        &mut self,
        pieces: &Pieces<'_>,
        lens: &mut Lens,
        (axis, low, high): (usize, u32, u32),
    ) -> i128 {
        let mut total = self.upper(pieces, lens);
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
            total += part - lens.seen[touch.piece].0;
        }
        total
    }

    /// A joint leaf of a piece that meets the box, and whether it is the only one.
    pub(crate) fn leaf(&self, pieces: &Pieces<'_>, piece: usize) -> (usize, bool) {
        let piece = &pieces.pieces[piece];
        match &piece.form {
            Form::Table => {
                let (from, to) = self.runs(piece);
                (from, to - from == 1)
            }
            Form::Masks(_) => {
                let mask = self.mask(piece);
                (lowest(mask.iter().copied()), mask.iter().map(|word| word.count_ones()).sum::<u32>() == 1)
            }
            Form::Tree(joint) => joint.leaf_of(&self.ranges),
        }
    }

    /// The runs of a table that meet the box.
    fn runs(&self, piece: &Piece) -> (usize, usize) {
        (self.words[piece.place] as usize, self.words[piece.place + 1] as usize)
    }

    /// The joint leaves of a piece that meet the box, if the piece has masks; otherwise nothing.
    pub(crate) fn mask(&self, piece: &Piece) -> &[u64] {
        match piece.form {
            Form::Masks(words) => &self.words[piece.place..][..words],
            Form::Table | Form::Tree(_) => &[],
        }
    }

    /// Of a piece's joint leaves that meet the box: do different ones hold two runs of an axis?
    pub(crate) fn differ(&self, pieces: &Pieces<'_>, touch: &Touch, run: usize, next: usize) -> bool {
        let mask = self.mask(&pieces.pieces[touch.piece]);
        let (a, b) = (touch.mask(run, mask.len()), touch.mask(next, mask.len()));
        mask.is_empty() || mask.iter().zip(a).zip(b).any(|((own, a), b)| own & (a ^ b) != 0)
    }
}

/// The position of the lowest bit of a mask that is not zero.
pub(crate) fn lowest(mask: impl Iterator<Item = u64>) -> usize {
    let (word, bits) = mask.enumerate().find(|(_, word)| *word != 0).expect("every cell is in a leaf");
    word * 64 + bits.trailing_zeros() as usize
}
