//! All facts that `inspect` reports, as data. The names here are the keys of the JSON object (see
//! the crate's docs).

use std::collections::{BTreeMap, HashSet};

use secateur_formats::ModelFile;
use secateur_model::{
    CategoryRule, ClassId, Ensemble, FeatureId, Grid, InterceptPosition, Node, NodeId, NumberType, Order,
    Split, Test, Tree,
};
use serde::Serialize;
use serde_json::Value;

use super::decision::DecisionFacts;
use crate::logistic;

#[derive(Serialize)]
pub(super) struct Facts {
    /// `None`, like the size below, for a model that does not come from a file.
    pub(super) file: Option<String>,
    pub(super) bytes: Option<u64>,
    pub(super) framework: &'static str,
    pub(super) dialect: String,
    pub(super) trees: usize,
    /// How many of them are a single leaf of zero.
    pub(super) empty_trees: usize,
    pub(super) leaves: usize,
    pub(super) depth: usize,
    pub(super) splits: usize,
    pub(super) distinct_splits: usize,
    pub(super) features: FeatureFacts,
    pub(super) classes: ClassFacts,
    pub(super) input: InputFacts,
    pub(super) scores: ScoreFacts,
    pub(super) decision: DecisionFacts,
    pub(super) band: BandFacts,
    pub(super) log10_cells: Option<f64>,
    /// The domain that the caller gave, or null.
    pub(super) domain: Value,
    #[serde(skip)]
    pub(super) domain_words: Vec<String>,
    pub(super) notes: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct FeatureFacts {
    pub(super) count: usize,
    pub(super) named: bool,
    pub(super) used: usize,
    pub(super) columns: Vec<ColumnFacts>,
}

#[derive(Serialize)]
pub(super) struct ColumnFacts {
    pub(super) index: usize,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) splits: usize,
    /// How many categories the file lists; `None` for a numeric column, or if the file does not
    /// say.
    pub(super) categories: Option<usize>,
    pub(super) labels: Option<Vec<String>>,
}

#[derive(Serialize)]
pub(super) struct ClassFacts {
    pub(super) count: usize,
    pub(super) named: bool,
    pub(super) labels: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct InputFacts {
    pub(super) number: &'static str,
    pub(super) missing: bool,
    pub(super) infinities: bool,
    pub(super) zero_window: Option<f64>,
    /// Does some split send zero to a side of its own?
    pub(super) zero_branch: bool,
    pub(super) unseen_categories: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct ScoreFacts {
    pub(super) count: usize,
    pub(super) number: &'static str,
    pub(super) intercepts: Vec<f64>,
    pub(super) intercept: &'static str,
    pub(super) order: &'static str,
    pub(super) average: Option<AverageFacts>,
    /// The factor that sums are multiplied by before the intercept is added.
    pub(super) scale: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct AverageFacts {
    pub(super) divisor: f64,
    pub(super) in_raw_scores: bool,
}

#[derive(Serialize)]
pub(super) struct BandFacts {
    pub(super) score: Option<f64>,
    pub(super) probability: Option<[f64; 2]>,
    pub(super) rounding: Option<Vec<f64>>,
}

impl Facts {
    pub(super) fn gather(
        file: &ModelFile,
        place: Option<(String, u64)>,
        narrowed: &Ensemble,
        domain: Value,
        domain_words: Vec<String>,
    ) -> Self {
        let ensemble = file.ensemble();
        let trees = ensemble.trees();
        let splits = SplitFacts::of(ensemble);
        Self {
            bytes: place.as_ref().map(|(_, bytes)| *bytes),
            file: place.map(|(path, _)| path),
            framework: file.framework().name(),
            dialect: file.dialect(),
            trees: trees.len(),
            empty_trees: trees.iter().filter(|tree| tree.is_empty()).count(),
            leaves: trees.iter().map(Tree::leaf_count).sum(),
            depth: trees.iter().map(depth).max().unwrap_or(0),
            splits: splits.by_feature.values().map(|feature| feature.splits).sum(),
            distinct_splits: splits.distinct,
            features: FeatureFacts::of(ensemble, &splits),
            classes: ClassFacts::of(ensemble),
            input: InputFacts::of(ensemble, &splits),
            scores: ScoreFacts::of(ensemble),
            decision: DecisionFacts::of(ensemble, file.logistic_scale()),
            band: BandFacts::of(file),
            log10_cells: Grid::new(&[narrowed]).ok().map(|grid| grid.log10_cells()),
            domain,
            domain_words,
            notes: file.notes(),
        }
    }
}

pub(super) fn number_name(number: NumberType) -> &'static str {
    match number {
        NumberType::F32 => "f32",
        NumberType::F64 => "f64",
    }
}

/// Counts over the splits of all trees.
struct SplitFacts {
    distinct: usize,
    by_feature: BTreeMap<FeatureId, FeatureSplits>,
    zero_branch: bool,
}

#[derive(Default)]
struct FeatureSplits {
    splits: usize,
    /// One more than the largest category code in a set.
    codes: usize,
}

impl SplitFacts {
    fn of(ensemble: &Ensemble) -> Self {
        let mut keys = HashSet::new();
        let mut facts = Self { distinct: 0, by_feature: BTreeMap::new(), zero_branch: false };
        for split in ensemble.trees().iter().flat_map(Tree::splits) {
            keys.insert(key(split));
            let feature = facts.by_feature.entry(split.feature).or_default();
            feature.splits += 1;
            match split.test {
                Test::Member { set: [.., last], .. } => feature.codes = feature.codes.max(*last as usize + 1),
                Test::LessOrEqualButZero { .. } => facts.zero_branch = true,
                _ => {}
            }
        }
        facts.distinct = keys.len();
        facts
    }
}

/// Splits with equal keys send every value to the same side.
fn key(split: Split<'_>) -> (FeatureId, u8, u64, &[u32], [bool; 2]) {
    // Negative and positive zero are the same threshold.
    let bits = |number: f64| (number + 0.0).to_bits();
    let (kind, bits, set, side): (_, _, &[u32], _) = match split.test {
        Test::Less { threshold } => (0, bits(threshold), &[], false),
        Test::LessOrEqual { threshold } => (1, bits(threshold), &[], false),
        Test::LessOrEqualButZero { threshold, zero_left } => (2, bits(threshold), &[], zero_left),
        Test::Equal { value } => (3, bits(value), &[], false),
        Test::Member { set, members_left } => (4, 0, set, members_left),
    };
    (split.feature, kind, bits, set, [side, split.missing_left])
}

/// The number of splits on the longest path.
fn depth(tree: &Tree) -> usize {
    let mut deepest = 0;
    let mut open = vec![(NodeId(0), 0)];
    while let Some((node, level)) = open.pop() {
        deepest = deepest.max(level);
        if let Node::Split { left, right, .. } = tree.node(node) {
            open.extend([(left, level + 1), (right, level + 1)]);
        }
    }
    deepest
}

impl FeatureFacts {
    fn of(ensemble: &Ensemble, splits: &SplitFacts) -> Self {
        let features = ensemble.features();
        let column = |feature: FeatureId| {
            let known = splits.by_feature.get(&feature);
            let categories = features.categories(feature);
            let labels = categories.and_then(|categories| categories.labels.as_ref());
            let labels: Option<Vec<String>> =
                labels.map(|labels| labels.iter().map(|label| label.to_string()).collect());
            ColumnFacts {
                index: feature.index(),
                name: features.name(feature).into_owned(),
                kind: if categories.is_some() {
                    "categorical"
                } else {
                    number_name(ensemble.intake().number)
                },
                splits: known.map_or(0, |feature| feature.splits),
                categories: categories.map(|categories| match (&categories.rule, &labels) {
                    (CategoryRule::Listed(values), _) => values.len(),
                    (_, Some(labels)) => labels.len(),
                    _ => known.map_or(0, |feature| feature.codes),
                }),
                labels,
            }
        };
        let all = (0..features.len()).map(FeatureId::new);
        // Columns without names are listed only if a split uses them: a file may declare millions
        // of columns it never uses.
        let shown = |feature: &FeatureId| features.has_names() || splits.by_feature.contains_key(feature);
        Self {
            count: features.len(),
            named: features.has_names(),
            used: splits.by_feature.len(),
            columns: all.filter(shown).map(column).collect(),
        }
    }
}

impl ClassFacts {
    fn of(ensemble: &Ensemble) -> Self {
        let classes = ensemble.classes();
        Self {
            count: classes.len(),
            named: !matches!(classes, secateur_model::ClassLabels::Unnamed(_)),
            labels: (0..classes.len()).map(|class| classes.text(ClassId::new(class)).into_owned()).collect(),
        }
    }
}

impl InputFacts {
    fn of(ensemble: &Ensemble, splits: &SplitFacts) -> Self {
        let domain = ensemble.intake();
        let features = ensemble.features();
        let rules = splits.by_feature.keys().filter_map(|&feature| features.categories(feature));
        let mut unseen: Vec<bool> = rules.map(|categories| categories.unseen_is_missing).collect();
        unseen.sort_unstable();
        unseen.dedup();
        Self {
            number: number_name(domain.number),
            missing: domain.missing,
            infinities: domain.infinities,
            zero_window: domain.zero_window,
            zero_branch: splits.zero_branch,
            unseen_categories: match unseen[..] {
                [] => None,
                [false] => Some("left_out"),
                [true] => Some("missing"),
                _ => Some("mixed"),
            },
        }
    }
}

impl ScoreFacts {
    fn of(ensemble: &Ensemble) -> Self {
        let accumulation = ensemble.accumulation();
        let average = accumulation.average;
        Self {
            count: ensemble.group_count(),
            number: number_name(accumulation.number),
            intercepts: ensemble.intercepts().to_vec(),
            intercept: match accumulation.intercept {
                InterceptPosition::First => "first",
                InterceptPosition::Last => "last",
            },
            order: match accumulation.order {
                Order::File => "file",
                Order::Any => "any",
            },
            average: average.map(|average| AverageFacts {
                divisor: average.divisor,
                in_raw_scores: average.in_raw_scores,
            }),
            scale: ensemble.scale(),
        }
    }
}

impl BandFacts {
    fn of(file: &ModelFile) -> Self {
        let ensemble = file.ensemble();
        // A regressor has no decision boundary, so it has no band.
        let score = ensemble.certain_margin().filter(|_| ensemble.decision().is_classifier());
        let probability = match (score, file.logistic_scale(), ensemble.decision()) {
            (Some(score), Some(scale), secateur_model::Decision::Threshold { threshold, .. }) => {
                Some(logistic::interval(scale, *threshold, score))
            }
            _ => None,
        };
        Self { score, probability, rounding: ensemble.rounding().map(|rounding| rounding.scores) }
    }
}
