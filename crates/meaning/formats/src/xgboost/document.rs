//! Walks over a whole file: takes what the model needs, remembers the places that an edit will
//! change, and checks and skips everything else.

use std::borrow::Cow;
use std::collections::BTreeSet;

use secateur_model::{Label, TreeBuilder};

use super::json::json;
use super::source::{EndPosition, Source, Span};
use super::tree::TreeFields;
use super::ubj::Ubj;
use super::write::Encoding;
use crate::error::{FormatError, Place, Problem};

/// The positions of the parts of the file that an edit changes.
#[derive(Clone, Debug)]
pub(super) struct Spans {
    pub(super) attributes: Span,
    /// Each attribute's key and value.
    pub(super) attribute_entries: Vec<(String, Span)>,
    pub(super) base_score: Span,
    pub(super) num_trees: Span,
    pub(super) num_parallel_tree: Option<Span>,
    pub(super) iteration_indptr: Option<Span>,
    pub(super) tree_info: Span,
    pub(super) weight_drop: Option<Span>,
    pub(super) trees: Span,
    /// The object of each tree.
    pub(super) tree_objects: Vec<Span>,
}

/// A value and the bytes it was read from.
#[derive(Debug)]
struct Found<T> {
    span: Span,
    value: T,
}

/// The names of a column's categories.
#[derive(Debug, Default)]
pub(super) struct CategoryNames {
    offsets: Option<Vec<i64>>,
    values: Vec<i64>,
    /// XGBoost's number for the type of `values`, if these are numbers.
    kind: Option<i64>,
}

impl CategoryNames {
    pub(super) fn count(&self) -> usize {
        self.offsets.as_ref().map_or(self.values.len(), |offsets| offsets.len().saturating_sub(1))
    }

    /// The labels of the codes 0, 1, ...; `None` if the dictionary is inconsistent.
    pub(super) fn labels(&self) -> Option<Vec<Label>> {
        let Some(offsets) = &self.offsets else {
            let fits = |value| match self.kind {
                Some(9) => i8::try_from(value).is_ok(),
                Some(10) => u8::try_from(value).is_ok(),
                Some(11) => i16::try_from(value).is_ok(),
                Some(12) => u16::try_from(value).is_ok(),
                Some(13) => i32::try_from(value).is_ok(),
                Some(14) => u32::try_from(value).is_ok(),
                Some(15) => true,
                Some(16) => value >= 0,
                _ => false,
            };
            // XGBoost would cut off the bits that do not fit.
            return self.values.iter().map(|&value| fits(value).then_some(Label::Integer(value))).collect();
        };
        // Offsets that decrease could repeat the text without limit.
        if !offsets.is_sorted() {
            return None;
        }
        let label = |code| {
            let bytes: Vec<u8> = self.name(code)?.iter().map(|&value| value as u8).collect();
            // Some versions cut names that are not ASCII inside a character.
            Some(match String::from_utf8_lossy(&bytes) {
                Cow::Borrowed(text) => Label::text(text),
                Cow::Owned(damaged) => Label::Unreadable(damaged),
            })
        };
        (0..self.count()).map(label).collect()
    }

    /// XGBoost looks these labels up by bisection through `order`: does it find each of them at its
    /// own code? Labels that are cut inside a character may be equal, because they are never looked
    /// up here.
    pub(super) fn fits_order(&self, labels: &[Label], order: &[i64]) -> bool {
        let mut codes: Vec<usize> = order.iter().filter_map(|&code| usize::try_from(code).ok()).collect();
        let rises = codes.windows(2).all(|pair| match (self.name(pair[0]), self.name(pair[1])) {
            // XGBoost compares signed bytes.
            (Some(a), Some(b)) if self.offsets.is_some() => {
                let bytes = |name: &[i64]| -> Vec<i8> { name.iter().map(|&byte| byte as i8).collect() };
                let (a, b) = (bytes(a), bytes(b));
                a < b || a == b && matches!(labels[pair[0]], Label::Unreadable(_))
            }
            (Some(a), Some(b)) => a < b,
            _ => false,
        });
        codes.sort_unstable();
        rises && order.len() == labels.len() && codes.into_iter().eq(0..labels.len())
    }

    /// The stored numbers of a code's name: the signed bytes of a text, or one number.
    fn name(&self, code: usize) -> Option<&[i64]> {
        let Some(offsets) = &self.offsets else { return self.values.get(code..=code) };
        let end = |at: usize| usize::try_from(*offsets.get(at)?).ok();
        self.values.get(end(code)?..end(code + 1)?)
    }
}

/// The content of a file.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) layout: Spans,
    pub(super) version: Option<Vec<i64>>,
    pub(super) best_iteration: Option<String>,
    pub(super) feature_names: Vec<String>,
    pub(super) feature_types: Vec<String>,
    pub(super) category_names: Vec<CategoryNames>,
    /// For each column the position in `category_order` where its codes begin, and at last the end.
    pub(super) category_segments: Vec<i64>,
    /// The codes of each column in the order of their names (`sorted_idx`).
    pub(super) category_order: Vec<i64>,
    pub(super) booster: String,
    pub(super) objective: String,
    pub(super) objective_num_class: Option<String>,
    pub(super) base_score: String,
    pub(super) num_class: Option<String>,
    pub(super) num_feature: Option<String>,
    pub(super) num_target: Option<String>,
    pub(super) num_trees: String,
    pub(super) num_parallel_tree: Option<String>,
    pub(super) tree_info: Vec<i64>,
    pub(super) iteration_indptr: Option<Vec<i64>>,
    pub(super) weights: Option<Vec<f32>>,
    /// The trees, each with the number of values in a leaf if there are several.
    pub(super) trees: Vec<(TreeBuilder, Option<usize>)>,
    /// Are the trees' leaf vectors in `leaf_weights` (from 3.2) rather than in `base_weights`?
    pub(super) leaf_weights: bool,
    /// Features that some split tests for categories.
    pub(super) categorical: BTreeSet<u32>,
}

impl Contents {
    pub(super) fn read(bytes: &[u8], encoding: Encoding) -> Result<Self, FormatError> {
        match encoding {
            Encoding::Json => Collector::default().read(json(bytes)),
            Encoding::Ubj => Collector::default().read(Ubj::new(bytes)),
        }
    }
}

/// The covers (`sum_hessian`) of the trees at these places, one list for each; empty for a tree that
/// has none.
pub(super) fn covers(bytes: &[u8], encoding: Encoding, trees: &[Span]) -> Result<Vec<Vec<f32>>, FormatError> {
    match encoding {
        Encoding::Json => covers_of(json(bytes), trees),
        Encoding::Ubj => covers_of(Ubj::new(bytes), trees),
    }
}

fn covers_of<'a, S: Source<'a>>(mut source: S, trees: &[Span]) -> Result<Vec<Vec<f32>>, FormatError> {
    let mut all = Vec::with_capacity(trees.len());
    for tree in trees {
        let mut covers = Vec::new();
        source.seek(tree.start);
        source.object(&mut |source, key, _| match key {
            "sum_hessian" => source.floats(&mut covers),
            _ => source.skip(),
        })?;
        all.push(covers);
    }
    Ok(all)
}

/// Collects the contents in whatever order the file has them.
#[derive(Debug, Default)]
struct Collector {
    version: Option<Vec<i64>>,
    attributes: Option<Found<Vec<(String, Span)>>>,
    best_iteration: Option<String>,
    feature_names: Vec<String>,
    feature_types: Vec<String>,
    category_names: Vec<CategoryNames>,
    category_segments: Vec<i64>,
    category_order: Vec<i64>,
    booster: Option<String>,
    has_inner_booster: bool,
    inner_booster: Option<String>,
    objective: Option<String>,
    objective_num_class: Option<String>,
    base_score: Option<Found<String>>,
    num_class: Option<String>,
    num_feature: Option<String>,
    num_target: Option<String>,
    num_trees: Option<Found<String>>,
    num_parallel_tree: Option<Found<String>>,
    tree_info: Option<Found<Vec<i64>>>,
    iteration_indptr: Option<Found<Vec<i64>>>,
    weight_drop: Option<Found<Vec<f32>>>,
    tree_objects: Option<Found<Vec<Span>>>,
    trees: Vec<(TreeBuilder, Option<usize>)>,
    leaf_weights: bool,
    categorical: BTreeSet<u32>,
}

impl Collector {
    fn read<'a, S: Source<'a> + EndPosition>(mut self, mut source: S) -> Result<Contents, FormatError> {
        source.object(&mut |source, key, _| match key {
            "learner" => self.learner(source),
            "version" => {
                let mut parts = Vec::new();
                source.integers(&mut parts)?;
                self.version = Some(parts);
                Ok(())
            }
            _ => source.skip(),
        })?;
        source.end()?;
        self.contents()
    }

    fn learner<'a, S: Source<'a> + EndPosition>(&mut self, source: &mut S) -> Result<(), FormatError> {
        source.object(&mut |source, key, _| match key {
            "attributes" => self.attributes(source),
            "feature_names" => strings(source, &mut self.feature_names),
            "feature_types" => strings(source, &mut self.feature_types),
            "gradient_booster" => self.booster(source, true),
            "learner_model_param" => source.object(&mut |source, key, _| {
                match key {
                    "base_score" => self.base_score = Some(text(source)?),
                    "num_class" => self.num_class = Some(text(source)?.value),
                    "num_feature" => self.num_feature = Some(text(source)?.value),
                    "num_target" => self.num_target = Some(text(source)?.value),
                    "boost_from_average" => {
                        whole(&text(source)?.value, "learner.learner_model_param.boost_from_average")?;
                    }
                    _ => source.skip()?,
                }
                Ok(())
            }),
            "objective" => source.object(&mut |source, key, _| match key {
                "name" => {
                    self.objective = Some(text(source)?.value);
                    Ok(())
                }
                "softmax_multiclass_param" => source.object(&mut |source, key, _| match key {
                    "num_class" => {
                        self.objective_num_class = Some(text(source)?.value);
                        Ok(())
                    }
                    _ => source.skip(),
                }),
                // Used only in training, but XGBoost does not load a file in which it is not a
                // number.
                "reg_loss_param" => source.object(&mut |source, key, _| match key {
                    "scale_pos_weight" => positive_weight(&text(source)?.value),
                    _ => source.skip(),
                }),
                _ => source.skip(),
            }),
            _ => source.skip(),
        })
    }

    fn attributes<'a, S: Source<'a> + EndPosition>(&mut self, source: &mut S) -> Result<(), FormatError> {
        let mut value = Vec::new();
        let (span, ()) = source.span(|source| {
            source.object(&mut |source, key, start| {
                let text = source.string()?;
                if key == "best_iteration" {
                    self.best_iteration = Some(text.into_owned());
                }
                value.push((key.to_owned(), Span { start, end: source.end_position() }));
                Ok(())
            })
        })?;
        self.attributes = Some(Found { span, value });
        Ok(())
    }

    /// `outer` is the learner's booster; dart up to 3.2 contains another one.
    fn booster<'a, S: Source<'a> + EndPosition>(
        &mut self,
        source: &mut S,
        outer: bool,
    ) -> Result<(), FormatError> {
        source.object(&mut |source, key, _| match key {
            "name" if outer => {
                self.booster = Some(text(source)?.value);
                Ok(())
            }
            // The booster inside dart has to be a tree booster.
            "name" => {
                let name = text(source)?.value;
                self.inner_booster = Some(name);
                Ok(())
            }
            "gbtree" if outer => {
                self.has_inner_booster = true;
                self.booster(source, false)
            }
            "model" => self.model(source),
            "weight_drop" if outer => self.weight_drop(source),
            _ => source.skip(),
        })
    }

    fn model<'a, S: Source<'a> + EndPosition>(&mut self, source: &mut S) -> Result<(), FormatError> {
        source.object(&mut |source, key, _| match key {
            "cats" => source.object(&mut |source, key, _| match key {
                "enc" => self.category_names(source),
                "feature_segments" => source.integers(&mut self.category_segments),
                "sorted_idx" => source.integers(&mut self.category_order),
                _ => source.skip(),
            }),
            "gbtree_model_param" => source.object(&mut |source, key, _| {
                match key {
                    "num_trees" => self.num_trees = Some(text(source)?),
                    "num_parallel_tree" => self.num_parallel_tree = Some(text(source)?),
                    _ => source.skip()?,
                }
                Ok(())
            }),
            "iteration_indptr" => {
                self.iteration_indptr = Some(integers(source)?);
                Ok(())
            }
            "tree_info" => {
                self.tree_info = Some(integers(source)?);
                Ok(())
            }
            "weight_drop" => self.weight_drop(source),
            "trees" => self.trees(source),
            _ => source.skip(),
        })
    }

    fn weight_drop<'a, S: Source<'a> + EndPosition>(&mut self, source: &mut S) -> Result<(), FormatError> {
        let mut value = Vec::new();
        let (span, ()) = source.span(|source| source.floats(&mut value))?;
        if self.weight_drop.replace(Found { span, value }).is_some() {
            let place = Place::Byte(span.start as u64);
            return Err(FormatError::new(place, Problem::DuplicateKey { key: "weight_drop".to_owned() }));
        }
        Ok(())
    }

    fn category_names<'a, S: Source<'a> + EndPosition>(&mut self, source: &mut S) -> Result<(), FormatError> {
        source.array(&mut |source| {
            let mut names = CategoryNames::default();
            source.object(&mut |source, key, _| match key {
                "offsets" => source.integers(names.offsets.insert(Vec::new())),
                "values" => source.integers(&mut names.values),
                "type" => {
                    names.kind = Some(source.integer()?);
                    Ok(())
                }
                _ => source.skip(),
            })?;
            self.category_names.push(names);
            Ok(())
        })
    }

    fn trees<'a, S: Source<'a> + EndPosition>(&mut self, source: &mut S) -> Result<(), FormatError> {
        let mut fields = TreeFields::default();
        let mut objects = Vec::new();
        let (span, ()) = source.span(|source| {
            source.array(&mut |source| {
                objects.push(fields.read(source, objects.len())?);
                let tree = fields.builder(&mut self.categorical)?;
                self.leaf_weights |= fields.has_leaf_weights();
                self.trees.push((tree, fields.vector()));
                Ok(())
            })
        })?;
        self.tree_objects = Some(Found { span, value: objects });
        Ok(())
    }

    fn contents(self) -> Result<Contents, FormatError> {
        // The booster and the objective are checked first: if these are not supported, other fields
        // may be absent.
        let booster = required(self.booster, "learner.gradient_booster.name")?;
        super::model::check_booster(&booster)?;
        if self.has_inner_booster {
            let path = "learner.gradient_booster.gbtree.name";
            let name = required(self.inner_booster, path)?;
            if name != "gbtree" {
                let problem = Problem::Value { found: format!("{name:?}"), expected: "\"gbtree\"" };
                return Err(FormatError::new(Place::Field(path.to_owned()), problem));
            }
        }
        if booster == "dart" && self.weight_drop.as_ref().is_none_or(|found| found.value.is_empty()) {
            // XGBoost reads the weights of a booster with this name without checking whether there
            // are any.
            let path = "learner.gradient_booster.weight_drop".to_owned();
            return Err(FormatError::new(Place::Field(path), Problem::Missing));
        }
        let objective = required(self.objective, "learner.objective.name")?;
        super::model::check_objective(&objective)?;
        let attributes = required(self.attributes, "learner.attributes")?;
        let base_score = required(self.base_score, "learner.learner_model_param.base_score")?;
        let model = "learner.gradient_booster.model";
        let num_trees = required(self.num_trees, &format!("{model}.gbtree_model_param.num_trees"))?;
        let tree_info = required(self.tree_info, &format!("{model}.tree_info"))?;
        let trees = required(self.tree_objects, &format!("{model}.trees"))?;
        let layout = Spans {
            attributes: attributes.span,
            attribute_entries: attributes.value,
            base_score: base_score.span,
            num_trees: num_trees.span,
            num_parallel_tree: self.num_parallel_tree.as_ref().map(|found| found.span),
            iteration_indptr: self.iteration_indptr.as_ref().map(|found| found.span),
            tree_info: tree_info.span,
            weight_drop: self.weight_drop.as_ref().map(|found| found.span),
            trees: trees.span,
            tree_objects: trees.value,
        };
        Ok(Contents {
            layout,
            version: self.version,
            best_iteration: self.best_iteration,
            feature_names: self.feature_names,
            feature_types: self.feature_types,
            category_names: self.category_names,
            category_segments: self.category_segments,
            category_order: self.category_order,
            booster,
            objective,
            objective_num_class: self.objective_num_class,
            base_score: base_score.value,
            num_class: self.num_class,
            num_feature: self.num_feature,
            num_target: self.num_target,
            num_trees: num_trees.value,
            num_parallel_tree: self.num_parallel_tree.map(|found| found.value),
            tree_info: tree_info.value,
            iteration_indptr: self.iteration_indptr.map(|found| found.value),
            weights: self.weight_drop.map(|found| found.value),
            trees: self.trees,
            leaf_weights: self.leaf_weights,
            categorical: self.categorical,
        })
    }
}

fn required<T>(found: Option<T>, path: &str) -> Result<T, FormatError> {
    found.ok_or_else(|| FormatError::new(Place::Field(path.to_owned()), Problem::Missing))
}

fn text<'a, S: Source<'a> + EndPosition>(source: &mut S) -> Result<Found<String>, FormatError> {
    let (span, value) = source.span(S::string)?;
    Ok(Found { span, value: value.into_owned() })
}

/// A parameter that XGBoost reads as a whole number.
fn whole(text: &str, path: &str) -> Result<(), FormatError> {
    match text.trim_ascii().parse::<i64>() {
        Ok(_) => Ok(()),
        Err(_) => {
            let problem = Problem::Value { found: format!("{text:?}"), expected: "a whole number" };
            Err(FormatError::new(Place::Field(path.to_owned()), problem))
        }
    }
}

/// The objective's weight of class 1.
fn positive_weight(text: &str) -> Result<(), FormatError> {
    match text.trim_ascii_start().parse::<f32>() {
        Ok(weight) if weight >= 0.0 => Ok(()),
        _ => {
            let path = "learner.objective.reg_loss_param.scale_pos_weight".to_owned();
            let problem = Problem::Value { found: format!("{text:?}"), expected: "a number" };
            Err(FormatError::new(Place::Field(path), problem))
        }
    }
}

fn integers<'a, S: Source<'a> + EndPosition>(source: &mut S) -> Result<Found<Vec<i64>>, FormatError> {
    let mut value = Vec::new();
    let (span, ()) = source.span(|source| source.integers(&mut value))?;
    Ok(Found { span, value })
}

fn strings<'a, S: Source<'a>>(source: &mut S, out: &mut Vec<String>) -> Result<(), FormatError> {
    source.array(&mut |source| {
        out.push(source.string()?.into_owned());
        Ok(())
    })
}
