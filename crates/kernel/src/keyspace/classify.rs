//! From a live key to its definition: most literal segments first, in both layouts. Job namespaces are a
//! parameter, because they are configuration; a head that is no known namespace belongs to somebody else.

use std::collections::HashMap;

use super::pattern::PatternPart;
use super::{BadId, KeyDef, Kind, Layout, Table};

/// A live key with its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified<'k> {
    /// The key's definition.
    pub def: &'static KeyDef,
    /// The values of the placeholders, in the order of the pattern.
    pub params: Vec<(&'static str, &'k str)>,
    /// Which layout spelled it; `None` when both spell it so.
    pub layout: Option<Layout>,
}

impl<'k> Classified<'k> {
    /// The value of a placeholder.
    pub fn param(&self, name: &str) -> Option<&'k str> {
        self.params.iter().find(|(param, _)| *param == name).map(|&(_, value)| value)
    }
}

/// Classifies many keys: the tables, ordered once.
#[derive(Debug, Clone)]
pub struct Classifier {
    tables: Vec<&'static Table>,
    namespaces: Vec<String>,
    by_head: HashMap<String, Vec<Candidate>>,
    namespaced: Vec<Candidate>,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    def: &'static KeyDef,
    layout: Layout,
    same_in_both: bool,
}

impl Classifier {
    /// For these tables and job namespaces (as configured, with braces where they have them).
    pub fn new(tables: &[&'static Table], namespaces: &[impl AsRef<str>]) -> Classifier {
        let mut by_head: HashMap<String, Vec<Candidate>> = HashMap::new();
        let mut namespaced = Vec::new();
        for def in tables.iter().flat_map(|table| table.keys).copied().filter(|def| def.is_key()) {
            let same_in_both = def.same_in_both();
            for layout in Layout::ALL {
                if layout == Layout::Tagged && same_in_both {
                    continue;
                }
                let prefix = def.pattern(layout).prefix();
                let group = match head(&prefix) {
                    "" => &mut namespaced,
                    head => by_head.entry(head.to_owned()).or_default(),
                };
                group.push(Candidate { def, layout, same_in_both });
            }
        }
        for group in by_head.values_mut() {
            sort(group);
        }
        sort(&mut namespaced);
        let namespaces = namespaces.iter().map(|name| name.as_ref().to_owned()).collect();
        Classifier { tables: tables.to_vec(), namespaces, by_head, namespaced }
    }

    /// The tables it knows.
    pub fn tables(&self) -> &[&'static Table] {
        &self.tables
    }

    /// The job namespaces it knows.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The definition of a key; `None` when no table has one for it.
    pub fn classify<'k>(&self, key: &'k [u8]) -> Option<Classified<'k>> {
        let key = std::str::from_utf8(key).ok()?;
        let group = self.by_head.get(head(key)).unwrap_or(&self.namespaced);
        group.iter().find_map(|candidate| self.fit(candidate, key))
    }

    fn fit<'k>(&self, candidate: &Candidate, key: &'k str) -> Option<Classified<'k>> {
        let Candidate { def, layout, same_in_both } = *candidate;
        let params = def.pattern(layout).values(key, layout, &self.namespaces)?;
        let reserved = params.iter().any(|(name, value)| {
            def.reserved.iter().any(|(param, words)| param == name && words.contains(value))
        });
        if reserved {
            return None;
        }
        let either = same_in_both || brings_its_tag(def, &params);
        Some(Classified { def, params, layout: (!either).then_some(layout) })
    }

    /// The module whose beginning this key has, whether or not it has a definition.
    pub fn owner_of_prefix(&self, key: &[u8]) -> Option<&'static str> {
        let mut best: Option<(usize, &'static str)> = None;
        for table in &self.tables {
            for prefix in table.prefixes {
                if key.starts_with(prefix.as_bytes())
                    && best.is_none_or(|(len, _)| len < prefix.len())
                {
                    best = Some((prefix.len(), table.module));
                }
            }
        }
        if best.is_some() {
            return best.map(|(_, module)| module);
        }
        let head = head(std::str::from_utf8(key).ok()?);
        let bare = head.strip_prefix('{').and_then(|head| head.strip_suffix('}'));
        let known = self.namespaces.iter().any(|ns| ns == head || Some(ns.as_str()) == bare);
        known.then(|| self.namespaced.first().map(|candidate| candidate.def.module)).flatten()
    }
}

/// A namespace with its own hash tag is spelled alike in both layouts.
fn brings_its_tag(def: &KeyDef, params: &[(&str, &str)]) -> bool {
    def.params.iter().any(|param| {
        param.kind == Kind::Namespace
            && params.iter().any(|(name, value)| *name == param.name && value.contains('{'))
    })
}

/// The definition of one key. For many, keep a [`Classifier`].
pub fn classify<'k>(
    tables: &[&'static Table],
    namespaces: &[impl AsRef<str>],
    key: &'k [u8],
) -> Option<Classified<'k>> {
    Classifier::new(tables, namespaces).classify(key)
}

/// The part of a key before its first colon; of a literal in braces, the whole tag.
fn head(key: &str) -> &str {
    let from = if key.starts_with('{') { key.find('}').unwrap_or(0) } else { 0 };
    &key[..key[from..].find(':').map_or(key.len(), |at| from + at)]
}

fn sort(group: &mut [Candidate]) {
    group.sort_by_cached_key(|candidate| {
        let pattern = candidate.def.pattern(candidate.layout);
        std::cmp::Reverse((pattern.literal_segments(), pattern.literal_len()))
    });
}

/// A `SCAN MATCH` pattern for a definition: the placeholders given are filled, the rest are `*`. It may find
/// more than that definition (`reactor:*` also finds cooldowns), so classify what SCAN returns.
pub fn scan_glob(def: &KeyDef, layout: Layout, values: &[(&str, &str)]) -> Result<String, BadId> {
    let pattern = def.pattern(layout);
    let mut glob = String::new();
    for step in pattern.steps() {
        let (number, tagged) = match *step {
            PatternPart::Text { from, to } => {
                escape(&mut glob, pattern.literal(from, to));
                continue;
            }
            PatternPart::Part(number) => (usize::from(number), false),
            PatternPart::Tag(number) => (usize::from(number), true),
        };
        let param = def.params[number];
        let value = values.iter().find(|(name, _)| *name == param.name).map(|&(_, value)| value);
        if let Some(value) = value {
            let refuse = |flaw| BadId { key: def.name, field: param.name, flaw };
            param.kind.check(value).map_err(refuse)?;
        }
        let tagged = tagged && !value.is_some_and(|value| value.contains('{'));
        glob.push_str(if tagged { "{" } else { "" });
        match value {
            Some(value) => escape(&mut glob, value),
            None => glob.push('*'),
        }
        glob.push_str(if tagged { "}" } else { "" });
    }
    Ok(glob)
}

fn escape(glob: &mut String, text: &str) {
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^') {
            glob.push('\\');
        }
        glob.push(c);
    }
}
