//! Packed models, `.spk`: any supported model in a fraction of its bytes, for `secateur-runtime` to
//! run.
//!
//! Packing preserves the meaning of a model exactly: the same tests in the same places, the same
//! numbers bit for bit, added in the same type and order. Only the nodes are renumbered (preorder,
//! left before right). The format is specified in `docs/spec/packed-v1.md`. `encode` writes it.
//! `decode` makes a model of what the runtime's reader reads, so that a check of a packed file is
//! of what is run; the two share no code.
//!
//! A packed file is read-only: to change the model, edit the source and pack it again.

mod decode;
mod encode;

use std::io;

use secateur_model::{ClassLabels, Ensemble};

use crate::error::{EditError, FormatError};
use crate::{Document, Edit, EditableDocument, Framework, Link, ModelFile};

pub use encode::{PackError, refuse};

/// The first bytes of a packed file: three letters and the version.
pub(crate) const MAGIC: [u8; 4] = *b"SPK\x01";

/// The data at the head of a packed file beside the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The digest of the source model, as in certificates.
    pub source: [u8; 32],
    /// The number of rows of the cover; the top bit marks the second version of the cover.
    pub cover_rows: u32,
    /// The hash of the cover's scores.
    pub cover_hash: u64,
}

/// A packed model.
#[derive(Clone, Debug)]
pub struct File {
    bytes: Vec<u8>,
    ensemble: Ensemble,
    framework: Framework,
    source: String,
    link: Link,
    stamp: Stamp,
}

impl File {
    /// The bytes of a packed file of this model. `labels` name the classes of a model whose own
    /// file has no names for them; there must be one for each class.
    pub fn pack(
        model: &ModelFile,
        labels: Option<&ClassLabels>,
        stamp: &Stamp,
    ) -> Result<Vec<u8>, PackError> {
        let source = match model {
            ModelFile::Packed(packed) => packed.source().to_owned(),
            _ => model.dialect(),
        };
        Self::pack_ensemble(model.ensemble(), (model.framework(), &source), Link::of(model), labels, stamp)
    }

    /// As [`pack`](Self::pack), for a model without a file: `source` is its library, and a
    /// description of it.
    pub fn pack_ensemble(
        ensemble: &Ensemble,
        source: (Framework, &str),
        link: Link,
        labels: Option<&ClassLabels>,
        stamp: &Stamp,
    ) -> Result<Vec<u8>, PackError> {
        encode::encode(ensemble, source, link, labels, stamp)
    }

    /// The bytes of a packed file of this model with the model's own covers, which contributions are
    /// computed from. `None` if the model's file has none that fit its trees.
    pub fn with_covers(model: &ModelFile, packed: &[u8]) -> Option<Vec<u8>> {
        let covers = encode::covers(model.ensemble(), &model.covers()?)?;
        let content = packed.len().checked_sub(8)?;
        let mut bytes = packed[..content].to_vec();
        bytes.extend_from_slice(&covers);
        bytes.extend_from_slice(&[0; 8]);
        Self::seal(&mut bytes);
        Some(bytes)
    }

    /// Sets the last eight bytes to the checksum of those before them, for callers that change a
    /// file on purpose.
    pub fn seal(bytes: &mut [u8]) {
        if let Some((content, sum)) = bytes.split_last_chunk_mut::<8>() {
            *sum = checksum(content).to_le_bytes();
        }
    }

    /// The data at its head about its source and its cover.
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// How scores become probabilities.
    pub fn link(&self) -> Link {
        self.link
    }

    /// Library, version and encoding of the model that was packed.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl Document for File {
    fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        decode::decode(bytes.to_vec())
    }

    fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        decode::decode(bytes)
    }

    fn ensemble(&self) -> &Ensemble {
        &self.ensemble
    }

    fn ensemble_mut(&mut self) -> &mut Ensemble {
        &mut self.ensemble
    }

    fn framework(&self) -> Framework {
        self.framework
    }

    fn dialect(&self) -> String {
        format!("packed model, version 1, of {}", self.source)
    }

    fn extension(&self) -> &'static str {
        "spk"
    }

    fn notes(&self) -> Vec<String> {
        vec!["A packed model is run by secateur, with the bits of the library it came from.".to_owned()]
    }

    fn logistic_scale(&self) -> Option<f64> {
        match self.link {
            Link::Logistic32 => Some(1.0),
            Link::Logistic64 { scale } => Some(scale),
            _ => None,
        }
    }

    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&self.bytes)
    }
}

impl EditableDocument for File {
    fn edit(&self, _: &Edit) -> Result<Self, EditError> {
        Err(EditError::Packed)
    }
}

/// The checksum at the end of a file, over the words of eight bytes (little-endian, the last one
/// filled with zeros) and then the number of bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |state: u64, word: u64| {
        let mixed = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    };
    let words =
        bytes.chunks(8).map(|part| part.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    step(words.fold(0x5345_4341_5445_5552, step), bytes.len() as u64)
}

/// The number of bits of a field for the numbers below `count`: at least four.
fn width(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(4)
}
