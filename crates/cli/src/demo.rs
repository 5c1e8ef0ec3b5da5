//! `secateur demo`: every command at work on a small model and table of our own (see `demo/make.py`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::arguments::{Demo, Inspect, Predict, Talk};
use crate::output::{Output, print};
use crate::text::counted;
use crate::{inspect, predict};

const MODEL: (&str, &[u8]) = ("loans.txt", include_bytes!("../demo/loans.txt"));
const TABLE: (&str, &[u8]) = ("loans.csv", include_bytes!("../demo/loans.csv"));
const TARGET: &str = "repaid";
/// How many predictions are shown.
const SHOWN: usize = 5;

pub(crate) fn run(command: &Demo, talk: Talk) -> Result<()> {
    let folder = &command.dir;
    fs::create_dir_all(folder).with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
    let place = |name: &str| folder.join(name);
    let (model, table) = (place(MODEL.0), place(TABLE.0));
    let (classes, scores) = (place("classes.csv"), place("scores.csv"));

    print("A LightGBM model that tells which loans will be repaid, and a table of 200 loans.\n\n")?;
    put(&model, MODEL.1)?;
    put(&table, TABLE.1)?;

    print(&format!("\nWhat is in this file?\n\n$ secateur inspect {}\n", model.display()))?;
    inspect::run(&Inspect { model: model.clone(), json: false }, talk)?;

    print("\nWhat does it predict? The column that holds the answer is no input.\n\n")?;
    let predicted = |raw: bool, output: &PathBuf| -> Result<String> {
        let flag = if raw { " --raw" } else { "" };
        let [shown_model, shown_table, shown_output] = [&model, &table, output].map(|path| path.display());
        print(&format!(
            "$ secateur predict {shown_model} --data {shown_table} --target {TARGET}{flag} -o {shown_output}\n"
        ))?;
        predict::run(
            &Predict {
                model: model.clone(),
                data: table.clone(),
                raw,
                output: Some(output.clone()),
                target: Some(TARGET.to_owned()),
            },
            Talk::Quiet,
        )?;
        fs::read_to_string(output).with_context(|| output.display().to_string())
    };
    let class_text = predicted(false, &classes)?;
    let score_text = predicted(true, &scores)?;

    let mut text = format!("\n  {:>8}  {:<24}{}\n", "class", "score", TARGET);
    let repaid = std::str::from_utf8(TABLE.1).context("the demo's table is text")?;
    let rows = class_text.lines().zip(score_text.lines()).zip(repaid.lines());
    for ((class, score), row) in rows.skip(1).take(SHOWN) {
        let repaid = row.rsplit(',').next().unwrap_or_default();
        text += &format!("  {class:>8}  {score:<24}{repaid}\n");
    }
    let rest = class_text.lines().count().saturating_sub(1 + SHOWN);
    text += &format!("  ... and {}\n", counted(rest as u64, "more", "more"));
    text += "\nThe scores are those of LightGBM's predict(raw_score=True) in every bit. The files:\n\n";
    for path in [&model, &table, &classes, &scores] {
        text += &format!("  {}\n", path.display());
    }
    print(&text)
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
