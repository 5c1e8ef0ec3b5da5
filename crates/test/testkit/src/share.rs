//! The share of a long test that is run: `make test` runs a share of all seeds and cases, always
//! the first ones, and `make test-all` runs all.
//!
//! `SECATEUR_TEST_SHARE` is this share in percent. The tests in Python read the same variable
//! (`python/tests/share.py`).

use std::sync::OnceLock;

/// What is run of long tests where nobody says otherwise.
const STANDARD: usize = 25;

fn percent() -> usize {
    static PERCENT: OnceLock<usize> = OnceLock::new();
    *PERCENT.get_or_init(|| match std::env::var("SECATEUR_TEST_SHARE") {
        Ok(text) => {
            let percent = text.parse().ok().filter(|percent| (1..=100).contains(percent));
            percent
                .unwrap_or_else(|| panic!("SECATEUR_TEST_SHARE: {text:?} is not a percentage from 1 to 100"))
        }
        Err(_) => STANDARD,
    })
}

/// The share of this number of seeds, cases or models; also the number that such a test must at
/// least have seen.
pub fn share(whole: usize) -> usize {
    (whole * percent()).div_ceil(100)
}

/// Is all of it run?
pub fn is_whole() -> bool {
    percent() == 100
}

/// In a long row of small cases, every n-th is run for this n.
pub fn one_in() -> usize {
    100 / percent()
}
