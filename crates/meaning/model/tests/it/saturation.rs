//! One-against-all sigmoids in f64: there is a certain margin if scores are low or moderate, and
//! none, with the true reason, if they saturate.

use fastrand::Rng;
use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, Ensemble, EnsembleBuilder, Features, GroupId, Intake,
    NoMargin, NumberType, Output, TreeBuilder,
};

/// A model of constants: each class has the same score on every input.
fn constants(scale: f64, scores: &[f64]) -> Ensemble {
    let intake = Intake::everything(NumberType::F64);
    let accumulation = Accumulation::in_order(NumberType::F64);
    let classes = ClassLabels::Unnamed(scores.len() as u32);
    let start = vec![0.0; scores.len()];
    let decision = Decision::ArgmaxSigmoid { scale };
    let mut builder =
        EnsembleBuilder::new(Features::unnamed(1), intake, classes, start, accumulation, decision).unwrap();
    for (group, &score) in scores.iter().enumerate() {
        let mut tree = TreeBuilder::new();
        tree.leaf(&[score]);
        builder.tree(tree, Output::Group(GroupId::new(group)), 1.0).unwrap();
    }
    builder.build()
}

#[test]
fn a_lead_of_more_than_the_margin_decides_for_low_and_moderate_scores() {
    let mut rng = Rng::with_seed(7);
    let (mut collapsed, mut low) = (0, 0);
    for _ in 0..20_000 {
        let scale = [0.3, 1.0, 1.3, 4.0][rng.usize(0..4)];
        // The third score sets the range, so that the margin is that of a model whose scores reach
        // that far.
        let high = (rng.f64() * 735.0 - 699.0) / scale;
        let floor = -699.0 / scale * rng.f64();
        let margin = constants(scale, &[high, high, floor.min(high)]).certain_margin();
        let margin = margin.expect("scores up to 36 and down to -700 do not saturate");
        let decide = |scores: [f64; 2]| Decision::ArgmaxSigmoid { scale }.class(&scores);
        let below = high - margin;
        if below < -699.0 / scale {
            continue;
        }
        // A little more than the margin, for the rounding of the subtraction.
        let other = (below - margin * 1e-6).next_down();
        assert_eq!(decide([other, high]), ClassId(1), "{other} against {high}, sigmoid {scale}");
        collapsed += u32::from(decide([high.next_down(), high]) == ClassId(0));
        low += u32::from(high * scale < -40.0);
    }
    assert!(collapsed > 100 && low > 1000, "{collapsed} {low}: the margin was not put to the test");
}

#[test]
fn saturation_and_overflow_are_told_apart() {
    let saturated = constants(1.3, &[64.0, 10.0]);
    assert_eq!(saturated.certain_margin(), None);
    let why = saturated.no_margin();
    assert!(
        matches!(why, Some(NoMargin::Saturation { from, reached, scale }) if from < 28.3 && (64.0..64.1).contains(&reached) && scale == 1.3),
        "{why:?}"
    );
    // Those scores get the same probability, so the lower class wins.
    assert_eq!(Decision::ArgmaxSigmoid { scale: 1.3 }.class(&[29.0, 64.0]), ClassId(0));
    let low = constants(1.0, &[-1000.0, 1.0]);
    assert!(matches!(low.no_margin(), Some(NoMargin::Saturation { reached, .. }) if reached >= 1000.0));
    let huge = constants(1.0, &[f64::MAX, 1.0]);
    assert!(huge.no_margin().is_some());
    assert_eq!(constants(1.0, &[5.0, -400.0]).no_margin(), None);
}
