//! What several tests need: certificates as lists of steps, small models by hand, random pairs.

#![allow(dead_code, reason = "each test uses its part")]

use fastrand::Rng;
use secateur_certificate::{BandClaim, Claim, Digest, ReadError, Reader, Statement, Step, Writer};
use secateur_checker::{Limits, Reason, Scorer, Verdict, check_where, check_with_threads};
use secateur_model::{
    Accumulation, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId, Features, GroupId, Intake,
    NodeId, NumberType, Output, Split, Test, TreeBuilder,
};
use secateur_oracle::{Band, Comparison, Options, ScoreComparison, SearchBudget};
use secateur_testkit::{Shape, ensemble, mutate};

/// A certificate taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) claim: Claim,
    pub(crate) steps: Vec<Step>,
}

impl Opened {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut reader = Reader::new(bytes)?;
        let claim = reader.claim().clone();
        let mut steps = Vec::new();
        while let Some(step) = reader.next_step()? {
            if !matches!(step, Step::End { .. }) {
                steps.push(step);
            }
        }
        Ok(Self { claim, steps })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &self.claim).unwrap();
        self.steps.iter().for_each(|step| writer.step(step).unwrap());
        writer.finish(true).unwrap()
    }

    pub(crate) fn verdict(&self, original: &Ensemble, pruned: &Ensemble) -> Verdict {
        self.verdict_with(original, pruned, &[])
    }

    /// The same with models whose scores the claim's domain may ask for.
    pub(crate) fn verdict_with(
        &self,
        original: &Ensemble,
        pruned: &Ensemble,
        scorers: &[Scorer<'_>],
    ) -> Verdict {
        let bytes = self.write();
        check_where(original, pruned, scorers, &bytes[..], &Limits::default(), &|| false).unwrap()
    }

    /// The reason and the step of a refusal; `None` where the certificate is accepted. The verdict
    /// of several threads, each with parts of a few steps; an error where this is no certificate.
    pub(crate) fn verdict_of_threads(
        &self,
        original: &Ensemble,
        pruned: &Ensemble,
        threads: usize,
        part_steps: u64,
    ) -> Verdict {
        let (bytes, limits) = (self.write(), Limits { part_steps, ..Limits::default() });
        let scorers = Scorer::of(original.domain());
        check_with_threads(original, pruned, &scorers, &bytes, &limits, &|| false, threads).unwrap()
    }

    pub(crate) fn refusal(&self, original: &Ensemble, pruned: &Ensemble) -> Option<(Reason, Option<u64>)> {
        match self.verdict(original, pruned) {
            Verdict::Valid(_) => None,
            Verdict::Invalid { reason, step } | Verdict::Incomplete { reason, step } => Some((reason, step)),
        }
    }

    /// The band of a claim about decisions.
    pub(crate) fn band(&self) -> BandClaim {
        self.claim.band().expect("the claim is about decisions")
    }

    /// Makes it a claim about decisions with this band.
    pub(crate) fn set_band(&mut self, band: BandClaim) {
        let local_rounding = self.is_local();
        self.claim.statement = Statement::Decisions { band, local_rounding, cuts: self.claim.cuts() };
    }

    /// Does a claim about decisions announce rounding by input?
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.claim.statement, Statement::Decisions { local_rounding: true, .. })
    }

    /// Announces rounding by input, or no longer.
    pub(crate) fn set_local(&mut self, local_rounding: bool) {
        self.claim.statement =
            Statement::Decisions { band: self.band(), local_rounding, cuts: self.claim.cuts() };
    }

    /// The same proof, said to be about other models.
    pub(crate) fn about(mut self, original: &Ensemble, pruned: &Ensemble) -> Self {
        self.claim.original = Digest::of(original);
        self.claim.pruned = Digest::of(pruned);
        self
    }
}

/// The certificate of a comparison, where the claim holds.
pub(crate) fn certified(original: &Ensemble, pruned: &Ensemble, band: Band) -> Option<Vec<u8>> {
    certified_with(original, pruned, band, &Options::unlimited())
}

/// The same, by a search with these options.
pub(crate) fn certified_with(
    original: &Ensemble,
    pruned: &Ensemble,
    band: Band,
    options: &Options,
) -> Option<Vec<u8>> {
    let comparison = Comparison::new(original, pruned, band).ok()?;
    let (_, certificate) = comparison.certify(options, Vec::new()).unwrap();
    Some(certificate?.finish(true).unwrap())
}

/// The certificate that the scores of two models are at most this far apart, where they are.
pub(crate) fn certified_scores(
    original: &Ensemble,
    pruned: &Ensemble,
    within: f64,
    options: &Options,
) -> Option<Vec<u8>> {
    let comparison = ScoreComparison::new(original, pruned, &SearchBudget::unlimited()).ok()?;
    let (_, _, certificate) = comparison.certify(within, options, Vec::new()).unwrap();
    Some(certificate?.finish(true).unwrap())
}

/// Pairs with more columns, so that boxes are small before at most two of them are open.
pub(crate) fn joined_pair(seed: u64) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let mut shape = Shape::random(&mut rng);
    shape.features = rng.u32(4..=6);
    shape.categorical = shape.categorical.min(1);
    shape.trees = rng.u32(6..=14);
    shape.depth = 2;
    shape.thresholds = if shape.features > 4 { 1 } else { 2 };
    let first = ensemble(&mut rng, &shape);
    let second = mutate(&mut rng, &first);
    (first, second)
}

/// Pairs that need a search over boxes, with few cells.
pub(crate) fn searched_pair(seed: u64) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let mut shape = Shape::random(&mut rng);
    shape.features = rng.u32(3..=4);
    shape.categorical = shape.categorical.min(1);
    shape.trees = rng.u32(6..=12);
    shape.depth = 2;
    shape.thresholds = 2;
    let first = ensemble(&mut rng, &shape);
    let second = mutate(&mut rng, &first);
    (first, second)
}

/// Stumps, and a copy that differs a little.
pub(crate) fn stump_pair(seed: u64) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let mut shape = Shape::random(&mut rng);
    shape.decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    shape.classes = 2;
    shape.depth = 1;
    shape.trees = 6;
    let first = ensemble(&mut rng, &shape);
    let second = mutate(&mut rng, &first);
    (first, second)
}

/// A binary model in f64 over two columns, one stump for each (feature, threshold, left, right).
pub(crate) fn stumps(intercept: f64, stumps: &[(u32, f64, f64, f64)]) -> Ensemble {
    stumps_with(intercept, stumps, false)
}

/// The same, with a side for missing values; the model itself accepts none.
pub(crate) fn stumps_with(intercept: f64, stumps: &[(u32, f64, f64, f64)], missing_left: bool) -> Ensemble {
    let intake = Intake { number: NumberType::F64, missing: false, infinities: false, zero_window: None };
    let accumulation = Accumulation::in_order(NumberType::F64);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let features = Features::unnamed(2);
    let classes = ClassLabels::Unnamed(2);
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![intercept], accumulation, decision).unwrap();
    for &(feature, threshold, left, right) in stumps {
        let mut tree = TreeBuilder::new();
        let test = Test::Less { threshold };
        let split = Split { feature: FeatureId(feature), test, missing_left };
        tree.split(split, NodeId(1), NodeId(2)).leaf(&[left]).leaf(&[right]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}

/// The usual limits, but for one of the kernel's.
pub(crate) fn kernel_limits(change: impl FnOnce(&mut secateur_kernel::Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits.kernel);
    limits
}

/// Reasons whose sentence has no number: nothing was counted or measured.
const WITHOUT_NUMBERS: &[&str] = &[
    "claim.steps",
    "claim.no_certain_margin",
    "claim.local_rounding",
    "claim.scope_asked",
    "claim.overflow",
    "claim.moves",
    "claim.treewise",
    "stack.empty",
    "cut.empty",
];

/// The message of a refusal is a sentence, says what decided, and leaves the code to the program.
pub(crate) fn assert_told(reason: &Reason) {
    let (code, text) = (reason.code(), reason.message());
    assert!(text.starts_with(char::is_uppercase) && text.ends_with('.'), "{code}: no sentence: {text:?}");
    assert!(text.split(' ').count() >= 5 && !text.contains("  ") && !text.contains('\n'), "{code}: {text:?}");
    assert!(!text.contains(code), "{code}: the code stands in {text:?}");
    let numbers = text.contains(|character: char| character.is_ascii_digit());
    let placed = code == "order.unexpected" && text.contains("A step of the kind ");
    assert!(numbers || placed || WITHOUT_NUMBERS.contains(&code), "{code}: no number in {text:?}");
}
