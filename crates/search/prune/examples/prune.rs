//! Prunes model files and prints one line for each: sizes, outcome and time spent.
//!
//! ```text
//! cargo run --release -p secateur-prune --example prune --
//!     [--effort E] [--moves M] [--solver S] [--seconds S] FILE...
//! ```

use std::path::Path;
use std::time::{Duration, Instant};

use secateur_formats::ModelFile;
use secateur_prune::{Config, Effort, LinearSolver, Moves, Objective, Unit, Watch, prune};

fn main() {
    let mut config = Config::default();
    let mut seconds = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("an option has a value");
        match argument.as_str() {
            "--effort" => {
                config.effort = match value().as_str() {
                    "fast" => Effort::Fast,
                    "thorough" => Effort::Thorough,
                    "minimum" => Effort::Minimum,
                    other => panic!("unknown effort {other}"),
                }
            }
            "--moves" => {
                config.moves = match value().as_str() {
                    "leaves" => Moves::Leaves,
                    "weights" => Moves::Weights,
                    other => panic!("unknown moves {other}"),
                }
            }
            "--objective" => {
                config.objective = match value().as_str() {
                    "trees" => Objective::Trees,
                    "leaves" => Objective::Leaves,
                    "bytes" => Objective::Bytes,
                    other => panic!("unknown objective {other}"),
                }
            }
            "--unit" => {
                config.unit = Some(match value().as_str() {
                    "round" => Unit::Round,
                    "tree" => Unit::Tree,
                    other => panic!("unknown unit {other}"),
                })
            }
            "--solver" => {
                let name = value();
                let known = LinearSolver::all().find(|solver| solver.name() == name);
                config.solver = known.unwrap_or_else(|| panic!("unknown solver {name}"));
            }
            "--seconds" => seconds = Some(value().parse().expect("a number of seconds")),
            "--threads" => config.threads = value().parse().expect("a number of threads"),
            "--seed" => config.seed = value().parse().expect("a number"),
            path => one(path, &config, seconds),
        }
    }
}

fn one(path: &str, config: &Config, seconds: Option<f64>) {
    let file = match ModelFile::read(Path::new(path)) {
        Ok(file) => file,
        Err(error) => return println!("{path}: {error}"),
    };
    let started = Instant::now();
    let deadline = seconds.map(|seconds| started + Duration::from_secs_f64(seconds));
    let config = Config { deadline, ..config.clone() };
    match prune(&file, &[], &config, &Watch::default()) {
        Ok(pruned) => println!(
            "{path}: {:?} trees {} -> {} (at least {}{}), leaves {} -> {}, {:.2} s (fold {:.2}, lp {:.2}, \
             oracle {:.2}), {} calls, {} points",
            pruned.outcome,
            pruned.size[0].trees,
            pruned.size[1].trees,
            pruned.lower_bound,
            if pruned.irreducible { ", irreducible" } else { "" },
            pruned.size[0].leaves,
            pruned.size[1].leaves,
            started.elapsed().as_secs_f64(),
            pruned.seconds.fold,
            pruned.seconds.lp,
            pruned.seconds.oracle,
            pruned.oracle_calls,
            pruned.points,
        ),
        Err(error) => println!("{path}: {error}"),
    }
}
