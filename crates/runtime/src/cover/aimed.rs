//! Rows in the leaves, each of which aims at an unreached leaf of every tree at once: about as many rows as the largest
//! tree has leaves, times a small number, instead of one for every leaf of every tree.
//!
//! # How
//! The values that matter of a feature are its *choices*. What a row may still be is a subset of the choices of each
//! feature. A row goes through the trees, those with most unreached leaves first, to the side with more unreached leaves
//! where both are possible, and its choices shrink on the way. A tree in which this ends in a leaf that was reached
//! before changes nothing. One value is then taken from each subset.
//!
//! # Why every leaf is reached
//! A leaf is counted as unreached only if some choice of values leads there. The first tree of a row starts with all choices, so
//! that a side without a possible choice has no unreached leaf, and the walk ends in an unreached one. So every row
//! reaches at least one, until none is left or the limits of the cover are met.

use alloc::vec::Vec;

use super::Maker;
use crate::file::{Kind, LEAF, Tests};

/// Nodes that the search for rows visits at most. A cover of a model with very deep trees, whose rows are long walks, ends
/// there.
const MOST_VISITS: usize = 1 << 30;

/// Nodes visited between two looks at who watches.
const WATCHED: usize = 1 << 18;

const NAN: u8 = 1;
const ZERO: u8 = 2;

/// What is left of a feature's choices.
#[derive(Clone, Copy)]
struct Subset {
    /// Numbers in ascending order: those from `low` on, before `high`. For a feature with a list: the first `high` of it.
    low: u32,
    high: u32,
    /// Are missing values and zeros possible (the latter only where tests have a side for them)?
    apart: u8,
}

impl Subset {
    fn is_empty(self) -> bool {
        self.low >= self.high && self.apart == 0
    }
}

/// The choices of a feature.
struct Choices {
    /// As a caller gives them: numbers in ascending order, then zeros where tests have a side for them, then missing values.
    values: Vec<f64>,
    numbers: usize,
    zeros: usize,
    all: Subset,
    /// Where some test is no comparison: the choices in an order whose first ones are the subset, and where each stands in it.
    /// A subset of a subset only moves choices within it, so that the larger one comes back with its length.
    list: Option<(Vec<u32>, Vec<u32>)>,
    /// The category code of each choice, in order, where the feature has categories.
    codes: Vec<(Option<u32>, u32)>,
}

impl Choices {
    /// Is this choice apart from the numbers that comparisons see, and as what?
    fn apart(&self, choice: usize) -> u8 {
        match choice {
            _ if choice < self.numbers => 0,
            _ if choice < self.numbers + self.zeros => ZERO,
            _ => NAN,
        }
    }
}

/// A test, as the choices of its feature answer it.
struct Asked {
    /// The position of its feature in `Maker::values`.
    slot: usize,
    answer: Answer,
}

enum Answer {
    /// Numbers before `cut` and what is in `apart` go left.
    Comparison { cut: u32, apart: u8 },
    /// These choices go left, or right, and all others to the other side.
    Some { choices: Vec<u32>, left: bool },
}

pub(super) struct Aim {
    choices: Vec<Choices>,
    asked: Vec<Asked>,
    /// The right child of each split; the left one is the next node.
    right: Vec<u32>,
    /// Unreached leaves at and below each node.
    open: Vec<u32>,
    left_of: Vec<Subset>,
    visits: usize,
    looked: usize,
}

/// Adds rows to the maker's until every leaf is reached. No where the one who watches asks for an end.
pub(super) fn leaves(maker: &mut Maker<'_>, watch: &mut dyn FnMut(f64) -> bool) -> Option<usize> {
    let choices: Vec<Choices> = (0..maker.values.len()).map(|slot| choices_of(maker, slot)).collect();
    let asked = (0..maker.columns.len()).map(|test| asked(maker, &choices, test as u32)).collect();
    let left_of = choices.iter().map(|choices| choices.all).collect();
    let nodes = &maker.file.nodes;
    let (right, open) = (alloc::vec![0; nodes.len()], alloc::vec![0; nodes.len()]);
    let mut aim = Aim { choices, asked, right, open, left_of, visits: 0, looked: 0 };
    let roots: Vec<usize> = maker.file.trees.iter().map(|tree| tree.nodes.start).collect();
    for tree in &maker.file.trees {
        if !watch(0.0) {
            return None;
        }
        aim.find_right(nodes, tree.nodes.clone());
        aim.find_reachable(nodes, tree.nodes.start);
        for at in tree.nodes.clone().rev().filter(|&at| nodes[at] != LEAF) {
            aim.open[at] = aim.open[at + 1] + aim.open[aim.right[at] as usize];
        }
    }
    aim.looked = aim.visits;
    let total: f64 = roots.iter().map(|&root| f64::from(aim.open[root])).sum();
    let mut order = roots;
    let mut path = Vec::new();
    let mut chosen = alloc::vec![0usize; aim.choices.len()];
    loop {
        order.retain(|&root| aim.open[root] > 0);
        order.sort_by_key(|&root| core::cmp::Reverse(aim.open[root]));
        if order.is_empty() || maker.is_full() || aim.visits > MOST_VISITS {
            return Some(aim.visits);
        }
        if aim.visits - aim.looked > WATCHED {
            aim.looked = aim.visits;
            let left: f64 = order.iter().map(|&root| f64::from(aim.open[root])).sum();
            if !watch(1.0 - left / total) {
                return None;
            }
        }
        aim.left_of.iter_mut().zip(&aim.choices).for_each(|(subset, choices)| *subset = choices.all);
        order.iter().for_each(|&root| aim.aim(nodes, root, &mut path));
        let mut row = alloc::vec![0.0; maker.file.features as usize];
        for (slot, chosen) in chosen.iter_mut().enumerate() {
            *chosen = aim.choice(slot, |below| maker.random(below));
            row[maker.values[slot].0 as usize] = aim.choices[slot].values[*chosen];
        }
        maker.push(row);
        for &root in &order {
            aim.mark(maker, root, &chosen);
        }
    }
}

/// The choices of a feature, in order.
fn choices_of(maker: &Maker<'_>, slot: usize) -> Choices {
    let (feature, values) = &maker.values[slot];
    let columns = maker.columns_of(*feature);
    let zero_apart = columns.iter().any(|column| matches!(column.kind, Kind::ButZero { .. }));
    let compares = |kind| !matches!(kind, Kind::Equal | Kind::Member { .. });
    let read = |value: f64| maker.file.read_value(*feature as usize, value).unwrap_or(f64::NAN);
    let apart = |value: f64| match read(value) {
        value if value.is_nan() => NAN,
        value if value == 0.0 && zero_apart => ZERO,
        _ => 0,
    };
    let count = |kind: u8| values.iter().filter(|&&value| apart(value) == kind).count();
    let (numbers, zeros, missing) = (count(0), count(ZERO), count(NAN));
    let mut values = values.clone();
    let place = |value: f64| [0, 2, 1][usize::from(apart(value))];
    values.sort_by(|&a, &b| {
        let by_number = || read(a).partial_cmp(&read(b)).unwrap_or(core::cmp::Ordering::Equal);
        place(a).cmp(&place(b)).then_with(by_number)
    });
    let list = columns.iter().any(|column| !compares(column.kind));
    let all = match list {
        true => Subset { low: 0, high: values.len() as u32, apart: 0 },
        false => {
            let apart = if missing > 0 { NAN } else { 0 } | if zeros > 0 { ZERO } else { 0 };
            Subset { low: 0, high: numbers as u32, apart }
        }
    };
    let identity = || (0..values.len() as u32).collect::<Vec<_>>();
    let list = list.then(|| (identity(), identity()));
    let category = maker.file.categories.binary_search_by_key(feature, |known| known.feature).ok();
    let mut codes: Vec<_> = category.map_or(Vec::new(), |category| {
        let rule = &maker.file.categories[category].rule;
        let code =
            |value: f64| Some(read(value)).filter(|value| !value.is_nan()).and_then(|value| rule.code(value));
        values.iter().zip(0..).map(|(&value, choice)| (code(value), choice)).collect()
    });
    codes.sort_unstable();
    Choices { values, numbers, zeros, all, list, codes }
}

/// What a test asks of the choices of its feature.
fn asked(maker: &Maker<'_>, choices: &[Choices], test: u32) -> Asked {
    let (column, at) = maker.columns[test as usize];
    let column = &maker.file.columns[column as usize];
    let slot = maker.values.partition_point(|(feature, _)| *feature < column.feature);
    let choices = &choices[slot];
    let goes_left = |choice: usize| maker.left(test, choices.values[choice]);
    let before = |number: f64, or_equal: bool| {
        let read = |value: f64| maker.file.read_value(column.feature as usize, value).unwrap_or(f64::NAN);
        choices.values[..choices.numbers].partition_point(|&value| match read(value) {
            value if or_equal => value <= number,
            value => value < number,
        })
    };
    let answer = match (&column.tests, column.kind) {
        // Few choices are equal to a number.
        (Tests::Numbers(numbers), Kind::Equal) => {
            let number = numbers[at as usize];
            let equal = before(number, false)..before(number, true);
            let apart = choices.numbers..choices.values.len();
            let some = equal.chain(apart).filter(|&choice| goes_left(choice));
            Answer::Some { choices: some.map(|choice| choice as u32).collect(), left: true }
        }
        (Tests::Numbers(numbers), kind) => {
            let first = |kind: u8| (0..choices.values.len()).rev().find(|&at| choices.apart(at) == kind);
            let apart = [NAN, ZERO].into_iter().filter(|&kind| first(kind).is_some_and(goes_left)).sum();
            let cut = before(numbers[at as usize], !matches!(kind, Kind::Less));
            Answer::Comparison { cut: cut as u32, apart }
        }
        (Tests::Sets(sets), kind) => {
            let left = kind == Kind::Member { members_left: true };
            // What has no code may go where members go, as a missing value.
            let uncoded = choices.codes.iter().take_while(|(code, _)| code.is_none());
            let coded = sets[at as usize].iter().flat_map(|&code| {
                let first = choices.codes.partition_point(|known| known.0 < Some(code));
                choices.codes[first..].iter().take_while(move |known| known.0 == Some(code))
            });
            let some = uncoded.chain(coded).map(|&(_, choice)| choice);
            let some = some.filter(|&choice| goes_left(choice as usize) == left).collect();
            Answer::Some { choices: some, left }
        }
    };
    Asked { slot, answer }
}

impl Aim {
    fn find_right(&mut self, nodes: &[u32], tree: core::ops::Range<usize>) {
        // The splits whose left subtree has not ended.
        let mut splits: Vec<usize> = Vec::new();
        for at in tree {
            if nodes[at] != LEAF {
                splits.push(at);
            } else if let Some(split) = splits.pop() {
                // A leaf ends one left subtree; the right one that follows takes the place of both.
                self.right[split] = at as u32 + 1;
            }
        }
    }

    /// Counts each leaf that some choices lead to.
    fn find_reachable(&mut self, nodes: &[u32], root: usize) {
        // The splits above, whether their right side was taken, and what was possible before.
        let mut path: Vec<(usize, bool, Subset)> = Vec::new();
        let mut at = root;
        loop {
            self.visits += 1;
            if nodes[at] == LEAF {
                self.open[at] = 1;
            } else {
                let right = !self.is_possible(nodes[at], true);
                path.push((at, right, self.take(nodes[at], !right)));
                at = if right { self.right[at] as usize } else { at + 1 };
                continue;
            }
            at = loop {
                let Some((split, right, before)) = path.pop() else { return };
                let slot = self.asked[nodes[split] as usize].slot;
                self.left_of[slot] = before;
                if !right && self.is_possible(nodes[split], false) {
                    path.push((split, true, self.take(nodes[split], false)));
                    break self.right[split] as usize;
                }
            };
        }
    }

    /// The choices of a list that go to one side, and that side.
    fn listed(&self, test: u32) -> (alloc::borrow::Cow<'_, [u32]>, bool) {
        let Asked { slot, answer } = &self.asked[test as usize];
        match answer {
            Answer::Some { choices, left } => (choices.into(), *left),
            Answer::Comparison { cut, apart } => {
                let (choices, count) = (&self.choices[*slot], self.left_of[*slot].high as usize);
                let order = choices.list.as_ref().map_or(&[][..], |(order, _)| &order[..count]);
                let goes_left = |choice: &u32| match choices.apart(*choice as usize) {
                    0 => choice < cut,
                    kind => apart & kind != 0,
                };
                (order.iter().copied().filter(goes_left).collect(), true)
            }
        }
    }

    /// What a comparison leaves of a subset.
    fn compared(&self, slot: usize, cut: u32, apart: u8, left: bool) -> Subset {
        let Subset { low, high, apart: before } = self.left_of[slot];
        match left {
            true => Subset { low, high: high.min(cut), apart: before & apart },
            false => Subset { low: low.max(cut), high, apart: before & !apart },
        }
    }

    /// Is there a choice left that goes to this side?
    fn is_possible(&self, test: u32, left: bool) -> bool {
        let Asked { slot, answer } = &self.asked[test as usize];
        match (&self.choices[*slot].list, answer) {
            (None, &Answer::Comparison { cut, apart }) => !self.compared(*slot, cut, apart, left).is_empty(),
            (None, Answer::Some { .. }) => false,
            (Some((_, places)), _) => {
                let count = self.left_of[*slot].high;
                let (some, side) = self.listed(test);
                let found = some.iter().filter(|&&choice| places[choice as usize] < count).count();
                if side == left { found > 0 } else { found < count as usize }
            }
        }
    }

    /// Leaves only the choices that go to this side, and returns what was possible before.
    fn take(&mut self, test: u32, left: bool) -> Subset {
        let Asked { slot, answer } = &self.asked[test as usize];
        let (slot, before) = (*slot, self.left_of[*slot]);
        if let (None, &Answer::Comparison { cut, apart }) = (&self.choices[slot].list, answer) {
            self.left_of[slot] = self.compared(slot, cut, apart, left);
            return before;
        }
        let (some, side) = self.listed(test);
        let some = some.into_owned();
        let Some((order, places)) = &mut self.choices[slot].list else { return before };
        let mut moved = 0;
        for choice in some.into_iter().filter(|_| before.high > 0) {
            let place = places[choice as usize];
            if place < before.high {
                let target = if side == left { moved } else { before.high - 1 - moved };
                order.swap(place as usize, target as usize);
                places[order[place as usize] as usize] = place;
                places[choice as usize] = target;
                moved += 1;
            }
        }
        self.left_of[slot].high = if side == left { moved } else { before.high - moved };
        before
    }

    /// Shrinks what is possible so that the row ends in an unreached leaf of a tree, if that can be.
    fn aim(&mut self, nodes: &[u32], root: usize, path: &mut Vec<(usize, Subset)>) {
        path.clear();
        let mut at = root;
        while nodes[at] != LEAF && self.open[at] > 0 {
            self.visits += 1;
            let children = [at + 1, self.right[at] as usize];
            let more_right = self.open[children[1]] > self.open[children[0]];
            let right = if self.is_possible(nodes[at], !more_right) { more_right } else { !more_right };
            path.push((self.asked[nodes[at] as usize].slot, self.take(nodes[at], !right)));
            at = children[usize::from(right)];
        }
        if self.open[at] == 0 {
            for (slot, before) in path.drain(..).rev() {
                self.left_of[slot] = before;
            }
        }
    }

    /// One of the choices of a feature that are left.
    fn choice(&self, slot: usize, mut random: impl FnMut(usize) -> usize) -> usize {
        let (choices, Subset { low, high, apart }) = (&self.choices[slot], self.left_of[slot]);
        let (low, high) = (low as usize, high as usize);
        if let Some((order, _)) = &choices.list {
            return order[random(high)] as usize;
        }
        let zeros = if apart & ZERO != 0 { choices.zeros } else { 0 };
        let all = choices.values.len();
        let missing = if apart & NAN != 0 { all - choices.numbers - choices.zeros } else { 0 };
        let numbers = high.saturating_sub(low);
        match random(numbers + zeros + missing) {
            at if at < numbers => low + at,
            at if at < numbers + zeros => choices.numbers + at - numbers,
            at => choices.numbers + choices.zeros + at - numbers - zeros,
        }
    }

    /// Counts the leaf that a row reaches as reached.
    fn mark(&mut self, maker: &Maker<'_>, root: usize, chosen: &[usize]) {
        let nodes = &maker.file.nodes;
        let walk = |open: &mut [u32], change: u32| {
            let (mut at, mut steps) = (root, 0);
            while nodes[at] != LEAF && open[at] > 0 {
                let Asked { slot, answer } = &self.asked[nodes[at] as usize];
                let (choices, choice) = (&self.choices[*slot], chosen[*slot]);
                let left = match answer {
                    &Answer::Comparison { cut, apart } => match choices.apart(choice) {
                        0 => choice < cut as usize,
                        kind => apart & kind != 0,
                    },
                    Answer::Some { .. } => maker.left(nodes[at], choices.values[choice]),
                };
                open[at] -= change;
                at = if left { at + 1 } else { self.right[at] as usize };
                steps += 1;
            }
            let new = open[at] > 0;
            open[at] -= if new { change } else { 0 };
            (new, steps)
        };
        let (new, steps) = walk(&mut self.open, 0);
        self.visits += steps;
        if new {
            walk(&mut self.open, 1);
        }
    }
}
