//! The attributes of a `TreeEnsembleClassifier` or `TreeEnsembleRegressor` node as a table of
//! parallel columns, read from a node and written back into it. Attributes that are not columns are
//! kept unchanged.

use std::ops::Range;

use secateur_model::NumberType;

use super::attribute::{Attribute, FLOATS, INTS, List, TENSOR, attributes, element_type, little_endian};
use super::graph::{Operator, unsupported};
use super::newer;
use super::wire::{Message, put_bytes, put_float, put_integer};
use crate::error::{FormatError, Place, Problem};

/// The test of a tree's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
    NotEqual,
    Leaf,
}

/// The names of the modes.
pub(super) const MODES: [(&str, Mode); 7] = [
    ("BRANCH_LEQ", Mode::LessOrEqual),
    ("BRANCH_LT", Mode::Less),
    ("BRANCH_GTE", Mode::GreaterOrEqual),
    ("BRANCH_GT", Mode::Greater),
    ("BRANCH_EQ", Mode::Equal),
    ("BRANCH_NEQ", Mode::NotEqual),
    ("LEAF", Mode::Leaf),
];

/// The transforms, in the order of their numbers.
pub(super) const TRANSFORMS: [&str; 5] = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];

/// A column of floats and the way the file stores it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Floats {
    pub(super) values: Vec<f64>,
    /// The type of a tensor's elements; `None` for a list, which holds f32.
    pub(super) tensor: Option<NumberType>,
    /// Is there such an attribute in the file?
    pub(super) present: bool,
}

impl Floats {
    /// The type that the file stores.
    pub(super) fn number(&self) -> NumberType {
        self.tensor.unwrap_or(NumberType::F32)
    }
}

/// The ensemble as the node's attributes hold it: one entry for each node of each tree, and one for
/// each weight.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) tree_ids: Vec<u32>,
    pub(super) node_ids: Vec<u32>,
    pub(super) features: Vec<i32>,
    pub(super) modes: Vec<Mode>,
    pub(super) values: Floats,
    pub(super) true_ids: Vec<i32>,
    pub(super) false_ids: Vec<i32>,
    /// 1 if missing values follow the true branch; empty if the file has no such attribute.
    pub(super) tracks: Vec<i32>,
    pub(super) hit_rates: Floats,
    pub(super) class_tree_ids: Vec<u32>,
    pub(super) class_node_ids: Vec<u32>,
    pub(super) class_ids: Vec<u32>,
    pub(super) weights: Floats,
    pub(super) integer_labels: Vec<i64>,
    pub(super) text_labels: Vec<String>,
    pub(super) base_values: Floats,
    /// Set if the node is a `TreeEnsembleRegressor` or `TreeEnsemble`, whose targets are the
    /// columns `class_` here.
    pub(super) regressor: Option<Regressor>,
}

/// The properties that a `TreeEnsembleClassifier` does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Regressor {
    pub(super) targets: u32,
    /// How the trees' values are combined.
    pub(super) aggregate: Aggregate,
    /// The transform that is applied to a target's value after the last addition.
    pub(super) transformed: Option<&'static str>,
    /// Is the node a `TreeEnsemble`? It has no base values, and one target for each leaf.
    pub(super) newer: bool,
}

/// How the values of all trees are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Aggregate {
    #[default]
    Sum,
    /// The sum divided by the number of trees.
    Average,
    Smallest,
    Largest,
}

/// The aggregate functions, in the order of their numbers.
pub(super) const AGGREGATES: [(&str, Aggregate); 4] = [
    ("AVERAGE", Aggregate::Average),
    ("SUM", Aggregate::Sum),
    ("MIN", Aggregate::Smallest),
    ("MAX", Aggregate::Largest),
];

/// The attributes that an edit may change, besides the columns of floats.
const TRACKS: &str = "nodes_missing_value_tracks_true";
const BASE_VALUES: &str = "base_values";

/// The column for an attribute of a `TreeEnsembleRegressor`.
fn target_column(name: &str) -> Result<&str, FormatError> {
    Ok(match name {
        "target_treeids" => "class_treeids",
        "target_nodeids" => "class_nodeids",
        "target_ids" => "class_ids",
        "target_weights" => "class_weights",
        _ if name.starts_with("class") => {
            let what = format!("the attribute {name:?}");
            let advice = "it is not one of TreeEnsembleRegressor, and onnxruntime refuses it too";
            return Err(unsupported(Place::Field(name.to_owned()), &what, advice));
        }
        _ => name,
    })
}

impl Table {
    /// Reads the attributes of a node whose ensemble compares in `number`.
    pub(super) fn read(
        node: Message<'_>,
        number: NumberType,
        opset: i64,
        operator: Operator,
    ) -> Result<Self, FormatError> {
        let regressor = match operator {
            Operator::Classifier => None,
            Operator::Regressor => Some(Regressor::default()),
            Operator::Newer => return newer::read(node, number),
        };
        let mut table = Self { regressor, ..Self::default() };
        let mut seen: Vec<&str> = Vec::new();
        for attribute in attributes(node) {
            let attribute = attribute?;
            if seen.contains(&attribute.name) {
                let place = Place::Byte(attribute.field.start as u64);
                return Err(FormatError::new(
                    place,
                    Problem::DuplicateKey { key: attribute.name.to_owned() },
                ));
            }
            seen.push(attribute.name);
            table.read_attribute(&attribute, number, opset)?;
        }
        table.check_lengths()?;
        Ok(table)
    }

    fn read_attribute(
        &mut self,
        attribute: &Attribute<'_>,
        number: NumberType,
        opset: i64,
    ) -> Result<(), FormatError> {
        let (name, tensor) = match attribute.name.strip_suffix("_as_tensor") {
            Some(name) => (name, true),
            None => (attribute.name, false),
        };
        if tensor && opset < 3 {
            let what = format!("{} in operator set {opset}", attribute.name);
            return Err(unsupported(attribute.place(), &what, "tensors came with set 3 of ai.onnx.ml"));
        }
        let name = match self.regressor {
            Some(_) => target_column(name)?,
            None => name,
        };
        if let Some(column) = self.floats_mut(name) {
            if std::mem::replace(&mut column.present, true) {
                let key = name.to_owned();
                return Err(FormatError::new(attribute.place(), Problem::DuplicateKey { key }));
            }
            if tensor {
                column.tensor = Some(number);
                column.values = attribute.tensor(number)?;
            } else {
                column.values = attribute.floats()?;
            }
            return Ok(());
        }
        match if tensor { attribute.name } else { name } {
            "nodes_treeids" => self.tree_ids = attribute.ints()?,
            "nodes_nodeids" => self.node_ids = attribute.ints()?,
            "nodes_featureids" => self.features = attribute.ints()?,
            "nodes_truenodeids" => self.true_ids = attribute.ints()?,
            "nodes_falsenodeids" => self.false_ids = attribute.ints()?,
            TRACKS => self.tracks = attribute.ints()?,
            "class_treeids" => self.class_tree_ids = attribute.ints()?,
            "class_nodeids" => self.class_node_ids = attribute.ints()?,
            "class_ids" => self.class_ids = attribute.ints()?,
            "classlabels_int64s" => self.integer_labels = attribute.ints()?,
            "classlabels_strings" => {
                let text = |part: Message<'_>, _| part.text().map(str::to_owned);
                self.text_labels = attribute.strings(text)?;
            }
            "nodes_modes" => {
                self.modes = attribute.strings(|part, index| {
                    let mode = MODES.iter().find(|(name, _)| name.as_bytes() == part.bytes());
                    mode.map(|&(_, mode)| mode).ok_or_else(|| {
                        let found = String::from_utf8_lossy(part.bytes()).into_owned();
                        let place = Place::Field(format!("nodes_modes[{index}]"));
                        FormatError::new(place, Problem::Value { found, expected: "a mode of ONNX" })
                    })
                })?;
            }
            "post_transform" => {
                let found = attribute.string()?;
                if !TRANSFORMS.contains(&found) {
                    let found = found.to_owned();
                    let expected = "a transform of ONNX";
                    return Err(FormatError::new(attribute.place(), Problem::Value { found, expected }));
                }
                if let Some(regressor) = &mut self.regressor {
                    let known = TRANSFORMS.iter().find(|&&name| name == found).copied();
                    regressor.transformed = known.filter(|&name| name != "NONE");
                }
            }
            "n_targets" if self.regressor.is_some() => {
                let found = attribute.int()?;
                let targets = u32::try_from(found).ok().filter(|&targets| (1..=1 << 16).contains(&targets));
                let Some(targets) = targets else {
                    let expected = "a number of targets from 1 to 65536";
                    let problem = Problem::Value { found: found.to_string(), expected };
                    return Err(FormatError::new(attribute.place(), problem));
                };
                self.regressor = self.regressor.map(|known| Regressor { targets, ..known });
            }
            "aggregate_function" if self.regressor.is_some() => {
                let found = attribute.string()?;
                let Some(&(_, aggregate)) = AGGREGATES.iter().find(|(name, _)| *name == found) else {
                    let expected = "an aggregate function of ONNX";
                    let problem = Problem::Value { found: found.to_owned(), expected };
                    return Err(FormatError::new(attribute.place(), problem));
                };
                self.regressor = self.regressor.map(|known| Regressor { aggregate, ..known });
            }
            _ => {
                let what = format!("the attribute {:?}", attribute.name);
                let advice = "it is not one of this operator, and onnxruntime refuses it too";
                return Err(unsupported(attribute.place(), &what, advice));
            }
        }
        Ok(())
    }

    /// Does this table have the same trees and base values as another, row by row?
    pub(super) fn has_trees_of(&self, other: &Self) -> bool {
        self.tree_ids == other.tree_ids
            && self.node_ids == other.node_ids
            && self.features == other.features
            && self.modes == other.modes
            && self.values == other.values
            && self.true_ids == other.true_ids
            && self.false_ids == other.false_ids
            && self.tracks == other.tracks
            && self.class_tree_ids == other.class_tree_ids
            && self.class_node_ids == other.class_node_ids
            && self.class_ids == other.class_ids
            && self.weights == other.weights
            && self.base_values == other.base_values
    }

    fn floats_mut(&mut self, name: &str) -> Option<&mut Floats> {
        match name {
            "nodes_values" => Some(&mut self.values),
            "nodes_hitrates" => Some(&mut self.hit_rates),
            "class_weights" => Some(&mut self.weights),
            BASE_VALUES => Some(&mut self.base_values),
            _ => None,
        }
    }

    fn check_lengths(&self) -> Result<(), FormatError> {
        let (nodes, entries) = (self.tree_ids.len(), self.class_ids.len());
        let lengths = [
            ("nodes_nodeids", self.node_ids.len(), nodes),
            ("nodes_featureids", self.features.len(), nodes),
            ("nodes_modes", self.modes.len(), nodes),
            ("nodes_values", self.values.values.len(), nodes),
            ("nodes_truenodeids", self.true_ids.len(), nodes),
            ("nodes_falsenodeids", self.false_ids.len(), nodes),
            (TRACKS, self.tracks.len(), if self.tracks.is_empty() { 0 } else { nodes }),
            ("nodes_hitrates", self.hit_rates.values.len(), if self.hit_rates.present { nodes } else { 0 }),
            ("class_treeids", self.class_tree_ids.len(), entries),
            ("class_nodeids", self.class_node_ids.len(), entries),
            ("class_weights", self.weights.values.len(), entries),
        ];
        for (name, found, expected) in lengths {
            if found != expected {
                let place = Place::Field(name.to_owned());
                return Err(FormatError::new(place, Problem::Length { expected, found }));
            }
        }
        Ok(())
    }

    /// The rows of each tree: nodes with the same tree id are adjacent.
    pub(super) fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for run in self.tree_ids.chunk_by(|a, b| a == b) {
            let start = runs.last().map_or(0, |last| last.end);
            runs.push(start..start + run.len());
        }
        runs
    }

    /// Writes these columns into a node; `bytes` is the file that contains it.
    pub(super) fn write(&self, bytes: &[u8], node: Message<'_>) -> Result<Vec<u8>, FormatError> {
        let mut out = Vec::with_capacity(node.bytes().len());
        let (mut tracks, mut base) = (false, false);
        for field in node.fields() {
            let field = field?;
            let rewritten = match field.number {
                5 => {
                    let attribute = Attribute::read(&field)?;
                    tracks |= attribute.name == TRACKS;
                    base |=
                        attribute.name.strip_suffix("_as_tensor").unwrap_or(attribute.name) == BASE_VALUES;
                    self.write_attribute(bytes, &attribute)?
                }
                _ => None,
            };
            match rewritten {
                Some(attribute) => put_bytes(&mut out, 5, &attribute),
                None => out.extend(&bytes[field.range]),
            }
        }
        if !tracks && !self.tracks.is_empty() {
            let mut body = Vec::new();
            put_bytes(&mut body, 1, TRACKS.as_bytes());
            self.tracks.iter().for_each(|&value| put_integer(&mut body, 8, value.into()));
            put_integer(&mut body, 20, INTS);
            put_bytes(&mut out, 5, &body);
        }
        if !base && self.base_values.present {
            put_bytes(&mut out, 5, &self.new_base_values());
        }
        Ok(out)
    }

    fn new_base_values(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self.base_values.tensor {
            None => {
                put_bytes(&mut body, 1, BASE_VALUES.as_bytes());
                self.base_values.values.iter().for_each(|&value| put_float(&mut body, 7, value as f32));
                put_integer(&mut body, 20, FLOATS);
            }
            Some(number) => {
                put_bytes(&mut body, 1, b"base_values_as_tensor");
                let mut tensor = Vec::new();
                put_integer(&mut tensor, 1, self.base_values.values.len() as i64);
                put_integer(&mut tensor, 2, element_type(number));
                put_bytes(&mut tensor, 8, BASE_VALUES.as_bytes());
                put_bytes(&mut tensor, 9, &little_endian(&self.base_values.values, number));
                put_bytes(&mut body, 5, &tensor);
                put_integer(&mut body, 20, TENSOR);
            }
        }
        body
    }

    /// The new content of an attribute; `None` for one that stays.
    fn write_attribute(
        &self,
        bytes: &[u8],
        attribute: &Attribute<'_>,
    ) -> Result<Option<Vec<u8>>, FormatError> {
        fn wide<T: Copy + Into<i64>>(values: &[T]) -> List<'_> {
            List::Ints(values.iter().map(|&value| value.into()).collect())
        }
        let name = attribute.name.strip_suffix("_as_tensor").unwrap_or(attribute.name);
        let name = if self.regressor.is_some() { target_column(name)? } else { name };
        let list = match name {
            "nodes_treeids" => wide(&self.tree_ids),
            "nodes_nodeids" => wide(&self.node_ids),
            "nodes_featureids" => wide(&self.features),
            "nodes_truenodeids" => wide(&self.true_ids),
            "nodes_falsenodeids" => wide(&self.false_ids),
            TRACKS => wide(&self.tracks),
            "class_treeids" => wide(&self.class_tree_ids),
            "class_nodeids" => wide(&self.class_node_ids),
            "class_ids" => wide(&self.class_ids),
            "nodes_modes" => List::Modes(&self.modes),
            "nodes_values" => List::Floats(&self.values),
            "nodes_hitrates" => List::Floats(&self.hit_rates),
            "class_weights" => List::Floats(&self.weights),
            BASE_VALUES => List::Floats(&self.base_values),
            // The trees were combined into one, whose sum is also the smallest and the largest
            // value.
            "aggregate_function"
                if self.regressor.is_some_and(|known| {
                    matches!(known.aggregate, Aggregate::Smallest | Aggregate::Largest)
                }) =>
            {
                List::Text("SUM")
            }
            _ => return Ok(None),
        };
        attribute.rewritten(bytes, &list).map(Some)
    }
}
