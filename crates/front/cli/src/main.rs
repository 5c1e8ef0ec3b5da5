//! The `secateur` binary; all of its code is in the library, which the Python package shares.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(secateur_cli::run(std::env::args_os()))
}
