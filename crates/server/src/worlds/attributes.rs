//! JSON:API bodies as they come in: `{"data":{"type":"reactors","attributes":{…}}}`. Each attribute is read by
//! name, so that what is missing, of the wrong kind or out of range is told with its pointer. A call about many has a
//! list of such items as its `data`.

use axum::extract::{FromRequest, Request};
use field::Limits;
use serde_json::{Map, Value};

use crate::extract::Body;
use crate::reply::{self, Refusal};

/// The attributes of a body. Those that a route does not know are passed over, as JSON:API asks.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    kind: Option<String>,
    id: Option<Value>,
    all: Map<String, Value>,
}

/// The items of a call about many. One that has no shape is told in its place.
pub(crate) struct Items(pub(crate) Vec<Result<Attributes, Refusal>>);

/// A call is about no more.
pub(crate) const MOST_ITEMS: usize = monsters::MOST_AT_ONCE;

impl<S: Send + Sync> FromRequest<S> for Items {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let Body(mut body) = Body::<Value>::from_request(request, state).await?;
        let refuse = |says: String| Refusal::new(reply::BAD_FIELD, says).field("/data");
        let Some(Value::Array(items)) = body.get_mut("data").map(Value::take) else {
            let says = "the body must be {\"data\":[{\"type\":…,\"attributes\":{…}},…]}";
            return Err(refuse(says.to_owned()));
        };
        if items.len() > MOST_ITEMS {
            return Err(refuse(format!("data has more than {MOST_ITEMS} items")));
        }
        Ok(Items(items.into_iter().map(Attributes::item).collect()))
    }
}

impl<S: Send + Sync> FromRequest<S> for Attributes {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let Body(body) = Body::<Value>::from_request(request, state).await?;
        Attributes::read(body)
    }
}

pub(crate) fn pointer(name: &str) -> String {
    format!("/data/attributes/{name}")
}

pub(crate) fn refuse(name: &str, says: &str) -> Refusal {
    Refusal::new(reply::BAD_FIELD, format!("{name} {says}")).field(pointer(name))
}

impl Attributes {
    /// From a whole body.
    pub(crate) fn read(mut body: Value) -> Result<Self, Refusal> {
        Attributes::item(body.get_mut("data").map(Value::take).unwrap_or_default())
    }

    /// From what stands in `data`.
    fn item(mut data: Value) -> Result<Self, Refusal> {
        let shape = || {
            let says = "the body must be {\"data\":{\"type\":…,\"attributes\":{…}}}";
            Refusal::new(reply::BAD_FIELD, says).field("/data/attributes")
        };
        let data = data.as_object_mut().ok_or_else(shape)?;
        let id = data.remove("id");
        let kind = match data.remove("type") {
            None => None,
            Some(Value::String(kind)) => Some(kind),
            Some(_) => {
                return Err(Refusal::new(reply::BAD_FIELD, "type must be text").field("/data/type"));
            }
        };
        match data.remove("attributes") {
            Some(Value::Object(all)) => Ok(Attributes { kind, id, all }),
            None => Ok(Attributes { kind, id, all: Map::new() }),
            Some(_) => Err(shape()),
        }
    }

    /// From a command's body, which is the attributes themselves.
    pub(crate) fn bare(all: Map<String, Value>) -> Self {
        Attributes { kind: None, id: None, all }
    }

    /// Refuses a body of another type. `type` may be left out.
    pub(crate) fn of(self, kind: &str) -> Result<Self, Refusal> {
        match &self.kind {
            Some(given) if given != kind => {
                let says = format!("type is {given:?}, and this route takes {kind:?}");
                Err(Refusal::new(reply::BAD_FIELD, says).field("/data/type"))
            }
            _ => Ok(self),
        }
    }

    /// The id of an item, as text or as a number.
    pub(crate) fn id(&self) -> Result<u32, Refusal> {
        let id = match &self.id {
            Some(Value::String(text)) => text.parse().ok(),
            Some(Value::Number(number)) => number.as_u64().and_then(|id| u32::try_from(id).ok()),
            _ => None,
        };
        let says = "id must be there, as a whole number from 0 to 4294967295";
        id.ok_or_else(|| Refusal::new(reply::BAD_FIELD, says).field("/data/id"))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.all.get(name).filter(|value| !value.is_null())
    }

    /// A whole number in the range of its type, if there is one.
    pub(crate) fn number<T>(&self, name: &str) -> Result<Option<T>, Refusal>
    where
        T: Limits + TryFrom<i64>,
    {
        let Some(value) = self.get(name) else { return Ok(None) };
        whole(value).map(Some).ok_or_else(|| {
            refuse(name, &format!("must be a whole number from {} to {}", T::LEAST, T::MOST))
        })
    }

    /// A whole number that must be there.
    pub(crate) fn need<T>(&self, name: &str) -> Result<T, Refusal>
    where
        T: Limits + TryFrom<i64>,
    {
        self.number(name)?.ok_or_else(|| refuse(name, "is required"))
    }

    /// A list of whole numbers, if there is one; at most `most`.
    pub(crate) fn numbers<T>(&self, name: &str, most: usize) -> Result<Option<Vec<T>>, Refusal>
    where
        T: Limits + TryFrom<i64>,
    {
        let Some(value) = self.get(name) else { return Ok(None) };
        let items = value.as_array().ok_or_else(|| refuse(name, "must be a list"))?;
        if items.len() > most {
            return Err(refuse(name, &format!("has more than {most} items")));
        }
        let wrong = || {
            let says = format!("must hold whole numbers from {} to {}", T::LEAST, T::MOST);
            refuse(name, &says)
        };
        items.iter().map(|item| whole(item).ok_or_else(wrong)).collect::<Result<_, _>>().map(Some)
    }

    /// Text of at most `most` bytes, if there is any.
    pub(crate) fn text(&self, name: &str, most: usize) -> Result<Option<String>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| refuse(name, "must be text"))?;
        if text.len() > most {
            return Err(refuse(name, &format!("is longer than {most} bytes")));
        }
        Ok(Some(text.to_owned()))
    }

    /// `true` or `false`, if there is one.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| refuse(name, "must be true or false"))
    }

    /// All of them at once, as one thing; the members it does not know are passed over.
    pub(crate) fn fitted<T: serde::de::DeserializeOwned>(&self) -> Result<T, Refusal> {
        let all = Value::Object(self.all.clone());
        serde_json::from_value(all).map_err(|error| {
            Refusal::new(reply::BAD_FIELD, format!("the attributes do not fit: {error}"))
                .field("/data/attributes")
        })
    }

    /// Anything that fits `T`, if there is any.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        T::deserialize(value)
            .map(Some)
            .map_err(|error| refuse(name, &format!("does not fit: {error}")))
    }
}

fn whole<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    value.as_i64().and_then(|number| T::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value)] // short to write
    fn given(attributes: Value) -> Attributes {
        Attributes::read(json!({ "data": { "type": "reactors", "attributes": attributes } }))
            .unwrap()
    }

    #[test]
    fn a_wrong_attribute_is_told_with_its_pointer() {
        let all = given(json!({ "x": 40000, "y": 1.5, "name": 7, "delay": -1, "ids": [1, "2"] }));
        let told = |refusal: Refusal| (refusal.field.unwrap(), refusal.message);
        assert_eq!(
            told(all.need::<i16>("x").unwrap_err()),
            ("/data/attributes/x".into(), "x must be a whole number from -32768 to 32767".into())
        );
        assert_eq!(told(all.need::<u8>("z").unwrap_err()).1, "z is required");
        assert_eq!(told(all.text("name", 10).unwrap_err()).1, "name must be text");
        assert!(all.number::<i16>("y").is_err() && all.number::<u32>("delay").is_err());
        assert!(all.numbers::<u32>("ids", 10).is_err() && all.flag("x").is_err());
        let nothing = given(json!({ "x": null }));
        assert_eq!(nothing.number::<i16>("x").unwrap(), None);
    }

    #[test]
    fn a_body_of_another_shape_or_type_is_refused() {
        for body in [json!(7), json!({}), json!({ "data": [] }), json!({"data": {"attributes": 1}})]
        {
            assert!(Attributes::read(body.clone()).is_err(), "{body}");
        }
        assert!(given(json!({})).of("monsters").is_err());
        assert!(given(json!({})).of("reactors").is_ok());
        let bare = Attributes::read(json!({ "data": { "attributes": {} } })).unwrap();
        assert!(bare.of("reactors").is_ok());
    }
}
