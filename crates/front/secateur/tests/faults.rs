//! A search that goes wrong on purpose, used through the facade: the checker, which always runs,
//! refuses the false proofs, and nothing is handed out. (`black_box/faults.rs` of the command line
//! and `test_faults.py` of Python do the same there.)
//!
//! A binary of its own, since a fault is one switch for the whole process.
#![cfg(debug_assertions)]

use std::sync::Mutex;

use secateur::{
    Budget, Conclusion, Error, ModelFile, PruneOptions, VerifyOptions, Watch, prune, prune::CertifyError,
    verify,
};
use secateur_oracle::{Fault, with_fault};

/// A model on which this fault makes the search keep too few trees.
const MODEL: &[u8] = include_bytes!("../../../../testdata/models/lightgbm/rf_multiclass.txt");

/// The fault is one switch for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn model() -> ModelFile {
    ModelFile::parse(MODEL).unwrap()
}

fn broken<T>(work: impl FnOnce() -> T) -> T {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    with_fault(Fault::IgnoreMissing, work)
}

fn pruned(self_check: bool) -> Result<secateur::Pruning, Error> {
    let options = PruneOptions { self_check, ..PruneOptions::default() };
    prune(&model(), &[], &options, &Budget::default(), &Watch::default())
}

#[test]
fn the_facade_hands_out_nothing() {
    match broken(|| pruned(true)) {
        Err(Error::Certify(CertifyError::Refused { .. })) => {}
        other => panic!("{other:?}"),
    }
}

/// Without the check the wrong model would get out: the test above tests something.
#[test]
fn the_fault_makes_the_search_go_wrong() {
    let wrong = broken(|| pruned(false)).unwrap();
    assert!(!wrong.checked());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let options = VerifyOptions::default();
    let answer =
        verify(&model(), wrong.file(), &[], &options, &Budget::default(), &Default::default()).unwrap();
    assert_eq!(answer.conclusion(), Conclusion::Refuted, "{answer:?}");
}
