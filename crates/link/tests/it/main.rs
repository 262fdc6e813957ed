//! `link` on real servers: what a caller may rely on when the network or the server does not play along.

extern crate worldkeep_link as link; // as the rest of the workspace calls it

mod basics;
mod cluster;
mod embedded;
mod faults;
mod heal;
mod listen;
mod sentinel;
mod session;
mod start;
mod tls;

use std::time::Duration;

use kernel::{Cmd, Deadline, Fault, Session, Value};

/// `cmd("SET a 1")`.
fn cmd(line: &str) -> Cmd {
    let mut cmd = Cmd::new();
    for word in line.split(' ') {
        cmd.arg(word);
    }
    cmd
}

/// That many milliseconds from now.
fn ms(wait: u64) -> Deadline {
    Deadline::after(Duration::from_millis(wait))
}

/// Long enough for a busy machine.
fn soon() -> Deadline {
    ms(10_000)
}

/// `MULTI`, the commands, `EXEC`.
async fn exec(
    session: &mut dyn Session,
    cmds: &[Cmd],
    by: Deadline,
) -> Result<Option<Vec<Value>>, Fault> {
    session.queue(&[&cmds.iter().collect()], by).await?;
    session.exec(by).await
}
