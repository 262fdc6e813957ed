//! Arguments of `LMPOP`, `ZMPOP` and their waiting forms: keys, which end, how many.

use crate::commands::ctx::{int, is};
use crate::error::{ReplyError, SYNTAX};

/// The keys to pop from, the end, and the number of elements.
pub(crate) struct ManyPop<'a, End> {
    pub(crate) keys: &'a [&'a [u8]],
    pub(crate) end: End,
    pub(crate) count: usize,
}

impl<'a, End> ManyPop<'a, End> {
    /// Reads the arguments from the number of keys on; `end` reads the word behind the keys.
    pub(crate) fn parse(
        args: &'a [&'a [u8]],
        end: impl FnOnce(&[u8]) -> Result<End, ReplyError>,
    ) -> Result<Self, ReplyError> {
        let some = |arg: &[u8]| usize::try_from(int(arg).unwrap_or(0)).ok().filter(|n| *n > 0);
        let n = some(args[0]).ok_or(ReplyError::fixed("ERR numkeys should be greater than 0"))?;
        let rest = args.get(1 + n..).ok_or(SYNTAX)?;
        let (word, mut options) = rest.split_first().ok_or(SYNTAX)?;
        let end = end(word)?;
        let mut count = None;
        while let [word, value, tail @ ..] = options {
            if !is(word, "COUNT") || count.is_some() {
                return Err(SYNTAX);
            }
            let wanted =
                some(value).ok_or(ReplyError::fixed("ERR count should be greater than 0"))?;
            count = Some(wanted);
            options = tail;
        }
        if !options.is_empty() {
            return Err(SYNTAX);
        }
        Ok(ManyPop { keys: &args[1..=n], end, count: count.unwrap_or(1) })
    }
}
