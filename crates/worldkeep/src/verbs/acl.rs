//! `worldkeep acl`.

use crate::cli::{Acl, Global};
use crate::exit::Failure;

pub(super) fn run(_: &Global, _: &Acl) -> Result<(), Failure> {
    Err(Failure::failed("`acl` waits for the keyspace tables"))
}
