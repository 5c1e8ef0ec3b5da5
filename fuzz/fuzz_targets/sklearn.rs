//! The reader of scikit-learn's skops archives, and all that follows a successful reading.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    secateur_testkit::fuzz::Target::Sklearn.check(bytes);
});
