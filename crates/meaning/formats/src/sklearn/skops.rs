//! Turns a skops archive into the parts of a classifier or regressor.
//!
//! Only what prediction needs is read, and every class on the path is checked by its full name. The
//! rest of the schema (parameters, training statistics, random states) is not examined.

use std::borrow::Cow;

use secateur_model::{ClassLabels, MAX_FEATURES, Transform, TreeId, Value as Answer};
use serde_json::Value;

use super::archive::Archive;
use super::npy::Array;
use super::numeric;
use super::parts::{self, CategoryList, CategoryValues, Estimator, Parts, TreeArrays, TreePart};
use super::schema::{Fields, Node};
use crate::error::{FormatError, Place, Problem};

/// The archive together with its schema.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) archive: &'a Archive<'a>,
}

const SUPPORTED: &str = "supported are scikit-learn's DecisionTree, RandomForest, ExtraTrees, AdaBoost, GradientBoosting and \
                         HistGradientBoosting classifiers, their regressors but for AdaBoost's, and IsolationForest";
const LOSS_MODULE: &str = "sklearn._loss.loss";
pub(super) const TREE_MODULE: &str = "sklearn.tree._classes";
const HISTOGRAM_MODULE: &str = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting";
const PREDICTOR: (&str, &str) = ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor");

impl<'a> Reader<'a> {
    /// The parts of the classifier that the schema describes.
    pub(crate) fn parts(&self, root: &Node<'a>) -> Result<Parts, FormatError> {
        let (module, class) = root.class()?;
        let estimator = match (module, class) {
            (
                TREE_MODULE,
                "DecisionTreeClassifier"
                | "ExtraTreeClassifier"
                | "DecisionTreeRegressor"
                | "ExtraTreeRegressor",
            ) => Estimator::DecisionTree,
            ("sklearn.ensemble._forest", "RandomForestClassifier" | "RandomForestRegressor") => {
                Estimator::RandomForest
            }
            ("sklearn.ensemble._forest", "ExtraTreesClassifier" | "ExtraTreesRegressor") => {
                Estimator::ExtraTrees
            }
            ("sklearn.ensemble._weight_boosting", "AdaBoostClassifier") => {
                Estimator::AdaBoost { weights: Vec::new() }
            }
            ("sklearn.ensemble._gb", "GradientBoostingClassifier" | "GradientBoostingRegressor") => {
                Estimator::GradientBoosting {
                    learning_rate: 1.0,
                    start: None,
                    start_errors: Vec::new(),
                    exponential_loss: false,
                }
            }
            (HISTOGRAM_MODULE, "HistGradientBoostingClassifier" | "HistGradientBoostingRegressor") => {
                Estimator::HistGradientBoosting {
                    baseline: Vec::new(),
                    columns: Vec::new(),
                    categories: Vec::new(),
                }
            }
            ("sklearn.ensemble._iforest", "IsolationForest") => Estimator::IsolationForest { max_samples: 0 },
            ("sklearn.ensemble._weight_boosting", "AdaBoostRegressor") => {
                let what = "an AdaBoostRegressor".to_owned();
                let advice = "its prediction is a weighted median of the trees' and no sum of them; a \
                              GradientBoostingRegressor or RandomForestRegressor is a sum";
                return Err(root.error(Problem::Unsupported { what, advice }));
            }
            _ => {
                let what = format!("a model of class {module}.{class}");
                let advice = match module.split('.').next() {
                    Some("xgboost") => "save it in XGBoost's own format: model.save_model(\"model.ubj\")",
                    Some("catboost") => "save it in CatBoost's own format: model.save_model(\"model.cbm\")",
                    _ => SUPPORTED,
                };
                return Err(root.error(Problem::Unsupported { what, advice }));
            }
        };
        let fields = root.attributes()?;
        check_version(&fields)?;
        let feature_count = fields.required("n_features_in_")?;
        let count = feature_count.count()?;
        let feature_count = u32::try_from(count)
            .ok()
            .filter(|_| count <= MAX_FEATURES)
            .ok_or_else(|| feature_count.value_error(count, "a number of columns below 2^24"))?;
        let feature_names = match fields.optional("feature_names_in_")? {
            Some(names) => Some(self.texts(&names)?),
            None => None,
        };
        let regressor = class.ends_with("Regressor");
        let isolation = matches!(estimator, Estimator::IsolationForest { .. });
        let (classes, regression) = if isolation {
            (ClassLabels::Unnamed(0), Some(Answer::NotFixed(Transform::PathLength)))
        } else if regressor {
            (ClassLabels::Unnamed(0), Some(Answer::Score))
        } else {
            (self.class_labels(&fields)?, None)
        };
        let mut parts = Parts {
            estimator,
            version: version(&fields)?,
            classes,
            regression,
            feature_count,
            feature_names,
            missing: false,
            trees: Vec::new(),
        };
        match &parts.estimator {
            Estimator::DecisionTree => {
                parts.missing = accepts_missing(root)?;
                parts.trees = vec![match regressor {
                    true => TreePart { origin: 0, edited: false, arrays: self.plain_arrays(root, 0)? },
                    false => self.plain_tree(root, 0, &parts.classes, true)?,
                }];
            }
            Estimator::RandomForest | Estimator::ExtraTrees => self.forest(&fields, &mut parts)?,
            Estimator::AdaBoost { .. } => self.adaboost(&fields, &mut parts)?,
            Estimator::GradientBoosting { .. } => self.gradient_boosting(&fields, &mut parts)?,
            Estimator::HistGradientBoosting { .. } => self.histogram(&fields, &mut parts)?,
            Estimator::IsolationForest { .. } => self.isolation_forest(&fields, &mut parts)?,
        }
        if regressor {
            check_output_count(&fields, parts.outputs())?;
        }
        Ok(parts)
    }

    fn forest(&self, fields: &Fields<'a>, parts: &mut Parts) -> Result<(), FormatError> {
        let regressor = parts.regression.is_some();
        let expected = match (parts.estimator == Estimator::RandomForest, regressor) {
            (true, false) => "DecisionTreeClassifier",
            (true, true) => "DecisionTreeRegressor",
            (false, false) => "ExtraTreeClassifier",
            (false, true) => "ExtraTreeRegressor",
        };
        let estimators = fields.required("estimators_")?.items()?;
        for (index, estimator) in estimators.iter().enumerate() {
            expect_class(estimator, &[(TREE_MODULE, expected)], "a tree of this forest")?;
            parts.trees.push(if regressor {
                let arrays = self.plain_arrays(estimator, index)?;
                TreePart { origin: TreeId::new(index).0, edited: false, arrays }
            } else {
                self.plain_tree(estimator, index, &parts.classes, false)?
            });
        }
        // The forest itself asks its first tree.
        if let Some(first) = estimators.first() {
            parts.missing = accepts_missing(first)?;
        }
        Ok(())
    }

    fn adaboost(&self, fields: &Fields<'a>, parts: &mut Parts) -> Result<(), FormatError> {
        if let Some(algorithm) = fields.optional("algorithm")?
            && algorithm.text()?.as_deref() == Some("SAMME.R")
        {
            let what = "AdaBoost with algorithm=\"SAMME.R\"".to_owned();
            let advice = "newer versions of scikit-learn predict otherwise: fit it again with SAMME";
            return Err(algorithm.error(Problem::Unsupported { what, advice }));
        }
        for (index, estimator) in fields.required("estimators_")?.items()?.iter().enumerate() {
            let trees = [(TREE_MODULE, "DecisionTreeClassifier"), (TREE_MODULE, "ExtraTreeClassifier")];
            expect_class(estimator, &trees, "a decision tree (AdaBoost of other models is not supported)")?;
            parts.trees.push(self.plain_tree(estimator, index, &parts.classes, true)?);
        }
        let weights = self.doubles(&fields.required("estimator_weights_")?)?;
        parts.estimator = Estimator::AdaBoost { weights };
        Ok(())
    }

    fn gradient_boosting(&self, fields: &Fields<'a>, parts: &mut Parts) -> Result<(), FormatError> {
        let classes = parts.classes.len();
        let groups = super::build::group_count(parts)?;
        let estimators = fields.required("estimators_")?;
        let shape = estimators.shape()?;
        if shape.len() != 2 || shape[1] != groups {
            let expected = "a row for each round with a tree for each class (one for two classes)";
            return Err(estimators.value_error(format!("shape {shape:?}"), expected));
        }
        let rounds = estimators.items()?;
        if rounds.len() != shape[0] {
            return Err(estimators.error(Problem::Length { expected: shape[0], found: rounds.len() }));
        }
        for round in &rounds {
            let trees = round.items()?;
            if trees.len() != groups {
                return Err(round.error(Problem::Length { expected: groups, found: trees.len() }));
            }
            for tree in &trees {
                expect_class(tree, &[(TREE_MODULE, "DecisionTreeRegressor")], "a regression tree")?;
                let index = parts.trees.len();
                let arrays = self.plain_arrays(tree, index)?;
                parts.trees.push(TreePart { origin: index as u32, edited: false, arrays });
            }
        }
        let learning_rate = self.number(&fields.required("learning_rate")?)?;
        let (start, start_errors) = match parts.regression {
            Some(_) => (self.regression_start(fields)?, Vec::new()),
            None => self.start(fields, classes)?,
        };
        let exponential_loss = fields.required("_loss")?.class()? == (LOSS_MODULE, "ExponentialLoss");
        parts.estimator =
            Estimator::GradientBoosting { learning_rate, start, start_errors, exponential_loss };
        Ok(())
    }

    /// The number from which a regressor's gradient boosting starts; `None` for zero.
    fn regression_start(&self, fields: &Fields<'a>) -> Result<Option<Vec<f64>>, FormatError> {
        let init = fields.required("init_")?;
        let (module, class) = init.class()?;
        if (module, class) == ("builtins", "str") && init.text()?.as_deref() == Some("zero") {
            return Ok(None);
        }
        if (module, class) != ("sklearn.dummy", "DummyRegressor") {
            let what = format!("an initial estimator of class {module}.{class}");
            let advice = "gradient boosting of a regressor starts from a constant (init=None) or from \
                          init=\"zero\"; fit it again";
            return Err(init.error(Problem::Unsupported { what, advice }));
        }
        let constant = self.doubles(&init.attributes()?.required("constant_")?)?;
        match constant[..] {
            [value] if value.is_finite() => Ok(Some(constant)),
            _ => Err(init.value_error(format!("{constant:?}"), "one finite constant")),
        }
    }

    /// The scores of gradient boosting's initial estimator, `None` for zeros; and how far the
    /// library's own may be from them.
    fn start(
        &self,
        fields: &Fields<'a>,
        classes: usize,
    ) -> Result<(Option<Vec<f64>>, Vec<f64>), FormatError> {
        let init = fields.required("init_")?;
        let unsupported = |node: &Node<'_>, what: String| {
            let advice = "gradient boosting starts from the class priors (init=None) or from init=\"zero\"; \
                          use the Python package on the fitted object, or fit it again";
            node.error(Problem::Unsupported { what, advice })
        };
        let (module, class) = init.class()?;
        if (module, class) == ("builtins", "str") && init.text()?.as_deref() == Some("zero") {
            return Ok((None, Vec::new()));
        }
        if (module, class) != ("sklearn.dummy", "DummyClassifier") {
            return Err(unsupported(&init, format!("an initial estimator of class {module}.{class}")));
        }
        let dummy = init.attributes()?;
        let strategy = dummy.required("_strategy")?.text()?;
        if strategy.as_deref() != Some("prior") {
            return Err(unsupported(&init, format!("a DummyClassifier with strategy {strategy:?}")));
        }
        let priors = self.doubles(&dummy.required("class_prior_")?)?;
        if priors.len() != classes || priors.iter().any(|prior| !prior.is_finite()) {
            let found = format!("{priors:?}");
            return Err(init.value_error(found, "a finite prior for each class"));
        }
        let loss = fields.required("_loss")?;
        let mut errors = Vec::new();
        let start = match loss.class()? {
            (LOSS_MODULE, "HalfBinomialLoss") if classes == 2 => vec![numeric::logit(priors[1])],
            (LOSS_MODULE, "ExponentialLoss") if classes == 2 => {
                vec![0.5 * numeric::logit(priors[1])]
            }
            (LOSS_MODULE, "HalfMultinomialLoss") if classes > 2 => {
                errors = numeric::multinomial_logit_errors(&priors);
                numeric::multinomial_logit(&priors)
            }
            (module, class) => {
                let found = format!("{module}.{class} for {classes} classes");
                return Err(
                    loss.value_error(found, "a loss of scikit-learn 1.4 or later for as many classes")
                );
            }
        };
        Ok((Some(start), errors))
    }

    fn histogram(&self, fields: &Fields<'a>, parts: &mut Parts) -> Result<(), FormatError> {
        if parts.regression.is_some() {
            parts.regression = Some(histogram_value(&fields.required("_loss")?)?);
        }
        let groups = super::build::group_count(parts)?;
        for round in fields.required("_predictors")?.items()? {
            let trees = round.items()?;
            if trees.len() != groups {
                return Err(round.error(Problem::Length { expected: groups, found: trees.len() }));
            }
            for tree in &trees {
                expect_class(tree, &[PREDICTOR], "a tree of a histogram-based model")?;
                let attributes = tree.attributes()?;
                let nodes = self.array(&attributes.required("nodes")?, parts::histogram_nodes)?;
                let left = self.array(&attributes.required("raw_left_cat_bitsets")?, parts::bitsets)?;
                let binned = self.array(&attributes.required("binned_left_cat_bitsets")?, parts::bitsets)?;
                let arrays = TreeArrays::Histogram { nodes, left, binned };
                let origin = TreeId::new(parts.trees.len()).0;
                parts.trees.push(TreePart { origin, edited: false, arrays });
            }
        }
        let baseline = self.doubles(&fields.required("_baseline_prediction")?)?;
        let (columns, categories) = self.columns(fields, parts.feature_count)?;
        parts.missing = true;
        parts.estimator = Estimator::HistGradientBoosting { baseline, columns, categories };
        Ok(())
    }

    /// The order in which the trees see the input columns, and the categories of the first ones.
    fn columns(
        &self,
        fields: &Fields<'a>,
        feature_count: u32,
    ) -> Result<(Vec<u32>, Vec<CategoryList>), FormatError> {
        let preprocessor = fields.required("_preprocessor")?;
        if preprocessor.is_none()? {
            return Ok(((0..feature_count).collect(), Vec::new()));
        }
        let transformer = ("sklearn.compose._column_transformer", "ColumnTransformer");
        expect_class(&preprocessor, &[transformer], "the column transformer of a histogram-based model")?;
        let inner = preprocessor.attributes()?;
        let indices = inner.required("_transformer_to_input_indices")?.fields()?;
        let mut columns = Vec::new();
        for name in ["encoder", "numerical"] {
            for index in indices.required(name)?.items()? {
                let column = u32::try_from(index.count()?).unwrap_or(u32::MAX);
                columns.push(column);
            }
        }
        let encoder = self.encoder(&inner)?;
        let lists = encoder.required("categories_")?.items()?;
        let known = self.known_categories(fields, lists.len())?;
        let values = lists.iter().map(|list| self.category_values(list));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let categories =
            values.into_iter().zip(known).map(|(values, known)| CategoryList { values, known }).collect();
        Ok((columns, categories))
    }

    /// The attributes of the encoder of the categorical columns.
    fn encoder(&self, transformer: &Fields<'a>) -> Result<Fields<'a>, FormatError> {
        let all = transformer.required("transformers_")?;
        let triples = all.items()?.iter().map(Node::items).collect::<Result<Vec<_>, _>>()?;
        let names = triples.iter().map(|triple| triple.first().map_or(Ok(None), Node::text));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let wanted = [Some("encoder"), Some("numerical"), Some("remainder")];
        if !names.iter().map(Option::as_deref).eq(wanted.iter().copied().take(names.len())) {
            return Err(all.value_error(format!("{names:?}"), "an encoder and the other columns"));
        }
        let Some([_, encoder, ..]) = triples.first().map(Vec::as_slice) else {
            return Err(all.error(Problem::Missing));
        };
        let class = ("sklearn.preprocessing._encoders", "OrdinalEncoder");
        expect_class(encoder, &[class], "the encoder of a histogram-based model")?;
        let attributes = encoder.attributes()?;
        let infrequent = attributes.optional("_infrequent_enabled")?;
        if infrequent.is_some_and(|node| node.scalar().ok() != Some(Value::Bool(false))) {
            return Err(encoder.value_error("an encoder with infrequent categories", "one without"));
        }
        Ok(attributes)
    }

    /// The codes that the model's binning knows, for each categorical column.
    fn known_categories(&self, fields: &Fields<'a>, count: usize) -> Result<Vec<[u32; 8]>, FormatError> {
        let mapper = fields.required("_bin_mapper")?;
        let class = ("sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper");
        expect_class(&mapper, &[class], "the bins of a histogram-based model")?;
        let lists = mapper.attributes()?.required("bin_thresholds_")?;
        let items = lists.items()?;
        let categorical = items.get(..count);
        let categorical = categorical
            .ok_or_else(|| lists.error(Problem::Length { expected: count, found: items.len() }))?;
        let known = categorical.iter().map(|list| {
            let mut bits = [0u32; 8];
            for code in self.doubles(list)? {
                if !(0.0..256.0).contains(&code) || code.fract() != 0.0 {
                    return Err(list.value_error(code, "the code of a category"));
                }
                bits[code as usize / 32] |= 1 << (code as u32 % 32);
            }
            Ok(bits)
        });
        known.collect()
    }

    fn category_values(&self, list: &Node<'a>) -> Result<CategoryValues, FormatError> {
        let expected = "categories that are all numbers or all text";
        if !list.is_object_array()? {
            return match self.array(list, |bytes| Array::parse(bytes)?.labels())? {
                ClassLabels::Integers(values) => {
                    Ok(CategoryValues::Numbers(values.into_iter().map(|value| value as f64).collect()))
                }
                // NaN is listed last.
                ClassLabels::Floats(mut values) => {
                    values.pop_if(|value| value.is_nan());
                    Ok(CategoryValues::Numbers(values))
                }
                ClassLabels::Strings(values) => Ok(CategoryValues::Texts(values)),
                ClassLabels::Booleans(values) => Ok(CategoryValues::Numbers(
                    values.into_iter().map(|value| f64::from(u8::from(value))).collect(),
                )),
                ClassLabels::Unnamed(_) => Err(list.value_error("no labels", expected)),
            };
        }
        let mut values = list.items()?.iter().map(Node::scalar).collect::<Result<Vec<_>, _>>()?;
        while values.last() == Some(&Value::Null) {
            values.pop();
        }
        if values.iter().all(Value::is_string) {
            let texts = values.iter().filter_map(Value::as_str).map(str::to_owned);
            return Ok(CategoryValues::Texts(texts.collect()));
        }
        let numbers: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
        numbers.map(CategoryValues::Numbers).ok_or_else(|| list.value_error("mixed categories", expected))
    }

    /// A decision tree that is an estimator of its own, with the classes of the whole model.
    fn plain_tree(
        &self,
        estimator: &Node<'a>,
        index: usize,
        classes: &ClassLabels,
        same_labels: bool,
    ) -> Result<TreePart, FormatError> {
        let fields = estimator.attributes()?;
        // Forests renumber their classes for their trees; AdaBoost compares the labels themselves.
        let own = self.class_labels(&fields)?;
        if own.len() != classes.len() || same_labels && own != *classes {
            let found = format!("a tree of classes {own:?} in a model of {classes:?}");
            return Err(estimator.value_error(found, "a tree of the same classes"));
        }
        let arrays = self.plain_arrays(estimator, index)?;
        Ok(TreePart { origin: TreeId::new(index).0, edited: false, arrays })
    }

    pub(super) fn plain_arrays(&self, estimator: &Node<'a>, index: usize) -> Result<TreeArrays, FormatError> {
        let tree = estimator.attributes()?.required("tree_")?;
        expect_class(&tree, &[("sklearn.tree._tree", "Tree")], "a tree")?;
        let state = tree.attributes()?;
        let nodes = self.array(&state.required("nodes")?, parts::plain_nodes)?;
        let (values, outputs) =
            self.array(&state.required("values")?, |npy| parts::plain_values(npy, nodes.len()))?;
        let declared = state.required("node_count")?.count()?;
        if declared != nodes.len() {
            let place = Place::TreeField { tree: TreeId::new(index), field: "node_count" };
            return Err(FormatError::new(place, Problem::Length { expected: declared, found: nodes.len() }));
        }
        Ok(TreeArrays::Plain { nodes, values, outputs })
    }

    /// The labels in `classes_`; several lists of labels mean several outputs.
    pub(super) fn class_labels(&self, fields: &Fields<'a>) -> Result<ClassLabels, FormatError> {
        let classes = fields.required("classes_")?;
        if classes.class()? == ("builtins", "list") {
            let what = "a classifier with several outputs".to_owned();
            return Err(classes.error(Problem::Unsupported { what, advice: "fit one model for each output" }));
        }
        if !classes.is_object_array()? {
            return self.array(&classes, |npy| Array::parse(npy)?.labels());
        }
        let values = classes.items()?.iter().map(Node::scalar).collect::<Result<Vec<_>, _>>()?;
        let texts: Option<_> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        let integers: Option<_> = values.iter().map(Value::as_i64).collect();
        let truths: Option<_> = values.iter().map(Value::as_bool).collect();
        texts
            .map(ClassLabels::Strings)
            .or(integers.map(ClassLabels::Integers))
            .or(truths.map(ClassLabels::Booleans))
            .ok_or_else(|| classes.value_error("labels of mixed types", "labels of one type"))
    }

    fn texts(&self, node: &Node<'a>) -> Result<Vec<String>, FormatError> {
        if !node.is_object_array()? {
            return match self.array(node, |npy| Array::parse(npy)?.labels())? {
                ClassLabels::Strings(texts) => Ok(texts),
                _ => Err(node.value_error("an array of numbers", "names")),
            };
        }
        let texts = node
            .items()?
            .into_iter()
            .map(|item| item.text()?.ok_or_else(|| item.value_error("a value that is no text", "a name")));
        texts.collect()
    }

    /// A Python or NumPy number.
    pub(super) fn number(&self, node: &Node<'a>) -> Result<f64, FormatError> {
        let value = if node.is_numpy()? {
            let numbers = self.array(node, |npy| Array::parse(npy)?.numbers())?;
            if let [value] = numbers[..] { Some(value) } else { None }
        } else {
            node.scalar()?.as_f64()
        };
        value.filter(|value| value.is_finite()).ok_or_else(|| node.value_error("this", "a finite number"))
    }

    pub(super) fn doubles(&self, node: &Node<'a>) -> Result<Vec<f64>, FormatError> {
        self.array(node, |npy| Array::parse(npy)?.doubles())
    }

    /// Reads the array of a node; errors name its archive member.
    pub(super) fn array<T>(
        &self,
        node: &Node<'a>,
        read: impl FnOnce(&[u8]) -> Result<T, Problem>,
    ) -> Result<T, FormatError> {
        let member = node.member()?;
        let bytes: Cow<'_, [u8]> = self.archive.read(member)?;
        read(&bytes).map_err(|problem| FormatError::new(Place::Entry(member.to_owned()), problem))
    }
}

pub(super) fn expect_class(
    node: &Node<'_>,
    known: &[(&str, &str)],
    expected: &'static str,
) -> Result<(), FormatError> {
    let (module, class) = node.class()?;
    if known.contains(&(module, class)) {
        return Ok(());
    }
    Err(node.value_error(format!("{module}.{class}"), expected))
}

/// Does a tree accept NaN? Single extra trees do unless they split at random.
fn accepts_missing(tree: &Node<'_>) -> Result<bool, FormatError> {
    if !matches!(tree.class()?.1, "ExtraTreeClassifier" | "ExtraTreeRegressor") {
        return Ok(true);
    }
    Ok(tree.attributes()?.required("splitter")?.text()?.as_deref() == Some("random"))
}

/// How `predict` of a histogram-based regressor transforms the score, by its loss.
fn histogram_value(loss: &Node<'_>) -> Result<Answer, FormatError> {
    match loss.class()? {
        (LOSS_MODULE, "HalfSquaredError" | "AbsoluteError" | "PinballLoss") => Ok(Answer::Score),
        (LOSS_MODULE, "HalfPoissonLoss" | "HalfGammaLoss") => Ok(Answer::NotFixed(Transform::Exp)),
        (module, class) => {
            Err(loss.value_error(format!("{module}.{class}"), "a loss of a histogram-based regressor"))
        }
    }
}

/// Checks that a regressor's declared number of outputs equals that of its trees.
fn check_output_count(fields: &Fields<'_>, of_trees: usize) -> Result<(), FormatError> {
    let Some(outputs) = fields.optional("n_outputs_")? else { return Ok(()) };
    let count = outputs.count()?;
    if count == of_trees {
        return Ok(());
    }
    let found = format!("{count} output(s) beside trees with {of_trees}");
    Err(outputs.value_error(found, "as many outputs as the trees have"))
}

fn version(fields: &Fields<'_>) -> Result<String, FormatError> {
    let node = fields.required("_sklearn_version")?;
    node.text()?.ok_or_else(|| node.value_error("this", "the version of scikit-learn"))
}

/// Before 1.3 trees held sample counts instead of fractions, and had no direction for missing
/// values.
fn check_version(fields: &Fields<'_>) -> Result<(), FormatError> {
    let version = version(fields)?;
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= (1, 4) => Ok(()),
        _ => Err(fields.required("_sklearn_version")?.error(Problem::Unsupported {
            what: format!("a model fitted with scikit-learn {version}"),
            advice: "models of version 1.4 and later are read: load it there and fit it again",
        })),
    }
}
