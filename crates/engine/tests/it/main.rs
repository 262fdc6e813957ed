//! The engine from outside, through its doors.

mod doors;
mod durable;
