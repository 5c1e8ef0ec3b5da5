//! `secateur pack`: the same model, bit for bit, in a fraction of its bytes or as C, Rust or
//! WebAssembly source; or an approximation with quantised leaves. `secateur self-test` runs a
//! packed model on this machine and compares its bits with those in the file.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use secateur::{
    Budget, ModelFile, Packing, PruneOptions, Pruning, Watch,
    pack::{
        LeafOptions, PackingError, QuantisedPacking, SourceForm, SourceLayout, SourceOptions, SourcePacking,
        pack_pruned, pack_quantised, pack_source, pack_source_pruned, pack_watched, pack_with_covers,
    },
    prune,
};
use secateur_runtime::Model;
use serde_json::json;

use crate::arguments::{Pack, SelfTest, Verbosity};
use crate::failure::Ending;
use crate::output::{self, Files, json_text};
use crate::progress::{Progress, percent};
use crate::terminal::fit_stdout;
use crate::verify::LimitOrNone;
use crate::{interrupt, model};

pub(crate) fn run(command: &Pack, verbosity: Verbosity) -> Result<Ending> {
    let kind = Kind::of(command)?;
    let budget = match command.prune {
        true => LimitOrNone::budget(command.time_limit),
        false => Budget::maybe(command.time_limit.and_then(|limit| limit.0)),
    };
    let original = model::read(&command.model)?;
    let beside = match kind {
        Kind::File => &[],
        Kind::Source(form) => secateur::pack::beside(form),
    };
    let beside: Vec<_> = beside
        .iter()
        .map(|&(ending, what, start)| (command.output.with_extension(ending), what, start))
        .collect();
    let mut files = Files::reading([
        (Some(&*command.model), "the model itself"),
        (command.domain.as_deref(), "the domain"),
    ]);
    for (path, what, start) in &beside {
        refuse_another_file(path, what, start)?;
    }
    let packed = "the packed model, and each needs a file of its own";
    let packed_to = files.open(Some(&command.output), packed)?;
    let what = "what goes beside the packed model, and each needs a file of its own";
    let beside_to =
        beside.iter().map(|(path, ..)| files.open(Some(path), what)).collect::<Result<Vec<_>>>()?;
    let test = "the test of the packed model, and each needs a file of its own";
    let test_to = files.open(command.test.as_deref(), test)?;
    let certificate_to = files.open(command.certificate.as_deref(), "the certificate")?;
    let named = |error: &dyn std::fmt::Display| anyhow!("{}: {error}", command.model.display());
    let pruning = if command.prune {
        // Only pruning can end early with a result; a signal during packing ends the command.
        let _listening = interrupt::listen(&budget.cancel());
        let pruning = prune(&original.file, &[], &PruneOptions::default(), &budget, &Watch::default());
        Some(pruning.map_err(|error| named(&error))?)
    } else {
        None
    };
    let made = match kind {
        Kind::Source(form) if command.leaf_bits().is_some() => {
            leaves(command, form, &original.file, pruning.as_ref(), &budget, verbosity)?
        }
        _ => {
            let mut progress = Progress::start(verbosity);
            let deadline = if pruning.is_some() { None } else { budget.deadline() };
            let made =
                made(command, kind, &original.file, pruning.as_ref(), &mut tested(&mut progress, deadline));
            progress.finish();
            made
        }
    };
    let made = match made {
        Ok(made) => made,
        Err(PackingError::Stopped) => {
            output::complain(&named(&OVER).to_string());
            return Ok(Ending::Undecided);
        }
        Err(error) => return Err(named(&error)),
    };
    let place = command.certificate.as_ref().map(|path| path.display().to_string());
    let (mut object, mut text) = match &made {
        Made::File(packing) => {
            (packing.json(Some(original.bytes), place.as_deref()), packing.words(Some(original.bytes)))
        }
        Made::Source(source) => {
            (source.json(Some(original.bytes), place.as_deref()), source.words(Some(original.bytes)))
        }
        Made::Leaves(packed) => {
            let model = pruning.as_ref().map_or(&original.file, |pruning| &pruning.pruned.file);
            let place = place.as_deref().filter(|_| !command.same_decisions || packed.is_same());
            let size = Some(original.bytes);
            (packed.json(model, size, place), packed.words(model, size, verbosity == Verbosity::Verbose))
        }
    };
    if let Made::Leaves(packed) = &made
        && command.same_decisions
        && !packed.is_same()
    {
        output::print(&if command.json { json_text(&object)? } else { fit_stdout(&text) })?;
        verbosity.note("note: nothing was written, since decisions are not proved to be the same");
        return Ok(if packed.is_different() { Ending::Refuted } else { Ending::Undecided });
    }
    let (source, bytes, certificate) = match &made {
        Made::File(packing) => (None, &packing.bytes, &packing.certificate),
        Made::Source(source) => (Some(source), &source.bytes, &source.certificate),
        Made::Leaves(packed) => (Some(&packed.source), &packed.source.bytes, &packed.source.certificate),
    };
    files.fill(packed_to, Some(bytes))?;
    if let Some(source) = source {
        for (place, beside) in beside_to.into_iter().zip(&source.beside) {
            files.fill(place, Some(beside.text.as_bytes()))?;
        }
        files.fill(test_to, source.test.as_deref().map(str::as_bytes))?;
    }
    files.fill(certificate_to, Some(certificate))?;
    if let Some(pruning) = &pruning {
        let [before, after] = pruning.pruned.size;
        if !matches!(made, Made::Leaves(_)) {
            object["outcome"] = json!("same_decisions");
        }
        object["trees"] = json!({"before": before.trees, "after": after.trees});
        object["band"] = json!(pruning.pruned.band);
        text = format!(
            "{} trees -> {}: the same decisions on every input, proved\n{text}",
            before.trees, after.trees
        );
        text = text.replace("same bits on every input:", "the pruned model, bit for bit:");
    }
    let text = if command.json { json_text(&object)? } else { fit_stdout(&text) };
    files.finish(&text)?;
    let interrupted = pruning.as_ref().is_some_and(|pruning| pruning.interrupted);
    if interrupted {
        verbosity.note("note: interrupted; the best model that was proved by then is packed");
        return Ok(Ending::Interrupted);
    }
    let done =
        pruning.is_none_or(|pruning| pruning.pruned.outcome != secateur::prune::Outcome::BudgetReached);
    Ok(if done { Ending::Done } else { Ending::Undecided })
}

/// The kind of output, from the ending of OUT.
#[derive(Clone, Copy)]
enum Kind {
    File,
    Source(SourceForm),
}

impl Kind {
    fn of(command: &Pack) -> Result<Self> {
        let ending = command.output.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        let kind = match ending.to_ascii_lowercase().as_str() {
            "spk" => Self::File,
            "c" => Self::Source(SourceForm::C),
            "h" => Self::Source(SourceForm::Header),
            "rs" => Self::Source(SourceForm::Rust),
            "wasm" => Self::Source(SourceForm::Wasm),
            _ => bail!(
                "{}: the name of a packed model ends with .spk, with .c, .h or .rs for source, or with .wasm for WebAssembly",
                command.output.display()
            ),
        };
        let source = [
            ("--name", command.name.is_some()),
            ("--test", command.test.is_some()),
            ("--leaves", command.leaf_bits().is_some()),
            ("--keys", command.keys),
            ("--layout", command.layout.0 != SourceLayout::Compact),
            ("--probabilities", command.probabilities),
        ];
        for (option, given) in source {
            if given && matches!(kind, Self::File) {
                bail!(
                    "{option} is for a model as source (-o model.c); `secateur self-test` tests a .spk file"
                );
            }
        }
        if command.contributions && !matches!(kind, Self::File) {
            bail!("--contributions is for a .spk file, which Python and Rust compute them from");
        }
        let quantised = [
            ("--same-decisions", command.same_decisions),
            ("--domain", command.domain.is_some()),
            ("--no-missing", command.no_missing),
            ("--threads", command.threads.is_some()),
        ];
        for (option, given) in quantised {
            if given && command.leaf_bits().is_none() {
                bail!("{option} goes with --leaves 16 or 8: without these the bits are the library's");
            }
        }
        if command.keys && matches!(kind, Self::Source(SourceForm::Wasm)) {
            bail!(
                "--keys is for C and Rust on machines that compute floats in software; every WebAssembly engine compares floats"
            );
        }
        if command.layout.0 != SourceLayout::Compact && matches!(kind, Self::Source(SourceForm::Wasm)) {
            bail!("--layout is for C and Rust: a WebAssembly module has one layout");
        }
        if command.name.is_some() && matches!(kind, Self::Source(SourceForm::Rust | SourceForm::Wasm)) {
            bail!(
                "--name is for C: in Rust and WebAssembly the functions are `raw` and `class` of a module, which has the file's name"
            );
        }
        Ok(kind)
    }
}

/// The result.
enum Made {
    File(Packing),
    Source(SourcePacking),
    Leaves(Box<QuantisedPacking>),
}

/// How long the search for a smaller bound takes if no time limit is given.
const LEAVES_TIME: Duration = Duration::from_secs(60);

/// Writes source with quantised leaves.
fn leaves(
    command: &Pack,
    form: SourceForm,
    original: &ModelFile,
    pruning: Option<&Pruning>,
    budget: &Budget,
    verbosity: Verbosity,
) -> Result<Result<Made, PackingError>> {
    let Some(bits) = command.leaf_bits() else { bail!("--leaves is missing") };
    let mut options = LeafOptions::new(bits);
    options.domain = command.domain(original)?;
    options.same_decisions = command.same_decisions;
    options.threads = command.threads;
    // A given time limit covers everything that the command does.
    let own = match command.time_limit {
        Some(_) => budget.clone(),
        None => Budget::limit(LEAVES_TIME),
    };
    let shared = Arc::default();
    let file = file_name(command);
    let name = prefix(command, &file);
    let source = source_options(command, form, &file, &name);
    let packed = crate::verify::watched(&shared, verbosity, || {
        pack_quantised(original, pruning, &source, &options, &own, &shared, &mut |_| true)
    });
    Ok(packed.map(|packed| Made::Leaves(Box::new(packed))))
}

fn file_name(command: &Pack) -> String {
    command.output.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn prefix(command: &Pack, file: &str) -> String {
    command.name.clone().unwrap_or_else(|| SourceOptions::name_of(file))
}

fn source_options<'a>(
    command: &'a Pack,
    form: SourceForm,
    file: &'a str,
    name: &'a str,
) -> SourceOptions<'a> {
    SourceOptions {
        form,
        name,
        labels: None,
        file,
        keys: command.keys,
        layout: command.layout.0,
        probabilities: command.probabilities,
        test: command.test.is_some(),
    }
}

fn made(
    command: &Pack,
    kind: Kind,
    original: &ModelFile,
    pruning: Option<&Pruning>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Made, PackingError> {
    let form = match kind {
        Kind::File => {
            let packing = match pruning {
                Some(pruning) => pack_pruned(original, pruning, watch),
                None if command.contributions => pack_with_covers(original, None, watch),
                None => pack_watched(original, None, watch),
            };
            return packing.map(Made::File);
        }
        Kind::Source(form) => form,
    };
    let file = file_name(command);
    let name = prefix(command, &file);
    let options = source_options(command, form, &file, &name);
    let source = match pruning {
        Some(pruning) => pack_source_pruned(original, pruning, &options, watch),
        None => pack_source(original, &options, watch),
    };
    source.map(Made::Source)
}

/// `-o model.c` also writes model.h, which the user did not name: a file of the user's own is not
/// overwritten.
fn refuse_another_file(path: &Path, what: &str, start: &str) -> Result<()> {
    match std::fs::read(path) {
        Ok(bytes) if !bytes.starts_with(start.as_bytes()) => bail!(
            "{}: {what} of the packed model would go there, and this file is something else; give OUT another name, \
             or remove it",
            path.display()
        ),
        _ => Ok(()),
    }
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
pub(crate) fn self_test(command: &SelfTest, verbosity: Verbosity) -> Result<Ending> {
    let budget = Budget::maybe(command.time_limit.map(|limit| limit.0));
    let shown = command.file.display();
    let bytes = std::fs::read(&command.file).with_context(|| format!("{shown}: cannot be read"))?;
    let model = Model::load(&bytes).map_err(|error| anyhow!("{shown}: {error}"))?;
    let mut progress = Progress::start(verbosity);
    let mut watch = tested(&mut progress, budget.deadline());
    // The search for the rows takes about a fifth of the time.
    let test = match model.cover_rows_watched(&mut |share| watch(0.2 * share)) {
        Some(cover) => model.self_test_on(&cover, &mut |share| watch(0.2 + 0.8 * share)),
        None => Ok(None),
    };
    drop(watch);
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
