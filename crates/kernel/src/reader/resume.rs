//! The place at which a reader resumes a stream, and whether entries it has not seen are gone.

use redis::Value;

use crate::events::Seq;
use crate::reply;

/// The answer of `XINFO STREAM`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) first: Option<Seq>,
    pub(super) last: Seq,
    /// Whether something was removed, ever.
    pub(super) trimmed: bool,
}

impl Info {
    pub(super) fn read(answer: &Value) -> Option<Info> {
        let mut info = Info { first: None, last: Seq::START, trimmed: false };
        let (mut length, mut added) = (0, None);
        for (name, value) in reply::pairs(answer)? {
            match reply::text(name)? {
                "length" => length = reply::int(value)?,
                "entries-added" => added = reply::int(value),
                "last-generated-id" => info.last = reply::text(value)?.parse().ok()?,
                "first-entry" => {
                    info.first = reply::list(value)
                        .and_then(|entry| reply::text(entry.first()?)?.parse().ok());
                }
                _ => {}
            }
        }
        info.trimmed = added.is_some_and(|added| added > length);
        Some(info)
    }
}

/// The id after which to read on when `after` was the last one seen, and the end of the gap if
/// there is one.
pub(super) fn resume(after: Seq, info: Option<&Info>) -> (Seq, Option<Seq>) {
    let Some(info) = info else {
        // The stream is gone, and with it whatever came after.
        return (Seq::START, (after > Seq::START).then_some(Seq::START));
    };
    if after > info.last {
        // Another stream of the same name.
        return (Seq::START, Some(info.first.unwrap_or(Seq::START)));
    }
    match info.first {
        Some(first) if first > after => {
            let lost = after > Seq::START || info.trimmed;
            (after, lost.then_some(first))
        }
        None if after < info.last => (info.last, Some(info.last)),
        _ => (after, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seq(text: &str) -> Seq {
        text.parse().unwrap()
    }

    #[test]
    fn resuming_tells_a_gap_exactly_where_something_was_trimmed() {
        let info = |first: Option<&str>, last: &str, trimmed| Info {
            first: first.map(seq),
            last: seq(last),
            trimmed,
        };
        let kept = info(Some("5-0"), "9-0", true);
        assert_eq!(resume(seq("5-0"), Some(&kept)), (seq("5-0"), None));
        assert_eq!(resume(seq("9-0"), Some(&kept)), (seq("9-0"), None));
        assert_eq!(resume(seq("3-0"), Some(&kept)), (seq("3-0"), Some(seq("5-0"))));
        assert_eq!(resume(Seq::START, Some(&kept)), (Seq::START, Some(seq("5-0"))));
        let whole = info(Some("5-0"), "9-0", false);
        assert_eq!(resume(Seq::START, Some(&whole)), (Seq::START, None));
        let emptied = info(None, "9-0", true);
        assert_eq!(resume(seq("3-0"), Some(&emptied)), (seq("9-0"), Some(seq("9-0"))));
        assert_eq!(resume(seq("9-0"), Some(&emptied)), (seq("9-0"), None));
        assert_eq!(resume(seq("10-0"), Some(&kept)), (Seq::START, Some(seq("5-0"))));
        assert_eq!(resume(seq("3-0"), None), (Seq::START, Some(Seq::START)));
        assert_eq!(resume(Seq::START, None), (Seq::START, None));
    }
}
