//! A box, and which joint leaves of each piece it meets.
//!
//! A box is a range of cells on each axis. A joint leaf is a product of sets of cells, so it meets the box
//! exactly if on each axis it holds a run that the range touches: masks of leaves are united over the runs
//! of an axis and intersected over the axes. Since the leaves of a piece cover all cells, no mask is empty.
//!
//! Restricting a box changes only the pieces that look at the axis; old words are kept on a trail, so that
//! a split's second side starts from where the first one started. Every restriction takes cells away, so the
//! trail is never longer than there are leaves and cells.

use crate::layout::Layout;
use crate::lens::{Lens, View};

pub(crate) struct State {
    pub(crate) ranges: Vec<(u32, u32)>,
    words: Vec<u64>,
    /// For each piece the number of the state that its words are in. Each new state gets the next number.
    versions: Vec<u64>,
    next_version: u64,
    trail: Vec<Change>,
    scratch: Vec<u64>,
}

enum Change {
    Range { axis: usize, old: (u32, u32) },
    Word { place: usize, old: u64 },
    Version { piece: usize, old: u64 },
}

/// A point on the trail to come back to.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

/// The state of a table: a range of runs.
fn packed(from: usize, to: usize) -> u64 {
    from as u64 | (to as u64) << 32
}

fn unpacked(word: u64) -> (usize, usize) {
    ((word & u64::from(u32::MAX)) as usize, (word >> 32) as usize)
}

impl State {
    /// The whole space.
    pub(crate) fn whole(layout: &Layout<'_>) -> Self {
        let mut words = Vec::with_capacity(layout.words);
        for piece in &layout.pieces {
            if piece.mask_words == 0 {
                words.push(packed(0, piece.leaves));
            } else {
                words.extend((0..piece.mask_words).map(|word| {
                    let left = piece.leaves - word * 64;
                    if left >= 64 { u64::MAX } else { (1 << left) - 1 }
                }));
            }
        }
        Self {
            ranges: layout.sizes.iter().map(|&size| (0, size)).collect(),
            words,
            versions: vec![0; layout.pieces.len()],
            next_version: 1,
            trail: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.trail.len())
    }

    pub(crate) fn undo(&mut self, mark: Mark) {
        while self.trail.len() > mark.0 {
            match self.trail.pop().expect("longer than the mark") {
                Change::Range { axis, old } => self.ranges[axis] = old,
                Change::Word { place, old } => self.words[place] = old,
                Change::Version { piece, old } => self.versions[piece] = old,
            }
        }
    }

    /// Narrows the box to cells `low..high` of an axis, which are part of it and at least one.
    pub(crate) fn restrict(&mut self, layout: &Layout<'_>, axis: usize, low: u32, high: u32) {
        let old = std::mem::replace(&mut self.ranges[axis], (low, high));
        self.trail.push(Change::Range { axis, old });
        for touch in &layout.touches[axis] {
            let piece = &layout.pieces[touch.piece];
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
            if piece.mask_words == 0 {
                set(&mut self.words, &mut self.trail, piece.place, packed(from, to));
            } else {
                for word in 0..piece.mask_words {
                    let place = piece.place + word;
                    let new = self.words[place] & touch.leaves_of_runs(from, to, word, piece.mask_words);
                    set(&mut self.words, &mut self.trail, place, new);
                }
            }
            if changed {
                let old = std::mem::replace(&mut self.versions[touch.piece], self.next_version);
                self.trail.push(Change::Version { piece: touch.piece, old });
            }
        }
        self.next_version += 1;
    }

    /// The upper bound of a lens over the box: the sum of each piece's largest value.
    pub(crate) fn upper(&self, layout: &Layout<'_>, lens: &Lens, view: &mut View) -> i128 {
        let mut total = 0;
        for (index, piece) in layout.pieces.iter().enumerate() {
            if view.seen[index] != self.versions[index] {
                view.seen[index] = self.versions[index];
                view.tops[index] = self.top(lens, index, piece.place, piece.mask_words);
            }
            total += view.tops[index];
        }
        total
    }

    fn top(&self, lens: &Lens, piece: usize, place: usize, mask_words: usize) -> i128 {
        if mask_words == 0 {
            let (from, to) = unpacked(self.words[place]);
            return lens.top_of_runs(piece, from, to);
        }
        lens.top_of_mask(piece, &self.words[place..place + mask_words])
    }

    /// The upper bound over the part of the box in cells `low..high` of an axis, at least one; `whole` is the
    /// upper bound over the box.
    pub(crate) fn upper_of_part(
        &mut self,
        layout: &Layout<'_>,
        lens: &Lens,
        view: &View,
        whole: i128,
        (axis, low, high): (usize, u32, u32),
    ) -> i128 {
        let mut total = whole;
        let box_range = self.ranges[axis];
        for touch in &layout.touches[axis] {
            let piece = &layout.pieces[touch.piece];
            let (from, to) = touch.runs(low, high);
            // The part has the same runs as the box, and so the same leaves.
            if (from, to) == touch.runs(box_range.0, box_range.1) {
                continue;
            }
            let part = if piece.mask_words == 0 {
                lens.top_of_runs(touch.piece, from, to)
            } else {
                self.scratch.clear();
                for word in 0..piece.mask_words {
                    let allowed = touch.leaves_of_runs(from, to, word, piece.mask_words);
                    self.scratch.push(self.words[piece.place + word] & allowed);
                }
                lens.top_of_mask(touch.piece, &self.scratch)
            };
            total += part - view.tops[touch.piece];
        }
        total
    }

    /// The joint leaf of each piece, in a box of one cell.
    pub(crate) fn leaves(&self, layout: &Layout<'_>) -> Vec<usize> {
        let leaf = |piece: &crate::layout::Piece| {
            if piece.mask_words == 0 {
                return unpacked(self.words[piece.place]).0;
            }
            let words = &self.words[piece.place..][..piece.mask_words];
            let word = words.iter().position(|&word| word != 0).expect("every cell is in a leaf");
            word * 64 + words[word].trailing_zeros() as usize
        };
        layout.pieces.iter().map(leaf).collect()
    }
}
