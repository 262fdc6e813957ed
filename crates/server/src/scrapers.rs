//! Scrapers that read `/metrics` with a token of the store. While the store is busy or away, tokens cannot be looked up, and that is when
//! the metrics are wanted most. A token that was good at its last scrape stays good for `/metrics` until the store answers.

use parking_lot::Mutex;

use crate::app::App;
use crate::caller::{Caller, Who};
use crate::reply::{self, Refusal};
use crate::tokens;

/// Enough for a few monitoring servers, each with its own token.
const REMEMBERED: usize = 8;

/// The callers of the last scrapes, newest last.
#[derive(Default)]
struct Scrapers(Mutex<Vec<Caller>>);

/// The caller that the store recognised; the remembered one where it could not be asked.
pub(crate) fn recognise(
    app: &App,
    bearer: &str,
    asked: Result<Caller, Refusal>,
) -> Result<Caller, Refusal> {
    let scrapers = app.kept(Scrapers::default);
    let mut known = scrapers.0.lock();
    match asked {
        Ok(caller) => {
            known.retain(|one| one.who != caller.who);
            if known.len() == REMEMBERED {
                known.remove(0);
            }
            known.push(caller.clone());
            Ok(caller)
        }
        Err(refusal) if refusal.def == reply::STORE_UNAVAILABLE => {
            let who = Who::Token(tokens::hash(bearer));
            let alive = |one: &&Caller| one.expires_at.is_none_or(|end| end > app.now_ms());
            known.iter().find(|one| one.who == who).filter(alive).cloned().ok_or(refusal)
        }
        Err(refusal) => {
            let who = Who::Token(tokens::hash(bearer));
            known.retain(|one| one.who != who);
            Err(refusal)
        }
    }
}
