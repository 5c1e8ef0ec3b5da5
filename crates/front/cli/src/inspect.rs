//! `secateur inspect`: the facts about a model file.

use anyhow::{Result, anyhow};
use secateur::describe::describe_within;

use crate::arguments::{Inspect, Verbosity};
use crate::output::json_text;
use crate::terminal::fit_stdout;
use crate::{model, output};

pub(crate) fn run(command: &Inspect, verbosity: Verbosity) -> Result<()> {
    let model = model::read(&command.model)?;
    let domain = command.domain(&model.file)?;
    let place = Some((command.model.display().to_string(), model.bytes));
    let facts = describe_within(&model.file, place, &domain).map_err(|error| anyhow!("{error}"))?;
    output::print(&if command.json {
        json_text(&facts.json())?
    } else {
        fit_stdout(&facts.words(verbosity == Verbosity::Verbose))
    })
}
