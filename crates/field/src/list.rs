//! Lists as several programs write them: `[]` by us, `null` by Go for a list that was never made, and `{}` by
//! Lua's cjson, which cannot tell an empty list from an empty object. All three read as empty.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// For `#[serde(deserialize_with = "field::list")]`: a list, or `null`, or an empty object.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Lists<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Lists<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_unit<E>(self) -> Result<Vec<T>, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                items.push(item);
            }
            Ok(items)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<T>, A::Error> {
            match map.next_key::<IgnoredAny>()? {
                None => Ok(Vec::new()),
                Some(_) => Err(serde::de::Error::custom("an object where a list is wanted")),
            }
        }
    }

    deserializer.deserialize_any(Lists(PhantomData))
}

/// For `#[serde(deserialize_with = "field::map")]`: an object, or `null`, or an empty list.
pub fn map<'de, D, M>(deserializer: D) -> Result<M, D::Error>
where
    D: Deserializer<'de>,
    M: Deserialize<'de> + Default,
{
    struct Maps<M>(PhantomData<M>);

    impl<'de, M: Deserialize<'de> + Default> Visitor<'de> for Maps<M> {
        type Value = M;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_unit<E>(self) -> Result<M, E> {
            Ok(M::default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<M, A::Error> {
            match seq.next_element::<IgnoredAny>()? {
                None => Ok(M::default()),
                Some(_) => Err(serde::de::Error::custom("a list where an object is wanted")),
            }
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<M, A::Error> {
            M::deserialize(serde::de::value::MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_any(Maps(PhantomData))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[derive(serde::Deserialize)]
    struct Both {
        #[serde(default, deserialize_with = "super::list")]
        many: Vec<u8>,
        #[serde(default, deserialize_with = "super::map")]
        named: BTreeMap<String, u8>,
    }

    #[test]
    fn every_way_to_write_nothing_reads_as_nothing() {
        for text in ["{}", r#"{"many":[],"named":{}}"#, r#"{"many":{},"named":[]}"#] {
            let both: Both = serde_json::from_str(text).unwrap();
            assert!(both.many.is_empty() && both.named.is_empty(), "{text}");
        }
        let both: Both = serde_json::from_str(r#"{"many":null,"named":null}"#).unwrap();
        assert!(both.many.is_empty() && both.named.is_empty());
        let both: Both = serde_json::from_str(r#"{"many":[1,2],"named":{"a":3}}"#).unwrap();
        assert_eq!((both.many, both.named["a"]), (vec![1, 2], 3));
    }

    #[test]
    fn something_of_the_wrong_kind_is_refused() {
        for text in [r#"{"many":{"a":1}}"#, r#"{"many":7}"#, r#"{"named":[1]}"#, r#"{"named":""}"#]
        {
            assert!(serde_json::from_str::<Both>(text).is_err(), "{text}");
        }
    }
}
