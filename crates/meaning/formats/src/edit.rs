//! The changes that pruning makes in a model file: trees are removed, leaves and intercepts change.

use secateur_model::{Ensemble, Node, NodeId, NumberType, Tree, TreeId};

use crate::error::EditError;

/// New content for a model file.
///
/// The edited model's sums (before averaging) are those of the listed trees plus the intercepts,
/// each number rounded to the file's type. A model that averages divides by its new number of
/// trees, so its scores keep their proportions but not their scale. The written file should be read
/// back and judged by itself: an edit promises its sums only up to rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The trees that stay, in the order of the file.
    pub trees: Vec<TreeEdit>,
    /// New intercepts, one for each sum; `None` keeps those of the file.
    pub intercepts: Option<Vec<f64>>,
}

/// The change of one tree that stays.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeEdit {
    /// The tree as it is, with its weight.
    Keep(TreeId),
    /// Every leaf times weight and factor, rounded once; the weight becomes 1 if the format has
    /// one.
    Scale {
        /// The tree.
        tree: TreeId,
        /// The new weight over the old one.
        factor: f64,
    },
    /// Another tree instead, with the same output; the new tree's weight is folded into its leaves.
    Replace {
        /// The tree whose place it takes.
        tree: TreeId,
        /// The new tree.
        with: Tree,
    },
}

impl TreeEdit {
    /// The tree of the original that this changes.
    pub fn source(&self) -> TreeId {
        match self {
            Self::Keep(tree) | Self::Scale { tree, .. } | Self::Replace { tree, .. } => *tree,
        }
    }

    /// The new leaf values with every factor folded in, rounded to the file's number type; `None`
    /// for a tree that stays as it is.
    pub(crate) fn folded_leaves(&self, original: &Ensemble) -> Result<Option<Vec<f64>>, EditError> {
        self.folded_leaves_as(original, original.accumulation().number)
    }

    /// As [`folded_leaves`](Self::folded_leaves), for a file whose leaves have another type than
    /// its sums.
    pub(crate) fn folded_leaves_as(
        &self,
        original: &Ensemble,
        number: NumberType,
    ) -> Result<Option<Vec<f64>>, EditError> {
        let (tree, values, factor) = match self {
            Self::Keep(_) => return Ok(None),
            Self::Scale { tree, factor } => {
                let source = original.tree(*tree);
                (*tree, source.leaf_values(), exact_product(*factor, source.weight()))
            }
            Self::Replace { tree, with } => (*tree, with.leaf_values(), exact_product(with.weight(), 1.0)),
        };
        let fold = |&value: &f64| {
            let product = factor.as_ref().and_then(|factor| {
                let value = secateur_model::Exact::from_f64(value)?;
                Some(number.round_exact(&(factor * &value)))
            });
            match product {
                Some(folded) if folded.is_finite() => Ok(folded),
                other => Err(EditError::LeafValue { tree, value: other.unwrap_or(f64::NAN) }),
            }
        };
        values.iter().map(fold).collect::<Result<_, _>>().map(Some)
    }
}

fn exact_product(a: f64, b: f64) -> Option<secateur_model::Exact> {
    Some(&secateur_model::Exact::from_f64(a)? * &secateur_model::Exact::from_f64(b)?)
}

impl Edit {
    /// Keeps every tree as it is: the start of an edit.
    pub fn unchanged(original: &Ensemble) -> Self {
        let trees = (0..original.trees().len()).map(|index| TreeEdit::Keep(TreeId::new(index))).collect();
        Self { trees, intercepts: None }
    }

    /// Checks the rules of every format: trees exist, are in order, once each and with their own
    /// outputs, and there is an intercept for each sum.
    pub(crate) fn check(&self, original: &Ensemble) -> Result<(), EditError> {
        let mut next = 0;
        for edit in &self.trees {
            let tree = edit.source();
            if tree.index() >= original.trees().len() {
                return Err(EditError::NoSuchTree { tree, trees: original.trees().len() });
            }
            if tree.index() < next {
                return Err(EditError::TreeOrder { tree });
            }
            next = tree.index() + 1;
            if let TreeEdit::Replace { with, .. } = edit
                && with.output() != original.tree(tree).output()
            {
                return Err(EditError::TreeOutput { tree });
            }
        }
        if let Some(intercepts) = &self.intercepts {
            let expected = original.group_count();
            if intercepts.len() != expected {
                return Err(EditError::InterceptCount { expected, found: intercepts.len() });
            }
            if let Some(&value) = intercepts.iter().find(|value| !value.is_finite()) {
                return Err(EditError::InterceptValue { value });
            }
        }
        Ok(())
    }
}

/// The number of leaves below each node, by node. A newly written tree has no training statistics;
/// its file has these numbers in the place of the rows that reached a node, because tools that
/// explain a model divide by them.
pub(crate) fn leaves_below(tree: &Tree) -> Vec<u32> {
    let mut counts = vec![0; tree.node_count()];
    let mut order = vec![NodeId(0)];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        match tree.node(node) {
            Node::Split { left, right, .. } => order.extend([left, right]),
            Node::Leaf(_) => counts[node.index()] = 1,
            Node::Unused => {}
        }
        next += 1;
    }
    // Children come after their parents in `order`.
    for node in order.into_iter().rev() {
        if let Node::Split { left, right, .. } = tree.node(node) {
            counts[node.index()] = counts[left.index()] + counts[right.index()];
        }
    }
    counts
}
