//! The reader of ONNX, and all that follows a successful reading.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    secateur_testkit::fuzz::Target::Onnx.check(bytes);
});
