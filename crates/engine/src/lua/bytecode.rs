//! Looks into compiled scripts for one thing: whether they assign to a global. One that does not
//! may have the real globals as its environment, which saves every `redis` and `KEYS` a step
//! through the read-only ones; nothing it can call hands out its environment. Code that cannot be
//! read counts as assigning.

/// Bytes of the header: signature, version, format, byte order and sizes.
const HEADER: [u8; 12] = [0x1b, b'L', b'u', b'a', 0x51, 0, 1, 4, 8, 4, 8, 0];
const SET_GLOBAL: u8 = 7;
/// More functions in functions than the compiler lets through.
const DEEPEST: usize = 250;

/// Whether a compiled function, or one inside it, assigns to a global.
pub(super) fn sets_globals(dump: &[u8]) -> bool {
    dump.strip_prefix(&HEADER)
        .is_none_or(|body| BytecodeReader(body).function(0).is_none_or(|sets| sets))
}

struct BytecodeReader<'a>(&'a [u8]);

impl<'a> BytecodeReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn count(&mut self) -> Option<usize> {
        let bytes = self.take(4)?.try_into().ok()?;
        usize::try_from(i32::from_le_bytes(bytes)).ok()
    }

    fn string(&mut self) -> Option<()> {
        let length = self.take(8)?.try_into().ok()?;
        self.take(usize::try_from(u64::from_le_bytes(length)).ok()?).map(|_| ())
    }

    fn function(&mut self, depth: usize) -> Option<bool> {
        if depth > DEEPEST {
            return None;
        }
        self.string()?; // source
        self.take(4 + 4 + 4)?; // lines; numbers of upvalues, parameters and registers
        let code = self.count()?;
        let code = self.take(code.checked_mul(4)?)?;
        let mut sets = code.chunks_exact(4).any(|step| step[0] & 0x3f == SET_GLOBAL);
        for _ in 0..self.count()? {
            match self.take(1)? {
                [0] => {}
                [1] => drop(self.take(1)?),
                [3] => drop(self.take(8)?),
                [4] => self.string()?,
                _ => return None,
            }
        }
        for _ in 0..self.count()? {
            sets |= self.function(depth + 1)?;
        }
        let lines = self.count()?;
        self.take(lines.checked_mul(4)?)?;
        for _ in 0..self.count()? {
            self.string()?;
            self.take(8)?;
        }
        for _ in 0..self.count()? {
            self.string()?;
        }
        Some(sets)
    }
}

#[cfg(test)]
mod tests {
    use super::sets_globals;

    #[test]
    fn assignments_to_globals_are_found_wherever_they_are() {
        let lua = mlua::Lua::new();
        let sets =
            |source: &str| sets_globals(&lua.load(source).into_function().unwrap().dump(false));
        assert!(sets("x = 1"));
        assert!(sets("function f() end"));
        assert!(sets(
            "local a, b = 'x', nil, true, 2.5 return function() return function() y = 2 end end"
        ));
        assert!(!sets("return redis.call('set', KEYS[1], ARGV[1])"));
        assert!(!sets(
            "local t = {a = 1} t.x = 1 _G.y = 2 local function f(...) return f(...) end"
        ));
        assert!(sets_globals(b"") && sets_globals(b"\x1bLua"));
        let dump = lua.load("return 1").into_function().unwrap().dump(false);
        for end in 0..dump.len() {
            assert!(sets_globals(&dump[..end]), "what is cut short is not trusted");
        }
    }
}
