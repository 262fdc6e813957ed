//! Pages of a list: `page[number]` from 1, `page[size]` 1 to 250. The links of an answer keep every other
//! parameter of the request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::document::{Many, Resource, answer};
use crate::reply::{self, Refusal};

const MOST: usize = 250;

/// The query of a list.
#[derive(Debug)]
pub(crate) struct Paging {
    path: String,
    others: Vec<(String, String)>,
    number: usize,
    size: usize,
}

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
            .map_err(|_| Refusal::new(reply::BAD_REQUEST, "the query cannot be read"))?;
        Paging::read(parts.uri.path(), query.0)
    }
}

impl Paging {
    fn read(path: &str, query: Vec<(String, String)>) -> Result<Self, Refusal> {
        let mut paging =
            Paging { path: path.to_owned(), others: Vec::new(), number: 1, size: MOST };
        let whole = |name: &str, text: &str, most: usize| {
            let number = text.parse().ok().filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| {
                let says = match most {
                    usize::MAX => format!("{name} must be a whole number from 1"),
                    most => format!("{name} must be a whole number from 1 to {most}"),
                };
                Refusal::new(reply::BAD_FIELD, says).field(name)
            })
        };
        for (name, text) in query {
            match name.as_str() {
                "page[number]" => paging.number = whole(&name, &text, usize::MAX)?,
                "page[size]" => paging.size = whole(&name, &text, MOST)?,
                "limit" => {
                    let says = "limit is not known here: use page[size]";
                    return Err(Refusal::new(reply::BAD_FIELD, says).field("limit"));
                }
                _ if name.starts_with("page[") => {
                    let says =
                        format!("{name} is not known: there are page[number] and page[size]");
                    return Err(Refusal::new(reply::BAD_FIELD, says).field(name));
                }
                _ => paging.others.push((name, text)),
            }
        }
        Ok(paging)
    }

    /// The filter on this attribute: `name=…` or `filter[name]=…`.
    pub(crate) fn filter(&self, name: &str) -> Option<&str> {
        let wide = format!("filter[{name}]");
        let found = self.others.iter().rev().find(|(given, _)| given == name || *given == wide);
        found.map(|(_, text)| text.as_str())
    }

    /// Another parameter of the query.
    pub(crate) fn other(&self, name: &str) -> Option<&str> {
        self.others.iter().rev().find(|(given, _)| given == name).map(|(_, text)| text.as_str())
    }

    /// The part of `all` that the page shows, as a list to be turned into resources.
    pub(crate) fn cut<T>(&self, all: Vec<T>) -> (usize, Vec<T>) {
        let total = all.len();
        let skip = (self.number - 1).saturating_mul(self.size);
        (total, all.into_iter().skip(skip).take(self.size).collect())
    }

    /// Answers with a page out of `total`.
    pub(crate) fn answer<A: Serialize>(&self, total: usize, data: Vec<Resource<A>>) -> Response {
        let last = total.div_ceil(self.size).max(1);
        let meta = json!({
            "total": total,
            "page": { "number": self.number, "size": self.size, "last": last },
        });
        let mut links = Map::new();
        let mut link = |name: &str, number: usize| {
            links.insert(name.to_owned(), Value::from(self.link(number)));
        };
        link("self", self.number);
        link("first", 1);
        link("last", last);
        if self.number > 1 {
            link("prev", (self.number - 1).min(last));
        }
        if self.number < last {
            link("next", self.number + 1);
        }
        answer(axum::http::StatusCode::OK, &Many { data, meta, links: links.into() })
    }

    fn link(&self, number: usize) -> String {
        let mut link = self.path.clone();
        let numbers = [("page[number]", number.to_string()), ("page[size]", self.size.to_string())];
        let others = self.others.iter().map(|(name, text)| (name.as_str(), text.clone()));
        for (at, (name, text)) in others.chain(numbers).enumerate() {
            link.push(if at == 0 { '?' } else { '&' });
            percent(&mut link, name);
            link.push('=');
            percent(&mut link, &text);
        }
        link
    }
}

fn percent(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &[(&str, &str)]) -> Result<Paging, Refusal> {
        let query = query.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
        Paging::read("/api/x", query)
    }

    #[test]
    fn pages_are_numbered_from_one_and_have_at_most_250() {
        assert_eq!(read(&[]).unwrap().size, 250);
        for bad in [
            ("page[number]", "0"),
            ("page[number]", "x"),
            ("page[size]", "0"),
            ("page[size]", "251"),
            ("page[offset]", "1"),
            ("limit", "5"),
        ] {
            let refusal = read(&[bad]).unwrap_err();
            assert_eq!(
                (refusal.def.status, refusal.field.as_deref()),
                (400, Some(bad.0)),
                "{bad:?}"
            );
        }
        let paging = read(&[("page[number]", "2"), ("page[size]", "2"), ("name", "a b")]).unwrap();
        assert_eq!(paging.cut(vec![1, 2, 3]), (3, vec![3]));
        assert_eq!(paging.filter("name"), Some("a b"));
        assert_eq!(paging.link(1), "/api/x?name=a%20b&page%5Bnumber%5D=1&page%5Bsize%5D=2");
        let far = read(&[("page[number]", "18446744073709551615")]).unwrap();
        assert_eq!(far.cut(vec![1]), (1, vec![]));
    }

    #[tokio::test]
    async fn past_the_end_the_way_back_is_the_last_page() {
        let paging = read(&[("page[number]", "9"), ("page[size]", "2")]).unwrap();
        let response = paging.answer::<Value>(3, Vec::new());
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["meta"], json!({"total":3,"page":{"number":9,"size":2,"last":2}}));
        assert_eq!(body["links"]["prev"], "/api/x?page%5Bnumber%5D=2&page%5Bsize%5D=2");
        assert_eq!(body["links"].get("next"), None);
    }
}
