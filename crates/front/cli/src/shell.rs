//! `secateur completions` and `secateur man`: completion scripts and manual pages, generated from
//! the definitions of the commands.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

use crate::arguments::{Arguments, Verbosity};
use crate::output;

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  secateur completions bash > completions && source completions
  secateur completions zsh > ~/.zfunc/_secateur
  secateur completions fish > ~/.config/fish/completions/secateur.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

/// Write a manual page for each command
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder for the pages, which is made if need be
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "secateur", &mut script);
        output::print(&String::from_utf8(script)?)
    }
}

impl Man {
    pub(crate) fn run(&self, verbosity: Verbosity) -> Result<()> {
        let dir = self.dir.display();
        fs::create_dir_all(&self.dir).with_context(|| format!("{dir}: the folder cannot be made"))?;
        let pages = clap_mangen::generate_to(Arguments::command(), &self.dir);
        pages.with_context(|| format!("{dir}: the pages cannot be written"))?;
        verbosity.note(format!("{dir}: a page for each command; read one with man {dir}/secateur.1"));
        Ok(())
    }
}
