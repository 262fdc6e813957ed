//! The Lua interpreter's own interface, for what every run of a script pays for: starting it, `redis.call` and
//! `redis.pcall`, and reading what it returned. The only module of the engine with `unsafe`; through the safe
//! interface of `mlua` the same work takes more than twice as long, most of it in handles for single strings.
//!
//! Always true:
//! - Lua raises an error by jumping over all frames between. A function here that says "may raise" is reached
//!   only from a function that Lua itself called, and no frame between holds anything that needs dropping.
//! - The host's side ([`start`], [`value`]) runs while no memory limit is in force. Then nothing it calls raises,
//!   for an allocation that fails ends the process; the script itself runs under `lua_pcall`.
//! - A panic of ours never reaches a frame of Lua: `call::serve` catches it.
//! - Bytes lent from a Lua string are used only while the string is on the stack and no Lua code runs.

#![allow(unsafe_code)]

mod call;
mod lists;
mod reply;
mod start;
mod value;

pub(super) use call::{Scratch, install};
pub(super) use start::{Ended, Failed, Home, Input};

use mlua::ffi::{lua_State, lua_pushlstring_};

/// Pushes a string. May raise while a memory limit is in force.
unsafe fn push_bytes(state: *mut lua_State, bytes: &[u8]) {
    // SAFETY: Lua copies the bytes; the caller keeps a free slot.
    unsafe { lua_pushlstring_(state, bytes.as_ptr().cast(), bytes.len()) };
}

/// The bytes of the string at `index`, which must be one: a number would be changed in place.
unsafe fn bytes_at<'a>(state: *mut lua_State, index: std::ffi::c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the value is a string, so Lua only hands out where its bytes are.
    unsafe {
        let at = mlua::ffi::lua_tolstring(state, index, &raw mut length);
        std::slice::from_raw_parts(at.cast(), length)
    }
}
