//! Reads a model file; every error names the file.

use std::path::Path;

use anyhow::{Result, anyhow};
use secateur::{ModelFile, model::ReadError};

use secateur::internal::text::printable;

/// A model file and its size.
pub(crate) struct Model {
    pub(crate) file: ModelFile,
    pub(crate) bytes: u64,
}

pub(crate) fn read(path: &Path) -> Result<Model> {
    let shown = path.display();
    let bytes = if path.is_dir() {
        return Err(anyhow!("{shown}: this is a folder; give a model file"));
    } else {
        std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => anyhow!("{shown}: there is no such file"),
            _ => anyhow!("{shown}: cannot be read: {error}"),
        })?
    };
    let size = bytes.len() as u64;
    let file = ModelFile::parse_owned(bytes)
        .map_err(ReadError::from)
        .map_err(|error| anyhow!("{shown}: {}", printable(&error.to_string())))?;
    Ok(Model { file, bytes: size })
}
