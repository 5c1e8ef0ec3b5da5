//! Writes a tree ensemble as source: tables, and one fixed page of code that evaluates them with
//! the bits of the model's own library.
//!
//! This crate does not generate code. The code is a fixed text of `secateur-source`, which reads
//! the result back and compares it with the model, node by node. This crate lays the model out in
//! tables, writes them into the text, and writes a program that tests the result on the target
//! machine.
//!
//! With quantised leaves ([`LeafBits`]) the result is a different model with nearby scores; the
//! checker computes how near they are.
//!
//! # Where to read
//! `layout` lays the model out in tables (`quantise`: with leaves as small whole numbers), `write`
//! writes them into the fixed text. `rows` and `cover` make the test for the target,
//! `web` the files that stand beside a WebAssembly module.

mod cover;
mod quantise;
mod rows;
mod tables;
mod web;
mod write;

pub use cover::{CoverRows, Expected, cover_test, rust_cover_test};
pub use quantise::LeafBits;
pub use rows::{cover_rows, cover_rows_watched};
pub use tables::NodeLayout;
pub use web::{PAGE_START, WRAPPER_START, Web, page, wasm_cover_test, wrapper};
pub use write::{DECLARATIONS_START, Emitted, Form, Style, declarations, emit};

use thiserror::Error;

/// Why a model cannot be written as source.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError {
    /// A compiler would not accept functions with this name.
    #[error(
        "{0:?} cannot be the start of functions' names: give a letter, then letters, digits and underscores, at most 40 in \
         all, and no word of C, C++ or Rust"
    )]
    Name(String),
    /// The model's sums are multiplied as a whole.
    #[error(
        "a model whose sums are multiplied by a scale cannot be written as source: multiply its leaves instead"
    )]
    Scale,
    /// The model is the last step of a pipeline.
    #[error(
        "a model behind the steps of a pipeline cannot be written as source, because a program would be given rows that did not \
         go through them; save the last step and let the others make its rows"
    )]
    Steps,
    /// The model's category labels were matched with another's, which only models in memory have.
    #[error(
        "a model whose category labels were matched with another's cannot be written as source; use the file itself"
    )]
    Joined,
    /// The leaves cannot become small whole numbers.
    #[error("the leaves of this model cannot be quantised: {0}")]
    NotQuantised(&'static str),
    /// Keys were requested for a target that compares floats.
    #[error("a WebAssembly module compares floats as every engine does, and has no keys: leave them out")]
    Keys,
    /// Another layout of nodes was requested for a target that has only one.
    #[error("a WebAssembly module has one layout of its nodes: leave the other out")]
    Layout,
    /// Probabilities were requested of a model that has none.
    #[error(
        "this model has no probabilities: its library makes none of its scores, or the file does not say how"
    )]
    NoProbabilities,
    /// A number is larger than the tables can hold.
    #[error("the model is too large to be written as source: {0}")]
    TooLarge(&'static str),
}
