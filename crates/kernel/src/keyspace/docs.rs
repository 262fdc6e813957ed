//! The tables for people and programs: `docs/keyspace.md` and `worldkeep keys --json`. Placeholders are shown
//! as `<name>`, so that every brace in a pattern is a real byte.

use std::fmt::Write as _;

use super::{At, Held, KeyDef, Layout, Life, Named, Origin, Secrecy, Table};

/// The document. A test holds the committed file to it.
pub fn markdown(tables: &[&Table]) -> String {
    let mut out = String::from(
        "# The keyspace\n\n\
         Every key that Worldkeep reads or writes. This file is made from the tables in\n\
         `crates/*/src/keys.rs` by `worldkeep keys --markdown`; change a table, not this file.\n\n\
         `<name>` stands for a value; every other byte, braces too, is in the key as shown. In the\n\
         `tagged` layout the scope of a module is in braces, a Cluster hash tag; where no tagged form is\n\
         given, both layouts spell the key the same. Keys marked *own* are Worldkeep's, all others\n\
         those of existing services, byte for byte: losing an own key costs a helper, never a service's state.\n",
    );
    for table in tables {
        section(&mut out, table);
    }
    out
}

fn section(out: &mut String, table: &Table) {
    let _ = write!(out, "\n## {}\n\n{}", table.module, table.about);
    out.push_str(
        "\n\n| Key | Type | Life | Written by | Read by | What |\n|---|---|---|---|---|---|\n",
    );
    for def in table.keys {
        let mut key = format!("`{}`", def.pattern(Layout::Plain).shown());
        if !def.same_in_both() {
            let _ = write!(key, "<br>`{}`", def.pattern(Layout::Tagged).shown());
        }
        let mark = if def.origin == Origin::Own { " *own*" } else { "" };
        let secrecy = match def.secrecy {
            Secrecy::Open => "",
            Secrecy::Payloads => " Shown only with the right `payloads`.",
            Secrecy::Secret => " Never shown.",
        };
        let _ = writeln!(
            out,
            "| {key}{mark} | {} | {} | {} | {} | {}{secrecy} |",
            def.type_.shown(),
            life(def.life),
            def.writers().join(", "),
            if def.readers.is_empty() { "–".to_owned() } else { def.readers.join(", ") },
            def.sentence(),
        );
    }
    parts(out, table);
    relations(out, table);
    if !table.roles.is_empty() {
        out.push_str("\nRoles:\n\n");
        for role in table.roles {
            let _ = write!(out, "- `{}`: {}", role.name, role.about);
            out.push_str(if role.reads_all { " Reads every key.\n" } else { "\n" });
        }
    }
}

fn parts(out: &mut String, table: &Table) {
    let mut seen: Vec<_> = Vec::new();
    for param in table.keys.iter().flat_map(|def| def.params) {
        if !seen.contains(param) {
            seen.push(*param);
        }
    }
    if !seen.is_empty() {
        out.push_str("\nValues:\n\n");
    }
    for param in seen {
        let _ = writeln!(out, "- `<{}>`: {}", param.name, param.kind.rule());
    }
}

fn relations(out: &mut String, table: &Table) {
    let lines: Vec<String> = table.keys.iter().flat_map(|def| relation(def)).collect();
    if !lines.is_empty() {
        let _ = write!(out, "\nRelations, held by `worldkeep check`:\n\n{}", lines.concat());
    }
}

fn relation(def: &KeyDef) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(index) = def.index {
        let held = match index.held {
            Held::Members => "each entry",
            Held::Fields => "each field",
            Held::Values => "each value",
        };
        let mut line =
            format!("- `{}`: {held} is the `<{}>` of `{}`", def.name, index.fills, index.names);
        match index.complete {
            Some([]) => line.push_str("; every one of them is listed"),
            Some(found) => {
                let found: Vec<_> = found.iter().map(|(param, at)| located(param, *at)).collect();
                let _ = write!(
                    line,
                    "; every one of them is listed where it says ({})",
                    found.join(", ")
                );
            }
            None => {}
        }
        line.push_str(match index.named {
            Named::Live => "",
            Named::Any => "; an entry may outlive what it names",
            Named::Free => " that does not exist, and none is there twice",
        });
        lines.push(line + ".\n");
    }
    if let Some(belongs) = def.belongs {
        lines.push(format!("- `{}`: nothing without its `{}`.\n", def.name, belongs.to));
    }
    for placed in def.placed {
        let places: Vec<_> = placed.in_any.iter().map(|name| format!("`{name}`")).collect();
        let (word, places) = (placed.word, places.join(" or "));
        lines.push(format!("- `{}`: where it says `{word}`, {places} lists it.\n", def.name));
    }
    lines
}

fn located(param: &str, at: At) -> String {
    match at {
        At::Json(pointer) => format!("`<{param}>` at `{pointer}`"),
        At::Field(field, default) => format!("`<{param}>` in field `{field}`, else `{default}`"),
    }
}

fn life(life: Life) -> String {
    match life {
        Life::None => "none".to_owned(),
        Life::Secs(secs) => span(secs),
        Life::Inherited(name) => format!("that of `{name}`"),
        Life::Computed(sentence) | Life::Sometimes(sentence) => sentence.to_owned(),
    }
}

fn span(secs: u64) -> String {
    for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "min")] {
        if secs >= unit && secs.is_multiple_of(unit) {
            return format!("{} {name}", secs / unit);
        }
    }
    format!("{secs} s")
}

/// One definition as `worldkeep keys --json` shows it.
#[derive(Debug, serde::Serialize)]
pub struct KeyRow {
    /// The module.
    pub module: &'static str,
    /// The builder's name.
    pub name: &'static str,
    /// The plain pattern, placeholders as `<name>`.
    pub key: String,
    /// The same in the tagged layout.
    pub tagged: String,
    /// The type as the tables have it.
    pub r#type: super::Type,
    /// The word that `TYPE` answers.
    pub redis_type: &'static str,
    /// How long it lives.
    pub life: Life,
    /// Seed or ours.
    pub origin: Origin,
    /// The seed it comes from.
    pub seed: Option<&'static str>,
    /// The role that owns it.
    pub owner: &'static str,
    /// All roles that write it.
    pub writers: Vec<&'static str>,
    /// Other roles that read it.
    pub readers: &'static [&'static str],
    /// The readers who may see the value.
    pub secrecy: Secrecy,
    /// The placeholder with the hash tag in the tagged layout.
    pub scope: Option<&'static str>,
    /// The placeholders: name, kind and rule.
    pub params: Vec<ParamRow>,
    /// The keys that the entries name, when the key is an index.
    pub index: Option<super::Index>,
    /// The key without which this one has no meaning.
    pub belongs: Option<super::Belongs>,
    /// One sentence.
    pub sentence: &'static str,
}

/// A placeholder as `worldkeep keys --json` shows it.
#[derive(Debug, serde::Serialize)]
pub struct ParamRow {
    /// The placeholder's name.
    pub name: &'static str,
    /// The kind of values that the placeholder takes.
    pub kind: super::Kind,
    /// The kind's rule in words.
    pub rule: &'static str,
}

/// Every definition, in the order of the document.
pub fn rows(tables: &[&'static Table]) -> Vec<KeyRow> {
    tables.iter().flat_map(|table| table.keys.iter().map(|def| row(table, def))).collect()
}

fn row(table: &Table, def: &'static KeyDef) -> KeyRow {
    let params = def.params.iter();
    let in_key = |name: &&str| def.params.iter().any(|param| param.name == *name);
    KeyRow {
        module: def.module,
        name: def.name,
        key: def.pattern(Layout::Plain).shown(),
        tagged: def.pattern(Layout::Tagged).shown(),
        r#type: def.type_,
        redis_type: def.type_.redis(),
        life: def.life,
        origin: def.origin,
        seed: table.seed.filter(|_| def.origin == Origin::Seed),
        owner: def.writers()[0],
        writers: def.writers().to_vec(),
        readers: def.readers,
        secrecy: def.secrecy,
        scope: def.scope.filter(in_key),
        params: params
            .map(|param| ParamRow { name: param.name, kind: param.kind, rule: param.kind.rule() })
            .collect(),
        index: def.index,
        belongs: def.belongs,
        sentence: def.sentence(),
    }
}
