//! A user back as rules, short ones: categories where they fit best, then single commands.

use super::{CATEGORIES, KeyPattern, Selector, User};
use crate::commands::table::{Spec, TABLE};

impl KeyPattern {
    /// `~pattern`, `%R~pattern` or `%W~pattern`.
    pub(crate) fn rule(&self) -> Vec<u8> {
        let mark: &[u8] = match (self.read, self.write) {
            (true, true) => b"~",
            (true, false) => b"%R~",
            (false, true) => b"%W~",
            (false, false) => b"%~",
        };
        [mark, &self.pattern].concat()
    }
}

impl Selector {
    /// The selector's keys as rules.
    pub(crate) fn keys_text(&self) -> Vec<u8> {
        if self.all_keys {
            return b"~*".to_vec();
        }
        self.keys.iter().map(KeyPattern::rule).collect::<Vec<_>>().join(&b' ')
    }

    /// The selector's channels as rules, without `resetchannels`.
    pub(crate) fn channels_text(&self) -> Vec<u8> {
        if self.all_channels {
            return b"&*".to_vec();
        }
        let rules = self.channels.iter().map(|channel| [b"&".as_slice(), channel].concat());
        rules.collect::<Vec<_>>().join(&b' ')
    }

    /// The selector's commands as rules.
    pub(crate) fn commands_text(&self) -> String {
        let additive = !self.future;
        let (start, sign, inverse) =
            if additive { ("-@all", '+', false) } else { ("+@all", '-', true) };
        let mut rules = vec![start.to_owned()];
        let mut built = Selector::none();
        built.commands.fill(!additive);
        let mut left = self.clone();
        let mut applied: Vec<&str> = Vec::new();
        while let Some(best) = left.best_category(additive, &applied) {
            rules.push(format!("{sign}@{best}"));
            applied.push(best);
            let _ = built.set_category(best.as_bytes(), additive);
            let _ = left.set_category(best.as_bytes(), inverse);
        }
        for spec in TABLE.specs.iter().filter(|spec| spec.parent.is_none()) {
            self.single(spec, &mut built, &mut rules);
            let mut subs: Vec<&usize> = spec.subs.values().collect();
            subs.sort();
            for sub in subs {
                self.single(&TABLE.specs[*sub], &mut built, &mut rules);
            }
        }
        rules.join(" ")
    }

    /// The category that describes most of the rest with the fewest mistakes.
    fn best_category(&self, additive: bool, applied: &[&str]) -> Option<&'static str> {
        let mut best: Option<(&str, usize, usize)> = None;
        for category in CATEGORIES.iter().filter(|category| !applied.contains(category)) {
            let of = TABLE.specs.iter().filter(|spec| spec.categories.contains(category));
            let (on, off): (Vec<&Spec>, Vec<&Spec>) = of.partition(|spec| self.commands[spec.id]);
            let (same, differ) =
                if additive { (on.len(), off.len()) } else { (off.len(), on.len()) };
            let better = best
                .is_none_or(|(_, least, most)| differ < least || (differ == least && same > most));
            if same > differ && better {
                best = Some((category, differ, same));
            }
        }
        best.map(|(category, ..)| category)
    }

    fn single(&self, spec: &Spec, built: &mut Selector, rules: &mut Vec<String>) {
        let allowed = self.commands[spec.id];
        if allowed != built.commands[spec.id] {
            rules.push(format!("{}{}", if allowed { '+' } else { '-' }, spec.full_name));
            built.set_command(spec, allowed);
        }
        if !allowed {
            let words = self.first_args.get(&spec.id).into_iter().flatten();
            rules.extend(words.map(|word| format!("+{}|{word}", spec.full_name)));
        }
    }

    fn text(&self) -> Vec<u8> {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        if self.all_keys || !self.keys.is_empty() {
            parts.push(self.keys_text());
        }
        if !self.all_channels {
            parts.push(b"resetchannels".to_vec());
        }
        if self.all_channels || !self.channels.is_empty() {
            parts.push(self.channels_text());
        }
        parts.push(self.commands_text().into_bytes());
        parts.join(&b' ')
    }
}

impl User {
    /// The flags in the order of `ACL GETUSER`.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.enabled { "on" } else { "off" }];
        if self.nopass {
            flags.push("nopass");
        }
        match self.sanitize {
            Some(true) => flags.push("sanitize-payload"),
            Some(false) => flags.push("skip-sanitize-payload"),
            None => {}
        }
        flags
    }

    /// The user as a line of `ACL LIST`, without `user name`.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = self.flags().join(" ").into_bytes();
        for password in &self.passwords {
            text.extend_from_slice(format!(" #{password}").as_bytes());
        }
        for (i, selector) in self.selectors.iter().enumerate() {
            text.push(b' ');
            let rules = selector.text();
            if i == 0 {
                text.extend_from_slice(&rules);
            } else {
                text.extend_from_slice(&[b"(", rules.as_slice(), b")"].concat());
            }
        }
        text
    }
}
