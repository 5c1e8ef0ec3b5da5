//! Describes a model. [`facts`] collects the facts and serialises to JSON; [`layout`] lays them out
//! for people.

pub(crate) mod decision;
mod facts;
mod layout;

use secateur_formats::ModelFile;
use secateur_model::{Domain, DomainError};
use serde_json::Value;

use facts::Facts;

/// The description of a model, from [`describe`].
pub struct Description(Facts);

/// Describes a model: trees, leaves, splits, features, classes, accepted inputs, decision rule,
/// rounding band. `place` is the path of its file, as reports show it, and its size; `None` for a
/// model in memory.
///
/// ```
/// let model = secateur::ModelFile::parse(secateur::demo::MODEL)?;
/// let facts = secateur::describe(&model, None);
/// assert_eq!(facts.json()["framework"], "lightgbm");
/// print!("{}", facts.words(false));
/// # Ok::<(), secateur::model::FormatError>(())
/// ```
pub fn describe(file: &ModelFile, place: Option<(String, u64)>) -> Description {
    Description(Facts::gather(file, place, file.ensemble(), Value::Null, Vec::new()))
}

/// As [`describe`], with the part of the model's inputs that a domain leaves.
pub fn describe_within(
    file: &ModelFile,
    place: Option<(String, u64)>,
    domain: &Domain,
) -> Result<Description, DomainError> {
    let narrowed = file.ensemble().within(domain)?;
    let domain = narrowed.domain();
    let (json, words) =
        (crate::domain::json(domain, &[&narrowed]), crate::domain::parts(domain, file.ensemble()));
    Ok(Description(Facts::gather(file, place, &narrowed, json, words)))
}

impl Description {
    /// One JSON object; its keys are part of the interface (`secateur inspect --json`).
    pub fn json(&self) -> Value {
        serde_json::to_value(&self.0).expect("facts are plain numbers, texts and lists")
    }

    /// The facts for people; with `verbose`, every feature, class and label.
    pub fn words(&self, verbose: bool) -> String {
        layout::lay_out(&self.0, verbose)
    }
}
