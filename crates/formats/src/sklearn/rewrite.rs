//! Edited parts back into the skops archive they came from: only the nodes on the way to what changes are
//! touched, each gets an id of its own, and members that nothing refers to any more are left out.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::archive::{self, Archive, Source};
use super::json::Element;
use super::npy;
use super::parts::{Estimator, Parts, TreeArrays, TreePart};
use super::schema::{SCHEMA, id_of};
use crate::error::EditError;

/// The archive with other parts. `schema` is that of the archive and has been read as a model.
pub(crate) fn rewritten(
    archive: &Archive<'_>,
    old: Element<'_>,
    parts: &Parts,
) -> Result<Vec<u8>, EditError> {
    let before: HashSet<&str> = old.objects().filter_map(|object| object.get("file")?.as_str()).collect();
    let used = old.objects().filter_map(id_of).collect();
    let mut editor = Editor { used, next: 1, members: HashMap::new(), archive };
    let schema = editor.model(old, parts).ok_or_else(|| read_back("the schema has another form"))?;
    let after = members_of(&schema);
    let text = serde_json::to_vec_pretty(&schema).map_err(|error| read_back(&error.to_string()))?;
    let mut new: Vec<(String, Vec<u8>)> = editor.members.into_iter().collect();
    new.sort();
    let mut sources = Vec::new();
    for member in archive.members() {
        let name = member.name();
        if name == SCHEMA {
            for (name, content) in new.drain(..) {
                sources.push(Source::New { like: member, name, content });
            }
            sources.push(Source::New { like: member, name: SCHEMA.to_owned(), content: text.clone() });
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
    /// Ids that nodes of the schema have.
    used: HashSet<u64>,
    next: u64,
    members: HashMap<String, Vec<u8>>,
    archive: &'a Archive<'a>,
}

/// What is `None` here has been read before, so it is there.
impl Editor<'_> {
    fn model(&mut self, old: Element<'_>, parts: &Parts) -> Option<Value> {
        if parts.estimator == Estimator::DecisionTree {
            let mut schema = old.to_value();
            self.tree(&mut schema, parts.trees.first()?)?;
            return Some(schema);
        }
        let name = match parts.estimator {
            Estimator::HistGradientBoosting { .. } => "_predictors",
            _ => "estimators_",
        };
        let trees = old.get("content")?.get("content")?.get(name)?.get("content")?.elements()?;
        let mut schema = copy_without(old, &["content", "content", name, "content"]);
        let fields = self.attributes(&mut schema)?;
        let list = fields.get_mut(name)?;
        self.renew(list)?;
        let content = list.get_mut("content")?;
        let rounds = matches!(
            parts.estimator,
            Estimator::GradientBoosting { .. } | Estimator::HistGradientBoosting { .. }
        );
        *content = if rounds {
            self.rounds(&trees.collect::<Vec<_>>(), parts)?
        } else {
            Value::Array(self.trees(&trees.collect::<Vec<_>>(), &parts.trees)?)
        };
        let count = content.as_array()?.len();
        if let Some(shape) = list.get_mut("shape") {
            self.renew(shape)?;
            *shape.get_mut("content")?.get_mut(0)? = self.scalar(count.to_string());
        }
        match &parts.estimator {
            Estimator::AdaBoost { weights } => {
                let array = npy::write_doubles(&[weights.len()], weights);
                fields.insert("estimator_weights_".to_owned(), self.array(array));
            }
            Estimator::GradientBoosting { learning_rate, start, .. } => {
                fields.insert("learning_rate".to_owned(), self.scalar(format!("{learning_rate:?}")));
                fields.insert("n_estimators_".to_owned(), self.scalar(count.to_string()));
                if start.is_none() {
                    fields.insert("init_".to_owned(), self.scalar("\"zero\"".to_owned()));
                }
            }
            Estimator::HistGradientBoosting { baseline, .. } => {
                let array = npy::write_doubles(&[1, baseline.len()], baseline);
                fields.insert("_baseline_prediction".to_owned(), self.array(array));
                return Some(schema);
            }
            _ => {}
        }
        fields.insert("n_estimators".to_owned(), self.scalar(count.to_string()));
        Some(schema)
    }

    /// Rounds of trees, each a list.
    fn rounds(&mut self, old: &[Element<'_>], parts: &Parts) -> Option<Value> {
        let mut all = Vec::new();
        for round in old {
            all.extend(round.get("content")?.elements()?);
        }
        let trees = self.trees(&all, &parts.trees)?;
        let groups = if parts.classes.len() == 2 { 1 } else { parts.classes.len() };
        let mut rounds = Vec::new();
        for trees in trees.chunks(groups) {
            let mut round = copy_without(*old.first()?, &["content"]);
            self.renew(&mut round)?;
            *round.get_mut("content")? = Value::Array(trees.to_vec());
            rounds.push(round);
        }
        Some(Value::Array(rounds))
    }

    fn trees(&mut self, old: &[Element<'_>], parts: &[TreePart]) -> Option<Vec<Value>> {
        let trees = parts.iter().map(|part| {
            let mut node = old.get(part.origin as usize)?.to_value();
            if part.edited {
                self.tree(&mut node, part)?;
            }
            Some(node)
        });
        trees.collect()
    }

    /// Puts arrays into the node of an estimator.
    fn tree(&mut self, estimator: &mut Value, part: &TreePart) -> Option<()> {
        let fields = self.attributes(estimator)?;
        let arrays = part.arrays.to_npy().into_iter().map(|npy| self.array(npy)).collect::<Vec<_>>();
        match part.arrays {
            TreeArrays::Plain { .. } => {
                let state = self.attributes(fields.get_mut("tree_")?)?;
                for (name, array) in ["nodes", "values"].into_iter().zip(arrays) {
                    state.insert(name.to_owned(), array);
                }
                state.insert("max_depth".to_owned(), self.scalar(part.arrays.depth().to_string()));
                state.insert("node_count".to_owned(), self.scalar(part.arrays.node_count().to_string()));
            }
            TreeArrays::Histogram { .. } => {
                let names = ["nodes", "raw_left_cat_bitsets", "binned_left_cat_bitsets"];
                for (name, array) in names.into_iter().zip(arrays) {
                    fields.insert(name.to_owned(), array);
                }
            }
        }
        Some(())
    }

    /// The attributes of an object that is about to change.
    fn attributes<'v>(&mut self, node: &'v mut Value) -> Option<&'v mut Map<String, Value>> {
        self.renew(node)?;
        let dictionary = node.get_mut("content")?;
        self.renew(dictionary)?;
        dictionary.get_mut("content")?.as_object_mut()
    }

    /// Gives a node an id of its own.
    fn renew(&mut self, node: &mut Value) -> Option<()> {
        let id = self.fresh();
        node.as_object_mut()?.insert("__id__".to_owned(), id.into());
        Some(())
    }

    fn fresh(&mut self) -> u64 {
        while !self.used.insert(self.next) || self.archive.contains(&format!("{}.npy", self.next)) {
            self.next += 1;
        }
        self.next
    }

    /// A scalar, given as the JSON text of its value.
    fn scalar(&mut self, text: String) -> Value {
        json!({
            "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": text, "is_json": true, "__id__": self.fresh(),
        })
    }

    fn array(&mut self, npy: Vec<u8>) -> Value {
        let id = self.fresh();
        let file = format!("{id}.npy");
        self.members.insert(file.clone(), npy);
        json!({
            "__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
            "type": "numpy", "file": file, "__id__": id,
        })
    }
}

/// A copy without what is at the end of this path, which is most of it.
fn copy_without(element: Element<'_>, path: &[&str]) -> Value {
    let Some((own, rest)) = path.split_first() else { return Value::Null };
    if !element.is_object() {
        return element.to_value();
    }
    let inner = |(key, value): (&str, Element<'_>)| {
        (key.to_owned(), if key == *own { copy_without(value, rest) } else { value.to_value() })
    };
    Value::Object(element.entries().map(inner).collect())
}

/// The archive members that nodes refer to.
fn members_of(schema: &Value) -> HashSet<&str> {
    let mut members = HashSet::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                members.extend(map.get("file").and_then(Value::as_str));
                open.extend(map.values());
            }
            _ => {}
        }
    }
    members
}
