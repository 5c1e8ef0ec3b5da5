//! Fuzzing of everything that reads files made by others: what must hold for every input, and an
//! endless supply of hostile inputs.
//!
//! A [`Target`] is one reader with its seeds. [`Target::hostile`] makes an input from the seeds,
//! always the same one for the same number. [`Target::check`] panics if a reader, or the code that
//! uses its result, breaks a promise. The smoke test runs both on stable Rust; each libFuzzer
//! target in `fuzz/` is one line that calls [`Target::check`].

mod binary;
mod certificate;
mod check;
mod mutate;
mod source;
mod text;
mod zip;

use std::path::{Path, PathBuf};
use std::{fs, io};

pub use check::{follow_up, read, read_and_run};

/// A reader under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// XGBoost's JSON.
    XgBoostJson,
    /// XGBoost's UBJSON.
    XgBoostUbj,
    /// LightGBM's text.
    LightGbm,
    /// CatBoost's binary format.
    CatBoostBinary,
    /// CatBoost's JSON.
    CatBoostJson,
    /// scikit-learn's skops archives.
    Sklearn,
    /// ONNX.
    Onnx,
    /// Packed models, by both of their readers.
    Packed,
    /// Certificates, read and checked.
    Certificate,
    /// Models as source code, as the checker reads them.
    Source,
}

impl Target {
    /// Every reader.
    pub const ALL: [Self; 10] = [
        Self::XgBoostJson,
        Self::XgBoostUbj,
        Self::LightGbm,
        Self::CatBoostBinary,
        Self::CatBoostJson,
        Self::Sklearn,
        Self::Onnx,
        Self::Packed,
        Self::Certificate,
        Self::Source,
    ];

    /// The name of the target in `fuzz/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::XgBoostJson => "xgboost_json",
            Self::XgBoostUbj => "xgboost_ubj",
            Self::LightGbm => "lightgbm",
            Self::CatBoostBinary => "catboost_binary",
            Self::CatBoostJson => "catboost_json",
            Self::Sklearn => "sklearn",
            Self::Onnx => "onnx",
            Self::Packed => "packed",
            Self::Certificate => "certificate",
            Self::Source => "source",
        }
    }

    /// Reads an input and checks everything that must hold for it; true if it can be read.
    pub fn check(self, bytes: &[u8]) -> bool {
        match self {
            Self::Certificate => certificate::check_input(bytes),
            Self::Source => source::check_input(bytes),
            Self::Packed => {
                // Without a matching checksum the rest of the file would not be read.
                let mut bytes = bytes.to_vec();
                secateur_formats::packed::File::seal(&mut bytes);
                check::check(&bytes)
            }
            _ => check::check(bytes),
        }
    }

    /// Does it read the models of a library, with fixtures of its own?
    pub fn reads_models(self) -> bool {
        self.fixtures().is_some()
    }

    /// The folder of its fixtures in `testdata/models`, and their file extension.
    fn fixtures(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::XgBoostJson => ("xgboost", "json"),
            Self::XgBoostUbj => ("xgboost", "ubj"),
            Self::LightGbm => ("lightgbm", "txt"),
            Self::CatBoostBinary => ("catboost", "cbm"),
            Self::CatBoostJson => ("catboost", "json"),
            Self::Sklearn => ("sklearn", "skops"),
            Self::Onnx => ("onnx", "onnx"),
            Self::Packed | Self::Certificate | Self::Source => return None,
        })
    }

    /// The small fixtures of this format, sorted by name; empty for a target without fixtures.
    fn models(self) -> io::Result<Vec<Vec<u8>>> {
        let Some((folder, extension)) = self.fixtures() else { return Ok(Vec::new()) };
        let paths = files(&root().join("testdata/models").join(folder), Some(extension))?;
        let seeds: Vec<Vec<u8>> = paths.iter().map(fs::read).collect::<io::Result<_>>()?;
        Ok(seeds.into_iter().filter(|seed| seed.len() <= SMALL).collect())
    }

    /// The seed corpus: the fixtures of this format, or inputs made from the fixtures of other
    /// formats.
    pub fn seeds(self) -> io::Result<Vec<Vec<u8>>> {
        match self {
            Self::Packed => {
                let mut seeds = Vec::new();
                for target in Self::ALL {
                    seeds.extend(target.models()?.iter().filter_map(|bytes| packed(bytes)));
                }
                seeds.sort_by_key(Vec::len);
                seeds.dedup();
                Ok(seeds)
            }
            Self::Certificate => certificate::seeds(),
            Self::Source => Ok(source::seeds()),
            _ => self.models(),
        }
    }

    /// Inputs that once broke a promise, each with its path.
    pub fn regressions(self) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
        let paths = files(&root().join("fuzz/regressions").join(self.name()), None)?;
        paths.into_iter().map(|path| Ok((path.clone(), fs::read(path)?))).collect()
    }

    /// The hostile input with this number.
    pub fn hostile(self, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
        mutate::hostile(self, seeds, number)
    }
}

/// The size by which an input's use of memory is measured: its own size plus that of the deflated
/// data in it after unpacking.
pub fn unpacked_size(bytes: &[u8]) -> usize {
    zip::unpacked_size(bytes)
}

/// A model file as a packed file, without a cover; `None` if it cannot be read or packed.
pub fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let model = secateur_formats::ModelFile::parse(bytes).ok()?;
    let stamp = secateur_formats::packed::Stamp { source: [0; 32], cover_rows: 0, cover_hash: 0 };
    secateur_formats::packed::File::pack(&model, None, &stamp).ok()
}

/// The largest fixture that is used. Larger ones make each case slow without reaching other code.
const SMALL: usize = 256 << 10;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The files below a folder, sorted by path; empty if there is no such folder.
fn files(folder: &Path, extension: Option<&str>) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if extension.is_none_or(|wanted| path.extension().is_some_and(|found| found == wanted)) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
