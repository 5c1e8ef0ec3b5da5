//! The reader of certificates and the checker, about two models that differ.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    secateur_testkit::fuzz::Target::Certificate.check(bytes);
});
