//! What a model is. [`facts`] gathers, [`layout`] lays out for people; the JSON object is the facts as they are.

mod decision;
mod facts;
mod layout;

use secateur_formats::ModelFile;
use secateur_model::{Domain, DomainError};
use serde_json::Value;

pub use decision::transform_words;
use facts::Facts;

/// What a model is, as [`describe`] found it.
pub struct Description(Facts);

/// What a model is: trees, leaves, splits, features, classes, accepted inputs, decision rule, rounding band. `place`
/// is the path of its file, as it is to be shown, and its size; `None` for a model in memory.
///
/// ```
/// let model = secateur::ModelFile::parse(secateur::demo::MODEL)?;
/// let facts = secateur::describe(&model, None);
/// assert_eq!(facts.json()["framework"], "lightgbm");
/// print!("{}", facts.words(false));
/// # Ok::<(), secateur::FormatError>(())
/// ```
pub fn describe(file: &ModelFile, place: Option<(String, u64)>) -> Description {
    Description(Facts::gather(file, place, file.ensemble(), Value::Null, Vec::new()))
}

/// The same, and what a domain leaves of the model's inputs.
pub fn describe_within(
    file: &ModelFile,
    place: Option<(String, u64)>,
    domain: &Domain,
) -> Result<Description, DomainError> {
    let narrowed = file.ensemble().within(domain)?;
    let domain = narrowed.inputs();
    let (json, words) =
        (crate::domain::json(domain, &[&narrowed]), crate::domain::parts(domain, file.ensemble()));
    Ok(Description(Facts::gather(file, place, &narrowed, json, words)))
}

impl Description {
    /// One JSON object; its keys are part of the interface (`secateur inspect --json`).
    pub fn json(&self) -> Value {
        serde_json::to_value(&self.0).expect("facts are plain numbers, texts and lists")
    }

    /// The facts for people; `verbose` with every feature, class and label.
    pub fn words(&self, verbose: bool) -> String {
        layout::lay_out(&self.0, verbose)
    }
}
