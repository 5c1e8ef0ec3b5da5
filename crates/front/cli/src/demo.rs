//! `secateur demo`: the main job on a small built-in model and table (`secateur::demo`), start to
//! finish.
//!
//! Every command that is shown is really run, exactly as printed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::arguments::{Arguments, Demo, Verbosity};
use crate::output::{Output, print, tell};
use secateur::internal::text::counted;

const MODEL: (&str, &[u8]) = ("loans.txt", secateur::demo::MODEL);
const TABLE: (&str, &[u8]) = ("loans.csv", secateur::demo::TABLE);
const PRUNED: &str = "loans-pruned.txt";
const PROOF: &str = "loans.cert";
const TARGET: &str = "repaid";

pub(crate) fn run(command: &Demo, verbosity: Verbosity) -> Result<()> {
    let folder = &command.dir;
    fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
    let place = |name: &str| folder.join(name).display().to_string();
    let (model, table) = (place(MODEL.0), place(TABLE.0));
    let (pruned, proof) = (place(PRUNED), place(PROOF));

    tell("A LightGBM model that tells which loans will be repaid, and a table of 200 loans.\n\n")?;
    put(Path::new(&model), MODEL.1)?;
    put(Path::new(&table), TABLE.1)?;

    tell(
        "\nWhich trees does it need? The table is where the search starts; the answer is for every input.\n\n",
    )?;
    let prune =
        ["prune", &model, "-o", &pruned, "--data", &table, "--target", TARGET, "--certificate", &proof];
    show(&prune, verbosity)?;

    tell(
        "\nIs that so? A separate program goes over the proof; it shares with the search how files are read, nothing else:\n\n",
    )?;
    check(&[&model, &pruned, &proof])?;

    tell(&format!(
        "\nLightGBM loads the new file as any other: lightgbm.Booster(model_file={pruned:?}). The files:\n\n  \
         {model}\n  {table}\n  {pruned}\n  {proof}\n\nWhat else: secateur verify {model} {pruned}, secateur inspect {model}, secateur domain {table} --target {TARGET} (not every input can occur), secateur --help.\n"
    ))
}

/// Prints a command of the checker and runs it.
fn check(words: &[&str]) -> Result<()> {
    print(&format!("$ secateur-check {}\n", line(words)))?;
    let arguments = [&["secateur-check"], words].concat().into_iter().map(std::ffi::OsString::from);
    match crate::check(arguments) {
        0 => Ok(()),
        _ => bail!("the checker refuses the proof; this is a bug, please report it"),
    }
}

/// The words as one would type them in a shell.
fn line(words: &[&str]) -> String {
    let quoted = |word: &&str| match word.contains(char::is_whitespace) {
        true => format!("'{word}'"),
        false => (*word).to_owned(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Prints a command and runs it.
fn show(words: &[&str], verbosity: Verbosity) -> Result<()> {
    print(&format!("$ secateur {}\n", line(words)))?;
    let quiet: &[&str] = if verbosity == Verbosity::Quiet { &["-q"] } else { &[] };
    let arguments = Arguments::try_parse_from([&["secateur"], words, quiet].concat())?;
    crate::run_command(&arguments)?;
    Ok(())
}

/// Writes a file of the demo. An existing file is left alone if it is the same; otherwise the demo
/// stops.
fn put(path: &Path, content: &[u8]) -> Result<()> {
    let shown = path.display();
    match fs::read(path) {
        Ok(found) if found == content => return tell(&format!("{shown} is there already\n")),
        Ok(_) => bail!("{shown}: another file is in the way; move it, or choose a folder with --dir"),
        Err(_) => {}
    }
    let mut output = Output::open(Some(path))?;
    output.write(content)?;
    output.finish()?;
    tell(&format!("{shown} written, {}\n", counted(content.len() as u64, "byte", "bytes")))
}
