//! scikit-learn's tree classifiers and regressors: read from skops archives, or from the parts of a
//! live object that the Python package takes apart. Both give the same [`Parts`]; `build` states
//! how scikit-learn executes them.

mod archive;
mod build;
mod edit;
#[cfg(test)]
mod hazards;
mod isolation;
mod lightgbm;
mod npy;
mod numeric;
mod parts;
mod patch;
mod pipeline;
mod rewrite;
mod schema;
mod skops;

use std::io;
use std::sync::{Arc, OnceLock};

use secateur_model::{Decision, Ensemble, Steps};

use archive::Archive;
pub(crate) use lightgbm::Holder;
pub use parts::{
    CategoryList, CategoryValues, Estimator, HistogramNode, Parts, PlainNode, TreeArrays, TreePart,
};
use schema::Schema;

use crate::error::{EditError, FormatError};
use crate::{Document, Edit, EditableDocument, Framework};

/// The most bytes of a member that holds the empty array of a dtype.
const EMPTY_ARRAY: usize = 4096;

/// A scikit-learn classifier.
#[derive(Clone, Debug)]
pub struct File {
    source: Source,
    /// The properties without the trees, which are large and stay in the source.
    estimator: Estimator,
    version: String,
    ensemble: Ensemble,
}

#[derive(Clone, Debug)]
enum Source {
    /// An archive; with its parts, after an edit was drafted from them.
    Skops {
        opened: Opened,
        parts: OnceLock<Parts>,
    },
    Memory(Parts),
}

/// An archive whose schema has been read, which takes longest.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    bytes: Arc<Vec<u8>>,
    schema: Arc<Schema>,
    /// The version of skops that wrote it.
    version: String,
    /// The index of the last step, if the archive holds a pipeline.
    step: Option<usize>,
    /// The steps of the pipeline before it.
    steps: Option<Arc<Steps>>,
}

impl Opened {
    fn new(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let archive = Archive::parse(&bytes)?;
        let same_member = |one: &str, other: &str| archive.are_same([one, other], EMPTY_ARRAY);
        let schema = Schema::parse(archive.read(schema::SCHEMA)?, bytes.len(), &same_member)?;
        let root = schema.root()?;
        let (_, step) = pipeline::model_node(&root)?;
        let steps = pipeline::steps_before(&root, &archive)?;
        let version = root.skops_version().to_owned();
        Ok(Self { schema: Arc::new(schema), version, step, steps, bytes: Arc::new(bytes) })
    }

    /// Reads something from the model's node.
    fn read<T>(
        &self,
        read: impl for<'a> FnOnce(skops::Reader<'a>, &schema::Node<'a>) -> Result<T, FormatError>,
    ) -> Result<T, FormatError> {
        let archive = Archive::parse(&self.bytes)?;
        let (model, _) = pipeline::model_node(&self.schema.root()?)?;
        read(skops::Reader { archive: &archive }, &model)
    }

    fn parts(&self) -> Result<Parts, FormatError> {
        self.read(|reader, model| reader.parts(model))
    }

    /// A model that was read, with the earlier steps of its pipeline before it.
    fn behind_steps(&self, ensemble: Ensemble) -> Ensemble {
        match &self.steps {
            Some(steps) => ensemble.behind(steps.clone()),
            None => ensemble,
        }
    }

    /// Where the model is, as the last words of a dialect.
    fn describe(&self) -> String {
        let pipeline = if self.step.is_some() { "the last step of a pipeline, " } else { "" };
        format!("{pipeline}skops {}", self.version)
    }

    /// A note for users about the steps.
    fn note(&self) -> Option<String> {
        let names = self.steps.as_ref()?.names.join(", ");
        Some(format!(
            "The model is the last step of a pipeline, and its columns are what the steps before it ({names}) make of the \
             pipeline's inputs. Claims here are about those columns, and so hold for every input of the pipeline; the steps \
             themselves are kept as they are. An input that is shown may be one that the steps never make."
        ))
    }
}

impl File {
    /// A classifier that lives in memory.
    pub fn from_parts(parts: Parts) -> Result<Self, FormatError> {
        let ensemble = build::ensemble(&parts)?;
        let (estimator, version) = (parts.estimator.clone(), parts.version.clone());
        Ok(Self { source: Source::Memory(parts), estimator, version, ensemble })
    }

    /// Is it a gradient boosting? With more than two classes its probabilities are a softmax of the
    /// scores.
    pub(crate) fn is_gradient_boosting(&self) -> bool {
        matches!(self.estimator, Estimator::GradientBoosting { .. } | Estimator::HistGradientBoosting { .. })
    }

    /// Is it AdaBoost?
    pub(crate) fn is_adaboost(&self) -> bool {
        matches!(self.estimator, Estimator::AdaBoost { .. })
    }

    /// For an isolation forest, the expected sum of path lengths over its trees. `score_samples` is
    /// minus two to the power of minus the raw score over this.
    pub fn expected_path_lengths(&self) -> Option<f64> {
        let Estimator::IsolationForest { max_samples } = self.estimator else { return None };
        Some(self.ensemble.trees().len() as f64 * isolation::average_path_length(max_samples))
    }

    /// The parts of a classifier that came from memory, including its edits.
    pub fn memory_parts(&self) -> Option<&Parts> {
        match &self.source {
            Source::Skops { .. } => None,
            Source::Memory(parts) => Some(parts),
        }
    }

    /// The parts, read from the archive if they have not been read yet.
    fn parts(&self) -> Result<&Parts, FormatError> {
        match &self.source {
            Source::Memory(parts) => Ok(parts),
            Source::Skops { opened, parts } => match parts.get() {
                Some(parts) => Ok(parts),
                None => {
                    let read = opened.parts()?;
                    Ok(parts.get_or_init(|| read))
                }
            },
        }
    }

    fn edit_skops(&self, opened: &Opened, edit: &Edit) -> Result<Self, EditError> {
        let read_back = |error: FormatError| EditError::ReadBack { reason: error.to_string() };
        let archive = Archive::parse(&opened.bytes).map_err(read_back)?;
        let parts = edit::edited(self.parts().map_err(read_back)?, &self.ensemble, edit)?;
        let bytes = rewrite::with_parts(&archive, opened.schema.element(), opened.step, &parts)?;
        let edited = Self::parse_owned(bytes).map_err(read_back)?;
        let expected = opened.behind_steps(build::ensemble(&parts).map_err(read_back)?);
        if edited.ensemble != expected {
            return Err(EditError::ReadBack { reason: "another model was written".to_owned() });
        }
        Ok(edited)
    }

    fn from_opened(opened: Opened) -> Result<Self, FormatError> {
        let parts = opened.parts()?;
        let ensemble = opened.behind_steps(build::ensemble(&parts)?);
        let Parts { estimator, version, .. } = parts;
        Ok(Self { source: Source::Skops { opened, parts: OnceLock::new() }, estimator, version, ensemble })
    }
}

/// Reads a skops archive, for any library that its model may belong to.
pub(crate) fn open(bytes: Vec<u8>) -> Result<crate::ModelFile, FormatError> {
    let opened = Opened::new(bytes)?;
    let held = opened.read(lightgbm::read)?;
    Ok(match held {
        Some(held) => crate::ModelFile::LightGbm(Box::new(held.into_file(opened)?)),
        None => crate::ModelFile::Sklearn(Box::new(File::from_opened(opened)?)),
    })
}

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::parse_owned(bytes.to_vec())
    }

    fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        Self::from_opened(Opened::new(bytes)?)
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn ensemble_mut(&mut self) -> &mut Ensemble {
        &mut self.ensemble
    }

    fn framework(&self) -> Framework {
        Framework::Sklearn
    }

    fn dialect(&self) -> String {
        let from = match &self.source {
            Source::Skops { opened, .. } => opened.describe(),
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
        if let Source::Skops { opened, .. } = &self.source {
            notes.extend(opened.note());
        }
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
            Source::Skops { opened, .. } => out.write_all(&opened.bytes),
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
            Source::Skops { opened, .. } => self.edit_skops(opened, edit),
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
        let ensemble = build::ensemble(&parts).map_err(read_back)?;
        Ok(match &self.source {
            Source::Skops { opened, .. } => opened.behind_steps(ensemble),
            Source::Memory(_) => ensemble,
        })
    }
}
