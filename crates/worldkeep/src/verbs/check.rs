//! `worldkeep check`.

use crate::cli::{Check, Global};
use crate::exit::Failure;

pub(super) fn run(_: &Global, _: &Check) -> Result<(), Failure> {
    Err(Failure::failed("`check` waits for the keyspace tables"))
}
