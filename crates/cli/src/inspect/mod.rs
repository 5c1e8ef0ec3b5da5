//! `secateur inspect`: what a model file is. [`facts`] gathers, [`report`] lays out for people; the JSON
//! object is the facts as they are.

mod decision;
mod facts;
mod report;

use anyhow::{Context, Result};

use crate::arguments::{Inspect, Talk};
use crate::{model, output};
use facts::Facts;

pub(crate) fn run(command: &Inspect, talk: Talk) -> Result<()> {
    let model = model::read(&command.model)?;
    let facts = Facts::gather(&command.model.display().to_string(), &model);
    output::print(&if command.json {
        serde_json::to_string_pretty(&facts).context("cannot be written as JSON")? + "\n"
    } else {
        report::lay_out(&facts, talk == Talk::Verbose)
    })
}
