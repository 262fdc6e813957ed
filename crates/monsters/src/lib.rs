//! monsters
