//! `struct`: pack and unpack binary layouts, as the library of that name in Redis 7.0.
//! Sizes are those of a 64-bit little-endian machine; every read stays inside the data string.

use mlua::{BString, Lua, MultiValue, Table, Value};

use super::{number, raise};

const MAX_INT_SIZE: i32 = 32;
const MAX_ALIGN: i32 = 8;
/// Lua's C stack holds 8000 slots; more results than this cannot be returned.
const MAX_RESULTS: usize = 7000;

/// The `struct` table.
pub(crate) fn install(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("pack", lua.create_function(pack)?)?;
    table.raw_set("unpack", lua.create_function(unpack)?)?;
    table.raw_set("size", lua.create_function(size)?)?;
    Ok(table)
}

/// Walks a format string; the byte order and alignment set so far.
struct Format<'a> {
    lua: &'a Lua,
    text: &'a [u8],
    pos: usize,
    big: bool,
    align: usize,
}

impl<'a> Format<'a> {
    fn new(lua: &'a Lua, text: &'a [u8]) -> Self {
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        Self { lua, text: &text[..end], pos: 0, big: false, align: 1 }
    }

    /// The next option and its size, or `None` at the end.
    fn next(&mut self) -> mlua::Result<Option<(u8, usize)>> {
        let Some(&option) = self.text.get(self.pos) else { return Ok(None) };
        self.pos += 1;
        let size = match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.count(1)?,
            b'i' | b'I' => {
                let size = self.count(4)?;
                if size > MAX_INT_SIZE {
                    let text =
                        format!("integral size {size} is larger than limit of {MAX_INT_SIZE}");
                    return Err(raise::error(self.lua, text));
                }
                size
            }
            _ => 0,
        };
        Ok(Some((option, usize::try_from(size).unwrap_or(0))))
    }

    /// The decimal number that follows, or `default`.
    fn count(&mut self, default: i32) -> mlua::Result<i32> {
        if !self.text.get(self.pos).is_some_and(u8::is_ascii_digit) {
            return Ok(default);
        }
        let mut count: i32 = 0;
        while let Some(digit) = self.text.get(self.pos).filter(|b| b.is_ascii_digit()) {
            count = count
                .checked_mul(10)
                .and_then(|n| n.checked_add(i32::from(digit - b'0')))
                .ok_or_else(|| raise::error(self.lua, "integral size overflow"))?;
            self.pos += 1;
        }
        Ok(count)
    }

    /// Bytes to skip so that an element of this size is aligned at `at`.
    fn padding(&self, at: usize, option: u8, size: usize) -> usize {
        if size == 0 || option == b'c' {
            return 0;
        }
        let size = size.min(self.align);
        size.wrapping_sub(at & (size - 1)) & (size - 1)
    }

    /// Byte order and alignment options; anything else is refused.
    fn control(&mut self, option: u8) -> mlua::Result<()> {
        match option {
            b' ' => {}
            b'>' => self.big = true,
            b'<' => self.big = false,
            b'!' => {
                let align = self.count(MAX_ALIGN)?;
                if align <= 0 || align & (align - 1) != 0 {
                    let text = format!("alignment {align} is not a power of 2");
                    return Err(raise::error(self.lua, text));
                }
                self.align = usize::try_from(align).unwrap_or(1);
            }
            _ => {
                let mut text = b"invalid format option '".to_vec();
                text.push(option);
                text.push(b'\'');
                return Err(raise::argument(self.lua, 1, text));
            }
        }
        Ok(())
    }
}

fn is_integer(option: u8) -> bool {
    matches!(option, b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I')
}

fn pack(lua: &Lua, args: MultiValue) -> mlua::Result<BString> {
    let mut args = args.into_vec();
    // The reference sees a nil behind the last argument, and so do its error texts.
    args.push(Value::Nil);
    raise::with_string(lua, &args, 1, |text| {
        let mut format = Format::new(lua, text);
        let mut out: Vec<u8> = Vec::new();
        let mut arg = 2;
        let mut total: usize = 0;
        while let Some((option, mut size)) = format.next()? {
            let padding = format.padding(total, option, size);
            total = total.wrapping_add(padding);
            out.resize(out.len() + padding, 0);
            match option {
                _ if is_integer(option) => {
                    let value = raise::check_number(lua, &args, arg)?;
                    put_integer(&mut out, value, size, format.big);
                    arg += 1;
                }
                b'x' => out.push(0),
                b'f' => {
                    #[expect(clippy::cast_possible_truncation, reason = "a C float is asked for")]
                    let value = raise::check_number(lua, &args, arg)? as f32;
                    let bytes = if format.big { value.to_be_bytes() } else { value.to_le_bytes() };
                    out.extend_from_slice(&bytes);
                    arg += 1;
                }
                b'd' => {
                    let value = raise::check_number(lua, &args, arg)?;
                    let bytes = if format.big { value.to_be_bytes() } else { value.to_le_bytes() };
                    out.extend_from_slice(&bytes);
                    arg += 1;
                }
                b'c' | b's' => {
                    raise::with_string(lua, &args, arg, |bytes| {
                        if size == 0 {
                            size = bytes.len();
                        }
                        let part = bytes
                            .get(..size)
                            .ok_or_else(|| raise::argument(lua, arg + 1, "string too short"))?;
                        out.extend_from_slice(part);
                        Ok(())
                    })?;
                    arg += 1;
                    if option == b's' {
                        out.push(0);
                        size += 1;
                    }
                }
                _ => format.control(option)?,
            }
            total = total.wrapping_add(size);
        }
        Ok(out.into())
    })
}

fn put_integer(out: &mut Vec<u8>, value: f64, size: usize, big: bool) {
    let bits =
        if value < 0.0 { number::to_i64(value).cast_unsigned() } else { number::to_u64(value) };
    let mut bytes = [0u8; 32];
    bytes[..8].copy_from_slice(&bits.to_le_bytes());
    if big {
        out.extend(bytes[..size].iter().rev());
    } else {
        out.extend_from_slice(&bytes[..size]);
    }
}

fn get_integer(bytes: &[u8], signed: bool, big: bool) -> f64 {
    let fold = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
    let bits = if big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) };
    if !signed {
        #[expect(clippy::cast_precision_loss, reason = "Lua 5.1 has doubles only")]
        return bits as f64;
    }
    // The shift is taken modulo 64, which is what the reference does for odd sizes.
    let shift = u32::try_from(bytes.len()).unwrap_or(0).wrapping_mul(8).wrapping_sub(1);
    let mask = u64::MAX.wrapping_shl(shift);
    let bits = if bits & mask == 0 { bits } else { bits | mask };
    number::of_i64(bits.cast_signed())
}

fn unpack(lua: &Lua, args: MultiValue) -> mlua::Result<MultiValue> {
    let args = args.into_vec();
    raise::with_string(lua, &args, 1, |text| {
        raise::with_string(lua, &args, 2, |data| {
            let start = raise::opt_integer(lua, &args, 3, 1)?.cast_unsigned();
            if start == 0 {
                return Err(raise::argument(lua, 3, "offset must be 1 or greater"));
            }
            let start = usize::try_from(start - 1).unwrap_or(usize::MAX);
            unpack_from(lua, Format::new(lua, text), data, start)
        })
    })
}

fn unpack_from(
    lua: &Lua,
    mut format: Format<'_>,
    data: &[u8],
    mut pos: usize,
) -> mlua::Result<MultiValue> {
    let mut results: Vec<Value> = Vec::new();
    let too_short = || raise::argument(lua, 2, "data string too short");
    while let Some((option, mut size)) = format.next()? {
        pos = pos.wrapping_add(format.padding(pos, option, size));
        let fits = |size: usize| size <= data.len() && pos <= data.len() - size;
        if !fits(size) {
            return Err(too_short());
        }
        if results.len() >= MAX_RESULTS {
            return Err(raise::error(lua, "stack overflow (too many results)"));
        }
        let bytes = &data[pos..pos + size];
        match option {
            _ if is_integer(option) => {
                let value = get_integer(bytes, option.is_ascii_lowercase(), format.big);
                results.push(Value::Number(value));
            }
            b'x' => {}
            b'f' => {
                let mut raw: [u8; 4] = bytes.try_into().unwrap_or_default();
                if format.big {
                    raw.reverse();
                }
                results.push(Value::Number(f64::from(f32::from_le_bytes(raw))));
            }
            b'd' => {
                let mut raw: [u8; 8] = bytes.try_into().unwrap_or_default();
                if format.big {
                    raw.reverse();
                }
                results.push(Value::Number(f64::from_le_bytes(raw)));
            }
            b'c' => {
                if size == 0 {
                    let previous = raise::as_number(lua, results.last())
                        .ok_or_else(|| raise::error(lua, "format 'c0' needs a previous size"))?;
                    results.pop();
                    let wanted = if previous < 0.0 {
                        number::to_i64(previous).cast_unsigned()
                    } else {
                        number::to_u64(previous)
                    };
                    size = usize::try_from(wanted).unwrap_or(usize::MAX);
                    if !fits(size) {
                        return Err(too_short());
                    }
                }
                results.push(Value::String(lua.create_string(&data[pos..pos + size])?));
            }
            b's' => {
                let length = memchr::memchr(0, &data[pos..])
                    .ok_or_else(|| raise::error(lua, "unfinished string in data"))?;
                results.push(Value::String(lua.create_string(&data[pos..pos + length])?));
                size = length + 1;
            }
            _ => format.control(option)?,
        }
        pos += size;
    }
    let next = i64::try_from(pos.wrapping_add(1)).unwrap_or_else(|_| {
        // A start far below zero comes back as it went in.
        (pos as u64).wrapping_add(1).cast_signed()
    });
    results.push(Value::Number(number::of_i64(next)));
    Ok(MultiValue::from_vec(results))
}

fn size(lua: &Lua, args: MultiValue) -> mlua::Result<f64> {
    let args = args.into_vec();
    raise::with_string(lua, &args, 1, |text| {
        let mut format = Format::new(lua, text);
        let mut total: usize = 0;
        while let Some((option, size)) = format.next()? {
            total = total.wrapping_add(format.padding(total, option, size));
            if option == b's' {
                return Err(raise::argument(lua, 1, "option 's' has no fixed size"));
            }
            if option == b'c' && size == 0 {
                return Err(raise::argument(lua, 1, "option 'c0' has no fixed size"));
            }
            if !option.is_ascii_alphanumeric() {
                format.control(option)?;
            }
            total = total.wrapping_add(size);
        }
        Ok(number::of_i64((total as u64).cast_signed()))
    })
}
