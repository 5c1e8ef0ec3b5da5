//! The checker's reader of emitted source, and what compares it with a model.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    secateur_testkit::fuzz::Target::Source.check(bytes);
});
