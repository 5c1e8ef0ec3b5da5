//! Turns the contents of a file into the model: objective, intercepts, rounds, features, decision.

use secateur_model::{
    Accumulation, Categories, CategoryRule, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId,
    Features, GroupId, Intake, Label, MAX_FEATURES, NumberType, Output, Softmax, Transform, TreeId, Value,
};

use super::document::{CategoryNames, Contents};
use crate::error::{FormatError, Place, Problem};

/// The facts about a file that an edit needs besides the model itself.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) version: Version,
    pub(super) objective: Objective,
    pub(super) dart: bool,
    /// Do the trees have leaves with a value for each class?
    pub(super) vector_leaves: bool,
    /// Are these leaves in `leaf_weights` (from 3.2)?
    pub(super) leaf_weights: bool,
    /// The first tree of each round and the number of all trees.
    pub(super) rounds: Vec<usize>,
    /// The number of trees of a round, if the file does not state it and the library derives it.
    pub(super) derived_round: Option<usize>,
    /// The number of trees that the classifier uses.
    pub(super) used_trees: usize,
    pub(super) tree_info: Vec<u32>,
    /// The weight of each tree (dart).
    pub(super) weights: Option<Vec<f32>>,
}

/// The version that wrote the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) i64, pub(super) i64, pub(super) i64);

impl Version {
    /// Is `base_score` a list, with a number for each class?
    pub(super) fn has_vector_base_score(self) -> bool {
        self >= Self(3, 1, 0)
    }

    /// Does the library use the file's list of rounds?
    fn has_rounds(self) -> bool {
        self >= Self(2, 0, 0)
    }

    /// Is a probability as intercept moved away from 0 and 1?
    fn clamps_probability(self) -> bool {
        self >= Self(3, 2, 0)
    }
}

/// The supported objectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objective {
    Logistic,
    LogitRaw,
    Hinge,
    Softmax,
    Softprob,
    /// A regressor or ranker whose answer is the margin, starting from `base_score` unchanged.
    Margin,
    /// Quantiles: the same, but some versions sort those of a row.
    Quantiles,
    /// The answer is exp(margin), and margins start from the logarithm of `base_score`.
    LogLink,
    /// Regression of probabilities.
    LogisticRegression,
}

impl Objective {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "binary:logistic" => Self::Logistic,
            "binary:logitraw" => Self::LogitRaw,
            "binary:hinge" => Self::Hinge,
            "multi:softmax" => Self::Softmax,
            "multi:softprob" => Self::Softprob,
            "reg:squarederror"
            | "reg:squaredlogerror"
            | "reg:pseudohubererror"
            | "reg:absoluteerror"
            | "rank:ndcg"
            | "rank:pairwise"
            | "rank:map" => Self::Margin,
            "reg:quantileerror" => Self::Quantiles,
            "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => Self::LogLink,
            "reg:logistic" => Self::LogisticRegression,
            _ => return None,
        })
    }

    fn is_multiclass(self) -> bool {
        matches!(self, Self::Softmax | Self::Softprob)
    }

    /// Is `base_score` a probability? Margins then start from its logit.
    pub(super) fn has_logit(self) -> bool {
        matches!(self, Self::Logistic | Self::LogisticRegression)
    }

    fn is_regression(self) -> bool {
        matches!(self, Self::Margin | Self::Quantiles | Self::LogLink | Self::LogisticRegression)
    }

    /// How XGBClassifier decides from the margins, or how XGBRegressor and XGBRanker transform
    /// them.
    fn decision(self, groups: usize) -> Decision {
        let threshold = |threshold| Decision::Threshold { group: GroupId(0), threshold, strict: true };
        match self {
            // Up to 1.5 * 2^-24 the sigmoid rounds to one half, which is not above one half.
            Self::Logistic => threshold(1.5 / f64::from(1 << 24)),
            // The classifier compares the raw margin with one half, as if it were a probability.
            Self::LogitRaw => threshold(0.5),
            Self::Hinge => threshold(0.0),
            Self::Softmax => Decision::Argmax,
            Self::Softprob => Decision::ArgmaxSoftmax(Softmax::XgBoost),
            Self::Margin => Decision::Scores(Value::Score),
            Self::Quantiles if groups == 1 => Decision::Scores(Value::Score),
            Self::Quantiles => Decision::Scores(Value::NotFixed(Transform::Sorted)),
            Self::LogLink => Decision::Scores(Value::NotFixed(Transform::Exp)),
            Self::LogisticRegression => Decision::Scores(Value::NotFixed(Transform::Logistic)),
        }
    }
}

pub(super) fn check_booster(name: &str) -> Result<(), FormatError> {
    if name == "gbtree" || name == "dart" {
        return Ok(());
    }
    let what = format!("the booster {name:?}");
    let advice = "only gbtree and dart models consist of trees";
    Err(unsupported("learner.gradient_booster.name", what, advice))
}

pub(super) fn check_objective(name: &str) -> Result<(), FormatError> {
    if Objective::named(name).is_some() {
        return Ok(());
    }
    let what = format!("the objective {name:?}");
    let advice = "supported are binary:logistic, binary:logitraw, binary:hinge, multi:softmax, multi:softprob, \
                  reg:squarederror, reg:squaredlogerror, reg:pseudohubererror, reg:absoluteerror, \
                  reg:quantileerror, reg:logistic, reg:gamma, reg:tweedie, count:poisson, survival:cox, \
                  survival:aft, rank:ndcg, rank:pairwise and rank:map";
    Err(unsupported("learner.objective.name", what, advice))
}

fn unsupported(path: &str, what: String, advice: &'static str) -> FormatError {
    FormatError::new(Place::Field(path.to_owned()), Problem::Unsupported { what, advice })
}

fn wrong(path: &str, found: impl std::fmt::Display, expected: &'static str) -> FormatError {
    let found = found.to_string();
    FormatError::new(Place::Field(path.to_owned()), Problem::Value { found, expected })
}

fn wrong_length(path: &str, expected: usize, found: usize) -> FormatError {
    FormatError::new(Place::Field(path.to_owned()), Problem::Length { expected, found })
}

const PARAMETERS: &str = "learner.learner_model_param";
const MODEL: &str = "learner.gradient_booster.model";

/// The model of a file.
pub(super) fn build(mut contents: Contents) -> Result<(Ensemble, Header, super::Spans), FormatError> {
    let trees = std::mem::take(&mut contents.trees);
    let header = header(&contents, &trees.iter().map(|(_, vector)| *vector).collect::<Vec<_>>())?;
    let groups = groups(&contents, header.objective)?;
    let intercepts = intercepts(&contents.base_score, groups, &header)?;
    let intake = Intake::everything(NumberType::F32);
    let classes = ClassLabels::Unnamed(match groups {
        _ if header.objective.is_regression() => 0,
        1 => 2,
        _ => groups as u32,
    });
    let accumulation = Accumulation::in_order(NumberType::F32);
    let features = features(&contents)?;
    let decision = header.objective.decision(groups);
    let mut builder = EnsembleBuilder::new(features, intake, classes, intercepts, accumulation, decision)?;
    for (index, (mut tree, vector)) in trees.into_iter().take(header.used_trees).enumerate() {
        let output = match vector {
            None => Output::Group(GroupId(header.tree_info[index])),
            Some(_) => Output::All,
        };
        if header.dart && header.version < Version(3, 3, 0) {
            // In these versions dart adds each leaf to zero before it is weighted, so that minus
            // zero becomes zero.
            tree.add_zero_to_leaves();
        }
        let weight = header.weights.as_ref().map_or(1.0, |weights| f64::from(weights[index]));
        builder.tree(tree, output, weight)?;
    }
    Ok((builder.build(), header, contents.layout))
}

fn header(contents: &Contents, vectors: &[Option<usize>]) -> Result<Header, FormatError> {
    let version = version(contents)?;
    let objective =
        Objective::named(&contents.objective).expect("the objective was checked with the contents");
    let groups = groups(contents, objective)?;
    let count = vectors.len();
    if count == 0 {
        let what = "a model without trees".to_owned();
        let advice = "it gives every input the same class, and XGBoost's versions disagree on its score";
        return Err(unsupported(&format!("{MODEL}.trees"), what, advice));
    }
    let path = format!("{MODEL}.gbtree_model_param.num_trees");
    if number(&contents.num_trees, &path)? != count as u64 {
        return Err(wrong(&path, &contents.num_trees, "the number of trees in the list"));
    }
    let path = format!("{MODEL}.tree_info");
    if contents.tree_info.len() != count {
        return Err(wrong_length(&path, count, contents.tree_info.len()));
    }
    let vector_leaves = vectors[0].is_some();
    for (index, vector) in vectors.iter().enumerate() {
        let expected = if vector_leaves { Some(groups) } else { None };
        if *vector != expected || *vector == Some(1) {
            let place = Place::TreeField { tree: TreeId::new(index), field: "tree_param.size_leaf_vector" };
            let found = vector.unwrap_or(1).to_string();
            let expected = "the number of classes, or 1 in all trees";
            return Err(FormatError::new(place, Problem::Value { found, expected }));
        }
    }
    let group = |(index, &found): (usize, &i64)| match u32::try_from(found) {
        Ok(group) if (group as usize) < groups && !(vector_leaves && group > 0) => Ok(group),
        _ => {
            let place = Place::TreeField { tree: TreeId::new(index), field: "tree_info" };
            let expected = "a class of the model";
            Err(FormatError::new(place, Problem::Value { found: found.to_string(), expected }))
        }
    };
    let tree_info = contents.tree_info.iter().enumerate().map(group).collect::<Result<_, _>>()?;
    let weights = contents.weights.clone().filter(|weights| !weights.is_empty());
    if let Some(weights) = &weights
        && weights.len() != count
    {
        return Err(wrong_length("learner.gradient_booster weight_drop", count, weights.len()));
    }
    let derived_round = derived_round(contents, version, if vector_leaves { 1 } else { groups }, count)?;
    let rounds = rounds(contents, derived_round, count)?;
    let used_trees = used_trees(contents.best_iteration.as_deref(), &rounds)?;
    let dart = contents.booster == "dart" || weights.is_some();
    let leaf_weights = contents.leaf_weights;
    Ok(Header {
        version,
        objective,
        dart,
        vector_leaves,
        leaf_weights,
        rounds,
        derived_round,
        used_trees,
        tree_info,
        weights,
    })
}

fn version(contents: &Contents) -> Result<Version, FormatError> {
    let Some(parts) = &contents.version else {
        return Err(FormatError::new(Place::Field("version".to_owned()), Problem::Missing));
    };
    let &[major, minor, patch] = parts.as_slice() else {
        return Err(wrong_length("version", 3, parts.len()));
    };
    if (major, minor) < (1, 7) {
        let what = format!("a file of XGBoost {major}.{minor}");
        return Err(unsupported("version", what, "load it in XGBoost 1.7 or later and save it again"));
    }
    Ok(Version(major, minor, patch))
}

fn number(text: &str, path: &str) -> Result<u64, FormatError> {
    text.parse().map_err(|_| wrong(path, format!("{text:?}"), "a number"))
}

/// The number of sums: one, or one for each class or target.
fn groups(contents: &Contents, objective: Objective) -> Result<usize, FormatError> {
    let read = |value: &Option<String>, name: &str, default| match value {
        Some(text) => number(text, &format!("{PARAMETERS}.{name}")),
        None => Ok(default),
    };
    let classes = read(&contents.num_class, "num_class", 0)?;
    let targets = read(&contents.num_target, "num_target", 1)?;
    if objective.is_regression() {
        if classes > 1 {
            return Err(wrong(&format!("{PARAMETERS}.num_class"), classes, "0, as in every regressor"));
        }
        // Each target takes an intercept, as each class does below.
        return match usize::try_from(targets) {
            Ok(count) if (1..=1 << 16).contains(&count) => Ok(count),
            Ok(0) => Ok(1),
            _ => Err(wrong(&format!("{PARAMETERS}.num_target"), targets, "a number of targets up to 65536")),
        };
    }
    if targets > 1 {
        let what = format!("a model with {targets} labels for each row");
        let advice = "only models that give a row one class are";
        return Err(unsupported(&format!("{PARAMETERS}.num_target"), what, advice));
    }
    let path = format!("{PARAMETERS}.num_class");
    if !objective.is_multiclass() {
        return if classes <= 1 { Ok(1) } else { Err(wrong(&path, classes, "0, as in every binary model")) };
    }
    if let Some(text) = &contents.objective_num_class {
        let path = "learner.objective.softmax_multiclass_param.num_class";
        if number(text, path)? != classes {
            return Err(wrong(path, text, "the number of classes in learner_model_param"));
        }
    }
    // Each class takes an intercept; a number in the file must not decide how much memory is used.
    match usize::try_from(classes) {
        Ok(count) if (2..=1 << 16).contains(&count) => Ok(count),
        _ => Err(wrong(&path, classes, "a number of classes from 2 to 65536")),
    }
}

/// The number of trees of each round, if it is derived: 1.7 has no list of rounds, and later
/// versions can do without one.
fn derived_round(
    contents: &Contents,
    version: Version,
    groups: usize,
    trees: usize,
) -> Result<Option<usize>, FormatError> {
    if contents.iteration_indptr.is_some() && version.has_rounds() {
        return Ok(None);
    }
    let path = format!("{MODEL}.gbtree_model_param.num_parallel_tree");
    let parallel = contents.num_parallel_tree.as_deref().map_or(Ok(1), |text| number(text, &path))?;
    let round = usize::try_from(parallel).ok().and_then(|parallel| parallel.checked_mul(groups));
    match round {
        Some(round) if round > 0 && trees.is_multiple_of(round) => Ok(Some(round)),
        Some(round) if round > 0 => Err(wrong(
            &format!("{MODEL}.trees"),
            format!("a list of {trees} trees"),
            "a whole number of rounds: XGBoost would leave trees out or refuse the file",
        )),
        _ => Err(wrong(&path, parallel, "a number of trees")),
    }
}

/// The first tree of each round, and the number of trees.
fn rounds(contents: &Contents, derived: Option<usize>, trees: usize) -> Result<Vec<usize>, FormatError> {
    let found = match (derived, &contents.iteration_indptr) {
        (None, Some(found)) => found,
        (round, _) => return Ok((0..trees).step_by(round.unwrap_or(1)).chain([trees]).collect()),
    };
    let fits = found.first() == Some(&0) && found.last() == Some(&(trees as i64)) && found.is_sorted();
    match fits {
        true => Ok(found.iter().map(|&tree| tree as usize).collect()),
        false => {
            let expected = "a list of tree numbers that rises from 0 to the number of trees";
            let found = format!("the list of {} numbers", found.len());
            Err(wrong(&format!("{MODEL}.iteration_indptr"), found, expected))
        }
    }
}

/// XGBClassifier uses the rounds up to the best one, if the file names one.
fn used_trees(best_iteration: Option<&str>, rounds: &[usize]) -> Result<usize, FormatError> {
    let all = rounds[rounds.len() - 1];
    let Some(text) = best_iteration else { return Ok(all) };
    let best: Option<i64> = text.trim().parse().ok();
    match best {
        Some(-1) => Ok(all),
        Some(best) if best >= 0 && (best as usize) < rounds.len() - 1 => Ok(rounds[best as usize + 1]),
        _ => Err(wrong(
            "learner.attributes.best_iteration",
            format!("{text:?}"),
            "a round of the model, and XGBClassifier would refuse to predict",
        )),
    }
}

fn intercepts(text: &str, groups: usize, header: &Header) -> Result<Vec<f64>, FormatError> {
    let path = format!("{PARAMETERS}.base_score");
    let list = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if list.is_some() && !header.version.has_vector_base_score() {
        let expected = "a single number: XGBoost up to 3.0 would silently take 0.5 for a list";
        return Err(wrong(&path, format!("{text:?}"), expected));
    }
    let read = |text: &str| match text.trim() {
        text if is_number(text) => text.parse::<f32>().ok(),
        _ => None,
    };
    let found: Option<Vec<f32>> = list.unwrap_or(text).split(',').map(read).collect();
    let Some(mut found) = found else {
        return Err(wrong(&path, format!("{text:?}"), "a number or a list of numbers"));
    };
    if found.len() == 1 {
        found.resize(groups, found[0]);
    }
    if found.len() != groups {
        return Err(wrong_length(&path, groups, found.len()));
    }
    if header.objective.has_logit() {
        for value in &mut found {
            *value = margin_of_probability(*value, header.version).ok_or_else(|| {
                wrong(&path, format!("{text:?}"), "a probability, as this objective needs one")
            })?;
        }
    }
    if header.objective == Objective::LogLink {
        for value in &mut found {
            if !(*value > 0.0 && value.is_finite()) {
                return Err(wrong(
                    &path,
                    format!("{text:?}"),
                    "a positive number, as this objective takes its logarithm",
                ));
            }
            // The logarithm is the platform's in f32, as in the logit.
            *value = value.ln();
        }
    }
    Ok(found.into_iter().map(f64::from).collect())
}

/// A sign, digits, a fraction, an exponent: a number that every version reads in the same way.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !whole.is_empty() && !exponent.is_empty() && [whole, fraction, exponent].into_iter().all(all_digits)
}

/// The library's logit: every step in f32, with the platform's logarithm.
fn margin_of_probability(probability: f32, version: Version) -> Option<f32> {
    let probability = if version.clamps_probability() {
        const EDGE: f32 = 1e-6;
        (0.0..=1.0).contains(&probability).then(|| probability.clamp(EDGE, 1.0 - EDGE))?
    } else {
        Some(probability).filter(|&p| p > 0.0 && p < 1.0)?
    };
    Some(-(1.0 / probability - 1.0).ln())
}

fn features(contents: &Contents) -> Result<Features, FormatError> {
    let path = format!("{PARAMETERS}.num_feature");
    let text = contents.num_feature.as_deref();
    let text = text.ok_or_else(|| FormatError::new(Place::Field(path.clone()), Problem::Missing))?;
    let count = number(text, &path)?;
    if count > MAX_FEATURES as u64 {
        return Err(wrong(&path, count, "a number of features up to 2^24"));
    }
    let lists = [
        ("learner.feature_names", contents.feature_names.len()),
        ("learner.feature_types", contents.feature_types.len()),
        ("learner.gradient_booster.model.cats.enc", contents.category_names.len()),
    ];
    if let Some((path, found)) = lists.into_iter().find(|&(_, found)| found != 0 && found as u64 != count) {
        return Err(wrong_length(path, count as usize, found));
    }
    let mut features = match contents.feature_names.is_empty() {
        true => Features::unnamed(count as u32),
        false => Features::named(contents.feature_names.clone()),
    };
    let labels = category_labels(contents)?;
    let declared = contents.feature_types.iter().zip(0u32..).filter(|(kind, _)| *kind == "c");
    let used = contents.categorical.iter().copied();
    for feature in declared.map(|(_, feature)| feature).chain(used).filter(|&f| u64::from(f) < count) {
        let labels = labels.get(feature as usize).cloned().unwrap_or_default();
        let categories = Categories {
            rule: CategoryRule::TruncateNonNegative,
            unseen_is_missing: false,
            labels: Some(labels).filter(|labels| !labels.is_empty()),
        };
        features.set_categories(FeatureId(feature), categories);
    }
    Ok(features)
}

/// The labels of each column's codes.
fn category_labels(contents: &Contents) -> Result<Vec<Vec<Label>>, FormatError> {
    let mut start = 0;
    let mut column = |(column, names): (usize, &CategoryNames)| {
        let labels = names.labels().ok_or_else(|| {
            let expected = "a list of names that fits its offsets, or of numbers of its type";
            wrong(&format!("{MODEL}.cats.enc"), format!("entry {column}"), expected)
        })?;
        let end = start + labels.len();
        let segment = contents.category_segments.get(column..).and_then(|rest| rest.get(..2));
        if segment != Some(&[start as i64, end as i64]) {
            let expected = "where the codes of this column begin and end";
            return Err(wrong(
                &format!("{MODEL}.cats.feature_segments"),
                format!("entry {column}"),
                expected,
            ));
        }
        // XGBoost looks the labels of a table up through this list, and uses its entries as their
        // codes.
        let order = contents.category_order.get(start..end);
        if !order.is_some_and(|order| names.fits_order(&labels, order)) {
            let expected =
                "the codes of this column in the order of its labels: XGBoost would mistake them for others";
            return Err(wrong(
                &format!("{MODEL}.cats.sorted_idx"),
                format!("the part of column {column}"),
                expected,
            ));
        }
        start = end;
        Ok(labels)
    };
    let labels = contents.category_names.iter().enumerate().map(&mut column).collect::<Result<_, _>>()?;
    if contents.category_order.len() != start {
        return Err(wrong_length(&format!("{MODEL}.cats.sorted_idx"), start, contents.category_order.len()));
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_every_version_reads_alike() {
        for text in ["0", "5E-1", "-3", "0.25", "1.", "1e+05", "4.402863E-1"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", ".5", "abc", "NaN", "inf", "0.5f", "+1", "1e", "1e-", "0x1", "1_0", "--1"] {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn the_edge_of_probabilities_depends_on_the_version() {
        let (old, new) = (Version(3, 1, 3), Version(3, 2, 0));
        assert_eq!(margin_of_probability(0.5, old).unwrap().to_bits(), (-0.0f32).to_bits());
        assert_eq!(margin_of_probability(1e-8, old), Some(-18.420681));
        assert_eq!(margin_of_probability(1e-8, new), Some(-13.81551));
        assert_eq!(margin_of_probability(1.0, new), Some(13.74516));
        assert_eq!(margin_of_probability(0.0, old), None);
        assert_eq!(margin_of_probability(1.5, new), None);
        assert_eq!(margin_of_probability(f32::NAN, new), None);
    }
}
