//! XGBoost's JSON and UBJSON, versions 1.7 to 3.4.
//!
//! A value goes left iff it is below the threshold, as f32; missing values go where the node says;
//! the categories that a node lists go right, all others left. Sums are f32 in the order of the
//! file, starting from the intercept. Dart first multiplies each leaf by the tree's weight; up to
//! 3.2 it adds the leaf to zero before that, which only affects minus zero. Classes are those of
//! `XGBClassifier`. Regressors and rankers have no classes; those whose objective ends in `exp`
//! start from the logarithm of `base_score`, and their raw scores are the margins.
//!
//! The file's bytes are kept, with the positions of the parts that an edit changes: an unchanged
//! file is written as it was read, and an edit copies everything that it does not understand.

mod document;
mod edit;
mod fresh;
mod json;
mod model;
mod source;
mod tree;
mod ubj;
mod write;

use std::io;

use secateur_model::Ensemble;

use crate::error::{EditError, FormatError};
use crate::{Document, Edit, EditableDocument, Framework};
use document::{Contents, Spans};
use model::{Header, Objective, Version};
use write::Encoding;

/// An XGBoost model file.
#[derive(Clone, Debug)]
pub struct File {
    bytes: Vec<u8>,
    encoding: Encoding,
    layout: Spans,
    header: Header,
    ensemble: Ensemble,
}

/// The newest version whose files were compared with the library itself.
const NEWEST: Version = Version(3, 4, i64::MAX);

impl File {
    /// The cover of each node of each tree that the library uses.
    pub(crate) fn covers(&self) -> Option<Vec<Vec<f64>>> {
        let used = self.ensemble.trees().len();
        let spans = self.layout.tree_objects.get(..used)?;
        let covers = document::covers(&self.bytes, self.encoding, spans).ok()?;
        Some(covers.into_iter().map(|tree| tree.into_iter().map(f64::from).collect()).collect())
    }
}

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::parse_owned(bytes.to_vec())
    }

    fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let is_ubj = matches!(bytes.as_slice(), [b'{', b'L' | b'l' | b'i' | b'U' | b'I' | b'#' | b'$', ..]);
        let encoding = if is_ubj { Encoding::Ubj } else { Encoding::Json };
        let contents = Contents::read(&bytes, encoding)?;
        let (ensemble, header, layout) = model::build(contents)?;
        Ok(Self { bytes, encoding, layout, header, ensemble })
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn ensemble_mut(&mut self) -> &mut Ensemble {
        &mut self.ensemble
    }

    fn framework(&self) -> Framework {
        Framework::XgBoost
    }

    fn dialect(&self) -> String {
        let Version(major, minor, patch) = self.header.version;
        let encoding = match self.encoding {
            Encoding::Json => "JSON",
            Encoding::Ubj => "UBJSON",
        };
        format!("XGBoost {major}.{minor}.{patch}, {encoding}")
    }

    fn extension(&self) -> &'static str {
        match self.encoding {
            Encoding::Json => "json",
            Encoding::Ubj => "ubj",
        }
    }

    fn logistic_scale(&self) -> Option<f64> {
        (self.header.objective == Objective::Logistic).then_some(1.0)
    }

    fn unused_trees(&self) -> usize {
        self.header.tree_info.len().saturating_sub(self.header.used_trees)
    }

    fn notes(&self) -> Vec<String> {
        let header = &self.header;
        let mut notes = Vec::new();
        let all = header.tree_info.len();
        if self.unused_trees() > 0 {
            notes.push(format!(
                "The file names a best round (early stopping): as in XGBClassifier only the first {} of its {all} \
                 trees count. Booster.predict would use all of them.",
                header.used_trees
            ));
        }
        if header.dart && header.version < Version(3, 3, 0) {
            notes.push(
                "Scores are those of Booster.predict on a DMatrix. With dart models, inplace_predict of XGBoost \
                 up to 3.2 (and so XGBClassifier there) rounds differently in the last bits."
                    .to_owned(),
            );
        }
        if header.objective == Objective::LogitRaw {
            notes.push(
                "binary:logitraw: as in XGBClassifier, class 1 is a raw score above 0.5, not above 0."
                    .to_owned(),
            );
        }
        if header.objective == Objective::Softprob && self.ensemble.group_count() == 2 {
            notes.push(
                "multi:softprob with two classes: the class is the more probable one; XGBClassifier itself answers \
                 with a table of labels here."
                    .to_owned(),
            );
        }
        if header.vector_leaves && !header.leaf_weights {
            notes.push(
                "Trees with vector leaves as XGBoost up to 3.1 writes them: later versions load the file and crash."
                    .to_owned(),
            );
        }
        if header.objective == Objective::Quantiles && self.ensemble.group_count() > 1 {
            notes.push(
                "Several quantiles: XGBoost 3.4 sorts those of a row in predict, earlier versions do not; raw scores \
                 are unsorted in all of them."
                    .to_owned(),
            );
        }
        if header.version > NEWEST {
            notes.push("The file is of a newer version of XGBoost than those it was tested with.".to_owned());
        }
        notes
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.bytes)
    }
}

impl EditableDocument for File {
    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        let bytes = edit::edited_bytes(self, edit)?;
        Self::parse_owned(bytes).map_err(|error| EditError::ReadBack { reason: error.to_string() })
    }
}
