//! The pipeline of `pack`: the same model, bit for bit, in a fraction of its bytes, checked and
//! tested before it is handed out. As source: `source`; with quantised leaves: `quantised`.

mod quantised;
mod source;

pub use secateur_certificate::PACKING_MAGIC;
use secateur_certificate::{Digest, FileDigest, PackingReadError, PackingRecord, PruningStep};
use secateur_checker::{Asked, Scorer};
use secateur_emit::EmitError;
pub use secateur_emit::{Form as SourceForm, LeafBits, NodeLayout as SourceLayout};
use secateur_formats::packed::{PackError, Stamp};
use secateur_formats::{ModelFile, packed};
use secateur_model::{ClassLabels, Domain, Ensemble, PredictError, Predictor};
use secateur_runtime::{AIMED, LoadError, Path, hash_of_scores};
use secateur_source::Packed;
pub use secateur_source::{PackingProved, PackingReason, PackingVerdict, verdict_json};
use serde_json::{Value, json};
use thiserror::Error;

use crate::Pruning;
use crate::text::grouped;
pub use quantised::{LeafOptions, QuantisedPacking, pack_quantised};
pub use source::{
    Beside, SourceOptions, SourcePacking, beside, check_source, pack_source, pack_source_pruned,
};

/// Why a model was not packed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PackingError {
    /// The packed format has no place for some part of the model.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The model cannot be written as source.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The quantised model and the original cannot be compared.
    #[error(transparent)]
    Compare(#[from] Box<crate::Error>),
    /// The pruned model has no file or no certificate that the packing could refer to.
    #[error(
        "the pruned model has no certificate, so that the two steps cannot be proved together; give it more time"
    )]
    NotCertified,
    /// Contributions were asked for, and the model's file does not say how much data reached each
    /// node.
    #[error(
        "contributions need the cover of every node (how much of the training data reached it), which is read from XGBoost's \
         and LightGBM's files; this model ({dialect}) has none"
    )]
    NoCovers {
        /// The model's library and version.
        dialect: String,
    },
    /// The `watch` callback asked to stop.
    #[error("packing was stopped before the packed model was tested; nothing was written")]
    Stopped,
    /// A bug of secateur, found before anything was handed out.
    #[error(
        "secateur itself failed: {0}. Nothing was written. This is a bug: please report it with the model"
    )]
    Fault(String),
}

impl PackingError {
    pub(crate) fn fault(what: impl std::fmt::Display) -> Self {
        Self::Fault(what.to_string())
    }
}

impl From<crate::Error> for PackingError {
    fn from(error: crate::Error) -> Self {
        Self::Compare(Box::new(error))
    }
}

impl From<LoadError> for PackingError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::TooLarge(what) => Self::Pack(PackError::TooLarge { what }),
            other => Self::fault(format!("the runtime does not load the packed model: {other}")),
        }
    }
}

/// A packed model.
#[derive(Clone, Debug)]
pub struct Packing {
    /// The bytes of the `.spk` file.
    pub bytes: Vec<u8>,
    /// The certificate, which the independent checker has accepted.
    pub certificate: Vec<u8>,
    /// Rows of the cover. On all of them every path of this machine gave the exact predictor's
    /// bits.
    pub cover_rows: usize,
    /// These paths.
    pub paths: Vec<Path>,
}

/// Packs a model: the same raw scores in every bit.
///
/// Two readers read the result back before it is handed out. The reader of `secateur-formats` gave
/// the checker a model that is equal to the original node by node. The reader of `secateur-runtime`
/// ran a cover of rows on every instruction set of this machine and got the bits of the exact
/// predictor; the cover has at least one row in every leaf for which a row was found.
///
/// ```
/// let model = secateur::ModelFile::parse(secateur::demo::MODEL)?;
/// let packing = secateur::pack(&model)?;
/// assert!(packing.bytes.len() * 3 < secateur::demo::MODEL.len());
/// let packed = secateur::ModelFile::parse(&packing.bytes)?;
/// assert!(secateur::pack::check_packing(&model, &packed, &packing.certificate)?.is_valid());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack(model: &ModelFile) -> Result<Packing, PackingError> {
    pack_watched(model, None, &mut |_| true)
}

/// As [`pack`], with labels for the classes of a model whose own file has none. `watch` is called
/// now and then with the share of the tests that is done, from 0 to 1; if it returns false, packing
/// ends with [`PackingError::Stopped`].
pub fn pack_watched(
    model: &ModelFile,
    labels: Option<&ClassLabels>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Packing, PackingError> {
    packed_as((model, model), labels, None, &[], false, watch)
}

/// As [`pack_watched`], with the covers of the model's file, from which the runtime computes
/// contributions (SHAP values). The certificate is about the scores; it does not speak of covers.
pub fn pack_with_covers(
    model: &ModelFile,
    labels: Option<&ClassLabels>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Packing, PackingError> {
    packed_as((model, model), labels, None, &[], true, watch)
}

/// Packs a pruned model, with one certificate for both steps: original to pruned, pruned to packed.
/// `watch` works as in [`pack_watched`].
pub fn pack_pruned(
    original: &ModelFile,
    pruning: &Pruning,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Packing, PackingError> {
    let step = pruning.bytes.as_ref().zip(pruning.certificate.as_ref());
    let (model, certificate) = step.ok_or(PackingError::NotCertified)?;
    let step = PruningStep { model: model.clone(), certificate: certificate.bytes.clone() };
    let scorers = Scorer::of(&pruning.pruned.domain);
    packed_as((original, &pruning.pruned.file), None, Some(step), &scorers, false, watch)
}

fn packed_as(
    (original, model): (&ModelFile, &ModelFile),
    labels: Option<&ClassLabels>,
    pruning: Option<PruningStep>,
    scorers: &[Scorer<'_>],
    covers: bool,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Packing, PackingError> {
    let ensemble = model.ensemble();
    let mut stamp = Stamp { source: Digest::of(ensemble).0, cover_rows: AIMED, cover_hash: 0 };
    go_on(watch(0.0))?;
    // The cover is computed from the packed model, and the hash of its scores goes into the file,
    // so the file is written twice.
    let draft = secateur_runtime::Model::load(&packed::File::pack(model, labels, &stamp)?)?;
    let cover = draft.cover_rows_watched(&mut |share| watch(COVER_SHARE * share));
    let cover = cover.ok_or(PackingError::Stopped)?;
    let width = ensemble.features().len().max(1);
    stamp.cover_rows |= u32::try_from(cover.len() / width).map_err(PackingError::fault)?;
    let mut exact = |share: f64| watch(COVER_SHARE + EXACT_SHARE * share);
    stamp.cover_hash = hash_of_scores(&exact_scores(ensemble, &cover, &mut exact)?);
    let mut bytes = packed::File::pack(model, labels, &stamp)?;
    if covers {
        let with = packed::File::with_covers(model, &bytes);
        bytes = with.ok_or_else(|| PackingError::NoCovers { dialect: model.dialect() })?;
    }
    let runtime = secateur_runtime::Model::load(&bytes)?;
    let done = COVER_SHARE + EXACT_SHARE;
    let mut later = |share: f64| watch(done + (1.0 - done) * share);
    let test = runtime.self_test_on(&cover, &mut later).map_err(PackingError::fault)?;
    let test = test.ok_or(PackingError::Stopped)?;
    if let Some((path, _)) = test.paths.iter().find(|(_, fits)| !fits) {
        return Err(PackingError::fault(format!("the path {path} does not give the library's bits")));
    }
    go_on(watch(1.0))?;
    let record = PackingRecord {
        original: Digest::of(original.ensemble()),
        packed: FileDigest::of(&bytes),
        pruning,
        quantised: None,
    };
    let certificate = record.to_bytes();
    let read = ModelFile::parse(&bytes).map_err(PackingError::fault)?;
    match secateur_source::check_packing(original, Packed::File(&read), scorers, &certificate, &|| false, 1) {
        Ok(PackingVerdict::Valid(_)) => {}
        Ok(PackingVerdict::Invalid(reason) | PackingVerdict::Incomplete(reason)) => {
            return Err(PackingError::fault(reason.message()));
        }
        Err(error) => return Err(PackingError::fault(error)),
    }
    let paths = test.paths.into_iter().map(|(path, _)| path).collect();
    Ok(Packing { bytes, certificate, cover_rows: test.rows, paths })
}

/// Rough shares of the time: searching the cover takes the first, the exact predictor the second,
/// testing the paths the rest.
const COVER_SHARE: f64 = 0.2;
const EXACT_SHARE: f64 = 0.3;

/// About how many tree nodes the rows between two calls of `watch` visit: a fraction of a second.
const WATCHED: usize = 1 << 22;

fn go_on(wanted: bool) -> Result<(), PackingError> {
    if wanted { Ok(()) } else { Err(PackingError::Stopped) }
}

/// The exact predictor's scores of the cover. `watch` is called with the share that is done, from 0
/// to 1.
pub(crate) fn exact_scores(
    ensemble: &Ensemble,
    cover: &[f64],
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<f64>, PackingError> {
    let predictor = Predictor::new(ensemble);
    let mut scores = Vec::new();
    let width = ensemble.features().len().max(1);
    // No row visits more nodes than the model has.
    let nodes: usize = ensemble.trees().iter().map(|tree| tree.node_count()).sum();
    let step = (WATCHED / nodes.max(1)).clamp(16, 1 << 13) * width;
    for (index, rows) in cover.chunks(step).enumerate() {
        go_on(watch((index * step) as f64 / cover.len() as f64))?;
        let refused =
            |error: PredictError| PackingError::fault(format!("a row of the cover is refused: {error}"));
        scores.extend(predictor.raw_scores(rows).map_err(refused)?);
    }
    Ok(scores)
}

impl Packing {
    /// The JSON object that `secateur pack --json` prints. `before` is the size of the model's
    /// file; `certificate` is the path that the certificate is written to, if any.
    pub fn json(&self, before: Option<u64>, certificate: Option<&str>) -> Value {
        json!({
            "outcome": "same_bits",
            "bytes": {"before": before, "after": self.bytes.len()},
            "within": null,
            "certificate": certificate,
            "checked": true,
            "cover": {"rows": self.cover_rows, "paths": self.paths.iter().map(|path| path.name()).collect::<Vec<_>>()},
        })
    }

    /// The same in words.
    pub fn words(&self, before: Option<u64>) -> String {
        let after = self.bytes.len();
        let size = match before {
            Some(before) => {
                let smaller = before as f64 / after as f64;
                format!(
                    "{} bytes -> {} ({smaller:.1} times smaller)\n",
                    grouped(before),
                    grouped(after as u64)
                )
            }
            None => format!("{} bytes\n", grouped(after as u64)),
        };
        let paths = self.paths.iter().map(|path| path.name()).collect::<Vec<_>>().join(", ");
        format!(
            "{size}same bits on every input: checked node by node\ntested on {} rows that reach every leaf and threshold, by {paths}\n",
            grouped(self.cover_rows as u64)
        )
    }
}

/// The answer of [`check_packing`].
#[derive(Debug)]
pub struct PackingCheck(pub PackingVerdict);

impl PackingCheck {
    /// Is the packed file proved to be what the certificate claims?
    pub fn is_valid(&self) -> bool {
        matches!(self.0, PackingVerdict::Valid(_))
    }

    /// As `secateur-check --json` prints it.
    pub fn json(&self, original: &ModelFile) -> Value {
        self.0.json(original.ensemble())
    }

    /// The same answer, turned into a refusal if the packed model was pruned first and that pruning
    /// is not shown to cover the inputs `asked`.
    #[must_use]
    pub fn covering(self, asked: &Domain, original: &ModelFile) -> Self {
        let asked = Asked { domain: Some(asked), ..Asked::default() };
        Self(self.0.asked_for(&asked, None, original))
    }

    /// The reason why the check did not accept; `None` if it did.
    pub fn reason(&self) -> Option<&PackingReason> {
        match &self.0 {
            PackingVerdict::Valid(_) => None,
            PackingVerdict::Invalid(reason) | PackingVerdict::Incomplete(reason) => Some(reason),
        }
    }
}

/// Checks the certificate of a packing as `secateur-check` does. An error means that the bytes are
/// not such a certificate at all.
pub fn check_packing(
    original: &ModelFile,
    packed: &ModelFile,
    certificate: &[u8],
) -> Result<PackingCheck, PackingReadError> {
    secateur_source::check_packing(original, Packed::File(packed), &[], certificate, &|| false, 1)
        .map(PackingCheck)
}

/// As [`check_packing`]; if the model was pruned first, the pruning's claim has to cover this
/// domain.
pub fn check_packing_covering(
    original: &ModelFile,
    packed: &ModelFile,
    asked: &Domain,
    certificate: &[u8],
) -> Result<PackingCheck, PackingReadError> {
    let scorers = Scorer::of(asked);
    let check =
        secateur_source::check_packing(original, Packed::File(packed), &scorers, certificate, &|| false, 1);
    Ok(PackingCheck(check?).covering(asked, original))
}

/// The JSON object for bytes that are not a certificate of a packing.
pub fn malformed_packing(error: &PackingReadError) -> Value {
    json!({"verdict": "malformed", "reason": error.code(), "message": error.to_string()})
}
