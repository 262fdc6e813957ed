//! Glob patterns as KEYS, SCAN, PSUBSCRIBE and ACL rules read them.
//! Work is bounded by pattern length times text length, whatever the pattern.

/// Whether `text` matches `pattern`: `*`, `?`, `[a-c]`, `[^x]`, and `\` for a literal byte.
///
/// The answers are those of Redis, oddities included: an empty text matches an empty pattern only,
/// an unclosed class ends with the pattern, and an escaped byte in a class minds its case.
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut p, mut t) = (0, 0);
    // The place to go on after a mismatch: behind the last star, one byte further in the text. An
    // earlier star never needs a second try, as the last one can swallow whatever it would.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if t == text.len() {
            return pattern[p..].iter().all(|&byte| byte == b'*');
        }
        let next = match pattern.get(p) {
            Some(b'*') => {
                while pattern.get(p) == Some(&b'*') {
                    p += 1;
                }
                if p == pattern.len() {
                    return true;
                }
                retry = Some((p, t));
                continue;
            }
            Some(_) => one(pattern, p, text[t], nocase),
            None => None,
        };
        if let Some(next) = next {
            p = next;
            t += 1;
        } else if let Some((star, from)) = retry {
            p = star;
            t = from + 1;
            retry = Some((star, t));
        } else {
            return false;
        }
    }
}

/// Matches one byte against the element at `p`; gives where the next element starts.
fn one(pattern: &[u8], p: usize, byte: u8, nocase: bool) -> Option<usize> {
    match pattern[p] {
        b'?' => Some(p + 1),
        b'[' => class(pattern, p + 1, byte, nocase),
        b'\\' if p + 1 < pattern.len() => same(pattern[p + 1], byte, nocase).then_some(p + 2),
        literal => same(literal, byte, nocase).then_some(p + 1),
    }
}

fn class(pattern: &[u8], mut p: usize, byte: u8, nocase: bool) -> Option<usize> {
    let negated = pattern.get(p) == Some(&b'^');
    p += usize::from(negated);
    let mut found = false;
    loop {
        match pattern.get(p..).unwrap_or_default() {
            [] => break,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                p += 2;
            }
            [b']', ..] => {
                p += 1;
                break;
            }
            [a, b'-', b, ..] => {
                found |= within(*a, *b, byte, nocase);
                p += 3;
            }
            [literal, ..] => {
                found |= same(*literal, byte, nocase);
                p += 1;
            }
        }
    }
    (found != negated).then_some(p)
}

/// Bytes are ordered as signed here, as the reference does on common machines.
fn within(a: u8, b: u8, byte: u8, nocase: bool) -> bool {
    let (low, high) = if a.cast_signed() <= b.cast_signed() { (a, b) } else { (b, a) };
    let fold = |c: u8| if nocase { c.to_ascii_lowercase() } else { c }.cast_signed();
    (fold(low)..=fold(high)).contains(&fold(byte))
}

fn same(a: u8, b: u8, nocase: bool) -> bool {
    if nocase { a.eq_ignore_ascii_case(&b) } else { a == b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hit(pattern: &str, text: &str) -> bool {
        matches(pattern.as_bytes(), text.as_bytes(), false)
    }

    #[test]
    fn the_elements_mean_what_redis_says() {
        for (pattern, text, expected) in [
            ("*", "a", true),
            ("**", "abc", true),
            ("a*", "a", true),
            ("*a*", "bab", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hbllo", true),
            ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hallo", false),
            ("[\\]]", "]", true),
            ("a[", "ab", false),
            ("a[^", "ab", true),
            ("a[b", "ab", true),
            ("a\\", "a\\", true),
            ("room:*:meta", "room:AB:CD:meta", true),
            ("room:*:meta", "room:AB:claims", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", false),
            ("a", "", false),
        ] {
            assert_eq!(hit(pattern, text), expected, "{pattern} on {text}");
        }
        assert!(matches(b"HE[L-M]*", b"hello", true));
        assert!(!matches(b"HE[L-M]*", b"hello", false));
    }

    #[test]
    fn many_stars_end_quickly() {
        let text = vec![b'a'; 20_000];
        let pattern = [b"a*".repeat(40).as_slice(), b"b"].concat();
        assert!(!matches(&pattern, &text, false));
    }

    /// The plain definition, exponential but obviously right on stars and literals.
    fn plain(pattern: &[u8], text: &[u8]) -> bool {
        match pattern {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|skip| plain(rest, &text[skip..])),
            [b'?', rest @ ..] => !text.is_empty() && plain(rest, &text[1..]),
            [byte, rest @ ..] => text.first() == Some(byte) && plain(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn stars_agree_with_the_plain_definition(pattern in "[ab*?]{0,8}", text in "[ab]{1,10}") {
            let expected = plain(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), false), expected);
        }

        #[test]
        fn arbitrary_bytes_never_panic(pattern: Vec<u8>, text: Vec<u8>, nocase: bool) {
            matches(&pattern, &text, nocase);
        }
    }
}
