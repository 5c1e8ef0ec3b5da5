//! `secateur advise`: what pruning and packing would give for a model, measured in short trials.

use std::time::Duration;

use anyhow::{Result, bail};
use secateur::internal::watch_while;
use secateur::{Cancel, advise};

use crate::arguments::{Advise, Verbosity};
use crate::failure::Ending;
use crate::output::{self, json_text};
use crate::progress::{Progress, WATCH};
use crate::prune::rows_of;
use crate::table::Target;
use crate::{interrupt, model};

/// The time for all trials, unless the user gives another.
const STANDARD: Duration = Duration::from_secs(10);

pub(crate) fn run(command: &Advise, verbosity: Verbosity) -> Result<Ending> {
    let model = model::read(&command.model)?;
    let rows = match &command.data {
        Some(path) => {
            let target = command.target.as_deref();
            rows_of(path, target, &command.reading, Target::Ignored, model.file.ensemble(), verbosity)?.values
        }
        None if command.target.is_some() => bail!("--target goes with --data"),
        None => Vec::new(),
    };
    let limit = command.time_limit.map_or(STANDARD, |limit| limit.0);
    let cancel = Cancel::default();
    // The first signal ends the trials; what was measured by then is shown.
    let listening = interrupt::listen(&cancel);
    let mut progress = Progress::start(verbosity);
    let advice = watch_while(
        WATCH,
        || advise(&model.file, Some(model.bytes), (&rows, None), limit, &cancel),
        || progress.line(|| "measuring what would help".to_owned()),
    );
    progress.finish();
    drop(listening);
    let path = command.model.display().to_string();
    if command.json {
        output::print(&json_text(&advice.json(Some(&path)))?)?;
    } else {
        output::tell(&advice.words(Some(&path), None))?;
    }
    Ok(if cancel.is_cancelled() { Ending::Interrupted } else { Ending::Done })
}
