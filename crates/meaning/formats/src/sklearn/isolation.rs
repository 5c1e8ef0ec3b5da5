//! scikit-learn's `IsolationForest`: how isolated an input is, as a sum of path lengths.
//!
//! For each tree the library adds the number of splits on the path to the input's leaf and the
//! average path length of a random tree over the training rows that ended there. `score_samples` is
//! `-(2 ** -(sum / expected))`, and `decision_function` is that minus `offset_`. The last bits of
//! NumPy's power and logarithm differ between processors, so the model's score is the sum, whose
//! addends are stored in the file. A joblib context can change the order of addition.
//!
//! A tree may use only some of the columns (`estimators_features_`, if `max_features` asks for it).

use secateur_model::TreeId;

use super::npy::Array;
use super::parts::{Estimator, Parts, PlainNode, TreeArrays, TreePart};
use super::schema::Fields;
use super::skops::{Reader, TREE_MODULE, expect_class};
use crate::error::{FormatError, Place, Problem};

/// The average path length of a random tree over this many rows.
pub(crate) fn average_path_length(rows: u64) -> f64 {
    const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
    match rows {
        0 | 1 => 0.0,
        2 => 1.0,
        rows => {
            let rows = rows as f64;
            2.0 * ((rows - 1.0).ln() + EULER_GAMMA) - 2.0 * (rows - 1.0) / rows
        }
    }
}

/// The arrays of one tree: the amount that the library adds at each leaf, and splits on columns of
/// the whole table. `below` has the average path length under each node.
pub(crate) fn arrays(
    tree: TreeId,
    mut nodes: Vec<PlainNode>,
    below: &[f64],
    columns: Option<&[i64]>,
) -> Result<TreeArrays, FormatError> {
    let wrong = |field, problem| FormatError::new(Place::TreeField { tree, field }, problem);
    if below.len() != nodes.len() {
        let problem = Problem::Length { expected: nodes.len(), found: below.len() };
        return Err(wrong("_average_path_length_per_tree", problem));
    }
    if let Some(columns) = columns {
        for node in nodes.iter_mut().filter(|node| node.left_child != -1) {
            let column = usize::try_from(node.feature).ok().and_then(|at| columns.get(at));
            let expected = "the number of a feature of this tree";
            let found = node.feature.to_string();
            node.feature = *column.ok_or_else(|| wrong("nodes", Problem::Value { found, expected }))?;
        }
    }
    let values = depths(tree, &nodes)?.iter().zip(below).map(|(depth, below)| depth + below - 1.0).collect();
    Ok(TreeArrays::Plain { nodes, values, outputs: 1 })
}

/// The depth of each node, 1 for the root. Nodes that no path reaches have an arbitrary number,
/// which is not used.
fn depths(tree: TreeId, nodes: &[PlainNode]) -> Result<Vec<f64>, FormatError> {
    let mut depths = vec![1.0; nodes.len()];
    let (mut open, mut seen) = (vec![0usize], 0usize);
    while let Some(at) = open.pop() {
        seen += 1;
        let Some(node) = nodes.get(at).filter(|_| seen <= nodes.len()) else {
            let found = format!("a way to node {at}");
            let problem = Problem::Value { found, expected: "children that make up a tree" };
            return Err(FormatError::new(Place::TreeField { tree, field: "nodes" }, problem));
        };
        if node.left_child == -1 {
            continue;
        }
        let below = depths[at] + 1.0;
        for child in [node.left_child, node.right_child] {
            let child = usize::try_from(child).unwrap_or(usize::MAX);
            if let Some(depth) = depths.get_mut(child) {
                *depth = below;
            }
            open.push(child);
        }
    }
    Ok(depths)
}

impl<'a> Reader<'a> {
    pub(super) fn isolation_forest(&self, fields: &Fields<'a>, parts: &mut Parts) -> Result<(), FormatError> {
        let samples = fields.required("_max_samples")?;
        let max_samples = samples.count()? as u64;
        if max_samples < 2 {
            return Err(samples.value_error(max_samples, "two rows or more, so that scores differ"));
        }
        let trees = fields.required("estimators_")?.items()?;
        let below = fields.required("_average_path_length_per_tree")?.items()?;
        if below.len() != trees.len() {
            let problem = Problem::Length { expected: trees.len(), found: below.len() };
            return Err(fields.required("_average_path_length_per_tree")?.error(problem));
        }
        // The library looks the columns up only if the trees use fewer columns than there are.
        let some_columns = fields.required("_max_features")?.count()? != parts.feature_count as usize;
        let columns =
            if some_columns { fields.required("estimators_features_")?.items()? } else { Vec::new() };
        if some_columns && columns.len() != trees.len() {
            let problem = Problem::Length { expected: trees.len(), found: columns.len() };
            return Err(fields.required("estimators_features_")?.error(problem));
        }
        for (index, estimator) in trees.iter().enumerate() {
            expect_class(estimator, &[(TREE_MODULE, "ExtraTreeRegressor")], "a tree of an isolation forest")?;
            let TreeArrays::Plain { nodes, .. } = self.plain_arrays(estimator, index)? else {
                unreachable!("plain arrays are plain")
            };
            let tree = TreeId::new(index);
            let below = self.doubles(&below[index])?;
            let own = match columns.get(index) {
                Some(node) => Some(self.array(node, |npy| Array::parse(npy)?.integers())?),
                None => None,
            };
            let arrays = arrays(tree, nodes, &below, own.as_deref())?;
            parts.trees.push(TreePart { origin: tree.0, edited: false, arrays });
        }
        parts.missing = true;
        parts.estimator = Estimator::IsolationForest { max_samples };
        Ok(())
    }
}
