//! `secateur domain`: proposes which inputs can occur, from a table.
//!
//! The proposal is made by `secateur::propose`; this file has the flags and the reading and
//! writing.

use anyhow::{Result, anyhow, bail};
use secateur::propose;

use crate::arguments::{Domain, Verbosity};
use crate::output::{self, Output, json_text};
use crate::table::{MOST_VALUES, Table, Target};

pub(crate) fn run(command: &Domain, verbosity: Verbosity) -> Result<()> {
    if let Some(path) = &command.output {
        output::refuse_to_overwrite(path, &[(&command.table, "the table")])?;
    }
    let mut out = Output::open(command.output.as_deref())?;
    let (mut names, mut table) =
        Table::without_model(&command.table, command.target.as_deref(), &command.reading)?;
    table.header_note().into_iter().for_each(|note| verbosity.note(note));
    let (mut rows, _) = table.first_rows(usize::MAX, Target::Ignored)?;
    let path = command.table.display();
    if rows.len() >= MOST_VALUES {
        bail!("{path}: the table has more than {MOST_VALUES} values; give some of its rows");
    }
    if rows.is_empty() {
        bail!("{path}: the table has no rows, which suggest nothing");
    }
    // Texts are categories, and only a model knows which categories it accepts.
    let texts = table.text_columns();
    if !texts.is_empty() {
        let is_text = |column: usize| texts.iter().any(|&(text, _)| text == column);
        for &(column, first) in &texts {
            verbosity.note(format!(
                "note: column {:?} holds text (the first is {first:?}) and is left out: all of its values stay possible",
                names[column]
            ));
        }
        let width = names.len();
        rows =
            rows.iter().enumerate().filter(|(at, _)| !is_text(at % width)).map(|(_, &value)| value).collect();
        names = (0..width).filter(|&column| !is_text(column)).map(|column| names[column].clone()).collect();
    }
    if names.is_empty() {
        bail!("{path}: every column holds text, of which a domain says nothing");
    }
    let proposal = propose(&names, true, &rows).map_err(|error| anyhow!("{path}: {error}"))?;
    let in_file = command.output.is_some();
    if in_file || !command.json {
        out.write(proposal.toml().as_bytes())?;
    }
    out.finish()?;
    if command.json {
        output::print(&json_text(&proposal.json())?)?;
    } else if in_file {
        output::tell(&proposal.support.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    }
    verbosity.note(
        "note: this is what the table suggests; whoever uses it as a domain vouches that no other inputs occur",
    );
    Ok(())
}
