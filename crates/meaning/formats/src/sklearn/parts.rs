//! The parts of a fitted classifier that determine its predictions, whether they come from a skops
//! archive or from a live object that the Python package takes apart.

use secateur_model::{ClassLabels, TreeId, Value};

use super::npy::{self, Array};
use crate::error::{FormatError, Place, Problem};

/// A fitted classifier or regressor.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// The kind of classifier, and its properties besides the trees.
    pub estimator: Estimator,
    /// The version of scikit-learn that fitted it.
    pub version: String,
    /// The class labels; none for a regressor.
    pub classes: ClassLabels,
    /// For a regressor, how its `predict` transforms the score; `None` for a classifier.
    pub regression: Option<Value>,
    /// The number of input columns.
    pub feature_count: u32,
    /// Their names, if the model was fitted on a table.
    pub feature_names: Option<Vec<String>>,
    /// Is NaN accepted?
    pub missing: bool,
    /// The trees in the order of the estimator; if a round has one for each class, round by round.
    pub trees: Vec<TreePart>,
}

/// The most outputs of a regressor.
const MOST_OUTPUTS: usize = 1 << 16;

impl Parts {
    /// The number of outputs of a regressor, from its first tree; one for every other model.
    pub fn outputs(&self) -> usize {
        match self.trees.first().map(|tree| &tree.arrays) {
            Some(TreeArrays::Plain { outputs, .. }) => *outputs as usize,
            _ => 1,
        }
    }
}

/// The supported kinds of models: classifiers, and regressors with the same kinds of trees (except
/// AdaBoost).
#[derive(Clone, Debug, PartialEq)]
pub enum Estimator {
    /// `DecisionTreeClassifier`, `ExtraTreeClassifier`, and the regressors.
    DecisionTree,
    /// `RandomForestClassifier`, `RandomForestRegressor`.
    RandomForest,
    /// `ExtraTreesClassifier`, `ExtraTreesRegressor`.
    ExtraTrees,
    /// `AdaBoostClassifier`.
    AdaBoost {
        /// `estimator_weights_`: one for each tree, followed by zeros if fitting ended early.
        weights: Vec<f64>,
    },
    /// `GradientBoostingClassifier`, `GradientBoostingRegressor`.
    GradientBoosting {
        /// The factor on every tree.
        learning_rate: f64,
        /// The scores of the initial estimator, from which sums start; `None` for `init="zero"`.
        start: Option<Vec<f64>>,
        /// How far the library's own start may be from this one, number by number; empty if they
        /// are equal.
        start_errors: Vec<f64>,
        /// Was it fitted with the exponential loss, whose scores are half of the log-odds?
        exponential_loss: bool,
    },
    /// `HistGradientBoostingClassifier`, `HistGradientBoostingRegressor`.
    HistGradientBoosting {
        /// `_baseline_prediction`.
        baseline: Vec<f64>,
        /// For each column that the trees see, the input column it comes from.
        columns: Vec<u32>,
        /// The categories that the encoder knows, for the first of these columns.
        categories: Vec<CategoryList>,
    },
    /// `IsolationForest`: neither a classifier nor a regressor. Each value is the path length that
    /// the library adds for a leaf, and splits use columns of the whole table.
    IsolationForest {
        /// The number of rows that each tree was grown from.
        max_samples: u64,
    },
}

impl Estimator {
    /// The name of the classifier in scikit-learn, or of the regressor with the same kind of trees.
    pub fn name(&self, regressor: bool) -> &'static str {
        match self {
            Self::IsolationForest { .. } => "IsolationForest",
            Self::DecisionTree if regressor => "DecisionTreeRegressor",
            Self::RandomForest if regressor => "RandomForestRegressor",
            Self::ExtraTrees if regressor => "ExtraTreesRegressor",
            Self::GradientBoosting { .. } if regressor => "GradientBoostingRegressor",
            Self::HistGradientBoosting { .. } if regressor => "HistGradientBoostingRegressor",
            Self::DecisionTree => "DecisionTreeClassifier",
            Self::RandomForest => "RandomForestClassifier",
            Self::ExtraTrees => "ExtraTreesClassifier",
            Self::AdaBoost { .. } => "AdaBoostClassifier",
            Self::GradientBoosting { .. } => "GradientBoostingClassifier",
            Self::HistGradientBoosting { .. } => "HistGradientBoostingClassifier",
        }
    }
}

/// The categories of a column, in the order of their codes.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryList {
    /// The categories themselves.
    pub values: CategoryValues,
    /// The codes that the trees know, one bit each; others count as missing.
    pub known: [u32; 8],
}

/// Categories as the encoder lists them, without NaN and None.
#[derive(Clone, Debug, PartialEq)]
pub enum CategoryValues {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Text.
    Texts(Vec<String>),
}

impl CategoryValues {
    /// The number of categories.
    pub fn count(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }
}

/// One tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreePart {
    /// The tree of the original estimator that it replaces; that tree's other fields are kept.
    pub origin: u32,
    /// Does it differ from that tree?
    pub edited: bool,
    /// Its nodes and values.
    pub arrays: TreeArrays,
}

/// The arrays of a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeArrays {
    /// `sklearn.tree._tree.Tree`.
    Plain {
        /// The nodes.
        nodes: Vec<PlainNode>,
        /// As many values for each node as there are classes, or one for each output of a
        /// regressor.
        values: Vec<f64>,
        /// The number of outputs of the tree: more than one only for a regressor that was fitted on
        /// several targets.
        outputs: u32,
    },
    /// `TreePredictor` of the histogram-based models.
    Histogram {
        /// The nodes.
        nodes: Vec<HistogramNode>,
        /// `raw_left_cat_bitsets`: the codes that go left, for each categorical split.
        left: Vec<[u32; 8]>,
        /// `binned_left_cat_bitsets`, which prediction does not use.
        binned: Vec<[u32; 8]>,
    },
}

macro_rules! record {
    (
        $(#[$doc:meta])* $name:ident, $fields:ident, $size:literal, [$($padding:literal)?];
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $kind:literal),* $(,)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        const $fields: &[(&str, &str)] = &[$((stringify!($field), $kind),)* $(("", $padding),)?];

        impl $name {
            const SIZE: usize = $size;

            /// A record of `SIZE` bytes.
            fn read(bytes: &[u8]) -> Self {
                let mut at = 0;
                $(
                    let $field = <$type>::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
                    at += size_of::<$type>();
                )*
                debug_assert!(at <= Self::SIZE);
                Self { $($field),* }
            }

            fn write(&self, out: &mut Vec<u8>) {
                let end = out.len() + Self::SIZE;
                $(out.extend(self.$field.to_le_bytes());)*
                out.resize(end, 0);
            }
        }
    };
}

record! {
    /// A node of `sklearn.tree._tree.Tree`.
    PlainNode, PLAIN_FIELDS, 64, ["|V7"];
    /// -1 in a leaf.
    left_child: i64 = "<i8",
    /// -1 in a leaf.
    right_child: i64 = "<i8",
    /// The column of a split.
    feature: i64 = "<i8",
    /// Left iff value <= threshold.
    threshold: f64 = "<f8",
    /// A statistic of training.
    impurity: f64 = "<f8",
    /// A statistic of training.
    n_node_samples: i64 = "<i8",
    /// A statistic of training.
    weighted_n_node_samples: f64 = "<f8",
    /// Does NaN go left?
    missing_go_to_left: u8 = "|u1",
}

record! {
    /// A node of `TreePredictor`.
    HistogramNode, HISTOGRAM_FIELDS, 56, [];
    /// The amount that a leaf adds.
    value: f64 = "<f8",
    /// A statistic of training.
    count: u32 = "<u4",
    /// The column of a split, as the trees see them.
    feature_idx: i64 = "<i8",
    /// Left iff value <= threshold.
    num_threshold: f64 = "<f8",
    /// Does NaN go left?
    missing_go_to_left: u8 = "|u1",
    /// The left child.
    left: u32 = "<u4",
    /// The right child.
    right: u32 = "<u4",
    /// A statistic of training.
    gain: f64 = "<f8",
    /// The distance from the root.
    depth: u32 = "<u4",
    /// Is it a leaf?
    is_leaf: u8 = "|u1",
    /// The threshold on bins, used in training.
    bin_threshold: u8 = "|u1",
    /// Does the split look the value up in a set of codes?
    is_categorical: u8 = "|u1",
    /// The position of that set.
    bitset_idx: u32 = "<u4",
}

impl TreeArrays {
    /// The arrays of a plain tree from their `.npy` forms.
    pub fn plain_from_npy(tree: TreeId, nodes: &[u8], values: &[u8]) -> Result<Self, FormatError> {
        let nodes = plain_nodes(nodes).map_err(|problem| in_tree(tree, "nodes", problem))?;
        let (values, outputs) =
            plain_values(values, nodes.len()).map_err(|problem| in_tree(tree, "values", problem))?;
        Ok(Self::Plain { nodes, values, outputs })
    }

    /// The arrays of a histogram-based tree from their `.npy` forms.
    pub fn histogram_from_npy(
        tree: TreeId,
        nodes: &[u8],
        left: &[u8],
        binned: &[u8],
    ) -> Result<Self, FormatError> {
        let nodes = histogram_nodes(nodes).map_err(|problem| in_tree(tree, "nodes", problem))?;
        let left = bitsets(left).map_err(|problem| in_tree(tree, "raw_left_cat_bitsets", problem))?;
        let binned = bitsets(binned).map_err(|problem| in_tree(tree, "binned_left_cat_bitsets", problem))?;
        Ok(Self::Histogram { nodes, left, binned })
    }

    /// The number of nodes.
    pub fn node_count(&self) -> usize {
        match self {
            Self::Plain { nodes, .. } => nodes.len(),
            Self::Histogram { nodes, .. } => nodes.len(),
        }
    }

    /// The arrays in `.npy` form: nodes and values, or nodes and both kinds of sets.
    pub fn to_npy(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Plain { nodes, values, outputs } => {
                let mut data = Vec::with_capacity(nodes.len() * PlainNode::SIZE);
                nodes.iter().for_each(|node| node.write(&mut data));
                let nodes_npy = npy::write(&descriptor(PLAIN_FIELDS), &[nodes.len()], &data);
                let (outputs, width) = (*outputs as usize, values.len() / nodes.len());
                vec![nodes_npy, npy::write_doubles(&[nodes.len(), outputs, width / outputs], values)]
            }
            Self::Histogram { nodes, left, binned } => {
                let mut data = Vec::with_capacity(nodes.len() * HistogramNode::SIZE);
                nodes.iter().for_each(|node| node.write(&mut data));
                let nodes = npy::write(&descriptor(HISTOGRAM_FIELDS), &[nodes.len()], &data);
                let sets = |sets: &[[u32; 8]]| {
                    let data: Vec<u8> = sets.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
                    npy::write("'<u4'", &[sets.len(), 8], &data)
                };
                vec![nodes, sets(left), sets(binned)]
            }
        }
    }

    /// The number of splits on the longest path from the root; the children are in range and form a
    /// tree.
    pub fn depth(&self) -> usize {
        let children = |node: usize| match self {
            Self::Plain { nodes, .. } => {
                let node = &nodes[node];
                (node.left_child >= 0).then_some((node.left_child as usize, node.right_child as usize))
            }
            Self::Histogram { nodes, .. } => {
                let node = &nodes[node];
                (node.is_leaf == 0).then_some((node.left as usize, node.right as usize))
            }
        };
        let (mut deepest, mut open) = (0, vec![(0, 0)]);
        while let Some((node, depth)) = open.pop() {
            deepest = deepest.max(depth);
            if let Some((left, right)) = children(node) {
                open.extend([(left, depth + 1), (right, depth + 1)]);
            }
        }
        deepest
    }
}

fn in_tree(tree: TreeId, field: &'static str, problem: Problem) -> FormatError {
    FormatError::new(Place::TreeField { tree, field }, problem)
}

pub(crate) fn plain_nodes(npy: &[u8]) -> Result<Vec<PlainNode>, Problem> {
    Ok(Array::parse(npy)?.records(PLAIN_FIELDS, PlainNode::SIZE)?.map(PlainNode::read).collect())
}

/// The values of `nodes` nodes, and the number of outputs: shape (nodes, 1, classes), or (nodes,
/// outputs, 1).
pub(crate) fn plain_values(npy: &[u8], nodes: usize) -> Result<(Vec<f64>, u32), Problem> {
    let array = Array::parse(npy)?;
    match *array.shape() {
        [found, 1, width] if found == nodes && width > 0 => Ok((array.doubles()?, 1)),
        [found, outputs, 1] if found == nodes && (2..=MOST_OUTPUTS).contains(&outputs) => {
            Ok((array.doubles()?, outputs as u32))
        }
        _ => {
            let found = format!("shape {:?} beside {nodes} nodes", array.shape());
            let expected = "one output with values for each node and class, or one value for each output";
            Err(Problem::Value { found, expected })
        }
    }
}

pub(crate) fn histogram_nodes(npy: &[u8]) -> Result<Vec<HistogramNode>, Problem> {
    Ok(Array::parse(npy)?.records(HISTOGRAM_FIELDS, HistogramNode::SIZE)?.map(HistogramNode::read).collect())
}

pub(crate) fn bitsets(npy: &[u8]) -> Result<Vec<[u32; 8]>, Problem> {
    let array = Array::parse(npy)?;
    if !matches!(array.shape(), [_, 8]) {
        let found = format!("shape {:?}", array.shape());
        return Err(Problem::Value { found, expected: "rows of eight words" });
    }
    Ok(array.words()?.chunks_exact(8).map(|words| std::array::from_fn(|i| words[i])).collect())
}

/// The element type of records as NumPy spells it in a header.
fn descriptor(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, kind)| format!("('{name}', '{kind}')")).collect();
    format!("[{}]", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_read_back_as_they_were_written() {
        let node = PlainNode {
            left_child: -1,
            right_child: -1,
            feature: -2,
            threshold: -2.0,
            impurity: 0.5,
            n_node_samples: 7,
            weighted_n_node_samples: 7.5,
            missing_go_to_left: 1,
        };
        for outputs in [1, 2] {
            let plain = TreeArrays::Plain { nodes: vec![node], values: vec![0.25, 0.75], outputs };
            let npy = plain.to_npy();
            assert_eq!(TreeArrays::plain_from_npy(TreeId(0), &npy[0], &npy[1]).unwrap(), plain);
        }
        let node = HistogramNode {
            value: 1.5,
            count: 3,
            feature_idx: 2,
            num_threshold: f64::INFINITY,
            missing_go_to_left: 1,
            left: 0,
            right: 0,
            gain: -1.0,
            depth: 4,
            is_leaf: 1,
            bin_threshold: 9,
            is_categorical: 0,
            bitset_idx: 5,
        };
        let histogram = TreeArrays::Histogram { nodes: vec![node], left: vec![[7; 8]], binned: vec![] };
        let npy = histogram.to_npy();
        let read = TreeArrays::histogram_from_npy(TreeId(0), &npy[0], &npy[1], &npy[2]).unwrap();
        assert_eq!(read, histogram);
    }
}
