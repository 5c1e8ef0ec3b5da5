//! Models whose scores are nearly equal: where the question about scores is settled, so is the
//! weaker one about decisions, and with a certificate that the checker accepts.

use fastrand::Rng;
use secateur_checker::{Limits, Verdict as Checked, check};
use secateur_formats::{Edit, TreeEdit};
use secateur_model::{Decision, Ensemble, GroupId, Intake, TreeId};
use secateur_oracle::{Band, Comparison, Options, ScoreComparison, SearchBudget, Undecided, Verdict};
use secateur_testkit::{Shape, edited, ensemble};

/// Boxes for each question. The search over all rows needs many times as many.
const BOXES: u64 = 4_000;

fn options() -> Options {
    let mut options = Options::unlimited();
    options.budget.nodes = Some(BOXES);
    options
}

/// A model with far too many cells for brute force, and a copy whose leaves are rounded to
/// multiples of 1/32.
fn pair(seed: u64) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let classes = rng.u32(2..=3);
    let decision = match classes {
        2 => Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true },
        _ => Decision::Argmax,
    };
    let random = Shape::random(&mut rng);
    let shape = Shape {
        features: 7,
        categorical: 0,
        trees: if classes == 2 { 16 } else { 8 * classes },
        depth: 4,
        classes,
        intake: Intake { missing: false, infinities: true, zero_window: None, ..random.intake },
        decision,
        coarse: false,
        weighted: false,
        thresholds: 6,
        ..random
    };
    let first = ensemble(&mut rng, &shape);
    let rounded = |tree: usize| {
        let tree = TreeId::new(tree);
        let original = first.tree(tree);
        let values = original.leaf_values().iter().map(|value| (value * 32.0).round() / 32.0).collect();
        TreeEdit::Replace { tree, with: original.with_leaf_values(values).expect("as many") }
    };
    let trees = (0..first.trees().len()).map(rounded).collect();
    let second = edited(&first, &Edit { trees, intercepts: None });
    (first, second)
}

#[test]
fn decisions_follow_from_scores_that_are_nearly_equal() {
    let (mut tried, mut hard) = (0, 0);
    for seed in 0..24 {
        let (first, second) = pair(seed);
        let Ok(scores) = ScoreComparison::new(&first, &second, &SearchBudget::unlimited()) else { continue };
        let measured = scores.measure(&options());
        // A lead is one score or the difference of two; each may move by what was measured.
        let band = 1.1 * measured.at_most * f64::from(first.classes().len() as u32 - 1);
        let Ok(comparison) = Comparison::new(&first, &second, Band::Score(band)) else { continue };
        tried += 1;
        let (compared, certificate) = comparison.certify(&options(), Vec::new()).unwrap();
        assert_eq!(compared.verdict, Verdict::Identical, "seed {seed}: {measured:?}, band {band}");
        let bytes = certificate.expect("it is proved").finish(true).unwrap();
        let checked = check(&first, &second, &bytes[..], &Limits::default()).unwrap();
        assert!(matches!(checked, Checked::Valid(_)), "seed {seed}: {checked:?}");
        // Without the question about the difference the search gives up.
        let alone = Options { shortcuts: false, ..options() };
        let verdict = comparison.run(&alone).verdict;
        println!("{seed} {} {band} {} {verdict:?}", first.classes().len(), compared.nodes);
        hard += u32::from(matches!(verdict, Verdict::Undecided(Undecided::Stopped(_))));
    }
    assert!(tried >= 10 && hard >= 5, "{tried} {hard}: a weak test");
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
