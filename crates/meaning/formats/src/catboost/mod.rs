//! CatBoost's models: the binary `.cbm` and JSON.
//!
//! How CatBoost 1.2 executes such a file (observed with 1.2 and 1.2.10), and therefore what the
//! model built here does:
//!
//! - Numbers are rounded to f32 (too large ones become infinite); NaN and infinities are accepted
//!   for every `nan_mode`. A split asks whether a number is above a border. CatBoost really counts
//!   the borders below the number, which is the same only if the borders are sorted; other files
//!   are refused.
//! - A missing value counts as plus infinity (`AsTrue`) or minus infinity (`AsFalse`) in columns
//!   that had missing values in training. In all others it is above no border.
//! - A category is known by a hash of its text (`hash.rs`); a split asks whether the value is one
//!   certain category. CatBoost accepts text and whole numbers (as text) there and refuses a row
//!   with a missing value, which is therefore not an input.
//! - Scores are f64 sums from zero in the order of the file, multiplied by the scale if that is not
//!   1; the bias is added last, unless it is zero for all scores. A symmetric tree's leaf is found
//!   by the answers of all its splits, bit by bit; an asymmetric tree's nodes may be half a leaf
//!   (`cbm.rs`).
//! - One score: class 1 iff the score is above `-ln(1 / t - 1)`, where t is the file's probability
//!   threshold. Several scores: the first class with the highest score, also for one-against-all.
//!   If a row may get several labels (`MultiLogloss`), each score is compared with that threshold
//!   separately.
//! - A file without classes is a regressor or ranker. Its prediction is the score, except for the
//!   losses for which `CatBoostRegressor` applies `exp` (`info.rs`); `CatBoost` and
//!   `CatBoostRanker` return the score for these too.
//! - JSON numbers are not read exactly (`number.rs`).
//! - Refused: counters over categories (CTR), text and embedding features, classifiers without
//!   class labels, sums that may overflow (with several scores, CatBoost then lets a NaN win), and
//!   every file for which CatBoost would read beyond the ends of its lists.
//!
//! The file's bytes are kept: an unchanged file is written as it was read. An edit writes a new
//! file, with the scale multiplied into the leaves, and with everything beside the model unchanged.

mod build;
mod cbm;
mod core;
mod edit;
mod flat;
mod flat_write;
mod hash;
mod info;
mod json;
mod number;

use std::io;
use std::sync::Arc;

use secateur_model::{Decision, Ensemble};

use crate::error::{EditError, FormatError};
use crate::{Document, Edit, EditableDocument, Framework};
use core::Core;
pub use hash::category_hash;

/// A CatBoost model file.
#[derive(Clone, Debug)]
pub struct File {
    bytes: Arc<[u8]>,
    core: Core,
    ensemble: Ensemble,
    encoding: Encoding,
}

#[derive(Clone, Debug)]
enum Encoding {
    /// With the keys and values beside the model.
    Binary(cbm::Entries),
    Json,
}

impl File {
    /// How the scores of a model with several scores become probabilities.
    pub(crate) fn link(&self) -> crate::Link {
        self.core.info.link()
    }
}

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::parse_owned(bytes.to_vec())
    }

    fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let (core, encoding) = if bytes.starts_with(cbm::MAGIC) {
            let (core, entries) = cbm::read(&bytes)?;
            (core, Encoding::Binary(entries))
        } else {
            (json::read(&bytes)?, Encoding::Json)
        };
        let ensemble = build::ensemble(&core)?;
        Ok(Self { bytes: bytes.into(), core, ensemble, encoding })
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn ensemble_mut(&mut self) -> &mut Ensemble {
        &mut self.ensemble
    }

    fn framework(&self) -> Framework {
        Framework::CatBoost
    }

    fn dialect(&self) -> String {
        let version =
            self.core.info.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
        let encoding = match self.encoding {
            Encoding::Binary(_) => "binary",
            Encoding::Json => "JSON",
        };
        let trees = if self.core.symmetric { "symmetric" } else { "asymmetric" };
        format!("CatBoost{version}, {encoding}, {trees} trees")
    }

    fn extension(&self) -> &'static str {
        match self.encoding {
            Encoding::Binary(_) => "cbm",
            Encoding::Json => "json",
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if matches!(self.encoding, Encoding::Json) {
            notes.push(
                "CatBoost does not read the numbers of its JSON files exactly: this is the model that it makes of the \
                 file, which may differ in last bits from the model that the file was saved from"
                    .to_owned(),
            );
        }
        if self.core.one_hots.iter().any(|one_hot| !one_hot.hashes.is_empty()) {
            notes.push(
                "categories are known by a hash of their text: texts of one hash are one category, and the file does \
                 not hold the texts"
                    .to_owned(),
            );
        }
        notes
    }

    fn logistic_scale(&self) -> Option<f64> {
        let binary = matches!(self.ensemble.decision(), Decision::Threshold { .. });
        (binary && self.core.info.is_logistic()).then_some(1.0)
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.bytes)
    }
}

impl EditableDocument for File {
    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        if *edit == Edit::unchanged(&self.ensemble) {
            return Ok(self.clone());
        }
        let core = edit::edited(&self.core, &self.ensemble, edit)?;
        let unreadable = |error: FormatError| EditError::ReadBack { reason: error.to_string() };
        let bytes = match &self.encoding {
            Encoding::Binary(entries) => cbm::write(&core, entries),
            Encoding::Json => json::write(&self.bytes, &core).map_err(unreadable)?.into_bytes(),
        };
        // Reading back ensures that the model held here is the one in the bytes.
        Self::parse_owned(bytes).map_err(unreadable)
    }

    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        if !matches!(self.encoding, Encoding::Binary(_)) || *edit == Edit::unchanged(&self.ensemble) {
            return self.edit(edit).map(|edited| edited.ensemble);
        }
        // The binary format holds every number exactly, so reading the bytes back would give the
        // same model.
        let core = edit::edited(&self.core, &self.ensemble, edit)?;
        build::ensemble(&core).map_err(|error| EditError::ReadBack { reason: error.to_string() })
    }
}
