//! The `secateur-check` binary; all of its code is in the library `secateur-check`, which the Python
//! package shares.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(secateur_cli::check(std::env::args_os()))
}
