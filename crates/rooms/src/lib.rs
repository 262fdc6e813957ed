//! rooms
