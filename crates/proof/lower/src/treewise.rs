//! A score never falls, bit for bit, because no tree's part of it does (specification, version 2,
//! section 6.10).
//!
//! *Premise*: for every tree and every pair of cells that differ in the moved column only, by one step
//! up, the exact product of weight and leaf does not fall; the file fixes the order in which the
//! library adds; and the intercept is a fixed number. *Conclusion*: the number that the library
//! computes does not fall when the column rises. *Why*: the library computes a row's score from the
//! row's leaves by a fixed sequence of operations, each of which is a product or a sum of two numbers
//! (or a quotient by a positive divisor) and is rounded to the nearest number of its type. Rounding
//! never reverses an order, a sum does not fall where neither summand does, and neither does a product
//! with one positive factor. So no intermediate result falls, and the last one is the score. From one
//! cell to the next, and so on, this holds for all ascending pairs of values.

use std::collections::BTreeMap;

use secateur_kernel::{Forest, Int, Node, Range, Tree, common, others};

/// Does no tree's number fall (rise, where `falls`) from the first reading to the second? The trees
/// of the second reading follow the `count` ones of the first in the forest, and add to the sum
/// `second` where those add to `first`. Otherwise the first tree that does; `None` if `stop`, which
/// is asked before each tree, says yes.
pub(crate) fn first_out_of_order(
    forest: &Forest,
    count: usize,
    sums: [u32; 2],
    falls: bool,
    stop: &dyn Fn() -> bool,
) -> Option<Result<(), usize>> {
    let trees = forest.trees();
    for index in 0..count {
        if stop() {
            return None;
        }
        if !in_order(forest.axes(), [&trees[index], &trees[count + index]], sums, falls) {
            return Some(Err(index));
        }
    }
    Some(Ok(()))
}

/// Cells of the axes that some split has asked about, as ranges.
type Sets = BTreeMap<u32, Vec<Range>>;

/// Is the order kept in every cell? Visits the pairs of leaves that some cell reaches.
fn in_order(axes: &[u32], trees: [&Tree; 2], sums: [u32; 2], falls: bool) -> bool {
    // Pairs of nodes, each with the cells that lead there.
    let mut open: Vec<([u32; 2], Sets)> = vec![([0, 0], Sets::new())];
    while let Some((at, sets)) = open.pop() {
        let nodes = [0, 1].map(|side: usize| &trees[side].nodes[at[side] as usize]);
        let side = match nodes {
            [Node::Leaf(ours), Node::Leaf(theirs)] => {
                let [before, after] = [number(ours, sums[0]), number(theirs, sums[1])];
                let kept = if falls { before.is_at_least(&after) } else { after.is_at_least(&before) };
                if !kept {
                    return false;
                }
                continue;
            }
            [Node::Split { .. }, _] => 0,
            [Node::Leaf(_), Node::Split { .. }] => 1,
        };
        let Node::Split { axis, cells, yes, no } = nodes[side] else { return false };
        let size = axes[*axis as usize];
        let own = sets.get(axis).cloned().unwrap_or_else(|| vec![(0, size)]);
        let parts = [(yes, common(&own, cells.iter().copied())), (no, common(&own, others(cells, size)))];
        for (&next, part) in parts {
            if part.is_empty() {
                continue;
            }
            let (mut at, mut sets) = (at, sets.clone());
            at[side] = next;
            sets.insert(*axis, part);
            open.push((at, sets));
        }
    }
    true
}

/// What a leaf adds to a sum.
fn number(added: &[(u32, Int)], sum: u32) -> Int {
    added.iter().find(|(own, _)| *own == sum).map_or_else(|| Int::ZERO, |(_, value)| value.clone())
}
