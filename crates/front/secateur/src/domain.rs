//! Words and JSON for the inputs that a claim covers, and the rows of data outside of them.

use secateur_certificate::Digest;
use secateur_formats::ModelFile;
pub use secateur_formats::{DomainFile, DomainFileError};
pub use secateur_model::Domain;
use secateur_model::{Accepted, Ensemble, FeatureId, Grid, Outside};
use serde_json::{Value, json};

pub use crate::propose::{Proposal, propose};
use crate::text::{counted, printable};

/// How many rows outside a domain are listed by number.
const TOLD: usize = 5;

/// The inputs of a claim about one model, or about a model and another that was made from it.
pub(crate) fn accepted(model: &Ensemble, domain: &Domain) -> Accepted {
    let narrowed = model.within(domain).ok();
    let model = narrowed.as_deref().unwrap_or(model);
    Grid::common_intake(&[model]).unwrap_or(Accepted { values: *model.intake(), mixed: false })
}

/// The inputs of a claim in a few words; `None` for every input.
pub(crate) fn inputs_in_short(accepted: &Accepted, domain: &Domain) -> Option<&'static str> {
    (accepted.scope(domain) != "all").then(|| accepted.in_short(domain))
}

/// The beginning of a sentence about a claim that leaves some inputs out.
pub(crate) fn begin(accepted: &Accepted, domain: &Domain) -> String {
    inputs_in_short(accepted, domain).map_or_else(String::new, |inputs| format!("for {inputs}, "))
}

/// The inputs that the claim covers: those that the libraries accept, restricted to the domain.
pub(crate) fn inputs_words(accepted: &Accepted, domain: &Domain, original: &Ensemble) -> String {
    accepted.words(domain, &|column: FeatureId| printable(&original.features().name(column)).into_owned())
}

/// The parts of a domain in words.
pub(crate) fn parts(domain: &Domain, original: &Ensemble) -> Vec<String> {
    domain.words(&|column: FeatureId| printable(&original.features().name(column)).into_owned())
}

/// A domain for scripts: `null`, or its contents and the decimal logarithm of the number of cells
/// of these models that lie in it.
pub(crate) fn json(domain: &Domain, models: &[&Ensemble]) -> Value {
    if domain.is_everything() {
        return Value::Null;
    }
    let mut object = DomainFile::of(domain, models[0].features()).to_json();
    object["cells_log10"] = json!(Grid::new(models).ok().map(|grid| grid.log10_cells()));
    object
}

/// The domain that a file describes, over the columns of a model. Reads the models whose scores the
/// file refers to.
pub fn resolve_domain(file: &DomainFile, model: &ModelFile) -> Result<Domain, DomainFileError> {
    resolve_domain_with(file, model, &[])
}

/// As [`resolve_domain`], but a `where` may refer to one of the models in `given` by its position.
pub fn resolve_domain_with(
    file: &DomainFile,
    model: &ModelFile,
    given: &[&ModelFile],
) -> Result<Domain, DomainFileError> {
    file.resolve_with(model.ensemble(), &|scorer| Digest::of(scorer).0, given)
}

/// Rows that the library accepts but that lie outside the domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideRows {
    /// How many.
    pub count: usize,
    /// The positions of the first of them, from 0, each with the column or score that puts it
    /// outside.
    pub first: Vec<(usize, Outside)>,
}

impl OutsideRows {
    /// Searches the rows for them; `None` if all rows that the library accepts are in the model's
    /// domain.
    pub(crate) fn find(model: &Ensemble, rows: &[f64]) -> Option<Self> {
        let (domain, library) = (model.domain(), model.for_every_input());
        if domain.is_everything() {
            return None;
        }
        let mut found = Self { count: 0, first: Vec::new() };
        for (at, row) in rows.chunks_exact(model.features().len().max(1)).enumerate() {
            if let Some(by) = domain.outside(row).filter(|_| library.accepts(row)) {
                found.count += 1;
                if found.first.len() < TOLD {
                    found.first.push((at, by));
                }
            }
        }
        (found.count > 0).then_some(found)
    }

    /// In words, with rows counted from 1.
    pub fn words(&self, original: &Ensemble) -> String {
        let name = |by: Outside| match by {
            Outside::Column(column) => printable(&original.features().name(column)).into_owned(),
            Outside::Score(_) => "its score".to_owned(),
        };
        let told: Vec<String> =
            self.first.iter().map(|&(row, by)| format!("row {} by {}", row + 1, name(by))).collect();
        let more = if self.count > told.len() { ", ..." } else { "" };
        let rows = counted(self.count as u64, "row is", "rows are");
        format!("{rows} outside of the domain ({}{more}): nothing is claimed about them", told.join(", "))
    }

    /// For scripts.
    pub(crate) fn json(&self, original: &Ensemble) -> Value {
        let row = |&(row, by): &(usize, Outside)| match by {
            Outside::Column(column) => json!({"row": row, "column": original.features().name(column)}),
            Outside::Score(at) => json!({"row": row, "column": null, "where": at}),
        };
        json!({"rows": self.count, "first": self.first.iter().map(row).collect::<Vec<_>>()})
    }
}
