//! The `secateur-check` binary; everything is in the library, which the Python package shares.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(secateur_check::run(std::env::args_os()))
}
