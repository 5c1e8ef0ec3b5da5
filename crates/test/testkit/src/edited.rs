//! Edits of models that have no file, as a reference for tests of code that edits models.

use secateur_formats::{Edit, TreeEdit};
use secateur_model::{Average, Ensemble, EnsembleBuilder, Exact, Node, Tree, TreeBuilder};

/// The model after an edit. Leaves are rounded to the type of the sums, and an average divides by
/// the number of trees left.
pub fn edited(original: &Ensemble, edit: &Edit) -> Ensemble {
    let number = original.accumulation().number;
    let mut accumulation = *original.accumulation();
    if let Some(average) = accumulation.average {
        let divisor = edit.trees.len().max(1) as f64;
        accumulation.average = Some(Average { divisor, ..average });
    }
    let intercepts = edit.intercepts.clone().unwrap_or_else(|| original.intercepts().to_vec());
    let mut builder = EnsembleBuilder::new(
        original.features().clone(),
        *original.intake(),
        original.classes().clone(),
        intercepts.iter().map(|&value| number.round(value)).collect(),
        accumulation,
        *original.decision(),
    )
    .expect("taken from an ensemble");
    for step in &edit.trees {
        let source = original.tree(step.source());
        let (tree, factor) = match step {
            TreeEdit::Keep(_) => {
                builder.finished_tree(source.clone()).expect("taken from an ensemble");
                continue;
            }
            TreeEdit::Scale { factor, .. } => {
                (source, &Exact::finite(*factor) * &Exact::finite(source.weight()))
            }
            TreeEdit::Replace { with, .. } => (with, Exact::finite(with.weight())),
        };
        let value = |&value: &f64| number.round_exact(&(&factor * &Exact::finite(value)));
        let values = tree.leaf_values().iter().map(value).collect();
        let copy = copy(&tree.with_leaf_values(values).expect("as many"));
        builder.tree(copy, source.output(), 1.0).expect("sound");
    }
    builder.build()
}

fn copy(tree: &Tree) -> TreeBuilder {
    let mut copy = TreeBuilder::new();
    for (_, node) in tree.nodes() {
        match node {
            Node::Split { split, left, right } => copy.split(split, left, right),
            Node::Leaf(leaf) => copy.leaf(tree.leaf(leaf)),
            Node::Unused => copy.unused(),
        };
    }
    copy
}
