//! The reader of CatBoost's binary format, and all that follows a successful reading.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    secateur_testkit::fuzz::Target::CatBoostBinary.check(bytes);
});
