//! Pipelines in skops archives: the model is the last step; the content of the earlier steps is
//! kept for comparison.
//!
//! Nothing here executes a step. Two pipelines are compared only if their earlier steps are the
//! same, so it is not necessary to know what the steps do: equal steps make equal rows from equal
//! inputs. "The same" is meant literally: class by class, parameter by parameter and array by array
//! as stored in the archive, whatever numbers skops gave to its nodes.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_model::Steps;

use super::archive::Archive;
use super::patch::member_of;
use super::schema::{ID, Node};
use crate::error::{FormatError, Problem};
use crate::json::tape::Element;

const PIPELINE: (&str, &str) = ("sklearn.pipeline", "Pipeline");

/// The node of the model in the schema: the whole schema, or the last step of a pipeline with that
/// step's index.
pub(crate) fn model_node<'a>(root: &Node<'a>) -> Result<(Node<'a>, Option<usize>), FormatError> {
    if root.class()? != PIPELINE {
        return Ok((root.clone(), None));
    }
    let mut steps = steps_of(root)?;
    let Some((_, last)) = steps.pop() else {
        return Err(root.value_error("no steps", "a pipeline with a last step"));
    };
    if last.class()? == PIPELINE {
        let what = "a pipeline inside a pipeline".to_owned();
        return Err(last.error(Problem::Unsupported { what, advice: "put its steps into one" }));
    }
    if last.text()?.is_some() || last.is_none()? {
        return Err(last.value_error("a step that does nothing", "a model as the pipeline's last step"));
    }
    Ok((last, Some(steps.len())))
}

/// The steps before the last one; `None` if there are none.
pub(crate) fn steps_before(
    root: &Node<'_>,
    archive: &Archive<'_>,
) -> Result<Option<Arc<Steps>>, FormatError> {
    if root.class()? != PIPELINE {
        return Ok(None);
    }
    let mut steps = steps_of(root)?;
    steps.pop();
    if steps.is_empty() {
        return Ok(None);
    }
    let mut content = Content { archive, bytes: Vec::new(), arrays: HashMap::new(), members: HashMap::new() };
    let mut names = Vec::new();
    for (name, step) in &steps {
        names.push(name.clone());
        content.node(step, step.element())?;
    }
    Ok(Some(Arc::new(Steps { names, content: content.bytes })))
}

fn steps_of<'a>(root: &Node<'a>) -> Result<Vec<(String, Node<'a>)>, FormatError> {
    let steps = root.attributes()?.required("steps")?.items()?;
    let pair = |step: &Node<'a>| match step.items()?.as_slice() {
        [name, object] => {
            let text = name.text()?.ok_or_else(|| name.value_error("this", "the name of a step"))?;
            Ok((text, object.clone()))
        }
        _ => Err(step.value_error("this", "a name and a step")),
    };
    steps.iter().map(pair).collect()
}

/// Writes values so that two values get the same bytes only if they are equal except for the
/// numbers of their nodes. Each part begins with a letter and its length. An array is written in
/// full at its first occurrence and by its number later, whatever its member is called.
struct Content<'a> {
    archive: &'a Archive<'a>,
    bytes: Vec<u8>,
    arrays: HashMap<Vec<u8>, usize>,
    /// The numbers of the members that were read, so that each is decompressed only once.
    members: HashMap<String, usize>,
}

impl Content<'_> {
    fn part(&mut self, letter: u8, bytes: &[u8]) {
        self.length(letter, bytes.len());
        self.bytes.extend(bytes);
    }

    fn length(&mut self, letter: u8, length: usize) {
        self.bytes.push(letter);
        self.bytes.extend((length as u64).to_le_bytes());
    }

    /// Writes a node. `within` is the step whose place errors name. The recursion is limited by the
    /// depth that the schema's parser allows.
    fn node(&mut self, within: &Node<'_>, element: Element<'_>) -> Result<(), FormatError> {
        if let Some(items) = element.elements() {
            let items: Vec<Element<'_>> = items.collect();
            self.length(b'l', items.len());
            return items.into_iter().try_for_each(|item| self.node(within, item));
        }
        if !element.is_object() {
            let text = serde_json::to_vec(&element).map_err(|error| within.value_error(error, "JSON"))?;
            self.part(b'v', &text);
            return Ok(());
        }
        let is_node = element.get("__loader__").is_some_and(|loader| loader.as_str().is_some());
        if is_node {
            within.check_loader(element)?;
        }
        let entries: Vec<(&str, Element<'_>)> = element
            .entries()
            .filter(|(key, value)| !(is_node && *key == ID && value.as_u64().is_some()))
            .collect();
        self.length(b'o', entries.len());
        for (key, value) in entries {
            self.part(b'k', key.as_bytes());
            match member_of(element) {
                Some(member) if is_node && key == "file" => self.array(member)?,
                _ => self.node(within, value)?,
            }
        }
        Ok(())
    }

    fn array(&mut self, member: &str) -> Result<(), FormatError> {
        let known = self.members.get(member).copied();
        let number = match known {
            Some(number) => Ok(number),
            None => {
                let (bytes, next) = (self.archive.read(member)?.into_owned(), self.arrays.len());
                self.arrays.get(&bytes).copied().ok_or((bytes, next))
            }
        };
        let number = match number {
            Ok(number) => {
                self.length(b'n', number);
                number
            }
            Err((bytes, next)) => {
                self.part(b'a', &bytes);
                self.arrays.insert(bytes, next);
                next
            }
        };
        self.members.insert(member.to_owned(), number);
        Ok(())
    }
}
