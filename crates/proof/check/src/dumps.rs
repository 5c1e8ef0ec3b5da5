//! `--dump DIR` and `--kernel DIR`: problems and proofs as files.

use std::fs;
use std::io;
use std::path::Path;

use secateur_kernel::{Limits, Refusal};
use serde_json::json;

use secateur_checker::{Answer, Dump, Unreadable, check_bounds_dump, check_dump};

/// Runs a check that writes its problems and proofs into a folder, which must be new or empty.
pub(super) fn write<T>(folder: &Path, check: impl FnOnce(&mut Dump<'_>) -> T) -> Result<T, String> {
    let told = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(told)?;
    if fs::read_dir(folder).map_err(told)?.next().is_some() {
        return Err(format!("{}: this folder has files in it; give a new or an empty one", folder.display()));
    }
    let mut write = |name: &str, text: &str| fs::write(folder.join(name), text);
    let mut dump = Dump::new(&mut write);
    let result = check(&mut dump);
    dump.finish().map_err(told)?;
    Ok(result)
}

/// Checks every problem in a folder. Returns a line for each, and the exit code.
pub(super) fn checked(folder: &Path, as_json: bool) -> Result<(String, u8), String> {
    let told = |error: io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(told)?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(told)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let unreadable = |name: String| {
        move |error: Unreadable| {
            format!("{}: line {}: {}", folder.join(&name).display(), error.line, error.what)
        }
    };
    let limits = Limits::default();
    let (mut text, mut lines, mut code) = (String::new(), Vec::new(), 0);
    let problems: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".problem")).collect();
    let proofs = names.iter().filter_map(|name| name.strip_suffix(".proof")).filter(|name| *name != "bounds");
    if let Some(alone) = proofs.clone().find(|name| !problems.contains(name)) {
        return Err(format!("{}: {alone}.proof has no {alone}.problem beside it", folder.display()));
    }
    let bounds = names.iter().any(|name| name == "bounds.proof");
    if problems.is_empty() && !bounds {
        return Err(format!("{}: this folder has no problems", folder.display()));
    }
    let mut answers = Vec::new();
    for name in problems {
        let (problem, proof) = (read(&format!("{name}.problem"))?, read(&format!("{name}.proof"))?);
        let answer =
            check_dump(&problem, &proof, &limits).map_err(unreadable(format!("{name}.problem or .proof")))?;
        answers.push((name.to_owned(), answer));
    }
    if bounds {
        let answer = check_bounds_dump(&read("bounds.proof")?, &limits)
            .map_err(unreadable("bounds.proof".to_owned()))?;
        answers.push(("bounds".to_owned(), answer));
    }
    let accepted = answers.iter().filter(|(_, answer)| matches!(answer, Answer::Proved(_))).count();
    for (name, answer) in &answers {
        let (word, own, step) = match answer {
            Answer::Proved(steps) => (format!("proved, {steps} steps"), 0, None),
            Answer::Refused(refusal, step) => {
                let incomplete = is_limit(refusal);
                let place = step.map_or_else(|| "at the end".to_owned(), |step| format!("at step {step}"));
                let word = if incomplete { "incomplete" } else { "refused" };
                (format!("{word} {place}: {refusal:?}"), if incomplete { 3 } else { 1 }, *step)
            }
        };
        // A refusal matters more than a limit.
        code = if code == 1 || own == 1 { 1 } else { code.max(own) };
        text += &format!("{name} {word}\n");
        let outcome = ["proved", "refused", "", "incomplete"][usize::from(own)];
        lines.push(json!({ "problem": name, "outcome": outcome, "step": step }));
    }
    text += &format!("{accepted} of {} proofs accepted\n", answers.len());
    if as_json {
        let object = json!({ "accepted": accepted, "proofs": answers.len(), "problems": lines });
        text = serde_json::to_string_pretty(&object).map_err(|error| error.to_string())? + "\n";
    }
    Ok((text, code))
}

/// Is the refusal only that of a limit, with nothing wrong so far?
fn is_limit(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::LimitOverlay { .. }
            | Refusal::LimitLenses { .. }
            | Refusal::LimitCells { .. }
            | Refusal::LimitJoin { .. }
            | Refusal::LimitMeet { .. }
            | Refusal::LimitCuts { .. }
            | Refusal::Stopped
    )
}
