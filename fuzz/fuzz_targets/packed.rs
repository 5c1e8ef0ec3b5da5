//! The reader of packed models, what the runtime makes of it, and all that follows a successful reading.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    secateur_testkit::fuzz::Target::Packed.check(bytes);
});
