//! See `engine::fuzzing::log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzzing::log(data));
