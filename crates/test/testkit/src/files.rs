//! The files in `testdata`: committed models and the answers of their own libraries.

use std::fs;
use std::path::{Path, PathBuf};

/// A file or a folder in `testdata`.
pub fn testdata(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata").join(path)
}

/// The contents of a file in `testdata`.
pub fn committed(path: impl AsRef<Path>) -> Vec<u8> {
    let path = testdata(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files of a folder in `testdata` with one of these extensions, or without any if none is
/// given, by name. A folder with fewer files than `least` has lost some.
pub fn all_of(folder: impl AsRef<Path>, extensions: &[&str], least: usize) -> Vec<PathBuf> {
    let folder = testdata(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    found.retain(|path| match path.extension() {
        Some(own) => extensions.iter().any(|wanted| own == *wanted),
        None => extensions.is_empty(),
    });
    found.sort();
    assert!(found.len() >= least, "only {} files in {}", found.len(), folder.display());
    found
}

/// Numbers of 64 bits in hexadecimal.
pub fn words(text: &str) -> Vec<u64> {
    let read = |word| u64::from_str_radix(word, 16).unwrap_or_else(|error| panic!("{word:?}: {error}"));
    text.split_whitespace().map(read).collect()
}

/// Doubles that are written as their bits in hexadecimal.
pub fn doubles(text: &str) -> Vec<f64> {
    words(text).into_iter().map(f64::from_bits).collect()
}

/// The bits of doubles, so that -0.0 and NaN compare as what they are.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}
