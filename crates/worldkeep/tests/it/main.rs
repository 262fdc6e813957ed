//! The real program: started, asked, misused, stopped.

mod bad_input;
mod running;
mod support;
mod verbs;
