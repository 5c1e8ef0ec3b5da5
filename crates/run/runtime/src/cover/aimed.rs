//! Makes rows that reach all leaves, where each row aims at an unreached leaf of every tree at
//! once. It takes about as many rows as the largest tree has leaves, times a small number, instead
//! of one row for every leaf of every tree.
//!
//! # How
//! The interesting values of a feature are its *choices*. While a row is made, each feature has a
//! subset of its choices left. The row passes through the trees, those with the most unreached
//! leaves first. At each split it takes the side with more unreached leaves if that is still
//! possible, otherwise the other one, and keeps only the choices that go there. If this ends where
//! no leaf is unreached, the choices that the tree took away are restored. In the end one value is
//! taken from each subset.
//!
//! # Why every leaf is reached
//! A leaf counts as unreached only if some choice of values leads there. The first tree of a row
//! has an unreached leaf and starts with all choices; a side that no choice leads to has no
//! unreached leaf, so that the walk ends in an unreached leaf. Every row therefore reaches at least
//! one new leaf, until none is left or the cover meets a limit.

use alloc::vec::Vec;

use super::Maker;
use crate::file::{Kind, LEAF, Tests};

/// The largest number of nodes that the search for rows visits. It ends there for models with very
/// deep trees, whose rows have long paths.
const MOST_VISITS: usize = 1 << 30;

/// Nodes visited between two calls of `watch`.
const WATCHED: usize = 1 << 18;

const NAN: u8 = 1;
const ZERO: u8 = 2;

/// The choices of a feature that are left.
#[derive(Clone, Copy)]
struct Subset {
    /// Of the numbers in ascending order, those from `low` up to but excluding `high`. If the
    /// choices have a list: the first `high` of the list.
    low: u32,
    high: u32,
    /// Whether missing values and zeros are left, as bits (zeros only if tests have a side for
    /// them).
    apart: u8,
}

impl Subset {
    fn is_empty(self) -> bool {
        self.low >= self.high && self.apart == 0
    }
}

/// The choices of a feature.
struct Choices {
    /// The values as a caller gives them: numbers in ascending order, then zeros if tests have a
    /// side for them, then missing values.
    values: Vec<f64>,
    numbers: usize,
    zeros: usize,
    all: Subset,
    /// Only if some test is not a comparison: the choices in an order in which those that are left
    /// come first, and the position of each choice in that order. Narrowing a subset moves choices
    /// only within it, so that its former length alone restores it.
    list: Option<(Vec<u32>, Vec<u32>)>,
    /// The category code of each choice, sorted, if the feature has categories.
    codes: Vec<(Option<u32>, u32)>,
}

impl Choices {
    /// 0 if the choice is a number that comparisons read; otherwise [`ZERO`] or [`NAN`].
    fn apart(&self, choice: usize) -> u8 {
        match choice {
            _ if choice < self.numbers => 0,
            _ if choice < self.numbers + self.zeros => ZERO,
            _ => NAN,
        }
    }
}

/// A test, in terms of the choices of its feature.
struct Asked {
    /// The position of its feature in `Maker::values`.
    slot: usize,
    answer: Answer,
}

enum Answer {
    /// Numbers before `cut` go left, and so do the kinds in `apart`.
    Comparison { cut: u32, apart: u8 },
    /// These choices go left if `left` is set, otherwise right; all other choices go to the other
    /// side.
    Some { choices: Vec<u32>, left: bool },
}

pub(super) struct Aim {
    choices: Vec<Choices>,
    asked: Vec<Asked>,
    /// The right child of each split; the left one is the next node.
    right: Vec<u32>,
    /// The number of unreached leaves at and below each node.
    open: Vec<u32>,
    left_of: Vec<Subset>,
    visits: usize,
    looked: usize,
}

/// Adds rows until every leaf is reached. Returns `None` if `watch` returned false.
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

/// The choices of a feature, sorted as [`Choices::values`] says.
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

/// The answer of a test for each choice of its feature.
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
        // Only few choices are equal to a number, so that a list of them is short.
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
            // A value without a code may go to the members' side, as a missing value.
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
        // The splits whose left subtree has not ended yet.
        let mut splits: Vec<usize> = Vec::new();
        for at in tree {
            if nodes[at] != LEAF {
                splits.push(at);
            } else if let Some(split) = splits.pop() {
                // A leaf ends the left subtree of the last such split, and the right subtree of
                // that split follows.
                self.right[split] = at as u32 + 1;
            }
        }
    }

    /// Counts each leaf that some choices lead to.
    fn find_reachable(&mut self, nodes: &[u32], root: usize) {
        // For each split above: its node, whether its right side was taken, and the subset that was
        // left before it.
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

    /// Choices of a feature with a list that go to one side, and whether that side is the left one.
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

    /// The subset that a comparison leaves on one side.
    fn compared(&self, slot: usize, cut: u32, apart: u8, left: bool) -> Subset {
        let Subset { low, high, apart: before } = self.left_of[slot];
        match left {
            true => Subset { low, high: high.min(cut), apart: before & apart },
            false => Subset { low: low.max(cut), high, apart: before & !apart },
        }
    }

    /// Does any choice that is left go to this side?
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

    /// Keeps only the choices that go to this side; returns the subset that was left before.
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

    /// Narrows the subsets so that the row ends in an unreached leaf of a tree, if that is
    /// possible.
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

    /// Marks the leaf that a row reaches as reached.
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
