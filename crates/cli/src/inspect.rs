//! `secateur inspect`: what a model file is. [`facts`] gathers, [`report`] lays out for people; the JSON
//! object is the facts as they are.

mod decision;
mod facts;
mod report;

use anyhow::{Context, Result};
use secateur_formats::ModelFile;

use crate::arguments::{Inspect, Talk};
use crate::{model, output};
use facts::Facts;

pub(crate) fn run(command: &Inspect, talk: Talk) -> Result<()> {
    let model = model::read(&command.model)?;
    let facts = Facts::gather(&model.file, Some((command.model.display().to_string(), model.bytes)));
    output::print(&if command.json {
        serde_json::to_string_pretty(&facts).context("cannot be written as JSON")? + "\n"
    } else {
        report::lay_out(&facts, talk == Talk::Verbose)
    })
}

/// What `inspect --json` and `inspect -v` print, of a model from anywhere; `place` is the path of its file and
/// its size.
pub(crate) fn describe(file: &ModelFile, place: Option<(String, u64)>) -> serde_json::Result<[String; 2]> {
    let facts = Facts::gather(file, place);
    Ok([serde_json::to_string_pretty(&facts)?, report::lay_out(&facts, true)])
}
