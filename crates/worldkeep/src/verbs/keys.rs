//! `worldkeep keys`.

use crate::cli::{Global, Keys};
use crate::exit::Failure;

pub(super) fn run(_: &Global, _: &Keys) -> Result<(), Failure> {
    Err(Failure::failed("`keys` waits for the keyspace tables"))
}
