//! Emitted source: compiled, run, read back and attacked; one binary, so that the tests are linked once.

mod common;
mod compiled;
mod hostile;
mod mutations;
mod old_source;
mod quantised;
mod read_back;
mod rust;
mod wasm;
