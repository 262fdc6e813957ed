//! `bit`: operations on 32-bit integers (Lua `BitOp` 1.0.2). Arguments are doubles taken modulo 2^32.

use mlua::{Lua, MultiValue, Table, Value};

use super::raise;

/// The `bit` table.
pub(crate) fn install(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    unary(lua, &table, "tobit", |b| b)?;
    unary(lua, &table, "bnot", |b| !b)?;
    unary(lua, &table, "bswap", u32::swap_bytes)?;
    fold(lua, &table, "band", |a, b| a & b)?;
    fold(lua, &table, "bor", |a, b| a | b)?;
    fold(lua, &table, "bxor", |a, b| a ^ b)?;
    shift(lua, &table, "lshift", |b, n| b << n)?;
    shift(lua, &table, "rshift", |b, n| b >> n)?;
    shift(lua, &table, "arshift", |b, n| (b.cast_signed() >> n).cast_unsigned())?;
    shift(lua, &table, "rol", u32::rotate_left)?;
    shift(lua, &table, "ror", u32::rotate_right)?;
    table.raw_set("tohex", lua.create_function(tohex)?)?;
    Ok(table)
}

/// The low 32 bits of the argument rounded to an integer; `index` counts from 1.
fn argument(lua: &Lua, args: &[Value], index: usize) -> mlua::Result<u32> {
    let number = raise::as_number(lua, args.get(index - 1));
    // Adding 2^52 + 2^51 leaves the integer in the low bits of the double, rounded to even.
    let bits = (number.unwrap_or(0.0) + 6_755_399_441_055_744.0).to_bits();
    let low = u32::try_from(bits & 0xffff_ffff).unwrap_or(0);
    if low == 0 && number.is_none() {
        let got = raise::type_name(args.get(index - 1));
        return Err(raise::argument(lua, index, format!("number expected, got {got}")));
    }
    Ok(low)
}

fn signed(bits: u32) -> f64 {
    f64::from(bits.cast_signed())
}

fn unary(lua: &Lua, table: &Table, name: &str, op: fn(u32) -> u32) -> mlua::Result<()> {
    let call = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        Ok(signed(op(argument(lua, &args, 1)?)))
    };
    table.raw_set(name, lua.create_function(call)?)
}

fn fold(lua: &Lua, table: &Table, name: &str, op: fn(u32, u32) -> u32) -> mlua::Result<()> {
    let call = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        let mut bits = argument(lua, &args, 1)?;
        for index in (2..=args.len()).rev() {
            bits = op(bits, argument(lua, &args, index)?);
        }
        Ok(signed(bits))
    };
    table.raw_set(name, lua.create_function(call)?)
}

fn shift(lua: &Lua, table: &Table, name: &str, op: fn(u32, u32) -> u32) -> mlua::Result<()> {
    let call = move |lua: &Lua, args: MultiValue| {
        let args = args.into_vec();
        let bits = argument(lua, &args, 1)?;
        let by = argument(lua, &args, 2)? & 31;
        Ok(signed(op(bits, by)))
    };
    table.raw_set(name, lua.create_function(call)?)
}

fn tohex(lua: &Lua, args: MultiValue) -> mlua::Result<mlua::BString> {
    let args = args.into_vec();
    let bits = argument(lua, &args, 1)?;
    let width = if args.len() < 2 { 8 } else { argument(lua, &args, 2)?.cast_signed() };
    let digits = width.unsigned_abs().min(8) as usize;
    let text = if width < 0 { format!("{bits:08X}") } else { format!("{bits:08x}") };
    Ok(text.as_bytes()[8 - digits..].into())
}
