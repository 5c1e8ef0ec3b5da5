//! scikit-learn's tree classifiers and regressors: from skops archives, or from the parts of a live object that the Python
//! package takes apart. Both give the same [`Parts`]; `build` states how scikit-learn executes them.

mod archive;
mod build;
mod edit;
#[cfg(test)]
mod hazards;
mod isolation;
mod json;
mod npy;
mod numeric;
mod parts;
mod patch;
mod rewrite;
mod schema;
mod skops;

use std::io;
use std::sync::{Arc, OnceLock};

use secateur_model::{Decision, Ensemble};

use archive::Archive;
pub use parts::{
    CategoryList, CategoryValues, Estimator, HistogramNode, Parts, PlainNode, TreeArrays, TreePart,
};
use schema::Schema;

use crate::error::{EditError, FormatError};
use crate::{Document, Edit, EditableDocument, Framework};

/// A scikit-learn classifier.
#[derive(Clone, Debug)]
pub struct File {
    source: Source,
    /// Everything but the trees, which are large and in the source.
    estimator: Estimator,
    version: String,
    ensemble: Ensemble,
}

#[derive(Clone, Debug)]
enum Source {
    /// With its schema, which takes longest to read, and its parts, once an edit was drafted from them.
    Skops {
        bytes: Arc<Vec<u8>>,
        version: String,
        schema: Arc<Schema>,
        parts: OnceLock<Parts>,
    },
    Memory(Parts),
}

impl File {
    /// A classifier that lives in memory.
    pub fn from_parts(parts: Parts) -> Result<Self, FormatError> {
        let ensemble = build::ensemble(&parts)?;
        let (estimator, version) = (parts.estimator.clone(), parts.version.clone());
        Ok(Self { source: Source::Memory(parts), estimator, version, ensemble })
    }

    /// Is it a gradient boosting? Its probabilities are a softmax of the scores where there are more than two classes.
    pub(crate) fn is_gradient_boosting(&self) -> bool {
        matches!(self.estimator, Estimator::GradientBoosting { .. } | Estimator::HistGradientBoosting { .. })
    }

    /// Is it AdaBoost?
    pub(crate) fn is_adaboost(&self) -> bool {
        matches!(self.estimator, Estimator::AdaBoost { .. })
    }

    /// Of an isolation forest, the sum of path lengths that is to be expected of its trees: `score_samples` is minus two to the
    /// power of minus the raw score over this.
    pub fn expected_path_lengths(&self) -> Option<f64> {
        let Estimator::IsolationForest { max_samples } = self.estimator else { return None };
        Some(self.ensemble.trees().len() as f64 * isolation::average_path_length(max_samples))
    }

    /// The parts of a classifier that came from memory: edited where it was edited.
    pub fn memory_parts(&self) -> Option<&Parts> {
        match &self.source {
            Source::Skops { .. } => None,
            Source::Memory(parts) => Some(parts),
        }
    }

    /// The parts, read from the archive where they are not at hand.
    fn parts(&self) -> Result<&Parts, FormatError> {
        match &self.source {
            Source::Memory(parts) => Ok(parts),
            Source::Skops { bytes, schema, parts, .. } => match parts.get() {
                Some(parts) => Ok(parts),
                None => {
                    let archive = Archive::parse(bytes)?;
                    let read = skops::Reader { archive: &archive }.parts(&schema.root()?)?;
                    Ok(parts.get_or_init(|| read))
                }
            },
        }
    }

    fn edit_skops(&self, bytes: &[u8], schema: &Schema, edit: &Edit) -> Result<Self, EditError> {
        let read_back = |error: FormatError| EditError::ReadBack { reason: error.to_string() };
        let archive = Archive::parse(bytes).map_err(read_back)?;
        let parts = edit::edited(self.parts().map_err(read_back)?, &self.ensemble, edit)?;
        let bytes = rewrite::rewritten(&archive, schema.element(), &parts)?;
        let edited = Self::parse_owned(bytes).map_err(read_back)?;
        let expected = build::ensemble(&parts).map_err(read_back)?;
        if edited.ensemble != expected {
            return Err(EditError::ReadBack { reason: "another model was written".to_owned() });
        }
        Ok(edited)
    }
}

/// The parts in an archive, its schema, and the version of skops that wrote it.
fn read(bytes: &[u8]) -> Result<(Parts, Schema, String), FormatError> {
    let archive = Archive::parse(bytes)?;
    let schema = Schema::parse(archive.read(schema::SCHEMA)?, bytes.len())?;
    let root = schema.root()?;
    let parts = skops::Reader { archive: &archive }.parts(&root)?;
    let version = root.skops_version().to_owned();
    Ok((parts, schema, version))
}

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::parse_owned(bytes.to_vec())
    }

    fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let (parts, schema, version_of_skops) = read(&bytes)?;
        let ensemble = build::ensemble(&parts)?;
        let Parts { estimator, version, .. } = parts;
        let (bytes, schema, parts) = (Arc::new(bytes), Arc::new(schema), OnceLock::new());
        let source = Source::Skops { bytes, version: version_of_skops, schema, parts };
        Ok(Self { source, estimator, version, ensemble })
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn framework(&self) -> Framework {
        Framework::Sklearn
    }

    fn dialect(&self) -> String {
        let from = match &self.source {
            Source::Skops { version, .. } => format!("skops {version}"),
            Source::Memory(_) => "in memory".to_owned(),
        };
        let name = self.estimator.name(!self.ensemble.decision().is_classifier());
        format!("scikit-learn {} {name}, {from}", self.version)
    }

    fn extension(&self) -> &'static str {
        "skops"
    }

    fn logistic_scale(&self) -> Option<f64> {
        let scale = match self.estimator {
            // The exponential loss fits half of the log-odds.
            Estimator::GradientBoosting { exponential_loss, .. } => {
                if exponential_loss {
                    2.0
                } else {
                    1.0
                }
            }
            Estimator::HistGradientBoosting { .. } => 1.0,
            _ => return None,
        };
        matches!(self.ensemble.decision(), Decision::Threshold { .. }).then_some(scale)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.estimator {
            Estimator::RandomForest | Estimator::ExtraTrees => notes.push(
                "With n_jobs above 1 scikit-learn adds the trees in an order that changes from run to run; \
                 scores here are those of n_jobs=1."
                    .to_owned(),
            ),
            Estimator::GradientBoosting { start: Some(start), .. }
                if start.len() > 1 && matches!(self.source, Source::Skops { .. }) =>
            {
                notes.push(
                    "The file holds class priors, and NumPy's logarithm of them differs between processors \
                     in the last bits (AVX-512 or not), and with it every score; the scores here are those \
                     of the C library's logarithm, and the rounding band covers all others. An edited model \
                     holds the scores themselves."
                        .to_owned(),
                );
            }
            Estimator::HistGradientBoosting { categories, .. } if !categories.is_empty() => notes.push(
                "Categorical columns are looked up in the model's encoder; an unknown category counts as \
                 missing, and scikit-learn refuses infinities in these columns."
                    .to_owned(),
            ),
            _ => {}
        }
        notes
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        match &self.source {
            Source::Skops { bytes, .. } => out.write_all(bytes),
            Source::Memory(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a scikit-learn model from memory has no file: save the estimator with skops.io.dump",
            )),
        }
    }
}

impl EditableDocument for File {
    /// The trees of AdaBoost vote.
    fn votes_only(&self) -> bool {
        matches!(self.estimator, Estimator::AdaBoost { .. })
    }

    /// Forests and single trees: probabilities are an average of leaves.
    fn averages_probabilities(&self) -> bool {
        self.ensemble.decision().is_classifier()
            && matches!(
                self.estimator,
                Estimator::DecisionTree | Estimator::RandomForest | Estimator::ExtraTrees
            )
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        if edit::is_unchanged(&self.ensemble, edit) {
            return Ok(self.clone());
        }
        match &self.source {
            Source::Skops { bytes, schema, .. } => self.edit_skops(bytes, schema, edit),
            Source::Memory(parts) => {
                let parts = edit::edited(parts, &self.ensemble, edit)?;
                Self::from_parts(parts).map_err(|error| EditError::ReadBack { reason: error.to_string() })
            }
        }
    }

    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        if edit::is_unchanged(&self.ensemble, edit) {
            return Ok(self.ensemble.clone());
        }
        let read_back = |error: FormatError| EditError::ReadBack { reason: error.to_string() };
        let parts = edit::edited(self.parts().map_err(read_back)?, &self.ensemble, edit)?;
        build::ensemble(&parts).map_err(read_back)
    }
}
