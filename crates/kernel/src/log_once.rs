//! Log lines that could repeat: each is written once per change of state, however often a loop comes by.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The number of things remembered. When it is exceeded, all are forgotten and may be logged once
/// more.
const REMEMBERED: usize = 10_000;

/// The state that was logged last for each thing. One static stands beside each line that could
/// repeat.
#[derive(Debug, Default)]
pub struct LogOnce(Mutex<BTreeMap<String, String>>);

impl LogOnce {
    /// Nothing was said yet.
    pub const fn new() -> Self {
        LogOnce(Mutex::new(BTreeMap::new()))
    }

    /// Whether this state of `what` is news, and so worth a line.
    pub fn is_news(&self, what: &str, state: &(impl ToString + ?Sized)) -> bool {
        let state = state.to_string();
        let mut said = self.0.lock();
        if said.get(what) == Some(&state) {
            return false;
        }
        if said.len() >= REMEMBERED {
            said.clear();
        }
        said.insert(what.to_owned(), state);
        true
    }

    /// It is well again: the next trouble is news. Tells whether anything was wrong.
    pub fn well(&self, what: &str) -> bool {
        self.0.lock().remove(what).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_news_once_and_again_after_it_was_well() {
        let told = LogOnce::new();
        assert!(told.is_news("a", "gone") && !told.is_news("a", "gone"));
        assert!(told.is_news("b", "gone"), "each thing has a state of its own");
        assert!(told.is_news("a", "wrong"), "another state is news");
        assert!(told.well("a") && !told.well("a"));
        assert!(told.is_news("a", "wrong"));
        for n in 0..=REMEMBERED {
            told.is_news(&n.to_string(), "gone");
        }
        assert!(told.0.lock().len() <= REMEMBERED, "what a client can name does not add up");
    }
}
