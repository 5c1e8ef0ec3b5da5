//! Random models, pruned in every way, judged on every cell.

use fastrand::Rng;
use secateur_formats::{Edit, EditError, TreeEdit};
use secateur_model::{
    Accumulation, Average, Ensemble, EnsembleBuilder, Exact, Grid, Node, Predictor, Tree, TreeBuilder,
};
use secateur_oracle::{Band, Comparison, exact_class};
use secateur_prune::{
    Config, Effort, Fate, Moves, Objective, Outcome, Pruned, Unit, Watch, certain_winner, prune_model,
};
use secateur_testkit::{Shape, ensemble, every_row, mutate};

/// A model without a file. An edit does what [`Edit`] says, with leaves rounded to the type of the sums.
#[derive(Clone, Debug)]
struct Memory(Ensemble);

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

fn random_model(rng: &mut Rng) -> Option<Ensemble> {
    let mut shape = Shape::random(rng);
    shape.trees = rng.u32(1..=10);
    let mut model = ensemble(rng, &shape);
    for _ in 0..rng.u32(0..3) {
        model = mutate(rng, &model);
    }
    (Grid::new(&[&model]).ok()?.log10_cells() <= 2.6).then_some(model)
}

fn random_config(rng: &mut Rng) -> Config {
    Config {
        effort: *rng.choice(&[Effort::Fast, Effort::Thorough, Effort::Minimum]).unwrap(),
        objective: *rng.choice(&[Objective::Trees, Objective::Leaves, Objective::Bytes]).unwrap(),
        moves: *rng.choice(&[Moves::Leaves, Moves::Leaves, Moves::Weights]).unwrap(),
        unit: *rng.choice(&[None, Some(Unit::Round), Some(Unit::Tree)]).unwrap(),
        band: *rng.choice(&[Band::Auto, Band::Exact, Band::Score(0.25)]).unwrap(),
        seed: rng.u64(..),
        ..Config::default()
    }
}

/// The pruned model decides as the original on every cell that the claim is about.
fn check(original: &Ensemble, pruned: &Pruned<Memory>, band: Band, context: &str) -> usize {
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

fn rank(model: &Pruned<Memory>, objective: Objective, after: bool, original: &Memory) -> u64 {
    use secateur_prune::Editable;
    let size = model.size[usize::from(after)];
    match objective {
        Objective::Trees => size.trees as u64,
        Objective::Leaves => size.leaves as u64,
        Objective::Bytes if after => model.file.bytes().unwrap(),
        Objective::Bytes => original.bytes().unwrap(),
    }
}

#[test]
fn pruned_models_decide_alike_on_every_cell() {
    let (mut smaller, mut cells, mut runs, mut scaled) = (0, 0, 0, 0);
    for seed in 0..450 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = random_config(&mut rng);
        // A model whose decisions are never certain has no band; that is a clear answer, too.
        if Comparison::new(&model, &model, config.band).is_err() {
            continue;
        }
        let context = format!("seed {seed}, {config:?}");
        let memory = Memory(model.clone());
        let data: Vec<f64> = vec![0.0; model.features().len() * 2];
        let pruned = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        runs += 1;
        cells += check(&model, &pruned, config.band, &context);
        let (before, after) =
            (rank(&pruned, config.objective, false, &memory), rank(&pruned, config.objective, true, &memory));
        assert!(after <= before, "{context}");
        assert_ne!(pruned.outcome, Outcome::BudgetReached, "{context}");
        assert!(pruned.lower_bound <= pruned.size[1].trees, "{context}");
        assert_eq!(pruned.fates.len(), model.trees().len());
        smaller += usize::from(after < before);
        scaled += pruned.fates.iter().filter(|fate| matches!(fate, Fate::Scaled(_))).count();
        let again = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        assert_eq!(again.file.0, pruned.file.0, "{context}: same seed, same model");
    }
    assert!(runs > 150 && smaller > 70 && cells > 3_000, "{runs} {smaller} {cells}");
    assert!(scaled > 20, "{scaled}");
}

#[test]
fn a_cancelled_run_ends_with_a_model_that_decides_alike() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = Config { band: Band::Exact, ..random_config(&mut rng) };
        config.cancel.cancel();
        let memory = Memory(model.clone());
        let pruned = prune_model(&memory, &[], &config, &Watch::default()).unwrap();
        // A fold that is proved minimal at once needs no budget.
        let minimal = pruned.lower_bound >= pruned.size[1].trees;
        assert_eq!(pruned.outcome == Outcome::BudgetReached, !minimal, "seed {seed}");
        check(&model, &pruned, config.band, &format!("seed {seed}"));
    }
}
