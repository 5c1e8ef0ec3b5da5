//! Flags and help of `pack` and `self-test`.

use std::path::PathBuf;

use clap::Args;

use crate::verify::{Limit, LimitOrNone};

/// Write the model as a small packed file (.spk) that predicts fast, or as C or Rust source, with the library's own bits
#[derive(Debug, Args)]
#[command(after_help = "\
A packed file is the same model: every question, every number bit for bit, added in the library's type and order. Before \
it is written, the independent checker compares it with the model node by node, and every instruction set of this \
machine predicts rows that reach every leaf and threshold, with the library's bits. `predict`, `inspect` and `verify` \
read packed files; the Python package and the C library secateur_runtime run them.

OUT.c is the same model as C99, for firmware and services without our library: tables and one fixed page of code, no \
allocation, no dependencies but the C library's expf or exp where a softmax decides between classes. The declarations go to OUT.h beside it. \
OUT.h alone is a header that has everything in itself. `NAME_raw(row, scores)` gives the library's raw scores, `NAME_class(row)` the position \
of the class; missing values are NaN. OUT.rs is a Rust module with the functions `raw` and `class`, without unsafe code, for which `core` is enough. The source is read back and compared with the model before it is written.

Examples:
  secateur pack model.json -o model.spk
  secateur pack model.txt -o model.spk --certificate model.cert
  secateur-check model.txt model.spk model.cert

  As C, with a test to run on the target:
    secateur pack model.json -o model.c --test model_test.c

  Prune first, with one certificate for both steps:
    secateur pack model.json -o model.spk --prune --certificate model.cert")]
pub(crate) struct Pack {
    /// The model file
    pub(crate) model: PathBuf,

    /// Write the packed model to this file, whole or not at all; its ending says what is made: .spk, .c (and .h beside it), .h or .rs
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// What the names of the functions in C start with [default: model]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Write a program to this file, in the language of OUT, that tests it on the machine that it runs on: rows that reach every leaf
    /// and threshold, with the bits expected
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,

    /// Prune the model first: the packed file then decides as MODEL does, with other scores
    #[arg(long)]
    pub(crate) prune: bool,

    /// Give up after this time (500ms, 30s, 10m, 2h) and write nothing. With --prune: end the search by then, and pack
    /// the best model proved; 5m unless given, none for no limit
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<LimitOrNone>,

    /// Write the certificate to this file, for secateur-check
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a packed model on rows that reach every leaf and threshold, with every instruction set of this machine
#[derive(Debug, Args)]
#[command(after_help = "\
The hash of the exact predictor's scores is in the file. The exit code is 0 where every instruction set gives these \
bits, 1 where one does not, and 3 where the time limit came first.

Examples:
  secateur self-test model.spk")]
pub(crate) struct SelfTest {
    /// The packed model
    #[arg(value_name = "FILE.spk")]
    pub(crate) file: PathBuf,

    /// Give up after this time (500ms, 30s, 10m, 2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
