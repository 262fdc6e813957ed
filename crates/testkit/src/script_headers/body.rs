//! The body of a script, read just well enough: which `KEYS` and `ARGV` it uses, which commands it calls, on
//! which keys, and which words it returns. It is no Lua parser; our scripts are short and plain, and what it
//! cannot follow it reports rather than lets pass.

use std::collections::BTreeSet;

use kernel::script_headers::{Header, Slot};

/// Commands a script must not use: time and chance come as arguments, a search is the caller's, and what
/// blocks or switches has no place inside.
const FORBIDDEN: &[&str] = &[
    "BLMOVE",
    "BLMPOP",
    "BLPOP",
    "BRPOP",
    "BZPOPMAX",
    "BZPOPMIN",
    "EVAL",
    "EVALSHA",
    "FLUSHALL",
    "FLUSHDB",
    "KEYS",
    "MULTI",
    "RANDOMKEY",
    "SCAN",
    "SELECT",
    "SUBSCRIBE",
    "TIME",
    "WATCH",
];

/// Commands whose second word is no key.
const KEYLESS: &[&str] = &["PUBLISH", "SPUBLISH", "PING", "ECHO", "SCRIPT"];

/// A script without its comments. Strings stay.
pub(super) struct Body(String);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// `None` when the name is not written there.
    pub(super) command: Option<String>,
    /// The text of the second argument.
    key: Option<String>,
}

impl Body {
    pub(super) fn of(source: &str) -> Body {
        Body(source.lines().map(|line| cut_comment(line).to_owned() + "\n").collect())
    }

    /// The text between the brackets of each `KEYS[…]` or `ARGV[…]`.
    fn indexes(&self, table: &str) -> Vec<&str> {
        let opening = format!("{table}[");
        let after = self.0.match_indices(&opening).map(|(at, _)| &self.0[at + opening.len()..]);
        after.filter_map(|rest| rest.get(..closing(rest, '[', ']')?)).map(str::trim).collect()
    }

    pub(super) fn check_slots(&self, table: &str, slots: &[Slot], problems: &mut Vec<String>) {
        let indexes = self.indexes(table);
        let fixed: BTreeSet<usize> = indexes.iter().filter_map(|text| text.parse().ok()).collect();
        let whole = [format!("#{table}"), format!("({table})"), format!("({table},")];
        let computed = indexes.iter().any(|text| text.parse::<usize>().is_err())
            || whole.iter().any(|use_| self.0.contains(use_.as_str()));
        let rest_from = slots.iter().find(|slot| slot.rest).map(|slot| slot.number);
        for number in &fixed {
            let declared = slots.iter().any(|slot| slot.number == *number)
                || rest_from.is_some_and(|from| *number >= from);
            if !declared {
                problems.push(format!("{table}[{number}] is used and not in the header"));
            }
        }
        for slot in slots.iter().filter(|slot| !slot.rest) {
            if !fixed.contains(&slot.number) && !computed {
                problems.push(format!("{table} {} {} is never used", slot.number, slot.name));
            }
        }
        if computed && rest_from.is_none() {
            problems.push(format!("{table} is used by a computed number: the header needs `n..`"));
        }
        if !computed && rest_from.is_some_and(|from| fixed.range(from..).next().is_none()) {
            problems.push(format!("the header has a rest of {table} that is never used"));
        }
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        for name in ["redis.call(", "redis.pcall("] {
            for (at, _) in self.0.match_indices(name) {
                let rest = &self.0[at + name.len()..];
                let Some(end) = closing(rest, '(', ')') else { continue };
                let args = split_top(&rest[..end]);
                let command = args.first().and_then(|text| quoted(text)).map(str::to_uppercase);
                calls.push(Call { command, key: args.get(1).map(|text| (*text).to_owned()) });
            }
        }
        calls
    }

    pub(super) fn check_calls(&self, header: &Header, problems: &mut Vec<String>) {
        let calls = self.calls();
        let named = calls.iter().filter_map(|call| call.command.as_ref()).chain(&header.calls);
        for command in named.collect::<BTreeSet<_>>() {
            if FORBIDDEN.contains(&command.as_str()) {
                problems.push(format!("{command} has no place in a script"));
            }
        }
        let unnamed = calls.iter().any(|call| call.command.is_none());
        if unnamed && header.calls.is_empty() {
            problems.push("a command's name is computed: the header needs CALLS".to_owned());
        }
        if !unnamed && !header.calls.is_empty() {
            problems.push("the header has CALLS and every command is named in the body".to_owned());
        }
        let mut built = false;
        for call in &calls {
            let command = call.command.as_deref().unwrap_or_default();
            let Some(key) = call.key.as_deref() else { continue };
            if KEYLESS.contains(&command) || self.is_given(key) || key.starts_with("unpack(") {
                continue;
            }
            built = true;
            if header.builds.is_empty() {
                problems.push(format!("{command} on {key}, which is not from KEYS: say BUILDS"));
            } else if let Some(text) = quoted(key.split("..").next().unwrap_or_default())
                && !header.builds.iter().any(|pattern| pattern.starts_with(text))
            {
                problems.push(format!("{command} on {key}, which no BUILDS begins with"));
            }
        }
        if !built && !header.builds.is_empty() {
            problems.push("the header has BUILDS and the body builds no key".to_owned());
        }
    }

    /// Whether an expression is a key that the caller passed.
    fn is_given(&self, expression: &str) -> bool {
        let expression = expression.trim();
        if expression.starts_with("KEYS[") && closing(&expression[5..], '[', ']').is_some() {
            return !expression.contains("..");
        }
        let is_name = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        is_name(expression) && self.assigned(expression).iter().any(|from| self.is_given(from))
    }

    /// The expressions assigned to a name, in any `local a, b = x, y` or `a = x`; loops over `KEYS`
    /// count as given.
    fn assigned(&self, name: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for statement in self.0.split('\n') {
            let statement = statement.trim();
            if let Some(head) = statement.strip_prefix("for ") {
                let (names, of) = head.split_once(" in ").unwrap_or(("", ""));
                if of.contains("(KEYS)") && names.split(',').any(|known| known.trim() == name) {
                    found.push("KEYS[1]");
                }
                continue;
            }
            let statement = statement.strip_prefix("local ").unwrap_or(statement);
            if let Some(head) = statement.strip_prefix("function ") {
                found.extend(self.passed(head, name));
                continue;
            }
            let Some((names, values)) = statement.split_once(" = ") else { continue };
            let values = split_top(values);
            for (known, value) in names.split(',').zip(values) {
                // `x = x or y` and the like would ask about themselves for ever.
                if known.trim() == name && value.trim() != name && !value.contains(" or ") {
                    found.push(value);
                }
            }
        }
        found
    }

    /// The values that calls of a function pass for one of its parameters; `head` is `name(a, b)`.
    fn passed(&self, head: &str, parameter: &str) -> Vec<&str> {
        let Some((function, parameters)) = head.split_once('(') else { return Vec::new() };
        let parameters = parameters.split_once(')').map_or("", |(inside, _)| inside);
        let Some(at) = parameters.split(',').position(|known| known.trim() == parameter) else {
            return Vec::new();
        };
        let call = format!("{function}(");
        let calls = self.0.match_indices(&call).filter_map(|(from, _)| {
            let rest = &self.0[from + call.len()..];
            let passed = split_top(&rest[..closing(rest, '(', ')')?]).get(at).copied()?;
            (passed != parameter).then_some(passed)
        });
        calls.collect()
    }

    pub(super) fn check_answers(&self, header: &Header, problems: &mut Vec<String>) {
        let is_word = |text: &&String| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let words: BTreeSet<&str> =
            header.gives.iter().filter(is_word).map(String::as_str).collect();
        let described = words.len() < header.gives.len();
        for word in words.iter().filter(|word| **word != "nil" && **word != "integer") {
            if !self.0.contains(&format!("'{word}'")) && !self.0.contains(&format!("\"{word}\"")) {
                problems.push(format!("GIVES {word}, and the body never says it"));
            }
        }
        for (at, _) in self.0.match_indices("return ") {
            let rest = self.0[at + 7..].lines().next().unwrap_or_default();
            let word = rest.split_whitespace().next().and_then(quoted);
            if let Some(word) = word.filter(|word| !words.contains(word) && !described) {
                problems.push(format!("returns {word}, which GIVES does not have"));
            }
        }
    }
}

/// The line up to a comment that is not inside a string.
fn cut_comment(line: &str) -> &str {
    let mut quote = None;
    let bytes = line.as_bytes();
    for at in 0..bytes.len() {
        match (quote, bytes[at]) {
            (None, b'\'' | b'"') => quote = Some(bytes[at]),
            (Some(open), byte) if byte == open && bytes[at - 1] != b'\\' => quote = None,
            (None, b'-') if bytes.get(at + 1) == Some(&b'-') => return &line[..at],
            _ => {}
        }
    }
    line
}

/// The offset of the bracket that closes the one opened just before `text`.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == close && depth == 0 => return Some(at),
            None if c == close => depth -= 1,
            None if c == open => depth += 1,
            _ => {}
        }
    }
    None
}

/// Parts between commas that are not inside brackets or strings.
fn split_top(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None => match c {
                '\'' | '"' => quote = Some(c),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(text[from..at].trim());
                    from = at + 1;
                }
                _ => {}
            },
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// The text inside quotes, when it is nothing but a string.
fn quoted(text: &str) -> Option<&str> {
    let text = text.trim();
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).filter(|inner| !inner.contains(['\'', '"']))
}
