//! Stands in until keyspace.rs, value.rs and the collections are here: whoever lands them deletes this file.
#![allow(missing_docs, dead_code, clippy::all, clippy::pedantic)]
use super::{Hash, Set, Text};
use std::collections::HashMap;
macro_rules! coll { ($($n:ident)*) => {$( #[derive(Debug, Default)] pub struct $n; impl $n { pub fn is_empty(&self)->bool{true} } )*} }
coll! {List Zset Stream}
pub enum Value {
    Text(Text),
    Int(i64),
    List(Box<List>),
    Hash(Box<Hash>),
    Set(Box<Set>),
    Zset(Box<Zset>),
    Stream(Box<Stream>),
}
#[derive(Default)]
pub struct Keyspace(HashMap<Vec<u8>, Value>);
impl Keyspace {
    pub fn get(&self, k: &[u8]) -> Option<&Value> {
        self.0.get(k)
    }
    pub fn get_touched(&mut self, k: &[u8], _: u32) -> Option<&Value> {
        self.0.get(k)
    }
    pub fn get_mut(&mut self, k: &[u8]) -> Option<&mut Value> {
        self.0.get_mut(k)
    }
    pub fn insert(&mut self, k: &[u8], v: Value) -> Option<Value> {
        self.0.insert(k.to_vec(), v)
    }
    pub fn replace_value(&mut self, k: &[u8], v: Value) {
        self.0.insert(k.to_vec(), v);
    }
    pub fn remove(&mut self, k: &[u8]) -> Option<Value> {
        self.0.remove(k)
    }
    pub fn contains(&self, k: &[u8]) -> bool {
        self.0.contains_key(k)
    }
    pub fn expire_at(&self, _: &[u8]) -> Option<i64> {
        None
    }
    pub fn next_due(&mut self, _: i64, _: usize) -> Vec<Text> {
        vec![]
    }
}
