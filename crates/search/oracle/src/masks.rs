//! Masks of small pieces: for each run of cells, the leaves that hold it, as bits.

use crate::joint::{Branching, Joint};
use crate::layout::PieceAxis;

/// Removes leaves from the masks of runs that they do not hold: a run that leads to one side of a
/// split does not lead to the leaves of the other side. Bits after the last leaf are cleared.
pub(crate) fn fill_masks(axes: &mut [PieceAxis], tree: &Joint) {
    let below = tree.leaves_below();
    for node in 0..tree.len() {
        let Branching::Split { axis, children } = tree.part(node) else { continue };
        // If all splits of an axis send every cell to one side, the tree does not depend on that
        // axis.
        let Ok(place) = axes.binary_search_by_key(&axis, |own| own.axis) else { continue };
        let own = &mut axes[place];
        for (child, other) in [(children[0], children[1]), (children[1], children[0])] {
            let (from, to) = (below[other].0 as usize, below[other].1 as usize);
            for &(low, high) in tree.set(child).1 {
                let runs = own.run_of(low)..own.run_of(high - 1) + 1;
                for run in runs {
                    clear(&mut own.masks[run * own.words..][..own.words], from, to);
                }
            }
        }
    }
    let rest = tree.leaf_count() % 64;
    for own in axes.iter_mut().filter(|_| rest > 0) {
        let last = own.words - 1;
        own.masks.iter_mut().skip(last).step_by(own.words).for_each(|word| *word &= (1 << rest) - 1);
    }
}

/// Clears the bits `from..to`.
fn clear(words: &mut [u64], from: usize, to: usize) {
    let first = from / 64;
    for (word, bits) in words[first..to.div_ceil(64)].iter_mut().enumerate() {
        let start = (first + word) * 64;
        let (low, high) = (from.saturating_sub(start), (to - start).min(64));
        let mask = if high - low == 64 { u64::MAX } else { ((1 << (high - low)) - 1) << low };
        *bits &= !mask;
    }
}
