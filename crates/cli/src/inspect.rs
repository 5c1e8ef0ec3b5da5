//! `secateur inspect`: what a model file is.

use anyhow::Result;
use secateur::describe;

use crate::arguments::{Inspect, Talk};
use crate::output::json_text;
use crate::{model, output};

pub(crate) fn run(command: &Inspect, talk: Talk) -> Result<()> {
    let model = model::read(&command.model)?;
    let facts = describe(&model.file, Some((command.model.display().to_string(), model.bytes)));
    output::print(&if command.json { json_text(&facts.json())? } else { facts.words(talk == Talk::Verbose) })
}
