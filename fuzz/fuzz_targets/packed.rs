//! Both readers of packed models, and all that follows a successful reading.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Without its checksum nothing of a file is looked at.
    let mut bytes = bytes.to_vec();
    secateur_formats::packed::File::seal(&mut bytes);
    secateur_testkit::fuzz::check(&bytes);
});
