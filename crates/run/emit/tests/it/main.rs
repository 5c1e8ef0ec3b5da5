//! Tests of emitted source: it is compiled, run, read back and attacked. All tests are one binary,
//! so that they are linked once.

mod common;
mod compiled;
mod hostile;
mod mutations;
mod old_source;
mod quantised;
mod read_back;
mod rust;
mod wasm;
