//! Photos as links instead of data URLs, for clients that ask for it: a state then carries no photo at all, and a
//! browser fetches each one once. A link ends in a hash of the photo, so what it leads to never changes. The stored
//! bytes, and what other clients get, stay as they are.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{Caller, Rooms};
use crate::error::Result;
use crate::ids;
use crate::seen::{Parts, Room};

/// The text before a photo in every message. Inside a JSON text its quotes would be escaped.
const MEMBER: &str = r#""avatar_url":""#;
const DATA: &str = "data:image/";

/// A photo as a browser takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photo {
    /// The last part of its link.
    pub hash: String,
    /// Such as `image/jpeg`.
    pub media: &'static str,
    /// The picture.
    pub bytes: Vec<u8>,
}

/// The last part of a photo's link.
fn hash(url: &str) -> String {
    kernel::sha1_hex(url.as_bytes())
}

/// A message with links in place of its photos.
pub fn with_links<'a>(message: &'a str, code: &str) -> Cow<'a, str> {
    let mut out = String::new();
    let mut rest = message;
    while let Some(at) = rest.find(MEMBER) {
        let (before, after) = rest.split_at(at + MEMBER.len());
        out.push_str(before);
        rest = after;
        // A photo that a foreign writer escaped is left as it is.
        let end =
            rest.find('"').filter(|end| rest.starts_with(DATA) && !rest[..*end].contains('\\'));
        if let Some(end) = end {
            let _ = write!(out, "/api/rooms/{code}/photos/{}", hash(&rest[..end]));
            rest = &rest[end..];
        }
    }
    if out.is_empty() {
        return Cow::Borrowed(message);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

impl Rooms {
    /// Every photo of a room.
    pub async fn photos(&self, code: &str) -> Result<Vec<Photo>> {
        let parts = Parts("p");
        let seen = self.look(code, parts, &Caller::default()).await?;
        let room = Room::read(self.keys, code, &seen, parts, self.clock.now_ms())?;
        let photos = room.players.iter().filter_map(|player| {
            let url: Cow<'_, str> = serde_json::from_str(player.avatar_url?.get()).ok()?;
            let (media, bytes) = ids::read_avatar(&url)?;
            Some(Photo { hash: hash(&url), media, bytes })
        });
        Ok(photos.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_photo_becomes_a_link_and_nothing_else_changes() {
        let url = "data:image/png;base64,iVBORw0KGgo=";
        let link = format!("/api/rooms/ABCD2345/photos/{}", hash(url));
        let message = |photo: &str| {
            format!(
                r#"{{"players":[{{"name":"\"avatar_url\":\"data:image/x","avatar_url":null}},{{"avatar_url":"{photo}"}},{{"avatar_url":"https://x.test/a"}},{{"avatar_url":"{photo}","x":1}}]}}"#
            )
        };
        assert_eq!(with_links(&message(url), "ABCD2345"), message(&link));
        assert!(matches!(with_links(r#"{"a":1}"#, "ABCD2345"), Cow::Borrowed(_)));
        for odd in [r#"{"avatar_url":"data:image/png\u003b"}"#, r#"{"avatar_url":"data:image/"#] {
            assert_eq!(with_links(odd, "ABCD2345"), odd);
        }
    }
}
