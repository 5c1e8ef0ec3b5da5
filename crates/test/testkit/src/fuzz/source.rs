//! Fuzzes the checker's reader of emitted source and the comparison with a model: no bytes cause a
//! panic, and a model that is read as quantised has a bound.

use std::sync::LazyLock;

use secateur_emit::{Form, LeafBits, NodeLayout, Style, emit};
use secateur_formats::Link;
use secateur_formats::ModelFile;
use secateur_source::{SourceFile, bound_by_trees, quantised, same_source};

/// A small model of several classes, from which the seeds are made.
static MODEL: LazyLock<ModelFile> = LazyLock::new(|| {
    ModelFile::parse(include_bytes!("../../../../../testdata/models/lightgbm/multiclass.txt"))
        .expect("a fixture")
});

/// Checks an input; true if it can be read.
pub(super) fn check_input(bytes: &[u8]) -> bool {
    let file = match SourceFile::parse(bytes) {
        Ok(file) => file,
        Err(error) => {
            super::check::short("reading", &error.to_string());
            return false;
        }
    };
    let (model, link) = (MODEL.ensemble(), Link::of(&MODEL));
    let same = same_source(model, link, &file).is_ok();
    if let Ok(read) = quantised(model, link, &file) {
        assert!(!same, "a file is the model itself, or its leaves are quantised");
        let bound = bound_by_trees(model, &read.model).expect("sums that stay within their type");
        assert!(bound >= 0.0, "a bound of {bound}");
    }
    true
}

/// The model in every form and node layout, with leaves as they are and quantised.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for form in [Form::C, Form::Header, Form::Rust, Form::Wasm] {
        for leaves in [None, Some(LeafBits::Eight), Some(LeafBits::Sixteen)] {
            for nodes in [NodeLayout::Compact, NodeLayout::Small, NodeLayout::Fast] {
                for keys in [false, true] {
                    let probabilities = (nodes == NodeLayout::Small).then(|| Link::of(&MODEL));
                    let style = Style { form, name: "model", leaves, keys, nodes, probabilities };
                    // Some combinations are refused: a Wasm module has only the compact layout and
                    // no keys.
                    seeds.extend(emit(MODEL.ensemble(), style, &[]).map(|emitted| emitted.bytes));
                }
            }
        }
    }
    seeds
}
