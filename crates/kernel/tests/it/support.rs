//! Short words for what every test does with a store.

use std::time::Duration;

use kernel::{Cmd, Deadline, Refused, Stepped, Store, Value};

/// Long enough for any test, short enough to end a hanging one.
pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

/// One command of plain words.
pub(crate) async fn ask(store: &dyn Store, words: &[&str]) -> Value {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    store.call(&cmd, soon()).await.unwrap()
}

/// The same, as text; nil is empty.
pub(crate) async fn text(store: &dyn Store, words: &[&str]) -> String {
    kernel::reply::text(&ask(store, words).await).unwrap_or_default().to_owned()
}

/// The same, as a number.
pub(crate) async fn int(store: &dyn Store, words: &[&str]) -> i64 {
    kernel::reply::int(&ask(store, words).await).unwrap()
}

/// A step that ended at this guard.
pub(crate) fn refused(guard: usize, found: Option<&str>, missing: bool) -> Stepped {
    Stepped::Refused(Refused { guard, found: found.map(Into::into), missing })
}
