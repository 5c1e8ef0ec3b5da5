//! `secateur demo`: the main job on a small model and table of our own (see `demo/make.py`), start to finish.
//!
//! Every command that is shown is run as it stands there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::arguments::{Arguments, Demo, Talk};
use crate::output::{Output, print};
use crate::text::counted;

const MODEL: (&str, &[u8]) = ("loans.txt", include_bytes!("../demo/loans.txt"));
const TABLE: (&str, &[u8]) = ("loans.csv", include_bytes!("../demo/loans.csv"));
const PRUNED: &str = "loans-pruned.txt";
const TARGET: &str = "repaid";

pub(crate) fn run(command: &Demo, talk: Talk) -> Result<()> {
    let folder = &command.dir;
    fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
    let place = |name: &str| folder.join(name).display().to_string();
    let (model, table, pruned) = (place(MODEL.0), place(TABLE.0), place(PRUNED));

    print("A LightGBM model that tells which loans will be repaid, and a table of 200 loans.\n\n")?;
    put(Path::new(&model), MODEL.1)?;
    put(Path::new(&table), TABLE.1)?;

    print(
        "\nWhich trees does it need? The table is where the search starts; the answer is for every input.\n\n",
    )?;
    show(&["prune", &model, "-o", &pruned, "--data", &table, "--target", TARGET], talk)?;

    print("\nIs that so? From the two files alone:\n\n")?;
    show(&["verify", &model, &pruned], talk)?;

    print(&format!(
        "\nLightGBM loads the new file as any other: lightgbm.Booster(model_file={pruned:?}). The files:\n\n  \
         {model}\n  {table}\n  {pruned}\n\nWhat else: secateur inspect {model}, secateur --help.\n"
    ))
}

/// Prints a command and runs it.
fn show(words: &[&str], talk: Talk) -> Result<()> {
    let quoted = |word: &&str| match word.contains(char::is_whitespace) {
        true => format!("'{word}'"),
        false => (*word).to_owned(),
    };
    print(&format!("$ secateur {}\n", words.iter().map(quoted).collect::<Vec<_>>().join(" ")))?;
    let quiet: &[&str] = if talk == Talk::Quiet { &["-q"] } else { &[] };
    let arguments = Arguments::try_parse_from([&["secateur"], words, quiet].concat())?;
    crate::run_command(&arguments)?;
    Ok(())
}

/// Writes a file of the demo; one that is there already is left alone if it is the same, else nothing
/// is done.
fn put(path: &Path, content: &[u8]) -> Result<()> {
    let shown = path.display();
    match fs::read(path) {
        Ok(found) if found == content => return print(&format!("{shown} is there already\n")),
        Ok(_) => bail!("{shown}: another file is in the way; move it, or choose a folder with --dir"),
        Err(_) => {}
    }
    let mut output = Output::open(Some(path))?;
    output.write(content)?;
    output.finish()?;
    print(&format!("{shown} written, {}\n", counted(content.len() as u64, "byte", "bytes")))
}
