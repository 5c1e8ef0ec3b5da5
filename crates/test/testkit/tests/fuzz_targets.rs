//! The files of `fuzz/fuzz_targets` compile, call the target of their name, and are all there. They
//! belong to a workspace of its own, which needs a nightly compiler and C++; here a macro takes the
//! place of libFuzzer's.

// What the files call `libfuzzer_sys` is this file.
extern crate self as libfuzzer_sys;

use std::collections::BTreeSet;
use std::path::Path;

use secateur_testkit::fuzz::Target;

/// What libFuzzer's macro does on stable Rust: a function of the bytes.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:block) => {
        pub(crate) fn fuzz($bytes: &[u8]) {
            $body
        }
    };
}

macro_rules! targets {
    ($($name:ident $path:literal,)*) => {
        $(#[path = $path] #[allow(unused_attributes)] mod $name;)*
        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::fuzz)),*];
    };
}

targets! {
    catboost_binary "../../../../fuzz/fuzz_targets/catboost_binary.rs",
    catboost_json "../../../../fuzz/fuzz_targets/catboost_json.rs",
    certificate "../../../../fuzz/fuzz_targets/certificate.rs",
    lightgbm "../../../../fuzz/fuzz_targets/lightgbm.rs",
    onnx "../../../../fuzz/fuzz_targets/onnx.rs",
    packed "../../../../fuzz/fuzz_targets/packed.rs",
    sklearn "../../../../fuzz/fuzz_targets/sklearn.rs",
    source "../../../../fuzz/fuzz_targets/source.rs",
    xgboost_json "../../../../fuzz/fuzz_targets/xgboost_json.rs",
    xgboost_ubj "../../../../fuzz/fuzz_targets/xgboost_ubj.rs",
}

#[test]
fn every_target_is_there_and_takes_its_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz");
    let listed: BTreeSet<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let known: BTreeSet<&str> = Target::ALL.iter().map(|target| target.name()).collect();
    let files: BTreeSet<String> = std::fs::read_dir(folder.join("fuzz_targets"))
        .expect("the folder can be read")
        .map(|entry| {
            entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect();
    assert_eq!(listed, known);
    assert_eq!(listed, files.iter().map(String::as_str).collect());
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest can be read");
    for target in Target::ALL {
        let path = format!("name = \"{0}\"\npath = \"fuzz_targets/{0}.rs\"\n", target.name());
        assert!(manifest.contains(&path), "fuzz/Cargo.toml lacks {}", target.name());
        let (_, fuzz) = TARGETS.iter().find(|(name, _)| *name == target.name()).expect("it is listed");
        fuzz(&target.seeds().expect("fixtures can be read")[0]);
        fuzz(b"");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), Target::ALL.len());
}
