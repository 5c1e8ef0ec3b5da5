//! Random models that live in memory, pruned and judged on every cell.

use fastrand::Rng;
use secateur_formats::{Edit, EditError, TreeEdit};
use secateur_model::{
    Accumulation, Average, Ensemble, EnsembleBuilder, Exact, Grid, Node, Predictor, Tree, TreeBuilder,
};
use secateur_oracle::{Band, exact_class};
use secateur_prune::{Pruned, certain_winner};
use secateur_testkit::{Shape, ensemble, every_row, mutate};

/// A model without a file. An edit does what [`Edit`] says, with leaves rounded to the type of the sums.
#[derive(Clone, Debug)]
pub(crate) struct Memory(pub(crate) Ensemble);

impl secateur_prune::Editable for Memory {
    fn ensemble(&self) -> &Ensemble {
        &self.0
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        let original = &self.0;
        let number = original.accumulation().number;
        let mut accumulation: Accumulation = *original.accumulation();
        if let Some(average) = accumulation.average {
            let divisor = edit.trees.len().max(1) as f64;
            accumulation.average = Some(Average { divisor, ..average });
        }
        let intercepts = edit.intercepts.clone().unwrap_or_else(|| original.intercepts().to_vec());
        let mut builder = EnsembleBuilder::new(
            original.features().clone(),
            *original.domain(),
            original.classes().clone(),
            intercepts.iter().map(|&value| number.round(value)).collect(),
            accumulation,
            *original.decision(),
        )
        .expect("taken from an ensemble");
        let exact = |value: f64| Exact::from_f64(value).expect("finite");
        for step in &edit.trees {
            let source = original.tree(step.source());
            let (tree, factor) = match step {
                TreeEdit::Keep(_) => {
                    builder.finished_tree(source.clone()).expect("taken from an ensemble");
                    continue;
                }
                TreeEdit::Scale { factor, .. } => (source, &exact(*factor) * &exact(source.weight())),
                TreeEdit::Replace { with, .. } => (with, exact(with.weight())),
            };
            let value = |&value: &f64| number.round_exact(&(&factor * &exact(value)));
            let values = tree.leaf_values().iter().map(value).collect();
            let copy = copy(&tree.with_leaf_values(values).expect("as many"));
            builder.tree(copy, source.output(), 1.0).expect("sound");
        }
        Ok(Self(builder.build()))
    }

    fn votes_only(&self) -> bool {
        false
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.0.trees().iter().map(|tree| tree.node_count() as u64 * 10 + 7).sum())
    }
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

/// A model of few cells, if chance has one.
pub(crate) fn random_model(rng: &mut Rng) -> Option<Ensemble> {
    let mut shape = Shape::random(rng);
    shape.trees = rng.u32(1..=10);
    let mut model = ensemble(rng, &shape);
    for _ in 0..rng.u32(0..3) {
        model = mutate(rng, &model);
    }
    (Grid::new(&[&model]).ok()?.log10_cells() <= 2.6).then_some(model)
}

/// The pruned model decides as the original on every cell that the claim is about.
pub(crate) fn check(original: &Ensemble, pruned: &Pruned<Memory>, band: Band, context: &str) -> usize {
    let grid = Grid::new(&[original, &pruned.file.0]).unwrap();
    let (first, second) = (Predictor::new(original), Predictor::new(&pruned.file.0));
    let mut certain = 0;
    for row in every_row(&grid) {
        let read: Vec<f64> = row.iter().map(|&value| original.domain().read(value).unwrap()).collect();
        let sums = original.exact_sums(original.leaves(&read));
        let margin = (band != Band::Exact).then_some(pruned.band);
        let Some(winner) = certain_winner(original, &sums, margin) else { continue };
        certain += 1;
        if band == Band::Exact {
            assert_eq!(exact_class(&pruned.file.0, &row), winner, "{context}: {row:?}");
        } else {
            assert_eq!(first.classes(&row).unwrap()[0], winner, "{context}: {row:?}");
            assert_eq!(second.classes(&row).unwrap()[0], winner, "{context}: {row:?}");
        }
    }
    certain
}
