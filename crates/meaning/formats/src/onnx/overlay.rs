//! Combines the smallest or largest of several trees' values into one tree.
//!
//! The smallest value is not a sum, but it can be written as a tree: the second tree is put below
//! each leaf of the first one, and so on, and each final leaf has the smallest of the values on its
//! path. onnxruntime (`MIN`, `MAX`) considers only values that the leaves have, target by target,
//! and adds the base value of the target to the result, as a sum with one tree does.
//!
//! A test whose answer follows from earlier tests on the path is left out. Such trees still grow
//! with the product of the trees' sizes, so only small ensembles can be read in this way; larger
//! ones are refused.

use secateur_model::GroupId;

use super::graph::unsupported;
use super::model::{Form, Shape, Weights};
use super::table::{Aggregate, Floats, Mode, Table};
use crate::error::{FormatError, Place};

/// The most nodes of the combined tree.
const MOST_NODES: usize = 1 << 17;
/// The most nodes on a path through all trees; each is a recursive call.
const MOST_DEPTH: usize = 400;

/// Combines the trees into one if the result is the smallest or the largest of their values, and
/// returns how many there were; any other table is returned unchanged.
pub(super) fn as_one(table: Table) -> Result<(Table, Option<(Aggregate, usize)>), FormatError> {
    let aggregate = table.regressor.map_or(Aggregate::Sum, |regressor| regressor.aggregate);
    if !matches!(aggregate, Aggregate::Smallest | Aggregate::Largest) {
        return Ok((table, None));
    }
    if table.base_values.values.iter().any(|value| *value == 0.0 && value.is_sign_negative()) {
        let advice = "write 0: a sum, as which this is read, never gives a negative zero";
        return Err(unsupported(Place::Field("base_values".to_owned()), "a base value of -0.0", advice));
    }
    let shape = Shape::new(&table)?;
    let trees = shape.runs.len();
    if trees <= 1 {
        return Ok((table, None));
    }
    let weights = Weights::new(&table, &shape, Form::Targets)?;
    let empty = |column: &Floats| Floats { values: Vec::new(), ..*column };
    let one = Table {
        values: empty(&table.values),
        weights: empty(&table.weights),
        base_values: table.base_values.clone(),
        regressor: table.regressor,
        ..Table::default()
    };
    let mut overlay = Overlay {
        old: &table,
        shape: &shape,
        weights: &weights,
        aggregate,
        known: Vec::new(),
        one,
        depth: 0,
    };
    overlay.node(0, 0, &[])?;
    let mut one = overlay.one;
    let rows = one.modes.len();
    one.tree_ids = vec![0; rows];
    one.node_ids = (0..rows as u32).collect();
    if table.hit_rates.present {
        one.hit_rates = Floats { values: vec![1.0; rows], ..table.hit_rates };
    }
    if table.tracks.is_empty() {
        one.tracks.clear();
    }
    Ok((one, Some((aggregate, trees))))
}

struct Overlay<'a> {
    old: &'a Table,
    shape: &'a Shape,
    weights: &'a Weights,
    aggregate: Aggregate,
    /// What the tests on the path to this place imply for columns.
    known: Vec<(i32, Values)>,
    one: Table,
    depth: usize,
}

impl Overlay<'_> {
    /// Appends the subtree of a node, given the tests on the path to it and the values of the
    /// earlier trees; returns its row.
    fn node(
        &mut self,
        tree: usize,
        position: usize,
        values: &[(GroupId, f64)],
    ) -> Result<usize, FormatError> {
        if self.depth == MOST_DEPTH || self.one.modes.len() == MOST_NODES {
            return Err(self.too_large());
        }
        self.depth += 1;
        let row = self.shape.runs[tree].start + position;
        let placed = match self.old.modes[row] {
            Mode::Leaf => self.leaf(tree, position, values),
            mode => self.split(tree, row, mode, values),
        };
        self.depth -= 1;
        placed
    }

    fn leaf(
        &mut self,
        tree: usize,
        position: usize,
        values: &[(GroupId, f64)],
    ) -> Result<usize, FormatError> {
        let mut values = values.to_vec();
        for (group, weight) in self.weights.of_leaf(tree, position) {
            match values.iter_mut().find(|(other, _)| *other == group) {
                Some((_, value)) => {
                    let nearer = match self.aggregate {
                        Aggregate::Largest => weight > *value,
                        _ => weight < *value,
                    };
                    if nearer {
                        *value = weight;
                    }
                }
                None => values.push((group, weight)),
            }
        }
        if tree + 1 < self.shape.runs.len() {
            return self.node(tree + 1, 0, &values);
        }
        let row = self.push(0, Mode::Leaf, 0.0, 0);
        for (group, weight) in values {
            self.one.class_tree_ids.push(0);
            self.one.class_node_ids.push(row as u32);
            self.one.class_ids.push(group.0);
            self.one.weights.values.push(weight);
        }
        Ok(row)
    }

    fn split(
        &mut self,
        tree: usize,
        row: usize,
        mode: Mode,
        values: &[(GroupId, f64)],
    ) -> Result<usize, FormatError> {
        let (feature, value) = (self.old.features[row], self.old.values.values[row]);
        let tracks = self.old.tracks.get(row).copied().unwrap_or(0);
        let test = Question { mode, value, missing: tracks == 1 || mode == Mode::NotEqual };
        let yes = self.shape.child(self.old, tree, row, self.old.true_ids[row])?.index();
        let no = self.shape.child(self.old, tree, row, self.old.false_ids[row])?.index();
        let known = self.known.iter().rev().find(|(other, _)| *other == feature);
        let before = known.map_or(Values::ANY, |&(_, values)| values);
        match before.answer(test) {
            Some(true) => return self.node(tree, yes, values),
            Some(false) => return self.node(tree, no, values),
            None => {}
        }
        let placed = self.push(feature, mode, value, tracks);
        self.known.push((feature, before.given(test, true)));
        let yes = self.node(tree, yes, values)?;
        self.known.pop();
        self.known.push((feature, before.given(test, false)));
        let no = self.node(tree, no, values)?;
        self.known.pop();
        self.one.true_ids[placed] = yes as i32;
        self.one.false_ids[placed] = no as i32;
        Ok(placed)
    }

    fn push(&mut self, feature: i32, mode: Mode, value: f64, tracks: i32) -> usize {
        self.one.features.push(feature);
        self.one.modes.push(mode);
        self.one.values.values.push(value);
        self.one.true_ids.push(0);
        self.one.false_ids.push(0);
        self.one.tracks.push(tracks);
        self.one.modes.len() - 1
    }

    fn too_large(&self) -> FormatError {
        let least = if self.aggregate == Aggregate::Largest { "largest" } else { "smallest" };
        let what = format!(
            "the {least} of the values of {} trees, which as one tree have more than {MOST_NODES} nodes, or {MOST_DEPTH} on \
             one path",
            self.shape.runs.len()
        );
        let advice = "the trees are laid over each other to be read, since this is no sum of trees: take fewer or smaller ones, \
                      or SUM or AVERAGE";
        unsupported(Place::Field("aggregate_function".to_owned()), &what, advice)
    }
}

/// A test of a column's value.
#[derive(Clone, Copy)]
struct Question {
    mode: Mode,
    value: f64,
    /// The answer for a missing value.
    missing: bool,
}

/// An end of an interval: the number, and whether it is excluded.
type End = (f64, bool);

/// The values that a column may have: missing or not, and if not, between two ends. The set may
/// contain values that no input has, so that a test may stay that could be left out; but no test is
/// left out wrongly.
#[derive(Clone, Copy)]
struct Values {
    low: End,
    high: End,
    may_be_missing: bool,
    may_be_number: bool,
}

impl Values {
    const ANY: Self = Self {
        low: (f64::NEG_INFINITY, false),
        high: (f64::INFINITY, false),
        may_be_missing: true,
        may_be_number: true,
    };

    /// May a number in this range be answered with yes, and with no?
    fn numbers(&self, test: Question) -> [bool; 2] {
        let (t, (low, above), (high, below)) = (test.value, self.low, self.high);
        if t.is_nan() {
            return [true, true];
        }
        let at_most = [low < t || (low == t && !above), high > t];
        let less = [low < t, high > t || (high == t && !below)];
        let inside = at_most[0] && less[1];
        let equal = [inside, !(low == t && high == t)];
        let turned = |[yes, no]: [bool; 2]| [no, yes];
        match test.mode {
            Mode::LessOrEqual => at_most,
            Mode::Less => less,
            Mode::Greater => turned(at_most),
            Mode::GreaterOrEqual => turned(less),
            Mode::Equal => equal,
            Mode::NotEqual => turned(equal),
            Mode::Leaf => [true, true],
        }
    }

    /// The answer for all of these values; `None` if they differ.
    fn answer(&self, test: Question) -> Option<bool> {
        let [mut yes, mut no] = if self.may_be_number { self.numbers(test) } else { [false, false] };
        if self.may_be_missing {
            *(if test.missing { &mut yes } else { &mut no }) = true;
        }
        match (yes, no) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }

    /// The values that get this answer.
    fn given(mut self, test: Question, answer: bool) -> Self {
        let [yes, no] = self.numbers(test);
        self.may_be_number &= if answer { yes } else { no };
        self.may_be_missing &= test.missing == answer;
        let t = test.value;
        let (at_most, strict) = match (test.mode, answer) {
            (Mode::LessOrEqual, true) | (Mode::Greater, false) => (true, false),
            (Mode::Less, true) | (Mode::GreaterOrEqual, false) => (true, true),
            (Mode::Greater, true) | (Mode::LessOrEqual, false) => (false, true),
            (Mode::GreaterOrEqual, true) | (Mode::Less, false) => (false, false),
            (Mode::Equal, true) | (Mode::NotEqual, false) => {
                (self.low, self.high) = ((t, false), (t, false));
                return self;
            }
            (Mode::Equal, false) | (Mode::NotEqual, true) | (Mode::Leaf, _) => return self,
        };
        if at_most && (t < self.high.0 || (t == self.high.0 && strict)) {
            self.high = (t, strict);
        }
        if !at_most && (t > self.low.0 || (t == self.low.0 && strict)) {
            self.low = (t, strict);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(test: Question, x: f64) -> bool {
        let t = test.value;
        match test.mode {
            _ if x.is_nan() => test.missing,
            Mode::LessOrEqual => x <= t,
            Mode::Less => x < t,
            Mode::Greater => x > t,
            Mode::GreaterOrEqual => x >= t,
            Mode::Equal => x == t,
            Mode::NotEqual | Mode::Leaf => x != t,
        }
    }

    #[test]
    fn what_follows_from_earlier_tests_is_what_every_value_answers() {
        let mut random = fastrand::Rng::with_seed(5);
        let modes =
            [Mode::LessOrEqual, Mode::Less, Mode::Greater, Mode::GreaterOrEqual, Mode::Equal, Mode::NotEqual];
        let ends = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 0.5, 1.0, f64::INFINITY];
        let inputs = [
            f64::NEG_INFINITY,
            -2.0,
            -1.0,
            -0.5,
            -0.0,
            0.0,
            0.25,
            0.5,
            0.75,
            1.0,
            2.0,
            f64::INFINITY,
            f64::NAN,
        ];
        let (mut followed, mut open) = (0, 0);
        for _ in 0..20_000 {
            let mut values = Values::ANY;
            let mut left: Vec<f64> = inputs.to_vec();
            for _ in 0..random.usize(0..6) {
                let mode = modes[random.usize(0..modes.len())];
                let missing = mode == Mode::NotEqual || random.bool();
                let test = Question { mode, value: ends[random.usize(0..ends.len())], missing };
                match values.answer(test) {
                    Some(answer) => {
                        assert!(left.iter().all(|&x| answers(test, x) == answer), "{mode:?} {}", test.value);
                        followed += 1;
                    }
                    None => {
                        let answer = random.bool();
                        values = values.given(test, answer);
                        left.retain(|&x| answers(test, x) == answer);
                        open += 1;
                    }
                }
            }
        }
        assert!(followed > 5_000 && open > 5_000, "{followed} {open}");
    }
}
