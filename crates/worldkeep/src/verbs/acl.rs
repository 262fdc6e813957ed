//! `worldkeep acl`: a Redis user per role with exactly the keys and commands it needs, from the tables.

use kernel::keyspace::{Profile, acl};

use crate::cli::{Acl, Global};
use crate::exit::Failure;
use crate::{config, print};

/// The word in place of the password that the operator chooses.
const PASSWORD: &str = "CHANGE-ME";

pub(super) fn run(global: &Global, flags: &Acl) -> Result<(), Failure> {
    let tables = super::tables(flags.module.as_deref())?;
    let settings = config::load(global.config.as_deref(), std::env::vars(), &[])?;
    let namespaces = settings.jobs.namespaces;
    let profile = if flags.compat { Profile::Compat } else { Profile::Strict };
    let users = acl(&tables, global.layout.unwrap_or_default().into(), &namespaces, profile)
        .map_err(|error| Failure::usage(format!("jobs.namespaces: {error}")))?;
    if global.json {
        print::json(&users);
        return Ok(());
    }
    for user in users {
        print::line(format!("# {}", user.about));
        print::line(user.line(PASSWORD));
    }
    if !global.quiet {
        print::note(&format!(
            "put real passwords in place of {PASSWORD}, then load it as an ACL file"
        ));
    }
    Ok(())
}
