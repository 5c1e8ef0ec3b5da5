//! Tests of the binary as its users see it: arguments, files and pipes in; text, files and exit
//! codes out.

mod advise;
mod arrow;
mod ask;
mod band;
mod checkpoint;
mod demo;
mod diff;
mod domain;
#[cfg(debug_assertions)]
mod faults;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod guide;
mod inputs;
mod inspect;
mod labels;
mod output;
mod pack;
mod pack_source;
mod parquet;
mod predict;
mod prune;
mod refusals;
mod report;
mod scope;
mod scores;
mod shell;
mod support;
mod tables;
mod verify;
mod verify_many;
