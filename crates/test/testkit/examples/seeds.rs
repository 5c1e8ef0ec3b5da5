//! Writes the seeds of every fuzz target, and the inputs that once broke it, into a folder for each
//! target. `fuzz/run.py` starts from them.
//!
//! `cargo run -p secateur-testkit --example seeds -- fuzz/corpus`

use std::path::PathBuf;
use std::{env, fs, io};

use secateur_testkit::fuzz::Target;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).expect("the folder to write to"));
    for target in Target::ALL {
        let folder = folder.join(target.name());
        fs::create_dir_all(&folder)?;
        let regressions = target.regressions()?.into_iter().map(|(_, bytes)| bytes);
        for (number, seed) in target.seeds()?.into_iter().chain(regressions).enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
