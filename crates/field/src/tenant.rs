//! Whose world it is. In keys a tenant is its UUID alone; region and version stand in the stored JSON and in
//! the headers of every request.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Bad, number, uuid};

/// One customer's game, in one region and version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    /// The scope of all its keys.
    pub id: Uuid,
    /// Such as `GMS`.
    pub region: String,
    /// Of the game.
    pub major_version: u16,
    /// Of the game.
    pub minor_version: u16,
}

impl Tenant {
    /// The four headers, in the order in which they are parsed.
    pub const HEADERS: [&'static str; 4] =
        ["TENANT_ID", "REGION", "MAJOR_VERSION", "MINOR_VERSION"];

    /// A tenant with everything but its id at rest, for those who only build keys.
    pub fn of(id: Uuid) -> Self {
        Tenant { id, region: String::new(), major_version: 0, minor_version: 0 }
    }

    /// From the texts of [`Tenant::HEADERS`]. Refuses a missing or malformed one by its name.
    pub fn parse(texts: [Option<&str>; 4]) -> Result<Self, Bad> {
        let [id, region, major, minor] = Self::HEADERS;
        let given = |at: usize| {
            let name = Self::HEADERS[at];
            texts[at].ok_or_else(|| Bad::new(name, "is missing: send it as a header"))
        };
        let text = given(1)?;
        if text.is_empty() || text.len() > 64 || text.chars().any(char::is_control) {
            return Err(Bad::new(region, "must have 1 to 64 printable characters"));
        }
        Ok(Tenant {
            id: uuid(id, given(0)?)?,
            region: text.to_owned(),
            major_version: number(major, given(2)?)?,
            minor_version: number(minor, given(3)?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "11111111-1111-4111-8111-111111111111";

    #[test]
    fn four_headers_make_a_tenant() {
        let tenant = Tenant::parse([Some(ID), Some("GMS"), Some("83"), Some("1")]).unwrap();
        assert_eq!(
            serde_json::to_string(&tenant).unwrap(),
            format!(r#"{{"id":"{ID}","region":"GMS","majorVersion":83,"minorVersion":1}}"#)
        );
    }

    #[test]
    fn a_missing_or_bad_header_is_named() {
        let good = [Some(ID), Some("GMS"), Some("83"), Some("1")];
        for (at, bad) in [(0, "a:b"), (0, ""), (1, ""), (1, "a\nb"), (2, "65536"), (3, "-1")] {
            let mut texts = good;
            texts[at] = Some(bad);
            assert_eq!(Tenant::parse(texts).unwrap_err().field, Tenant::HEADERS[at], "{bad}");
            texts[at] = None;
            let told = Tenant::parse(texts).unwrap_err().to_string();
            assert_eq!(told, format!("{} is missing: send it as a header", Tenant::HEADERS[at]));
        }
    }
}
