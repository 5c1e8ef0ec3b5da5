//! Sizes that exceed any memory, and null pointers: every function returns a code, and neither
//! reads nor writes anything.

use std::ffi::c_char;
use std::ptr::{null, null_mut};

use secateur_c::*;
use secateur_runtime::Model;

const BAD_ARGUMENT: i32 = 1;
/// Counts that overflow as a number of bytes, as `isize`, or as `usize` once they are multiplied.
const SIZES: [usize; 5] =
    [usize::MAX, usize::MAX / 8 + 1, usize::MAX / 4 + 1, usize::MAX / 2 + 1, isize::MAX as usize];

fn loaded(bytes: &[u8]) -> *mut Model {
    let mut model = null_mut();
    // SAFETY: the bytes and the place for the model are valid.
    assert_eq!(unsafe { secateur_load(bytes.as_ptr(), bytes.len(), &mut model, null_mut(), 0) }, 0);
    model
}

/// The code and the message of a call.
fn said(call: impl FnOnce(*mut c_char, usize) -> i32) -> (i32, String) {
    let mut room = [0u8; 200];
    let code = call(room.as_mut_ptr().cast(), room.len());
    let end = room.iter().position(|&byte| byte == 0).unwrap();
    (code, String::from_utf8_lossy(&room[..end]).into_owned())
}

#[track_caller]
fn bad(call: impl FnOnce(*mut c_char, usize) -> i32, words: &str) {
    let (code, text) = said(call);
    assert_eq!((code, text.contains(words)), (BAD_ARGUMENT, true), "{code}: {text}");
}

#[test]
fn sizes_that_no_memory_has_room_for_are_bad_arguments() {
    let words = "do not fit into memory";
    let (row, wide) = ([0f32; 64], [0f64; 64]);
    let (mut out, mut classes) = ([0f64; 64], [0u32; 64]);
    for bytes in [&include_bytes!("model.spk")[..], include_bytes!("labels.spk")] {
        let model = loaded(bytes);
        // SAFETY: these calls are wrong in ways that the functions must notice before they use any
        // memory.
        unsafe {
            // A slice may have `isize::MAX` bytes.
            for size in &SIZES[..4] {
                let mut other = null_mut();
                if isize::try_from(*size).is_err() {
                    bad(|m, r| secateur_load(bytes.as_ptr(), *size, &mut other, m, r), words);
                }
            }
            for size in SIZES {
                let (scores, o) = (wide.as_ptr(), out.as_mut_ptr());
                bad(|m, r| secateur_raw_scores_f32(model, row.as_ptr(), size, 64, 1, 1, o, m, r), words);
                bad(|m, r| secateur_raw_scores_f64(model, scores, size, 64, 1, 1, o, m, r), words);
                // With a row stride of 0 all rows are the same one, but the scores have no room.
                bad(|m, r| secateur_raw_scores_f64(model, scores, size, 0, 1, 1, o, m, r), words);
                bad(|m, r| secateur_raw_scores_f64(model, scores, 2, size, 1, 1, o, m, r), words);
                bad(|m, r| secateur_raw_scores_f64(model, scores, 1, 1, size, 1, o, m, r), words);
                bad(|m, r| secateur_decide(model, scores, size, classes.as_mut_ptr(), m, r), words);
                bad(|m, r| secateur_probabilities(model, scores, size, o, m, r), words);
                bad(|m, r| secateur_label_probabilities(model, scores, size, o, m, r), words);
                bad(|m, r| secateur_values(model, scores, size, o, m, r), words);
            }
            secateur_free(model);
        }
    }
}

#[test]
fn null_pointers_are_bad_arguments() {
    let model = loaded(include_bytes!("model.spk"));
    let (scores, mut out) = ([0f64; 64], [0f64; 64]);
    let (scores, o) = (scores.as_ptr(), out.as_mut_ptr());
    let mut place = null_mut();
    // SAFETY: as above.
    unsafe {
        bad(|m, r| secateur_load(null(), 1, &mut place, m, r), "NULL");
        bad(|m, r| secateur_load([0u8].as_ptr(), 1, null_mut(), m, r), "NULL");
        bad(|m, r| secateur_raw_scores_f32(model, null(), 1, 1, 1, 1, o, m, r), "NULL");
        bad(|m, r| secateur_raw_scores_f64(model, null(), 1, 1, 1, 1, o, m, r), "NULL");
        bad(|m, r| secateur_raw_scores_f64(model, scores, 1, 1, 1, 1, null_mut(), m, r), "NULL");
        for (of, from, to) in
            [(null(), scores, o), (model.cast_const(), null(), o), (model, scores, null_mut())]
        {
            bad(|m, r| secateur_decide(of, from, 1, to.cast(), m, r), "NULL");
            bad(|m, r| secateur_probabilities(of, from, 1, to, m, r), "NULL");
            bad(|m, r| secateur_label_probabilities(of, from, 1, to, m, r), "NULL");
            bad(|m, r| secateur_values(of, from, 1, to, m, r), "NULL");
        }
        bad(|m, r| secateur_self_test(null(), m, r), "NULL");
        assert_eq!(
            (secateur_features(null()), secateur_outputs(null()), secateur_classes(null())),
            (0, 0, 0)
        );
        secateur_free(null_mut());
        // Without a buffer for the message.
        assert_eq!(secateur_self_test(null(), null_mut(), usize::MAX), BAD_ARGUMENT);
        secateur_free(model);
    }
}
