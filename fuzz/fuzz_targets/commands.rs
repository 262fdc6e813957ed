//! See `engine::fuzzing::commands`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzzing::commands(data));
