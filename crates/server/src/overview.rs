//! The front page's numbers and sentences, put together from the modules' tiles and the store's state.

use serde::Serialize;

/// One module on the front page.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Tile {
    /// Which module.
    pub module: &'static str,
    /// The number that matters most.
    pub number: u64,
    /// The things it counts, such as `jobs waiting`.
    pub unit: String,
    /// One line about it.
    pub sentence: String,
    /// Page of the dashboard that the tile opens.
    pub link: String,
    /// The things that deserve a look.
    pub looks: Vec<Look>,
}

/// Something that deserves a look, with the one thing to do about it.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Look {
    /// `warn` or `bad`.
    pub level: &'static str,
    /// The origin: a module's name, or `store`.
    pub module: String,
    /// The trouble in one sentence.
    pub sentence: String,
    /// Page of the dashboard where it can be dealt with.
    pub link: String,
}
