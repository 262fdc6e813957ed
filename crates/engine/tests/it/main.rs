//! The engine from outside, through its doors.

mod differential;
mod doors;
mod durable;
