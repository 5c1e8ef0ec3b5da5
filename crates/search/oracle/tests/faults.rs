//! A search that goes wrong on purpose: the checker refuses its false certificates. And a release
//! has no such search.
//!
//! A binary of its own, since a fault is one switch for the whole process.
#![cfg(debug_assertions)]

use std::path::Path;
use std::process::Command;

use fastrand::Rng;
use secateur_checker::{Limits, Verdict, check};
use secateur_model::{Ensemble, Grid, Order, Predictor};
use secateur_oracle::{Band, Comparison, Fault, Options, exact_class, with_fault};
use secateur_testkit::{Limited, Shape, ensemble, every_row, leads_by_more_than, mutate};

fn pair(seed: u64, features: u32) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let mut shape = Shape::random(&mut rng);
    shape.features = features;
    shape.categorical = shape.categorical.min(1);
    shape.trees = rng.u32(5..=9);
    shape.depth = 2;
    shape.thresholds = if features > 3 { 1 } else { 2 };
    shape.intake.missing = true;
    shape.accumulation.order = Order::File;
    let first = ensemble(&mut rng, &shape);
    let second = mutate(&mut rng, &first);
    (first, second)
}

fn claim_is_true(first: &Ensemble, second: &Ensemble, band: Option<f64>) -> bool {
    let grid = Grid::new(&[first, second]).unwrap();
    let predictor = Predictor::new(second);
    every_row(&grid).all(|row| {
        let winner = exact_class(first, &row);
        match band {
            None => exact_class(second, &row) == winner,
            Some(band) => {
                !leads_by_more_than(first, &row, winner, band)
                    || predictor.classes(&row).unwrap()[0] == winner
            }
        }
    })
}

#[test]
fn what_a_broken_oracle_certifies_is_refused() {
    for (fault, small_boxes, few) in [
        (Fault::SkipBox, false, 10),
        (Fault::DropPair, false, 10),
        (Fault::LoosenBound, false, 50),
        (Fault::IgnoreMissing, false, 10),
        (Fault::SkipChoices, true, 10),
        (Fault::MergeTooMuch, true, 10),
        (Fault::SpareTooLittle, true, 10),
    ] {
        // Small boxes with more than two open axes take more columns.
        let features = if small_boxes { 5 } else { 3 };
        let (mut false_claims, mut lucky) = (0, 0);
        // Few small boxes need fixed axes.
        let seeds = if fault == Fault::SkipChoices { 1_500 } else { 700 };
        for seed in 0..seeds {
            let (first, second) = pair(seed, features);
            if Grid::new(&[&first, &second]).unwrap().log10_cells() > 2.8 {
                continue;
            }
            let band = if seed % 2 == 0 { Band::Auto } else { Band::Exact };
            // The search over boxes alone: the layers before it would find the counterexample.
            let options = Options { shortcuts: false, small_boxes, ..Options::unlimited() };
            let certificate = with_fault(fault, || {
                let comparison = Comparison::new(&first, &second, band).ok()?;
                let score = (band == Band::Auto).then(|| comparison.band());
                let (_, certificate) = comparison.certify(&options, Vec::new()).unwrap();
                Some((score, certificate?.finish(true).unwrap()))
            });
            let Some((score, bytes)) = certificate else { continue };
            let verdict = check(&first, &second, &bytes[..], &Limits::default()).unwrap();
            let accepted = matches!(verdict, Verdict::Valid(_));
            if claim_is_true(&first, &second, score) {
                lucky += u32::from(accepted);
                continue;
            }
            false_claims += 1;
            assert!(!accepted, "{fault:?}, seed {seed}: a false claim was accepted");
        }
        println!("{fault:?}: {false_claims} false certificates refused, {lucky} true ones accepted");
        assert!(false_claims >= few, "{fault:?}: {false_claims} false certificates are a weak test");
    }
}

/// The hooks for tests are compiled with debug assertions only: the compiled files contain the
/// names of their environment variables, or do not.
#[test]
fn a_release_has_neither_faults_nor_pauses() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // `fault.rs` compiles without the rest of the crate; `pause.rs` needs the two types that it
    // uses.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let crate_root = folder.join("hooks.rs");
    let module =
        |name: &str| format!("#[path = {:?}]\npub mod {name};\n", source.join(name).with_extension("rs"));
    let text = format!("#![allow(dead_code)]\n{}{}{}", module("fault"), module("pause"), module("stop"));
    std::fs::write(&crate_root, text).unwrap();
    for assertions in [true, false] {
        let object = folder.join(format!("hooks-{assertions}.o"));
        let output = Command::new(&rustc)
            .args([
                "--edition",
                "2024",
                "--crate-type",
                "lib",
                "--crate-name",
                "hooks",
                "--emit",
                "obj",
                "-O",
            ])
            .args(["-C", "link-dead-code", "-C", &format!("debug-assertions={assertions}"), "-o"])
            .args([&object, &crate_root])
            .finished();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let code = std::fs::read(&object).unwrap();
        for name in ["SECATEUR_TEST_FAULT", "SECATEUR_TEST_PAUSE"] {
            let found = code.windows(name.len()).any(|bytes| bytes == name.as_bytes());
            assert_eq!(found, assertions, "{name} with debug assertions = {assertions}");
        }
    }
}
