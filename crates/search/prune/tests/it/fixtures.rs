//! Prunes real files of every format: the result is a file of that format that decides alike.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fastrand::Rng;
use secateur_formats::ModelFile;
use secateur_model::{CellId, Grid, Predictor};
use secateur_oracle::{Band, Comparison};
use secateur_prune::{Config, Effort, Fate, Moves, PruneError, Watch, certain_winner, prune};
use secateur_testkit::all_of;

fn fixtures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (folder, extensions) in [
        ("models/xgboost", &["json", "ubj"][..]),
        ("models/lightgbm", &["txt"]),
        ("models/sklearn", &["skops"]),
        ("models/onnx", &["onnx"]),
    ] {
        found.extend(all_of(folder, extensions, 1));
    }
    found.sort();
    found
}

/// Compares decisions on inputs from random cells, which include thresholds, categories and missing
/// values.
fn check_on_random_cells(original: &ModelFile, pruned: &ModelFile, band: f64, name: &str) {
    let (first, second) = (original.ensemble(), pruned.ensemble());
    let grid = Grid::new(&[first, second]).unwrap();
    let predictors = [Predictor::new(first), Predictor::new(second)];
    let mut rng = Rng::with_seed(7);
    for _ in 0..300 {
        let cells: Vec<CellId> =
            grid.axes().iter().map(|axis| CellId::new(rng.usize(0..axis.len()))).collect();
        let row = grid.witness(&cells);
        let read: Vec<f64> = row.iter().map(|&value| first.intake().read(value).unwrap()).collect();
        let sums = first.exact_sums(first.leaves(&read));
        if certain_winner(first, &sums, Some(band)).is_some() {
            let [a, b] = predictors.each_ref().map(|predictor| predictor.classes(&row).unwrap()[0]);
            assert_eq!(a, b, "{name}: {row:?}");
        }
    }
}

#[test]
fn every_fixture_is_pruned_to_a_file_that_decides_alike() {
    let (mut runs, mut smaller) = (0, 0);
    for path in fixtures() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Some fixtures are files that readers must refuse.
        let Ok(file) = ModelFile::read(&path) else { continue };
        if file.ensemble().trees().len() > 40 {
            continue;
        }
        for moves in [Moves::Leaves, Moves::Weights] {
            let deadline = Some(Instant::now() + Duration::from_millis(700));
            let config = Config { effort: Effort::Thorough, moves, deadline, ..Config::default() };
            let pruned = match prune(&file, &[], &config, &Watch::default()) {
                Ok(pruned) => pruned,
                Err(PruneError::Compare(_)) => {
                    let refused = Comparison::new(file.ensemble(), file.ensemble(), Band::Auto).is_err();
                    assert!(refused, "{name}");
                    continue;
                }
                // An isolation forest has scores but no classes.
                Err(PruneError::NoClasses) if !file.ensemble().decision().is_classifier() => continue,
                Err(error) => panic!("{name}, {moves:?}: {error}"),
            };
            runs += 1;
            assert!(pruned.size[1].trees <= pruned.size[0].trees, "{name}");
            smaller += usize::from(pruned.size[1].trees < pruned.size[0].trees);
            let bytes = pruned.file.to_bytes();
            let read_back = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read_back.ensemble(), pruned.file.ensemble(), "{name}");
            if pruned.fates.iter().all(|fate| *fate == Fate::Kept) {
                assert!(bytes == file.to_bytes(), "{name}: unchanged, byte by byte");
            }
            check_on_random_cells(&file, &pruned.file, pruned.band, &name);
        }
    }
    assert!(runs > 60 && smaller > 10, "{runs} {smaller}");
}
