//! Models whose scores are nearly equal: where the question about scores is settled, so is the
//! weaker one about decisions, and with a certificate that the checker accepts.

use fastrand::Rng;
use secateur_checker::{Limits, Verdict as Checked, check};
use secateur_formats::{Edit, TreeEdit};
use secateur_model::{Decision, GroupId, TreeId};
use secateur_oracle::{
    Band, Comparison, Options, ScoreComparison, SearchBudget, StopReason, Undecided, Verdict,
};
use secateur_testkit::{Shape, edited, ensemble};

use crate::scores::rounded;

/// Boxes for each question. The search over all rows needs more.
const BOXES: u64 = 15_000;

#[test]
fn decisions_follow_from_scores_that_are_nearly_equal() {
    let mut options = Options::unlimited();
    options.budget.nodes = Some(BOXES);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 15.0, strict: true };
    for seed in 0..2 {
        let [first, second] = [f64::from(1 << 20), 256.0].map(|steps| rounded(seed, decision, steps));
        let scores = ScoreComparison::new(&first, &second, &SearchBudget::unlimited()).unwrap();
        let measured = scores.measure(&options);
        let comparison = Comparison::new(&first, &second, Band::Score(1.05 * measured.at_most)).unwrap();
        let (compared, certificate) = comparison.certify(&options, Vec::new()).unwrap();
        assert_eq!(compared.verdict, Verdict::Identical, "seed {seed}: {measured:?}");
        let bytes = certificate.expect("it is proved").finish(true).unwrap();
        let checked = check(&first, &second, &bytes[..], &Limits::default()).unwrap();
        assert!(matches!(checked, Checked::Valid(_)), "seed {seed}: {checked:?}");
        // Without the question about the difference the search gives up.
        let alone = Options { shortcuts: false, ..options.clone() };
        let verdict = comparison.run(&alone).verdict;
        let stopped = Verdict::Undecided(Undecided::Stopped(StopReason::Nodes));
        assert_eq!(verdict, stopped, "seed {seed}: an easy pair");
    }
}

/// Where scores are farther apart than the band, decisions may differ all the same or not: the
/// difference decides nothing, and the search over all rows has the last word.
#[test]
fn a_difference_beyond_the_band_refutes_nothing() {
    let mut settled = 0;
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape { thresholds: 2, features: 2, ..Shape::random(&mut rng) };
        let first = ensemble(&mut rng, &shape);
        let scaled = |tree| TreeEdit::Scale { tree: TreeId::new(tree), factor: 4.0 };
        let trees = (0..first.trees().len()).map(scaled).collect();
        let intercepts = Some(first.intercepts().iter().map(|value| value * 4.0).collect());
        let second = edited(&first, &Edit { trees, intercepts });
        let Decision::Argmax = first.decision() else { continue };
        let comparison = Comparison::new(&first, &second, Band::Exact).unwrap();
        let verdict = comparison.run(&Options::unlimited()).verdict;
        assert_eq!(verdict, Verdict::Identical, "seed {seed}");
        settled += 1;
    }
    assert!(settled > 40, "{settled}");
}
