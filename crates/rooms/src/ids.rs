//! Codes, keys, ids, names and avatars: what is accepted, how it is drawn, how it is compared. Randomness is
//! the system's; the master key is never stored, only its hash, and that is compared in constant time.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use unicode_normalization::UnicodeNormalization as _;

/// Without `0 O 1 I`, which people confuse.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const HASH_PREFIX: &str = "sha256:";

/// A new room code: eight symbols, five random bits each.
pub fn draw_code() -> String {
    let bits = u64::from_le_bytes(random());
    let symbol = |n: u32| usize::try_from((bits >> (5 * n)) & 31).unwrap_or(0);
    (0..8).map(|n| ALPHABET[symbol(n)] as char).collect()
}

/// A code as people write it: spaces and hyphens removed, upper case. `None` when it cannot be one.
pub fn read_code(text: &str) -> Option<String> {
    if text.len() > 64 {
        return None;
    }
    let code: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .map(|c| c.to_ascii_uppercase())
        .collect();
    let fits = (4..=12).contains(&code.len())
        && code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    fits.then_some(code)
}

/// A code for people: `ABCD-2345`.
pub fn show_code(code: &str) -> String {
    if code.len() == 8 { format!("{}-{}", &code[..4], &code[4..]) } else { code.to_owned() }
}

/// A new master key: 24 random bytes as 32 characters.
pub fn draw_master_key() -> String {
    URL_SAFE_NO_PAD.encode(random::<24>())
}

/// The stored digest of a master key.
pub fn hash_master_key(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().fold(HASH_PREFIX.to_owned(), |mut hash, byte| {
        use std::fmt::Write as _;
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

/// Whether this is the key, in a time that tells nothing about how much of it is right.
pub fn is_master_key(given: &str, stored_hash: &str) -> bool {
    let hash = hash_master_key(given);
    // `ct_eq` of slices of different length is false without looking at them.
    hash.as_bytes().ct_eq(stored_hash.as_bytes()).into()
}

/// A manual player's id.
pub fn draw_player_id() -> String {
    let number = u64::from_le_bytes(random()) & 0xffff_ffff_ffff;
    format!("p_manual_{number:012x}")
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// Ids that become parts of keys: 1 to 64 of `A-Z a-z 0-9 _ -`.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_word)
}

/// A device's secret: 8 to 128 of the same.
pub fn is_device(text: &str) -> bool {
    (8..=128).contains(&text.len()) && text.bytes().all(is_word)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The player of a sender: `s12` → `p12`, as in the seed; any other `x` → `p_x`.
pub fn player_of_sender(sender_id: &str) -> String {
    match sender_id.strip_prefix('s') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            format!("p{digits}")
        }
        _ => format!("p_{sender_id}"),
    }
}

/// A name as it is stored: NFC, trimmed, inner white space collapsed, 1 to 24 characters. `None` when it is none.
pub fn read_name(text: &str) -> Option<String> {
    // Four bytes per character and some room for decomposed ones; no need to normalise a book.
    if text.len() > 1024 || text.chars().any(|c| c.is_control() || is_hidden(c)) {
        return None;
    }
    let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = name.nfc().collect();
    (1..=24).contains(&name.chars().count()).then_some(name)
}

/// Marks that turn text around or take no place: a name made of them looks like somebody else's.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The form by which two names are compared: case does not count.
pub fn fold_name(name: &str) -> String {
    // Upper case first joins what only one case tells apart (ß and ss, the three sigmas).
    name.nfc().collect::<String>().to_uppercase().to_lowercase()
}

/// The kinds of picture, by prefix and first bytes.
const PICTURES: [(&str, &[&[u8]]); 3] = [
    ("data:image/jpeg;base64,", &[b"\xff\xd8\xff"]),
    ("data:image/png;base64,", &[b"\x89PNG\r\n\x1a\n"]),
    ("data:image/webp;base64,", &[b"RIFF"]),
];

/// The reason why a data URL is no picture that we keep; `None` when it is one: JPEG, PNG or WebP, strict
/// base64, the bytes of the type it says.
pub fn avatar_fault(url: &str, most_chars: usize) -> Option<&'static str> {
    if url.len() > most_chars {
        return Some("too_large");
    }
    let known = PICTURES.iter().find_map(|(prefix, heads)| {
        url.strip_prefix(prefix).map(|data| (prefix.contains("webp"), heads, data))
    });
    let Some((is_webp, heads, data)) = known else { return Some("not_jpeg_png_or_webp") };
    let Ok(bytes) = STANDARD.decode(data) else { return Some("not_base64") };
    let whole = !is_webp || bytes.get(8..12) == Some(b"WEBP");
    let fits = whole && heads.iter().any(|head| bytes.starts_with(head));
    (!fits).then_some("not_what_it_says")
}

/// The media type and the bytes of a picture we keep.
pub fn read_avatar(url: &str) -> Option<(&'static str, Vec<u8>)> {
    let (prefix, _) = PICTURES.iter().find(|(prefix, _)| url.starts_with(prefix))?;
    let bytes = STANDARD.decode(&url[prefix.len()..]).ok()?;
    let media = prefix.strip_prefix("data:")?.strip_suffix(";base64,")?;
    Some((media, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_drawn_without_look_alikes_and_read_as_people_type_them() {
        for _ in 0..200 {
            let code = draw_code();
            assert_eq!(code.len(), 8);
            assert!(!code.contains(['0', 'O', '1', 'I']), "{code}");
            assert_eq!(read_code(&show_code(&code)).as_deref(), Some(code.as_str()));
        }
        assert_eq!(read_code(" abcd-2345 ").as_deref(), Some("ABCD2345"));
        assert_eq!(read_code("ABCD1234").as_deref(), Some("ABCD1234"), "the seed's own example");
        for bad in ["", "ABC", "ABCDEFGHJKLMN", "AB:CD", "ABCD*", "ÄBCD", "{ABCD}", &"A".repeat(99)]
        {
            assert_eq!(read_code(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_master_key_is_known_only_by_its_hash() {
        let key = draw_master_key();
        assert_eq!(key.len(), 32);
        let hash = hash_master_key(&key);
        assert!(is_master_key(&key, &hash));
        for (given, stored) in [
            (key.to_lowercase() + " ", hash.clone()),
            (format!(" {key}"), hash.clone()),
            (key.clone(), hash.to_uppercase()),
            (key.clone(), hash.replace("sha256:", "")),
            (key.clone(), String::new()),
            (hash.clone(), hash.clone()),
            (String::new(), hash.clone()),
        ] {
            assert!(!is_master_key(&given, &stored));
        }
        assert_eq!(
            hash_master_key("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn players_are_named_after_their_senders() {
        assert_eq!(player_of_sender("s12"), "p12");
        assert_eq!(player_of_sender("s"), "p_s");
        assert_eq!(player_of_sender("sam"), "p_sam");
        assert_eq!(player_of_sender("12"), "p_12");
        assert!(is_id(&draw_player_id()) && draw_player_id().len() == 21);
    }

    #[test]
    fn names_are_normalised_and_hostile_ones_refused() {
        assert_eq!(read_name("  Zoe\u{308}   B ").as_deref(), Some("Zoë B"));
        assert_eq!(read_name("<b>x</b>").as_deref(), Some("<b>x</b>"), "text, never HTML");
        for bad in [
            "",
            "   ",
            "a\nb",
            "a\0",
            "\u{202e}nimda",
            "a\u{200b}b",
            &"x".repeat(25),
            &"é".repeat(5000),
        ] {
            assert_eq!(read_name(bad), None, "{bad:?}");
        }
        assert_eq!(fold_name("STRASSE"), fold_name("straße"));
        assert_eq!(fold_name("ΣΊΣΥΦΟΣ"), fold_name("σίσυφος"));
        assert_eq!(fold_name("E\u{301}"), fold_name("é"));
        assert_ne!(fold_name("a"), fold_name("b"));
    }

    #[test]
    fn only_real_pictures_are_avatars() {
        let url = |kind: &str, bytes: &[u8]| {
            format!("data:image/{kind};base64,{}", STANDARD.encode(bytes))
        };
        let jpeg = url("jpeg", b"\xff\xd8\xff\xe0rest");
        assert_eq!(avatar_fault(&jpeg, 200_000), None);
        assert_eq!(avatar_fault(&url("png", b"\x89PNG\r\n\x1a\nrest"), 200_000), None);
        assert_eq!(avatar_fault(&url("webp", b"RIFF1234WEBPrest"), 200_000), None);
        assert_eq!(read_avatar(&jpeg), Some(("image/jpeg", b"\xff\xd8\xff\xe0rest".to_vec())));
        for (bad, reason) in [
            (url("gif", b"GIF89a"), "not_jpeg_png_or_webp"),
            (url("png", b"\xff\xd8\xff\xe0"), "not_what_it_says"),
            (format!("{jpeg}\n"), "not_base64"),
        ] {
            assert_eq!(avatar_fault(&bad, 200_000), Some(reason), "{bad}");
        }
        for bad in [
            url("svg+xml", b"<svg onload=alert(1)>"),
            url("jpeg", b"<svg onload=alert(1)>"),
            url("png", b"\xff\xd8\xff\xe0"),
            url("webp", b"RIFF1234AVI rest"),
            url("gif", b"GIF89a"),
            jpeg.replace("jpeg", "JPEG"),
            jpeg.replace("base64,", "base64, "),
            jpeg.replace("data:image/jpeg", "data:image/jpeg;charset=x"),
            format!("{jpeg}\" onerror=\"x"),
            format!("{jpeg}\n"),
            "https://example.org/a.jpg".to_owned(),
            "javascript:alert(1)".to_owned(),
            String::new(),
        ] {
            assert!(avatar_fault(&bad, 200_000).is_some(), "{bad}");
        }
        assert_eq!(avatar_fault(&jpeg, jpeg.len() - 1), Some("too_large"));
    }
}
