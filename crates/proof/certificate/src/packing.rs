//! The certificate of a packing: which model, which packed file, and, if the model was pruned
//! first, the pruned model's file with the certificate of its pruning. If the leaves of emitted
//! source are quantised, it also says how far that moves scores.
//!
//! A packing needs no steps: the checker compares the two files node by node. The record says what
//! is claimed, so that it can be filed and demanded like any other certificate. It is a file of its
//! own kind: a line of text that names it, then bytes as specified in `docs/spec/packed-v1.md`,
//! section 5.

use std::fmt;

use thiserror::Error;

use crate::digest::Digest;

/// The first line of every certificate of a packing.
pub const PACKING_MAGIC: &[u8] = b"secateur packing 1\n";

/// What is claimed of a packed file.
#[derive(Clone, Debug, PartialEq)]
pub struct PackingRecord {
    /// The digest of the original model.
    pub original: Digest,
    /// The digest of the packed file's bytes.
    pub packed: FileDigest,
    /// The pruned model, if the model was pruned before it was packed.
    pub pruning: Option<PruningStep>,
    /// What is claimed of quantised leaves, if the packed file has such.
    pub quantised: Option<QuantisedStep>,
}

/// The pruned model between the original and the packed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruningStep {
    /// The file of the pruned model.
    pub model: Vec<u8>,
    /// The certificate that it decides as the original does.
    pub certificate: Vec<u8>,
}

/// What is claimed of a packed file whose leaves are quantised, in comparison with the (pruned)
/// model.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantisedStep {
    /// No score is farther than this from the library's.
    pub within: f64,
    /// The certificate of this, a claim about scores; `None` if the bound follows from the leaves
    /// of each tree by itself.
    pub scores: Option<Vec<u8>>,
    /// The certificate that it decides as the (pruned) model does, if that is claimed.
    pub decisions: Option<Vec<u8>>,
}

/// BLAKE3 over the bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileDigest(pub [u8; 32]);

impl FileDigest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Digest(self.0).fmt(f)
    }
}

impl fmt::Debug for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileDigest({self})")
    }
}

/// Why bytes are not a certificate of a packing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackingReadError {
    /// Another first line.
    #[error("this is not a certificate of a packing")]
    Magic,
    /// It ends too early.
    #[error("the certificate of the packing ends inside its content")]
    Truncated,
    /// A choice that does not exist.
    #[error("the certificate of the packing has an unknown kind {kind}")]
    Kind {
        /// What was found.
        kind: u8,
    },
    /// It does not end where it should.
    #[error("the certificate of the packing has bytes behind its content")]
    Trailing,
}

impl PackingReadError {
    /// Its name in results.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Magic => "packing.magic",
            Self::Truncated => "packing.truncated",
            Self::Kind { .. } => "packing.kind",
            Self::Trailing => "packing.trailing",
        }
    }
}

impl PackingRecord {
    /// The bytes of the certificate.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = PACKING_MAGIC.to_vec();
        bytes.push(u8::from(self.pruning.is_some()) | u8::from(self.quantised.is_some()) << 1);
        bytes.extend_from_slice(&self.original.0);
        bytes.extend_from_slice(&self.packed.0);
        if let Some(pruning) = &self.pruning {
            for part in [&pruning.model, &pruning.certificate] {
                bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
                bytes.extend_from_slice(part);
            }
        }
        if let Some(quantised) = &self.quantised {
            bytes.extend_from_slice(&quantised.within.to_le_bytes());
            // No certificate is empty, so an empty one stands for `None`.
            for part in [&quantised.scores, &quantised.decisions] {
                let part = part.as_deref().unwrap_or_default();
                bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
                bytes.extend_from_slice(part);
            }
        }
        bytes
    }

    /// Reads a certificate of a packing.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackingReadError> {
        let mut rest = bytes.strip_prefix(PACKING_MAGIC).ok_or(PackingReadError::Magic)?;
        let mut take = |count: u64| {
            let count = usize::try_from(count).map_err(|_| PackingReadError::Truncated)?;
            let (taken, left) = rest.split_at_checked(count).ok_or(PackingReadError::Truncated)?;
            rest = left;
            Ok(taken)
        };
        let digest = |bytes: &[u8]| {
            let mut digest = [0; 32];
            digest.copy_from_slice(bytes);
            digest
        };
        let kind = take(1)?[0];
        if kind > 3 {
            return Err(PackingReadError::Kind { kind });
        }
        let original = Digest(digest(take(32)?));
        let packed = FileDigest(digest(take(32)?));
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let mut part = || {
            let length = word(take(8)?);
            Ok(take(length)?.to_vec())
        };
        let pruning = match kind & 1 {
            0 => None,
            _ => Some(PruningStep { model: part()?, certificate: part()? }),
        };
        let quantised = match kind & 2 {
            0 => None,
            _ => {
                let within = f64::from_bits(word(take(8)?));
                let mut certificate = || {
                    let length = word(take(8)?);
                    let bytes = take(length)?.to_vec();
                    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
                };
                Some(QuantisedStep { within, scores: certificate()?, decisions: certificate()? })
            }
        };
        if rest.is_empty() {
            Ok(Self { original, packed, pruning, quantised })
        } else {
            Err(PackingReadError::Trailing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_and_nothing_else_is_one() {
        let prunings = [None, Some(PruningStep { model: vec![1, 2, 3], certificate: vec![] })];
        let claims = [
            None,
            Some(QuantisedStep { within: 0.25, scores: None, decisions: None }),
            Some(QuantisedStep { within: 1e-9, scores: Some(vec![9]), decisions: Some(vec![8, 7]) }),
            Some(QuantisedStep { within: 3.0, scores: None, decisions: Some(vec![8, 7]) }),
        ];
        let all = prunings.iter().flat_map(|pruning| claims.iter().map(move |claim| (pruning, claim)));
        for (pruning, quantised) in all {
            let (pruning, quantised) = (pruning.clone(), quantised.clone());
            let packed = FileDigest::of(b"spk");
            let record = PackingRecord { original: Digest([7; 32]), packed, pruning, quantised };
            let bytes = record.to_bytes();
            assert_eq!(PackingRecord::parse(&bytes), Ok(record));
            for cut in 0..bytes.len() {
                assert!(PackingRecord::parse(&bytes[..cut]).is_err(), "cut at {cut}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(PackingRecord::parse(&longer), Err(PackingReadError::Trailing));
            let mut other = bytes.clone();
            other[PACKING_MAGIC.len()] = 4;
            assert_eq!(PackingRecord::parse(&other), Err(PackingReadError::Kind { kind: 4 }));
        }
    }
}
