//! The checker's reader of emitted source, and what compares it with a model: whatever the bytes are, nothing panics, and what is read as quantised has a bound.
#![no_main]

use std::sync::LazyLock;

use secateur_checker::source::{SourceFile, bound_by_trees, quantised, same_source};
use secateur_formats::ModelFile;

/// A small model of several classes, of which the seeds are made.
static MODEL: LazyLock<ModelFile> = LazyLock::new(|| {
    ModelFile::parse(include_bytes!("../../testdata/models/lightgbm/multiclass.txt")).expect("a committed model")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = SourceFile::parse(bytes) else { return };
    let model = MODEL.ensemble();
    if let Ok(read) = quantised(model, &file) {
        assert!(bound_by_trees(model, &read.model).is_some(), "sums that stay within 32 bits");
        assert!(same_source(model, &file).is_err(), "a file is the model itself or has quantised leaves");
    }
});
