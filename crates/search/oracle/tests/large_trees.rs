//! Trees so large that laying them out is possible only if the work is nearly linear in their
//! leaves: a chain of 8,000 splits, and forests with a hundred thousand leaves. With quadratic
//! masks or sets these take hours or tens of gigabytes.

use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use secateur_model::{
    Accumulation, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId, Features, GroupId, Intake,
    NodeId, NumberType, Output, Split, Test, TreeBuilder,
};
use secateur_oracle::{
    Band, Cancel, CompareError, Comparison, Options, Outline, SearchBudget, StopReason, Verdict,
};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn model(features: u32, trees: Vec<TreeBuilder>) -> Ensemble {
    let intake = Intake::everything(NumberType::F32);
    let sums = Accumulation::in_order(NumberType::F32);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let (features, classes) = (Features::unnamed(features), ClassLabels::Unnamed(2));
    let mut builder = EnsembleBuilder::new(features, intake, classes, vec![0.0], sums, decision).unwrap();
    for tree in trees {
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}

fn less(feature: usize, threshold: f64) -> Split<'static> {
    Split { feature: FeatureId::new(feature), test: Test::Less { threshold }, missing_left: false }
}

/// Each split has a leaf on its right and the next split on its left.
fn chain(levels: usize, last: f64) -> Ensemble {
    let mut tree = TreeBuilder::new();
    for level in 0..levels {
        let next = NodeId::new(2 * level + 2);
        tree.split(less(level % 3, (levels - level) as f64), next, NodeId::new(2 * level + 1));
        tree.leaf(&[if level % 2 == 0 { 0.5 } else { -0.25 }]);
    }
    tree.leaf(&[last]);
    model(3, vec![tree])
}

/// Balanced trees of `2^depth` leaves that share no threshold.
fn forest(trees: usize, depth: u32) -> Ensemble {
    let splits = (1usize << depth) - 1;
    let tree = |index: usize| {
        let mut tree = TreeBuilder::new();
        for node in 0..splits {
            // A split halves what its ancestors have left of its feature's range; each level uses
            // the next of the five features.
            let level = (node + 1).ilog2();
            let place = (node + 1 - (1 << level)) as u32;
            let (mut low, mut width) = (0.0, 1024.0);
            for above in (0..level).filter(|above| above % 5 == level % 5) {
                width /= 2.0;
                low += if place >> (level - 1 - above) & 1 == 1 { width } else { 0.0 };
            }
            let threshold = low + width / 2.0 + index as f64 / 4096.0;
            tree.split(
                less((level % 5) as usize, threshold),
                NodeId::new(2 * node + 1),
                NodeId::new(2 * node + 2),
            );
        }
        for leaf in 0..=splits {
            tree.leaf(&[((leaf * 37 + index) % 64) as f64 / 64.0 - 0.5]);
        }
        tree
    };
    model(5, (0..trees).map(tree).collect())
}

#[test]
fn a_chain_of_many_levels_is_compared_with_a_copy() {
    let [first, same_decisions] = [1.0, 1.5].map(|last| chain(8_000, last));
    let comparison = Comparison::new(&first, &first, Band::Exact).unwrap();
    assert_eq!(comparison.run(&Options::unlimited()).verdict, Verdict::Identical);
    let comparison = Comparison::new(&first, &same_decisions, Band::Exact).unwrap();
    assert_eq!(comparison.layout().pieces().len(), 1);
    let budget = SearchBudget { nodes: Some(1), ..SearchBudget::unlimited() };
    let options = Options { budget, ..Options::unlimited() };
    assert!(!matches!(comparison.run(&options).verdict, Verdict::Different(_)));
    let other = chain(8_000, -1.0);
    let comparison = Comparison::new(&first, &other, Band::Exact).unwrap();
    assert!(matches!(comparison.run(&Options::unlimited()).verdict, Verdict::Different(_)));
}

#[test]
fn a_forest_with_many_leaves_takes_memory_by_its_leaves() {
    let model = forest(8, 14);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let comparison = Comparison::new(&model, &model, Band::Exact).unwrap();
    assert_eq!(comparison.layout().pieces().len(), 8);
    assert_eq!(comparison.run(&Options::unlimited()).verdict, Verdict::Identical);
    let (leaves, taken) = (8 << 14, MEMORY.peak_usage() - before);
    // Masks would take leaves times runs: 8 times 16,384 squared bits, a quarter of a gigabyte, for
    // each lens.
    assert!(taken < leaves * 1000, "{taken} bytes for {leaves} leaves");
}

#[test]
fn a_budget_that_is_spent_ends_the_layout() {
    let model = forest(4, 12);
    let outline = Outline::new(&model, &model, Band::Auto).unwrap();
    assert!(outline.is_same_model());
    let budget =
        SearchBudget { deadline: Some(Instant::now() - Duration::from_secs(1)), ..SearchBudget::unlimited() };
    let stopped = outline.clone().lay_out(&budget).err();
    assert_eq!(stopped, Some(CompareError::Stopped(StopReason::Time)));
    let cancel = Cancel::default();
    cancel.cancel();
    let budget = SearchBudget { cancel, ..SearchBudget::unlimited() };
    assert_eq!(outline.lay_out(&budget).err(), Some(CompareError::Stopped(StopReason::Cancelled)));
}
