//! `secateur pack`: the same model, bit for bit, in a fraction of its bytes; and `secateur self-test`, which runs a
//! packed model on this machine and compares its bits with those in the file.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use secateur::{Budget, PackingError, PruneOptions, Watch, pack_pruned, pack_watched, prune};
use secateur_runtime::Model;
use serde_json::json;

use crate::arguments::{Pack, SelfTest, Talk};
use crate::failure::Ending;
use crate::output::{self, Output, json_text};
use crate::progress::{Progress, percent};
use crate::terminal::fit_stdout;
use crate::verify::LimitOrNone;
use crate::{interrupt, model};

pub(crate) fn run(command: &Pack, talk: Talk) -> Result<Ending> {
    if command.output.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("spk")) {
        bail!("{}: the name of a packed model ends with .spk", command.output.display());
    }
    let budget = match command.prune {
        true => LimitOrNone::budget(command.time_limit),
        false => Budget::maybe(command.time_limit.and_then(|limit| limit.0)),
    };
    let original = model::read(&command.model)?;
    let mut taken: Vec<(&Path, &str)> = vec![(&command.model, "the model itself")];
    output::refuse_to_overwrite(&command.output, &taken)?;
    taken.push((&command.output, "the packed model, and each needs a file of its own"));
    if let Some(path) = &command.certificate {
        output::refuse_to_overwrite(path, &taken)?;
    }
    let mut output = Output::open(Some(&command.output))?;
    let certificate = match &command.certificate {
        Some(path) => Some((path.display().to_string(), Output::open(Some(path))?)),
        None => None,
    };
    let named = |error: &dyn std::fmt::Display| anyhow!("{}: {error}", command.model.display());
    let pruning = if command.prune {
        // Only pruning can end early with a result; a signal while a model is packed ends the command.
        let _listening = interrupt::listen(&budget.cancel());
        let pruning = prune(&original.file, &[], &PruneOptions::default(), &budget, &Watch::default());
        Some(pruning.map_err(|error| named(&error))?)
    } else {
        None
    };
    let mut progress = Progress::start(talk);
    let packing = match &pruning {
        Some(pruning) => pack_pruned(&original.file, pruning, &mut tested(&mut progress, None)),
        None => pack_watched(&original.file, None, &mut tested(&mut progress, budget.deadline())),
    };
    progress.finish();
    let packing = match packing {
        Ok(packing) => packing,
        Err(PackingError::Stopped) => {
            output::complain(&named(&OVER).to_string());
            return Ok(Ending::Undecided);
        }
        Err(error) => return Err(named(&error)),
    };
    output.write(&packing.bytes)?;
    output.complete()?;
    let certificate = match certificate {
        Some((path, mut output)) => {
            output.write(&packing.certificate)?;
            output.complete()?;
            Some((path, output))
        }
        None => None,
    };
    let place = certificate.as_ref().map(|(path, _)| path.clone());
    let mut object = packing.json(Some(original.bytes), place.as_deref());
    let mut text = packing.words(Some(original.bytes));
    if let Some(pruning) = &pruning {
        let [before, after] = pruning.pruned.size;
        object["outcome"] = json!("same_decisions");
        object["trees"] = json!({"before": before.trees, "after": after.trees});
        object["band"] = json!(pruning.pruned.band);
        text = format!(
            "{} trees -> {}: the same decisions on every input, proved\n{text}",
            before.trees, after.trees
        );
        text = text.replace("same bits on every input:", "the pruned model, bit for bit:");
    }
    let text = if command.json { json_text(&object)? } else { fit_stdout(&text) };
    let files = [(command.output.display().to_string(), output)].into_iter().chain(certificate);
    let written = output::finish_all(files)?;
    output::print(&text).map_err(|error| output::after_writing(error, &written))?;
    let interrupted = pruning.as_ref().is_some_and(|pruning| pruning.interrupted);
    if interrupted {
        talk.note("note: interrupted; the best model that was proved by then is packed");
        return Ok(Ending::Interrupted);
    }
    let done = pruning.is_none_or(|pruning| pruning.pruned.outcome != secateur::Outcome::BudgetReached);
    Ok(if done { Ending::Done } else { Ending::Undecided })
}

const OVER: &str = "the time limit was reached before the packed model was tested; nothing was written";

/// Shows how much of a test is done, and ends it when the time is over.
fn tested(progress: &mut Progress, deadline: Option<Instant>) -> impl FnMut(f64) -> bool {
    move |share| {
        progress.line(|| format!("testing the packed model, {}", percent(share)));
        deadline.is_none_or(|deadline| Instant::now() < deadline)
    }
}

/// Runs the cover on every path of this machine.
pub(crate) fn self_test(command: &SelfTest, talk: Talk) -> Result<Ending> {
    let budget = Budget::maybe(command.time_limit.map(|limit| limit.0));
    let shown = command.file.display();
    let bytes = std::fs::read(&command.file).with_context(|| format!("{shown}: cannot be read"))?;
    let model = Model::load(&bytes).map_err(|error| anyhow!("{shown}: {error}"))?;
    let mut progress = Progress::start(talk);
    let cover = model.cover_rows();
    let test = model.self_test_on(&cover, &mut tested(&mut progress, budget.deadline()));
    progress.finish();
    let Some(test) = test.map_err(|error| anyhow!("{shown}: {error}"))? else {
        output::complain(&format!(
            "{shown}: the time limit was reached before every instruction set was tested"
        ));
        return Ok(Ending::Undecided);
    };
    let text = if command.json {
        let paths: Vec<_> =
            test.paths.iter().map(|(path, fits)| json!({"path": path.name(), "same_bits": fits})).collect();
        json_text(&json!({"passed": test.passed(), "rows": test.rows, "paths": paths}))?
    } else {
        let lines = test.paths.iter().map(|(path, fits)| {
            let answer = if *fits { "the bits in the file" } else { "OTHER BITS than those in the file" };
            format!("{:<8} {answer} on {} rows\n", path.name(), test.rows)
        });
        lines.collect()
    };
    output::print(&text)?;
    Ok(if test.passed() { Ending::Done } else { Ending::Refuted })
}
