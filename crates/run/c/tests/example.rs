//! The C example, compiled against the header and the static library, gives the bits of the runtime
//! itself, and the right code for every refusal.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "../../../test/testkit/src/command.rs"]
#[allow(unreachable_pub, dead_code, reason = "the test kit offers it to others")]
mod command;

use command::Limited;
use secateur_runtime::{Model, Rows};

/// The model of `secateur demo`, packed: `secateur demo --dir D; secateur pack D/loans.txt -o
/// model.spk`.
const MODEL: &[u8] = include_bytes!("model.spk");

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-example");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The static library of this build, which cargo writes beside the test's folder, or the library
/// that `python3 tests/run.py c` has built.
fn library() -> PathBuf {
    if let Some(given) = std::env::var_os("SECATEUR_C_LIBRARY") {
        return given.into();
    }
    let here = std::env::current_exe().unwrap();
    let deps = here.parent().unwrap();
    let found = std::fs::read_dir(deps).unwrap().map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libsecateur_c") && name.ends_with(".a")
    });
    found
        .max_by_key(|path| path.metadata().and_then(|file| file.modified()).unwrap())
        .expect("cargo builds the static library with the tests")
}

fn compiled() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder().join("predict");
    // A library with a sanitizer needs a program with one (`python3 tests/run.py sanitizer`).
    let more = std::env::var("SECATEUR_C_FLAGS").unwrap_or_default();
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(more.split_whitespace())
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(root.join("include"))
        .arg(root.join("example/predict.c"))
        .arg(library())
        .args(["-lpthread", "-lm", "-ldl", "-o"])
        .arg(&program)
        .finished();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(program: &Path, model: &[u8], words: &[&str]) -> Output {
    let path = folder().join("model.spk");
    std::fs::write(&path, model).unwrap();
    Command::new(program).arg(path).args(words).finished()
}

#[test]
fn the_c_example_gives_the_same_bits() {
    let program = compiled();
    let model = Model::load(MODEL).unwrap();
    let width = model.features();
    let cover = model.cover_rows();
    for row in cover.chunks(width).step_by(cover.len() / width / 5 + 1) {
        let words: Vec<String> = row.iter().map(|value| format!("{value:?}").to_lowercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run(&program, MODEL, &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let found: Vec<u64> = text
            .lines()
            .filter(|line| !line.starts_with("class"))
            .map(|line| line.parse::<f64>().unwrap().to_bits())
            .collect();
        let mut scores = vec![0.0; model.outputs()];
        model.raw_scores(Rows::row_major(row, width).unwrap(), &mut scores).unwrap();
        assert_eq!(found, scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>());
    }
    let mut broken = MODEL.to_vec();
    broken[100] ^= 1;
    let row = vec!["0"; width];
    assert_eq!(run(&program, &broken, &row).status.code(), Some(2));
    assert_eq!(run(&program, b"", &row).status.code(), Some(2));
}

/// `secateur pack testdata/models/catboost/several_labels.cbm -o labels.spk`.
const LABELS: &[u8] = include_bytes!("labels.spk");

#[test]
fn labels_have_values_and_probabilities_of_their_own() {
    use secateur_c::*;
    let mut model = std::ptr::null_mut();
    let mut message = [0u8; 200];
    let (text, room) = (message.as_mut_ptr().cast(), message.len());
    // SAFETY: each pointer points to what its parameter requires. The memory after the first three
    // numbers stays unchanged.
    unsafe {
        assert_eq!(secateur_load(LABELS.as_ptr(), LABELS.len(), &mut model, text, room), 0);
        assert_eq!((secateur_outputs(model), secateur_classes(model)), (3, 0));
        let scores = [0.5, -0.25, 0.0];
        let mut out = [-1.0; 6];
        let found = out.as_mut_ptr();
        assert_eq!(secateur_label_probabilities(model, scores.as_ptr(), 1, found, text, room), 0);
        let expected = scores.map(|score: f64| 1.0 / (1.0 + (-score).exp()));
        assert!(
            out.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15),
            "{out:?}"
        );
        assert_eq!(out[3..], [-1.0; 3]);
        assert_eq!(secateur_values(model, scores.as_ptr(), 1, found, text, room), 0);
        assert_eq!(out, [1.0, 0.0, 0.0, -1.0, -1.0, -1.0]);
        // A row may get several labels, so that no class is chosen and none has a probability:
        // nothing is written.
        let mut class = 7;
        assert_eq!(secateur_decide(model, scores.as_ptr(), 1, &mut class, text, room), 3);
        assert_eq!(secateur_probabilities(model, scores.as_ptr(), 1, found, text, room), 3);
        assert_eq!((out[0], class), (1.0, 7));
        assert_eq!(secateur_self_test(model, text, room), 0);
        secateur_free(model);
        // A model with classes has no labels.
        assert_eq!(secateur_load(MODEL.as_ptr(), MODEL.len(), &mut model, text, room), 0);
        assert_eq!(secateur_label_probabilities(model, scores.as_ptr(), 1, found, text, room), 3);
        assert_eq!(secateur_probabilities(model, scores.as_ptr(), 1, found, text, room), 0);
        assert_eq!((out[0] + out[1], out[2]), (1.0, 0.0));
        secateur_free(model);
    }
}

#[test]
fn null_pointers_and_wrong_sizes_are_refused() {
    use secateur_c::*;
    let mut message = [0i8; 80];
    let room = message.len();
    let mut model = std::ptr::null_mut();
    // SAFETY: null pointers are allowed and refused; the others point to what their parameters
    // require.
    unsafe {
        assert_eq!(secateur_load(std::ptr::null(), 3, &mut model, message.as_mut_ptr().cast(), room), 1);
        assert_eq!(secateur_load(MODEL.as_ptr(), 20, &mut model, message.as_mut_ptr().cast(), room), 2);
        assert!(message[0] != 0 && model.is_null());
        assert_eq!(secateur_load(MODEL.as_ptr(), MODEL.len(), &mut model, std::ptr::null_mut(), 0), 0);
        let width = secateur_features(model);
        let row = vec![0.0f64; width];
        let mut scores = vec![0.0f64; secateur_outputs(model)];
        let scores_at = scores.as_mut_ptr();
        let short = message.as_mut_ptr().cast();
        assert_eq!(secateur_raw_scores_f64(model, row.as_ptr(), 1, width, 1, 1, scores_at, short, room), 0);
        assert_eq!(message[0], 0);
        let huge = usize::MAX / 2;
        assert_eq!(
            secateur_raw_scores_f64(model, row.as_ptr(), huge, width, 1, 1, scores_at, short, room),
            1
        );
        assert_eq!(secateur_raw_scores_f64(model, std::ptr::null(), 1, width, 1, 1, scores_at, short, 5), 1);
        assert_eq!(message[4], 0, "a short message ends inside its room");
        assert_eq!(
            secateur_raw_scores_f64(std::ptr::null(), row.as_ptr(), 1, width, 1, 1, scores_at, short, room),
            1
        );
        assert_eq!(secateur_self_test(model, short, room), 0);
        secateur_free(model);
        secateur_free(std::ptr::null_mut());
        assert_eq!(secateur_features(std::ptr::null()), 0);
    }
}
