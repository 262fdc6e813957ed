//! The rules of `ACL SETUSER`: `on >password ~keys:* +@read -get (…)`.

use sha2::{Digest as _, Sha256};

use super::{CATEGORIES, KeyPattern, Selector, User};
use crate::commands::table::{Spec, TABLE};
use crate::doors::resp::split_words;

const UNKNOWN: &str = "Unknown command or category name in ACL";
const SYNTAX: &str = "Syntax error";
const AFTER_ALL_KEYS: &str = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not \
     valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns";
const AFTER_ALL_CHANNELS: &str = "Adding a pattern after the * pattern (or the 'allchannels' flag) is \
     not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels";
const NO_SUCH_PASSWORD: &str = "The password you are trying to remove from the user does not exist";
const BAD_HASH: &str = "The password hash must be exactly 64 characters and contain only lowercase \
     hexadecimal characters";
const FIRST_ARG_OF_SUB: &str = "Allowing first-arg of a subcommand is not supported";

/// Why a rule is refused.
type Refused = &'static str;

/// SHA-256 in hexadecimal.
pub(crate) fn hash_password(password: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let halves = Sha256::digest(password).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| char::from(DIGITS[usize::from(half)])).collect()
}

fn checked_hash(text: &[u8]) -> Result<String, Refused> {
    let fits = text.len() == 64 && text.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if fits { Ok(String::from_utf8_lossy(text).into_owned()) } else { Err(BAD_HASH) }
}

/// Joins the words of each `( … )` to one rule; the word that opens one that is never closed is the error.
pub(crate) fn merge_selectors(words: &[&[u8]]) -> Result<Vec<Vec<u8>>, Vec<u8>> {
    let mut rules: Vec<Vec<u8>> = Vec::new();
    let mut open: Option<(Vec<u8>, Vec<u8>)> = None;
    for word in words {
        if let Some((start, mut text)) = open.take() {
            text.push(b' ');
            text.extend_from_slice(word);
            if word.ends_with(b")") {
                rules.push(text);
            } else {
                open = Some((start, text));
            }
        } else if word.starts_with(b"(") && !word.ends_with(b")") {
            open = Some((word.to_vec(), word.to_vec()));
        } else {
            rules.push(word.to_vec());
        }
    }
    match open {
        Some((start, _)) => Err(start),
        None => Ok(rules),
    }
}

impl User {
    /// `requirepass`: this password and no other; none when it is empty.
    pub(crate) fn set_only_password(&mut self, password: &[u8]) {
        self.passwords.clear();
        self.nopass = password.is_empty();
        if !password.is_empty() {
            self.passwords.push(hash_password(password));
        }
    }

    /// Applies one rule. `all_channels` is what `reset` gives.
    pub(crate) fn apply(&mut self, rule: &[u8], all_channels: bool) -> Result<(), Refused> {
        match rule.to_ascii_lowercase().as_slice() {
            b"" => {}
            b"on" => self.enabled = true,
            b"off" => self.enabled = false,
            b"skip-sanitize-payload" => self.sanitize = Some(false),
            b"sanitize-payload" => self.sanitize = Some(true),
            b"nopass" => {
                self.nopass = true;
                self.passwords.clear();
            }
            b"resetpass" => {
                self.nopass = false;
                self.passwords.clear();
            }
            b"clearselectors" => self.selectors.truncate(1),
            b"reset" => {
                *self = User::new(&std::mem::take(&mut self.name), all_channels);
                self.sanitize = Some(true);
            }
            _ => return self.apply_marked(rule, all_channels),
        }
        Ok(())
    }

    /// Rules told by their first character.
    fn apply_marked(&mut self, rule: &[u8], all_channels: bool) -> Result<(), Refused> {
        let rest = &rule[1..];
        match rule[0] {
            b'>' | b'#' => {
                let hash = if rule[0] == b'>' { hash_password(rest) } else { checked_hash(rest)? };
                if !self.passwords.contains(&hash) {
                    self.passwords.push(hash);
                }
                self.nopass = false;
            }
            b'<' | b'!' => {
                let hash = if rule[0] == b'<' { hash_password(rest) } else { checked_hash(rest)? };
                let at = self.passwords.iter().position(|known| *known == hash);
                self.passwords.remove(at.ok_or(NO_SUCH_PASSWORD)?);
            }
            b'(' if rule.ends_with(b")") => {
                let mut selector = Selector { all_channels, ..Selector::none() };
                for word in split_words(&rule[1..rule.len() - 1]).ok_or(SYNTAX)? {
                    selector.apply(&word)?;
                }
                self.selectors.push(selector);
            }
            _ => self.selectors[0].apply(rule)?,
        }
        Ok(())
    }
}

impl Selector {
    /// Applies one rule on commands, keys or channels.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), Refused> {
        match rule.to_ascii_lowercase().as_slice() {
            b"allkeys" | b"~*" => {
                self.all_keys = true;
                self.keys.clear();
            }
            b"resetkeys" => {
                self.all_keys = false;
                self.keys.clear();
            }
            b"allchannels" | b"&*" => {
                self.all_channels = true;
                self.channels.clear();
            }
            b"resetchannels" => {
                self.all_channels = false;
                self.channels.clear();
            }
            b"allcommands" | b"+@all" => self.all(true),
            b"nocommands" | b"-@all" => self.all(false),
            _ => return self.apply_marked(rule),
        }
        Ok(())
    }

    fn all(&mut self, allowed: bool) {
        self.commands.fill(allowed);
        (self.all_commands, self.future) = (allowed, allowed);
        self.first_args.clear();
    }

    fn apply_marked(&mut self, rule: &[u8]) -> Result<(), Refused> {
        let rest = rule.get(1..).unwrap_or_default();
        match rule.first() {
            Some(b'~' | b'%') => self.add_keys(rule),
            Some(b'&') => self.add_channel(rest),
            Some(mark @ (b'+' | b'-')) => {
                let allow = *mark == b'+';
                if let Some(category) = rest.strip_prefix(b"@") {
                    self.set_category(category, allow)
                } else if allow && rest.contains(&b'|') {
                    self.allow_sub(rest)
                } else {
                    let spec = TABLE.by_full_name(rest).ok_or(UNKNOWN)?;
                    self.set_command(spec, allow);
                    Ok(())
                }
            }
            _ => Err(SYNTAX),
        }
    }

    fn add_keys(&mut self, rule: &[u8]) -> Result<(), Refused> {
        if self.all_keys {
            return Err(AFTER_ALL_KEYS);
        }
        let (mut read, mut write) = (false, false);
        let mut at = 1;
        if rule[0] == b'%' {
            loop {
                match rule.get(at).map(u8::to_ascii_uppercase) {
                    Some(b'R') if !read => read = true,
                    Some(b'W') if !write => write = true,
                    Some(b'~') | None => break,
                    Some(_) => return Err(SYNTAX),
                }
                at += 1;
            }
            at = (at + 1).min(rule.len());
        } else {
            (read, write) = (true, true);
        }
        let pattern = &rule[at..];
        if has_spaces(pattern) {
            return Err(SYNTAX);
        }
        if let Some(known) = self.keys.iter_mut().find(|known| *known.pattern == *pattern) {
            known.read |= read;
            known.write |= write;
        } else {
            self.keys.push(KeyPattern { pattern: pattern.into(), read, write });
        }
        Ok(())
    }

    fn add_channel(&mut self, pattern: &[u8]) -> Result<(), Refused> {
        if self.all_channels {
            return Err(AFTER_ALL_CHANNELS);
        }
        if has_spaces(pattern) {
            return Err(SYNTAX);
        }
        if !self.channels.iter().any(|known| **known == *pattern) {
            self.channels.push(pattern.into());
        }
        Ok(())
    }

    /// `+client|list`, or `+select|0` for a command without subcommands.
    fn allow_sub(&mut self, name: &[u8]) -> Result<(), Refused> {
        let cut = name.iter().rposition(|b| *b == b'|').unwrap_or(name.len());
        let (command, sub) = (&name[..cut], &name[(cut + 1).min(name.len())..]);
        let spec = TABLE.by_full_name(command).ok_or(UNKNOWN)?;
        if spec.parent.is_some() {
            return Err(FIRST_ARG_OF_SUB);
        }
        if sub.is_empty() {
            return Err(SYNTAX);
        }
        if spec.subs.is_empty() {
            let words = self.first_args.entry(spec.id).or_default();
            let word = String::from_utf8_lossy(sub).into_owned();
            if !words.contains(&word) {
                words.push(word);
            }
        } else {
            self.set_command(TABLE.by_full_name(name).ok_or(UNKNOWN)?, true);
        }
        Ok(())
    }

    /// A command with all its subcommands.
    pub(super) fn set_command(&mut self, spec: &Spec, allow: bool) {
        self.commands[spec.id] = allow;
        for sub in spec.subs.values() {
            self.commands[*sub] = allow;
        }
        self.first_args.remove(&spec.id);
        self.all_commands &= allow;
    }

    pub(super) fn set_category(&mut self, category: &[u8], allow: bool) -> Result<(), Refused> {
        let known = CATEGORIES.iter().find(|c| category.eq_ignore_ascii_case(c.as_bytes()));
        let category = known.ok_or(UNKNOWN)?;
        for spec in TABLE.specs.iter().filter(|spec| spec.categories.contains(category)) {
            self.set_command(spec, allow);
        }
        Ok(())
    }
}

/// Spaces and zero bytes would break a file of rules.
pub(crate) fn has_spaces(text: &[u8]) -> bool {
    text.iter().any(|b| b.is_ascii_whitespace() || *b == 0 || *b == 0x0b)
}
