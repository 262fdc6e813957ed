//! The front page's numbers and sentences, put together from the modules' tiles and the store's state.

use kernel::Said;
use serde::Serialize;

use crate::keyspace::Census;
use crate::said::SaidShape;

/// One module on the front page.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Tile {
    /// Which module.
    pub module: &'static str,
    /// The number that matters most.
    pub number: u64,
    /// The things it counts, such as `jobs waiting`.
    pub unit: String,
    /// One line about it, in English.
    pub sentence: String,
    /// The same line for pages, which word it in their reader's language.
    #[schema(value_type = SaidShape)]
    pub said: Said,
    /// The walk over the keys that the number comes from; null when it was read just now.
    pub counted: Option<Counted>,
    /// Page of the dashboard that the tile opens.
    pub link: String,
    /// The things that deserve a look.
    pub looks: Vec<Look>,
}

/// The walk over the keys that a number comes from.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub struct Counted {
    /// Unix milliseconds of its end, or of its begin while it goes on.
    pub at: u64,
    /// Whether all keys were seen; if not, there are at least so many.
    pub done: bool,
}

impl Counted {
    /// Of a count of keys.
    pub fn by(census: &Census) -> Self {
        Counted { at: census.at, done: census.done }
    }
}

/// Something that deserves a look, with the one thing to do about it.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Look {
    /// `warn` or `bad`.
    pub level: &'static str,
    /// The origin: a module's name, or `store`.
    pub module: String,
    /// The trouble in one English sentence.
    pub sentence: String,
    /// The same for pages; null where the words are the store's own.
    #[schema(value_type = Option<SaidShape>)]
    pub said: Option<Said>,
    /// Page of the dashboard where it can be dealt with.
    pub link: String,
}

impl Look {
    /// Of a module.
    pub fn new(level: &'static str, module: &str, said: Said, link: impl Into<String>) -> Self {
        let (module, link) = (module.to_owned(), link.into());
        Look { level, module, sentence: said.sentence(), said: Some(said), link }
    }
}
