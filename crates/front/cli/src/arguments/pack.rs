//! Flags and help of `pack` and `self-test`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use secateur::{
    ModelFile,
    pack::{LeafBits, SourceLayout},
};

use super::domain;
use crate::verify::{Limit, LimitOrNone};

/// Write the model as a small packed file (.spk) that predicts fast, or as C, Rust or WebAssembly, with the library's own bits
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

OUT.wasm is a WebAssembly module for browsers and other engines, without imports; it is read back and compared too. Beside it go OUT.js, a wrapper for \
JavaScript (`const model = await load(); model.predict(row)`), and OUT.html, a page that has the model in itself and predicts what is typed.

With --keys the thresholds of OUT.c, OUT.h or OUT.rs are whole numbers in the order of the floats, and a row's values become such numbers before they are \
compared: for processors that have no floats, or no doubles, in hardware. The results are the same in every bit. With --layout small trees take fewer \
bytes and more instructions, with --layout fast more bytes and fewer instructions (it implies --keys), and with --probabilities there is a function for the probabilities of classes; in WebAssembly the wrapper has one.

With --leaves 16 or 8 the leaves of the source are whole numbers of so many bits, for targets that have little flash or no floats: `NAME_raw(row, \
sums)` gives sums of 32 bits, and a score is its sum times NAME_UNIT (in WebAssembly `raw` gives scores). It is then another model, and what is proved is how near: no score is \
farther than a bound from the library's, so that the class is the same wherever the library's score is farther than that from its threshold. The \
search makes the bound smaller until it is the least or the time is over. With --same-decisions it also looks for a proof that no decision changes; \
the exit code is 1 where an input is decided otherwise, which is shown, and 3 where the time was too short, and nothing is written in either case.

Examples:
  secateur pack model.json -o model.spk
  secateur pack model.txt -o model.spk --certificate model.cert
  secateur-check model.txt model.spk model.cert

  As C, with a test to run on the target:
    secateur pack model.json -o model.c --test model_test.c

  For a web page, with model.js and model.html beside it:
    secateur pack model.json -o model.wasm

  With leaves of a byte, and a proof that no decision changes:
    secateur pack model.json -o model.c --leaves 8 --same-decisions

  Prune first, with one certificate for both steps:
    secateur pack model.json -o model.spk --prune --certificate model.cert")]
pub(crate) struct Pack {
    /// The model file
    pub(crate) model: PathBuf,

    /// Write the packed model to this file, whole or not at all; its ending says what is made: .spk, .c (and .h beside it), .h, .rs, or
    /// .wasm (and .js and .html beside it)
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// What the names of the functions in C start with [default: the name of OUT without its ending]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Write a program to this file, in the language of OUT (JavaScript for .wasm), that tests it on the machine that it runs on: rows that reach every leaf
    /// and threshold, with the bits expected
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,

    /// Prune the model first: the packed file then decides as MODEL does, with other scores
    #[arg(long)]
    pub(crate) prune: bool,

    /// In C and Rust, compare values with thresholds as whole numbers: faster where floats are computed in software, with the same result
    #[arg(long)]
    pub(crate) keys: bool,

    /// How C and Rust lay trees out: compact, about three bytes for an inner node; small, as few bits as its numbers need, which is
    /// slower to run; or fast, about four bytes, which is faster
    #[arg(long, value_name = "LAYOUT", default_value = "compact")]
    pub(crate) layout: LayoutArgument,

    /// A function for the probabilities of classes too, NAME_probabilities; their last bits are those of the target's exponential function
    #[arg(long)]
    pub(crate) probabilities: bool,

    /// Make the leaves of source whole numbers of so many bits, 16 or 8, and prove how far that moves scores; exact, as always without
    /// this, leaves them as they are
    #[arg(long, value_name = "BITS")]
    pub(crate) leaves: Option<LeafBitsArgument>,

    /// With --leaves: prove that no decision changes, or write nothing
    #[arg(long, requires = "leaves")]
    pub(crate) same_decisions: bool,

    /// With --leaves: prove it for the inputs of this domain, a TOML file that says which inputs can occur (see the guide, domains)
    #[arg(long, value_name = "FILE", requires = "leaves")]
    pub(crate) domain: Option<PathBuf>,

    /// With --leaves: leave missing values out, the short form of a domain with `missing = false`
    #[arg(long, requires = "leaves", conflicts_with = "domain")]
    pub(crate) no_missing: bool,

    /// With --leaves: threads of the search [default: all cores]
    #[arg(long, value_name = "N", requires = "leaves")]
    pub(crate) threads: Option<usize>,

    /// Give up after this time (500ms, 30s, 10m, 2h) and write nothing. With --prune: end the search by then, and pack
    /// the best model proved; 5m unless given, none for no limit. With --leaves: end the search for a smaller bound by then; 1m unless given
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<LimitOrNone>,

    /// Keep how much of the training data reached each node, so that Python and Rust compute contributions (SHAP values) from
    /// the .spk file. The file gets four bytes for each node. For XGBoost and LightGBM
    #[arg(long, conflicts_with = "prune")]
    pub(crate) contributions: bool,

    /// Write the certificate to this file, for secateur-check
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Pack {
    /// The bits of quantised leaves.
    pub(crate) fn leaf_bits(&self) -> Option<LeafBits> {
        self.leaves.and_then(|leaves| leaves.0)
    }

    pub(crate) fn domain(&self, model: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), self.no_missing, model)
    }
}

/// How trees are laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayoutArgument(pub(crate) SourceLayout);

impl std::str::FromStr for LayoutArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "compact" => Ok(Self(SourceLayout::Compact)),
            "small" => Ok(Self(SourceLayout::Small)),
            "fast" => Ok(Self(SourceLayout::Fast)),
            _ => Err("a layout is compact, small or fast".to_owned()),
        }
    }
}

/// The number of bits of a leaf; `None` if leaves stay as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafBitsArgument(Option<LeafBits>);

impl std::str::FromStr for LeafBitsArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "exact" => Ok(Self(None)),
            "8" => Ok(Self(Some(LeafBits::Eight))),
            "16" => Ok(Self(Some(LeafBits::Sixteen))),
            _ => Err("leaves are exact, or have 16 or 8 bits".to_owned()),
        }
    }
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
