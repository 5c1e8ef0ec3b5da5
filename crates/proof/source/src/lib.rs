//! What `secateur pack` claims: is a packed file (`packing.rs`), or emitted source (`secateur pack
//! -o model.c`), the model that it claims to be? This crate also has what the certificate checker,
//! which knows no files, leaves out: verdicts as JSON, and decisions at a threshold.
//!
//! # What is proved of source
//! An emitted file is a fixed text with tables. The reader demands the text byte by byte, so the
//! program is the one in `template.c`. From the tables it follows, node by node, that this program
//! asks the questions of the model and adds its numbers: the same values go left at every split,
//! and the leaves have the same bits, in the same type and order. So if compiler and processor
//! follow the language and IEEE 754, the raw scores have the library's bits on every input that the
//! library accepts. Every index in a table is shown to be within the table that it points into.
//!
//! A file whose leaves are quantised is another model. [`quantised()`] says which: the questions
//! are compared as usual, and the numbers that the program adds are taken from the tables.
//!
//! A WebAssembly module (`model.wasm`) is read in the same way: [`wasm_module`] determines its
//! bytes, and `template.wat` says what they do.
//!
//! Probabilities, if a file has them, are computed by the library's own expression of the scores;
//! the rule and its numbers are compared too.
//!
//! # What is not
//! It is not proved that a given compiler follows the language. The text refuses compilers and
//! options that are known to break it (`#error`), and the cover test that is emitted beside the
//! model (`--test`) runs on the target. Scores on inputs that the library refuses are not fixed. If
//! the decision or a probability takes an exponential function, its last bits are those of the
//! target's function.

mod asked;
mod json;
mod packing;
mod quantised;
mod read;
mod same;
mod text;
mod unpack;
mod wasm;
mod words;

pub use asked::at_threshold;
pub use json::verdict_json;
pub use packing::{
    Difference, Packed, PackingProved, PackingReason, PackingVerdict, QuantisedProved, check_packing,
    same_model,
};
pub use quantised::{LARGEST_SUM, Quantised, bound_by_trees, quantised};
pub use read::{SourceFile, Unreadable};
pub use same::same_source;
pub use text::{
    Entries, Head, Language, Line, PARTS, PROBABILITIES, Piece, RULES, first_line, is_name, lines, part,
    table_end, table_start, unsigned,
};
pub use wasm::{WASM_HEADER, WasmData, wasm_module};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
