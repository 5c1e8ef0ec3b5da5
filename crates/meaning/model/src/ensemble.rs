//! A whole model: features, trees, intercepts, how they are added up, and the decision.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::decision::{Cut, Decision};
use crate::domain::{Domain, DomainError};
use crate::exact::Exact;
use crate::exact_sum::ExactSum;
use crate::feature::{Categories, Feature, FeatureKind, Intake, NumberType};
use crate::grid::{Grid, GridError};
use crate::ids::{FeatureId, LeafId, TreeId};
use crate::label::{Label, UnplacedLabels};
use crate::tree::{Output, Split, Test, Tree};

/// The input columns. If the file has no names they are made up on demand (`f0`, `f1`, ...), so
/// that a declared number of columns costs no memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    pub(crate) count: u32,
    pub(crate) names: Vec<String>,
    pub(crate) categories: BTreeMap<FeatureId, Categories>,
    pub(crate) unplaced: Option<UnplacedLabels>,
    pub(crate) steps: Option<Arc<Steps>>,
    pub(crate) shown: ShownNames,
}

/// Names for people, of columns that the file does not name: messages and domains use them. They are no
/// part of the model: it is the same with others, no digest contains them, and no table is matched by them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownNames(Arc<[String]>);

impl PartialEq for ShownNames {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The earlier steps of a pipeline, which change a caller's row before the trees get it. Nothing
/// here executes them; they are kept so that two models are only compared if both get the same
/// rows.
#[derive(Clone, Debug)]
pub struct Steps {
    /// The names of the steps, for messages.
    pub names: Vec<String>,
    /// Everything that defines the steps.
    pub content: Vec<u8>,
}

/// The names of the steps do not matter.
impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Steps {}

impl Features {
    /// `count` numeric columns without names.
    pub fn unnamed(count: u32) -> Self {
        Self {
            count,
            names: Vec::new(),
            categories: BTreeMap::new(),
            unplaced: None,
            steps: None,
            shown: ShownNames::default(),
        }
    }

    /// Numeric columns with these names.
    pub fn named(names: Vec<String>) -> Self {
        Self { count: names.len() as u32, names, ..Self::unnamed(0) }
    }

    /// States that these steps compute the columns from the columns that a caller gives.
    pub fn set_steps(&mut self, steps: Arc<Steps>) {
        self.steps = Some(steps);
    }

    /// The steps that compute these columns from a caller's; `None` if a caller gives these columns
    /// directly.
    pub fn steps(&self) -> Option<&Steps> {
        self.steps.as_deref()
    }

    /// Makes a column categorical.
    pub fn set_categories(&mut self, feature: FeatureId, categories: Categories) {
        self.categories.insert(feature, categories);
    }

    /// Keeps lists of labels for which the file does not say to which columns they belong.
    pub fn set_unplaced_labels(&mut self, lists: Vec<Vec<Label>>) {
        self.unplaced = Some(UnplacedLabels { lists, moved: false });
    }

    /// Records that the columns were reordered after the file was read, so that the order of such
    /// lists has no meaning.
    pub fn forget_label_order(&mut self) {
        if let Some(unplaced) = &mut self.unplaced {
            unplaced.moved = true;
        }
    }

    /// Lists of labels for which the file does not say to which columns they belong.
    pub fn unplaced_labels(&self) -> Option<&UnplacedLabels> {
        self.unplaced.as_ref()
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Did the file name its columns?
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// A column's name.
    pub fn name(&self, feature: FeatureId) -> Cow<'_, str> {
        match self.names.get(feature.index()).or(self.shown.0.get(feature.index())) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("f{feature}")),
        }
    }

    /// The column of this name; of a file without names also by the name that is made up for it.
    pub fn called(&self, name: &str) -> Option<FeatureId> {
        let ids = || (0..self.len()).map(FeatureId::new);
        let made_up = || ids().find(|feature| !self.has_names() && format!("f{feature}") == name);
        ids().find(|&feature| self.name(feature) == name).or_else(made_up)
    }

    /// The categories of a column, `None` for a numeric one.
    pub fn categories(&self, feature: FeatureId) -> Option<&Categories> {
        self.categories.get(&feature)
    }

    /// Does a library that accepts missing values accept them in this column?
    pub fn accepts_missing(&self, feature: FeatureId) -> bool {
        self.categories(feature).is_none_or(Categories::accepts_missing)
    }

    /// A column with everything that is known about it.
    pub fn feature(&self, feature: FeatureId) -> Feature {
        let kind = match self.categories(feature) {
            Some(categories) => FeatureKind::Categorical(categories.clone()),
            None => FeatureKind::Numeric,
        };
        Feature { name: self.name(feature).into_owned(), kind }
    }
}

/// The names of the classes, in the order of [`ClassId`](crate::ClassId).
#[derive(Clone, Debug, PartialEq)]
pub enum ClassLabels {
    /// The file has no labels: classes are 0, 1, ...
    Unnamed(u32),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Other numbers.
    Floats(Vec<f64>),
    /// Truth values.
    Booleans(Vec<bool>),
    /// Text.
    Strings(Vec<String>),
}

impl ClassLabels {
    /// The number of classes.
    pub fn len(&self) -> usize {
        match self {
            Self::Unnamed(count) => *count as usize,
            Self::Integers(labels) => labels.len(),
            Self::Floats(labels) => labels.len(),
            Self::Booleans(labels) => labels.len(),
            Self::Strings(labels) => labels.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All classes, in their order.
    pub fn ids(&self) -> impl Iterator<Item = crate::ClassId> + use<> {
        (0..self.len()).map(crate::ClassId::new)
    }

    /// The text of a class, as Python would print the label.
    pub fn text(&self, class: crate::ClassId) -> Cow<'_, str> {
        let index = class.index();
        match self {
            Self::Unnamed(_) => Cow::Owned(index.to_string()),
            Self::Integers(labels) => Cow::Owned(labels[index].to_string()),
            Self::Floats(labels) => Cow::Owned(format!("{:?}", labels[index])),
            Self::Booleans(labels) => Cow::Borrowed(if labels[index] { "True" } else { "False" }),
            Self::Strings(labels) => Cow::Borrowed(&labels[index]),
        }
    }

    /// Would a program that compares the results of two models find these two class labels equal?
    /// Numbers are compared by value, whatever their type (`True`, 1 and 1.0 are equal, as in
    /// Python and NumPy), texts letter by letter, and a number is never equal to a text.
    pub fn is_same(&self, class: crate::ClassId, other: &Self, class_there: crate::ClassId) -> bool {
        match (self, other) {
            (Self::Strings(ours), Self::Strings(theirs)) => {
                ours[class.index()] == theirs[class_there.index()]
            }
            (Self::Strings(_), _) | (_, Self::Strings(_)) => false,
            _ => match (self.number(class), other.number(class_there)) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => false,
            },
        }
    }

    /// The value of a label that is a finite number.
    fn number(&self, class: crate::ClassId) -> Option<Exact> {
        let index = class.index();
        match self {
            Self::Unnamed(_) => Some(Exact::from(index as i64)),
            Self::Integers(labels) => Some(Exact::from(labels[index])),
            Self::Floats(labels) => Exact::from_f64(labels[index]),
            Self::Booleans(labels) => Some(Exact::from(i64::from(labels[index]))),
            Self::Strings(_) => None,
        }
    }
}

/// How tree values become a row's scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accumulation {
    /// The type of the running sums: every product and every sum is rounded to it.
    pub number: NumberType,
    /// Whether sums start from the intercept, or from zero with the intercept added at the end.
    pub intercept: InterceptPosition,
    /// Whether the library always adds in the order of the file.
    pub order: Order,
    /// The division after the last addition.
    pub average: Option<Average>,
}

impl Accumulation {
    /// Sums of this type that start from the intercept, add in the order of the file, and are not
    /// divided.
    pub const fn in_order(number: NumberType) -> Self {
        Self { number, intercept: InterceptPosition::First, order: Order::File, average: None }
    }

    /// The divisor of the sums: one if they are not averaged.
    pub fn divisor(&self) -> f64 {
        self.average.map_or(1.0, |average| average.divisor)
    }
}

/// Where the intercept enters a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterceptPosition {
    /// Before the first tree.
    First,
    /// After the last tree.
    Last,
}

/// The order in which trees are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Always that of the file.
    File,
    /// Depends on threads or batches, so claims must hold for every order. Predictions here use the
    /// order of the file, which is the library's with one thread.
    Any,
}

/// A division of the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// Sums are divided by this positive number.
    pub divisor: f64,
    /// The library's raw scores are the quotients; otherwise only the decision uses them.
    pub in_raw_scores: bool,
}

/// A model as its library executes it. Only [`EnsembleBuilder`](crate::EnsembleBuilder) makes one,
/// so code that holds one may rely on its indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    pub(crate) features: Features,
    pub(crate) intake: Intake,
    /// Does the library accept missing values, even if `domain` has none?
    pub(crate) missing_accepted: bool,
    /// The inputs that claims about this model cover.
    pub(crate) domain: Arc<Domain>,
    pub(crate) classes: ClassLabels,
    pub(crate) intercepts: Vec<f64>,
    pub(crate) intercept_errors: Vec<f64>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) accumulation: Accumulation,
    pub(crate) scale: Option<f64>,
    /// The rule that claims are about: the library's own, or one with a caller's threshold.
    pub(crate) decision: Decision,
    /// The library's own rule and the cut, if a caller's threshold replaces the library's.
    pub(crate) cut: Option<(Decision, Cut)>,
}

impl Ensemble {
    /// The input columns.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The values that the library accepts; without missing values if no column of
    /// [`domain`](Self::domain) may be missing.
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// Does the library accept missing values, even if [`domain`](Self::domain) has none?
    pub fn accepts_missing(&self) -> bool {
        self.missing_accepted
    }

    /// The inputs that claims about this model cover. After reading a file these are all that its
    /// library accepts.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The same model with this domain as the inputs of claims, replacing its own. If the library accepts no
    /// missing values, leaving them out changes nothing, and the domain does not mention them.
    pub fn within(&self, domain: &Domain) -> Result<Cow<'_, Self>, DomainError> {
        let domain = if self.missing_accepted {
            Cow::Borrowed(domain)
        } else {
            Cow::Owned(domain.without_missing_values())
        };
        domain.fits(self)?;
        if *domain == *self.domain {
            return Ok(Cow::Borrowed(self));
        }
        let mut model = self.clone();
        model.intake.missing = self.missing_accepted && domain.any_may_be_missing(self.features.len());
        model.domain = Arc::new(domain.into_owned());
        // Scoring models may accept less than this one, so that no input of some part may be left.
        if !model.domain.wheres().is_empty()
            && let Err(GridError::Domain(error)) = Grid::new(&[&model])
        {
            return Err(error);
        }
        Ok(Cow::Owned(model))
    }

    /// The same model for all inputs that its library accepts.
    pub fn for_every_input(&self) -> Cow<'_, Self> {
        self.within(&Domain::everything()).expect("every model has all of its inputs")
    }

    /// The classes.
    pub fn classes(&self) -> &ClassLabels {
        &self.classes
    }

    /// The same model with these steps before it, which compute its columns from the columns that a
    /// caller gives.
    pub fn behind(mut self, steps: Arc<Steps>) -> Self {
        self.features.set_steps(steps);
        self
    }

    /// Has messages call the columns by these names, one for each; `false` where the file has its own, or
    /// where their number or a name that occurs twice does not allow it.
    pub fn show_names(&mut self, names: Vec<String>) -> bool {
        let distinct: BTreeSet<&String> = names.iter().collect();
        let fits = !self.features.has_names() && distinct.len() == self.features.len();
        if fits && names.len() == self.features.len() {
            self.features.shown = ShownNames(names.into());
            return true;
        }
        false
    }

    /// The same model with other labels for its classes; `None` unless there is one for each class.
    pub fn with_classes(&self, labels: ClassLabels) -> Option<Self> {
        (labels.len() == self.classes.len()).then(|| Self { classes: labels, ..self.clone() })
    }

    /// The number of sums.
    pub fn group_count(&self) -> usize {
        self.intercepts.len()
    }

    /// The intercept of each sum.
    pub fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// For each sum, how far the intercept that the library uses may be from the one here. Zero,
    /// unless the library computes its intercepts from the file in a way that depends on the
    /// processor.
    pub fn intercept_errors(&self) -> &[f64] {
        &self.intercept_errors
    }

    /// Do the last bits of the scores depend on more than the file and the input: on the order of
    /// addition, or on the processor? Claims must then hold for all possible scores.
    pub fn scores_vary(&self) -> bool {
        self.accumulation.order == Order::Any || self.intercept_errors.iter().any(|&error| error > 0.0)
    }

    /// Do classes depend on more than the file and the input: on the last bits of scores, or on the
    /// last bits of the probabilities that are compared with a caller's threshold? Claims must then
    /// hold for all possible classes.
    pub fn decisions_vary(&self) -> bool {
        self.scores_vary() || self.cut().is_some_and(|cut| cut.gap > 0.0)
    }

    /// The trees in the order of the file.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// One tree.
    pub fn tree(&self, tree: TreeId) -> &Tree {
        &self.trees[tree.index()]
    }

    /// How values are added up.
    pub fn accumulation(&self) -> &Accumulation {
        &self.accumulation
    }

    /// The scale, if the library adds the unscaled leaves and multiplies the sum by a scale before
    /// it adds the intercept. It is the weight of every tree here. The exact sums are the same
    /// either way, but the roundings differ. `None` if the library multiplies each leaf, or
    /// nothing.
    pub fn scale(&self) -> Option<f64> {
        self.scale
    }

    /// The factor that the library multiplies the leaves of a tree by before it adds them.
    pub(crate) fn leaf_weight(&self, tree: &Tree) -> f64 {
        if self.scale.is_some() { 1.0 } else { tree.weight() }
    }

    /// How scores become a class: by the library's own rule, or at a caller's cut.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// How scores become a class in the library itself, even if there is a caller's cut.
    pub fn library_decision(&self) -> &Decision {
        self.cut.as_ref().map_or(&self.decision, |(own, _)| own)
    }

    /// The caller's cut, if it replaces the library's own threshold.
    pub fn cut(&self) -> Option<Cut> {
        self.cut.map(|(_, cut)| cut)
    }

    /// The same model with another threshold instead of its library's (see [`Cut`]). `None` unless
    /// the library itself compares one score with a threshold, and the numbers of the cut are
    /// finite, not negative zeros, and the gap is at least zero.
    pub fn cut_at(&self, cut: Cut) -> Option<Self> {
        let own = *self.library_decision();
        let Decision::Threshold { group, .. } = own else { return None };
        let decision = Decision::Threshold { group, threshold: cut.score, strict: false };
        cut.is_canonical().then(|| Self { decision, cut: Some((own, cut)), ..self.clone() })
    }

    /// The same model with its library's own rule.
    pub fn at_library_decision(&self) -> Cow<'_, Self> {
        match self.cut {
            Some((decision, _)) => Cow::Owned(Self { decision, cut: None, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// The same model with its columns in the order of these names; `None` unless both have names
    /// and these are its own, each once. So columns of two models are matched, by position where
    /// there is no such order.
    pub fn with_column_order(&self, names: &Features) -> Option<Self> {
        if !self.features.has_names() || !names.has_names() {
            return None;
        }
        let places: BTreeMap<&str, u32> =
            names.names.iter().zip(0..).map(|(name, place)| (name.as_str(), place)).collect();
        let own = &self.features;
        if own.count != names.count || own.names.len() != own.len() || places.len() != own.len() {
            return None;
        }
        let new: Vec<FeatureId> = own
            .names
            .iter()
            .map(|name| places.get(name.as_str()).map(|&place| FeatureId(place)))
            .collect::<Option<_>>()?;
        let mut seen = vec![false; own.len()];
        if new.iter().any(|place| std::mem::replace(&mut seen[place.index()], true)) {
            return None;
        }
        let moved = new.iter().enumerate().any(|(old, place)| old != place.index());
        let unplaced = own.unplaced.clone();
        let features = Features {
            unplaced: unplaced.map(|own| UnplacedLabels { moved: own.moved || moved, ..own }),
            count: own.count,
            names: names.names.clone(),
            categories: own.categories.iter().map(|(old, c)| (new[old.index()], c.clone())).collect(),
            steps: own.steps.clone(),
            shown: own.shown.clone(),
        };
        let trees = self.trees.iter().map(|tree| tree.with_features(|old| new[old.index()])).collect();
        let domain = Arc::new(self.domain.renumbered(|old| new[old.index()]));
        Some(Self { features, trees, domain, ..self.clone() })
    }

    /// May this column be missing in some of [`domain`](Self::domain)?
    pub fn may_be_missing(&self, feature: FeatureId) -> bool {
        self.intake.missing && self.domain.may_be_missing(feature) && self.features.accepts_missing(feature)
    }

    /// The value of a column as the library's comparisons see it. `None` if the library refuses it
    /// there, or if it is missing and the column may not be missing in [`domain`](Self::domain).
    /// Other restrictions of the inputs are not checked: see [`accepts`](Self::accepts).
    pub fn read(&self, feature: FeatureId, value: f64) -> Option<f64> {
        let value = self.intake.read(value)?;
        if value.is_nan() && !self.may_be_missing(feature) {
            return None;
        }
        let refused = value.is_infinite()
            && self.features.categories.get(&feature).is_some_and(|categories| !categories.accepts(value));
        (!refused).then_some(value)
    }

    /// Does the library accept this row, and is it one of [`domain`](Self::domain)? The row must
    /// have a value for every feature.
    pub fn accepts(&self, row: &[f64]) -> bool {
        row.iter().enumerate().all(|(index, &value)| self.read(FeatureId::new(index), value).is_some())
            && self.domain.contains(row)
    }

    /// Does a split send this value left? The value is one that the domain has read.
    pub fn goes_left(&self, split: Split<'_>, value: f64) -> bool {
        if value.is_nan() {
            return split.missing_left;
        }
        match split.test {
            Test::Less { threshold } => value < threshold,
            Test::LessOrEqual { threshold } => value <= threshold,
            Test::LessOrEqualButZero { zero_left, .. } if value == 0.0 => zero_left,
            Test::LessOrEqualButZero { threshold, .. } => value <= threshold,
            Test::Equal { value: other } => value == other,
            Test::Member { set, members_left } => {
                let categories = &self.features.categories[&split.feature];
                match categories.code(value) {
                    Some(code) => (set.binary_search(&code).is_ok()) == members_left,
                    None if categories.unseen_is_missing => split.missing_left,
                    None => !members_left,
                }
            }
        }
    }

    /// The leaf to which each tree sends a row. The row has a value for every feature, as the
    /// domain reads it.
    pub fn leaves<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = LeafId> + 'a {
        self.trees
            .iter()
            .map(move |tree| tree.walk(|split| self.goes_left(split, row[split.feature.index()])))
    }

    /// The sums of a row in exact arithmetic: the intercept (the one here, without its error) plus
    /// weight times leaf, without rounding and before the division (see [`Accumulation::average`]).
    pub fn exact_sums(&self, leaves: impl IntoIterator<Item = LeafId>) -> Vec<Exact> {
        let mut sums = vec![ExactSum::new(); self.intercepts.len()];
        sums.iter_mut().zip(&self.intercepts).for_each(|(sum, &own)| sum.add(1.0, own));
        for (tree, leaf) in self.trees.iter().zip(leaves) {
            let weight = tree.weight();
            match tree.output() {
                Output::Group(group) => sums[group.index()].add(weight, tree.leaf(leaf)[0]),
                Output::All => sums.iter_mut().zip(tree.leaf(leaf)).for_each(|(sum, &v)| sum.add(weight, v)),
            }
        }
        sums.iter().map(ExactSum::total).collect()
    }
}
