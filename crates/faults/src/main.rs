//! The `secateur` command with a search that mistakes missing values for others.

use std::process::ExitCode;

use secateur_oracle::{Fault, with_fault};

fn main() -> ExitCode {
    ExitCode::from(with_fault(Fault::IgnoreMissing, || secateur_cli::run(std::env::args_os())))
}
