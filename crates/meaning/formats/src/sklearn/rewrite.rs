//! Writes edited parts back into their skops archive: only the nodes on the path to a change are
//! touched, each gets an id of its own, and members that are no longer referenced are left out.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::archive::{self, Archive, Source};
use super::build::group_count;
use super::npy;
use super::parts::{Estimator, Parts, TreeArrays, TreePart};
use super::patch::{Patch, member_of};
use super::schema::{ID, SCHEMA, id_of};
use crate::error::EditError;
use crate::json::tape::Element;

/// The archive with other parts. `schema` is that of the archive and has been read as a model; the
/// model is this step of a pipeline, or the whole.
pub(crate) fn with_parts(
    archive: &Archive<'_>,
    schema: Element<'_>,
    step: Option<usize>,
    parts: &Parts,
) -> Result<Vec<u8>, EditError> {
    rewritten(archive, schema, step, |editor, model| editor.model(model, parts))
}

/// The archive of a LightGBM model with another text of its booster, all of whose rounds are used.
pub(crate) fn with_booster(
    archive: &Archive<'_>,
    schema: Element<'_>,
    step: Option<usize>,
    text: &str,
) -> Result<Vec<u8>, EditError> {
    rewritten(archive, schema, step, |editor, model| editor.booster(model, text))
}

fn rewritten<'v>(
    archive: &Archive<'_>,
    old: Element<'v>,
    step: Option<usize>,
    edit: impl FnOnce(&mut Editor<'_>, &mut Patch<'v>) -> Option<()>,
) -> Result<Vec<u8>, EditError> {
    let before: HashSet<&str> = old.objects().filter_map(member_of).collect();
    let used = old.objects().filter_map(id_of).collect();
    let mut editor = Editor { used, next: 1, members: HashMap::new(), archive };
    let mut schema = Patch::Same(old);
    let edited = editor.held(&mut schema, step).and_then(|model| edit(&mut editor, model));
    edited.ok_or_else(|| read_back("the schema has another form"))?;
    let mut after = HashSet::new();
    schema.add_members(&mut after);
    let mut text = serde_json::to_vec_pretty(&schema).map_err(|error| read_back(&error.to_string()))?;
    let mut new: Vec<(String, Vec<u8>)> = editor.members.into_iter().collect();
    new.sort();
    let mut sources = Vec::new();
    for member in archive.members() {
        let name = member.name();
        if name == SCHEMA {
            for (name, content) in new.drain(..) {
                sources.push(Source::New { like: member, name, content });
            }
            sources.push(Source::New {
                like: member,
                name: SCHEMA.to_owned(),
                content: std::mem::take(&mut text),
            });
        } else if after.contains(name) || !before.contains(name) {
            sources.push(Source::Same(member));
        }
    }
    archive::write(archive, sources).map_err(|error| read_back(&error.to_string()))
}

fn read_back(reason: &str) -> EditError {
    EditError::ReadBack { reason: reason.to_owned() }
}

struct Editor<'a> {
    /// Ids that nodes of the schema already have.
    used: HashSet<u64>,
    next: u64,
    members: HashMap<String, Vec<u8>>,
    archive: &'a Archive<'a>,
}

/// Everything looked up here has been read before, so `None` does not occur.
impl Editor<'_> {
    /// The node of the model, prepared for a change together with the pipeline that contains it.
    fn held<'p, 'v>(&mut self, schema: &'p mut Patch<'v>, step: Option<usize>) -> Option<&'p mut Patch<'v>> {
        let Some(step) = step else { return Some(schema) };
        let steps = self.attributes(schema)?.get_mut("steps")?;
        self.renew(steps)?;
        let pair = steps.get_mut("content")?.item_mut(step)?;
        self.renew(pair)?;
        pair.get_mut("content")?.item_mut(1)
    }

    fn booster(&mut self, model: &mut Patch<'_>, text: &str) -> Option<()> {
        let mut fields = self.attributes(model)?;
        if fields.get_mut(super::lightgbm::BOOSTER).is_some() {
            fields.insert("_best_iteration", self.scalar("0".to_owned()))?;
            fields = self.attributes(fields.get_mut(super::lightgbm::BOOSTER)?)?;
        }
        fields.insert("best_iteration", self.scalar("0".to_owned()))?;
        let text = serde_json::to_string(text).ok()?;
        fields.insert(super::lightgbm::TEXT, self.scalar(text))
    }

    fn model<'v>(&mut self, schema: &mut Patch<'v>, parts: &Parts) -> Option<()> {
        let Patch::Same(old) = *schema else { return None };
        if parts.estimator == Estimator::DecisionTree {
            return self.tree(schema, parts.trees.first()?);
        }
        let name = match parts.estimator {
            Estimator::HistGradientBoosting { .. } => "_predictors",
            _ => "estimators_",
        };
        let trees = old.get("content")?.get("content")?.get(name)?.get("content")?.elements()?;
        let trees: Vec<Element<'v>> = trees.collect();
        let fields = self.attributes(schema)?;
        let list = fields.get_mut(name)?;
        self.renew(list)?;
        let rounds = matches!(
            parts.estimator,
            Estimator::GradientBoosting { .. } | Estimator::HistGradientBoosting { .. }
        );
        let items = if rounds { self.rounds(&trees, parts)? } else { self.trees(&trees, &parts.trees)? };
        let count = items.len();
        *list.get_mut("content")? = Patch::List(items);
        if let Some(shape) = list.get_mut("shape") {
            self.renew(shape)?;
            *shape.get_mut("content")?.item_mut(0)? = self.scalar(count.to_string());
        }
        match &parts.estimator {
            Estimator::AdaBoost { weights } => {
                let array = npy::write_doubles(&[weights.len()], weights);
                fields.insert("estimator_weights_", self.array(array))?;
            }
            Estimator::GradientBoosting { learning_rate, start, .. } => {
                fields.insert("learning_rate", self.scalar(format!("{learning_rate:?}")))?;
                fields.insert("n_estimators_", self.scalar(count.to_string()))?;
                if start.is_none() {
                    fields.insert("init_", self.scalar("\"zero\"".to_owned()))?;
                }
            }
            Estimator::HistGradientBoosting { baseline, .. } => {
                let array = npy::write_doubles(&[1, baseline.len()], baseline);
                return fields.insert("_baseline_prediction", self.array(array));
            }
            _ => {}
        }
        fields.insert("n_estimators", self.scalar(count.to_string()))
    }

    /// The rounds of trees, each a list.
    fn rounds<'v>(&mut self, old: &[Element<'v>], parts: &Parts) -> Option<Vec<Patch<'v>>> {
        let mut all = Vec::new();
        for round in old {
            all.extend(round.get("content")?.elements()?);
        }
        let mut trees = self.trees(&all, &parts.trees)?.into_iter();
        let groups = group_count(parts).ok()?;
        let mut rounds = Vec::new();
        while trees.len() > 0 {
            let mut round = Patch::Same(*old.first()?);
            self.renew(&mut round)?;
            *round.get_mut("content")? = Patch::List(trees.by_ref().take(groups).collect());
            rounds.push(round);
        }
        Some(rounds)
    }

    fn trees<'v>(&mut self, old: &[Element<'v>], parts: &[TreePart]) -> Option<Vec<Patch<'v>>> {
        let trees = parts.iter().map(|part| {
            let mut node = Patch::Same(*old.get(part.origin as usize)?);
            if part.edited {
                self.tree(&mut node, part)?;
            }
            Some(node)
        });
        trees.collect()
    }

    /// Writes arrays into the node of an estimator.
    fn tree(&mut self, estimator: &mut Patch<'_>, part: &TreePart) -> Option<()> {
        let fields = self.attributes(estimator)?;
        let arrays = part.arrays.to_npy().into_iter().map(|npy| self.array(npy)).collect::<Vec<_>>();
        match part.arrays {
            TreeArrays::Plain { .. } => {
                let state = self.attributes(fields.get_mut("tree_")?)?;
                for (name, array) in ["nodes", "values"].into_iter().zip(arrays) {
                    state.insert(name, array)?;
                }
                state.insert("max_depth", self.scalar(part.arrays.depth().to_string()))?;
                state.insert("node_count", self.scalar(part.arrays.node_count().to_string()))?;
            }
            TreeArrays::Histogram { .. } => {
                let names = ["nodes", "raw_left_cat_bitsets", "binned_left_cat_bitsets"];
                for (name, array) in names.into_iter().zip(arrays) {
                    fields.insert(name, array)?;
                }
            }
        }
        Some(())
    }

    /// The attributes of an object, prepared for a change.
    fn attributes<'p, 'v>(&mut self, node: &'p mut Patch<'v>) -> Option<&'p mut Patch<'v>> {
        self.renew(node)?;
        let dictionary = node.get_mut("content")?;
        self.renew(dictionary)?;
        dictionary.get_mut("content")
    }

    /// Gives a node an id of its own.
    fn renew(&mut self, node: &mut Patch<'_>) -> Option<()> {
        let id = self.fresh();
        node.insert(ID, Patch::New(id.into()))
    }

    fn fresh(&mut self) -> u64 {
        while !self.used.insert(self.next) || self.archive.contains(&format!("{}.npy", self.next)) {
            self.next += 1;
        }
        self.next
    }

    /// A scalar, given as the JSON text of its value.
    fn scalar(&mut self, text: String) -> Patch<'static> {
        Patch::New(json!({
            "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": text, "is_json": true, "__id__": self.fresh(),
        }))
    }

    fn array(&mut self, npy: Vec<u8>) -> Patch<'static> {
        let id = self.fresh();
        let file = format!("{id}.npy");
        self.members.insert(file.clone(), npy);
        Patch::New(json!({
            "__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
            "type": "numpy", "file": file, "__id__": id,
        }))
    }
}
