//! Jobs: a queue with routing, cron, rate limits and recovery (seed 004).
//!
//! Always true: a job has one owner at a time and a late owner writes nothing; status and the structure that
//! holds the job agree after every step; a firing happens once.

pub mod keys;
