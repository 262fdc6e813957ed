//! `COMMAND …`: the command table as clients ask for it.

use crate::acl::CATEGORIES;
use crate::commands::ctx::{Ctx, is};
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::commands::table::{Begin, Find, Found, KeySpec, Spec, TABLE, flag};
use crate::data::glob;
use crate::doors::out::Out;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("command", Plain(all)),
    ("command|count", Plain(count)),
    ("command|info", Plain(info)),
    ("command|docs", Plain(docs)),
    ("command|list", Plain(list)),
    ("command|getkeys", Plain(|cx, argv| get_keys(cx, argv, false))),
    ("command|getkeysandflags", Plain(|cx, argv| get_keys(cx, argv, true))),
    ("command|help", Plain(|cx, _| help::reply(cx, "COMMAND", HELP))),
];

const HELP: &[(&str, &str)] = &[
    ("(no subcommand)", "All commands."),
    ("COUNT", "How many commands there are."),
    ("LIST [FILTERBY (ACLCAT <cat>|PATTERN <pattern>|MODULE <module>)]", "Names of commands."),
    ("INFO [<command-name> ...]", "What is known of these commands."),
    ("DOCS [<command-name> ...]", "What these commands are for."),
    ("GETKEYS <full-command>", "The keys of a call."),
    ("GETKEYSANDFLAGS <full-command>", "The keys of a call and what it does to them."),
];

fn top() -> impl Iterator<Item = &'static Spec> {
    TABLE.specs.iter().filter(|spec| spec.parent.is_none())
}

fn all(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if let Some(sub) = argv.get(1) {
        return Err(ReplyError::unknown_sub("command", sub));
    }
    cx.out.array(top().count());
    for spec in top() {
        describe(cx.out, spec);
    }
    Ok(())
}

fn count(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.len(top().count());
    Ok(())
}

fn info(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if argv.len() == 2 {
        return all(cx, &argv[..1]);
    }
    cx.out.array(argv.len() - 2);
    for name in &argv[2..] {
        match TABLE.by_full_name(name) {
            Some(spec) => describe(cx.out, spec),
            None => cx.out.null(),
        }
    }
    Ok(())
}

fn statuses<'a>(out: &mut Out, words: impl ExactSizeIterator<Item = std::borrow::Cow<'a, str>>) {
    out.set(words.len());
    for word in words {
        out.status(&word);
    }
}

/// One command in ten elements.
fn describe(out: &mut Out, spec: &Spec) {
    out.array(10);
    out.bulk(spec.full_name.as_bytes());
    out.int(spec.arity);
    let flags: Vec<&str> = flag::WORDS
        .iter()
        .filter(|(_, bit)| spec.has(*bit) && *bit != flag::MAY_REPLICATE)
        .map(|(word, _)| *word)
        .collect();
    statuses(out, flags.into_iter().map(Into::into));
    out.int(spec.legacy.0);
    out.int(spec.legacy.1);
    out.int(spec.legacy.2);
    statuses(out, spec.categories.iter().map(|category| format!("@{category}").into()));
    out.set(spec.tips.len());
    for tip in &spec.tips {
        out.bulk(tip.as_bytes());
    }
    out.set(spec.keys.len());
    for keys in &spec.keys {
        key_spec(out, keys);
    }
    out.set(spec.subs.len());
    let mut subs: Vec<&usize> = spec.subs.values().collect();
    subs.sort();
    for sub in subs {
        describe(out, &TABLE.specs[*sub]);
    }
}

fn key_spec(out: &mut Out, spec: &KeySpec) {
    out.map(3);
    out.bulk(b"flags");
    statuses(out, spec.flags.iter().map(|flag| (*flag).into()));
    out.bulk(b"begin_search");
    let (kind, begin): (&str, Vec<(&str, Word<'_>)>) = match &spec.begin {
        Begin::Index(at) => ("index", vec![("index", Word::Int(*at as i64))]),
        Begin::Keyword(word, from) => {
            ("keyword", vec![("keyword", Word::Text(word)), ("startfrom", Word::Int(*from))])
        }
        Begin::Unknown => ("unknown", Vec::new()),
    };
    typed(out, kind, &begin);
    out.bulk(b"find_keys");
    let n = |n: usize| Word::Int(n as i64);
    let (kind, find) = match spec.find {
        Find::Range { last, step, limit } => {
            ("range", vec![("lastkey", Word::Int(last)), ("keystep", n(step)), ("limit", n(limit))])
        }
        Find::Count { at, first, step } => {
            ("keynum", vec![("keynumidx", n(at)), ("firstkey", n(first)), ("keystep", n(step))])
        }
        Find::Unknown => ("unknown", Vec::new()),
    };
    typed(out, kind, &find);
}

enum Word<'a> {
    Int(i64),
    Text(&'a str),
}

fn typed(out: &mut Out, kind: &str, fields: &[(&str, Word<'_>)]) {
    out.map(2);
    out.bulk(b"type");
    out.bulk(kind.as_bytes());
    out.bulk(b"spec");
    out.map(fields.len());
    for (name, value) in fields {
        out.bulk(name.as_bytes());
        match value {
            Word::Int(n) => out.int(*n),
            Word::Text(text) => out.bulk(text.as_bytes()),
        }
    }
}

fn docs(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let specs: Vec<&Spec> = if argv.len() == 2 {
        top().collect()
    } else {
        argv[2..].iter().filter_map(|name| TABLE.by_full_name(name)).collect()
    };
    cx.out.map(specs.len());
    for spec in specs {
        document(cx.out, spec);
    }
    Ok(())
}

fn document(out: &mut Out, spec: &Spec) {
    out.bulk(spec.full_name.as_bytes());
    out.map(if spec.subs.is_empty() { 3 } else { 4 });
    out.bulk(b"summary");
    out.bulk(
        format!("{} of Redis {}", spec.full_name.to_uppercase(), crate::REDIS_VERSION).as_bytes(),
    );
    out.bulk(b"since");
    out.bulk(spec.since.as_bytes());
    out.bulk(b"group");
    out.bulk(spec.group.as_bytes());
    if !spec.subs.is_empty() {
        out.bulk(b"subcommands");
        out.map(spec.subs.len());
        for sub in spec.subs.values() {
            document(out, &TABLE.specs[*sub]);
        }
    }
}

fn list(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let names: Vec<&str> = match argv {
        [_, _] => TABLE.specs.iter().map(|spec| spec.full_name).collect(),
        [_, _, by, how, what] if is(by, "filterby") => {
            let fits: Box<dyn Fn(&&Spec) -> bool> = if is(how, "module") {
                Box::new(|_| false)
            } else if is(how, "aclcat") {
                let known = CATEGORIES.iter().find(|category| is(what, category)).copied();
                Box::new(move |spec| known.is_some_and(|known| spec.categories.contains(&known)))
            } else if is(how, "pattern") {
                let what = what.to_vec();
                Box::new(move |spec| glob::matches(&what, spec.full_name.as_bytes(), true))
            } else {
                return Err(SYNTAX);
            };
            TABLE.specs.iter().filter(|spec| fits(spec)).map(|spec| spec.full_name).collect()
        }
        _ => return Err(SYNTAX),
    };
    cx.out.set(names.len());
    for name in names {
        cx.out.bulk(name.as_bytes());
    }
    Ok(())
}

fn get_keys(cx: &mut Ctx<'_>, argv: &[&[u8]], with_flags: bool) -> Outcome {
    let call = &argv[2..];
    let Found::Command(spec) = TABLE.find(call) else {
        return Err(ReplyError::fixed("ERR Invalid command specified"));
    };
    if !spec.has_keys() {
        return Err(ReplyError::fixed("ERR The command has no key arguments"));
    }
    if !spec.arity_fits(call.len()) {
        return Err(ReplyError::fixed("ERR Invalid number of arguments specified for command"));
    }
    let keys = spec.keys_of(call);
    if keys.is_empty() && !spec.has(flag::NO_MANDATORY_KEYS) {
        return Err(ReplyError::fixed("ERR Invalid arguments specified for command"));
    }
    cx.out.array(keys.len());
    for key in keys {
        if with_flags {
            cx.out.array(2);
        }
        cx.out.bulk(call[key.at]);
        if with_flags {
            let flags = key.flags.iter().filter(|flag| **flag != "variable_flags");
            let flags: Vec<&str> = flags.copied().collect();
            statuses(cx.out, flags.into_iter().map(Into::into));
        }
    }
    Ok(())
}
