//! See `engine::fuzzing::lua`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzzing::lua(data));
