//! Settings of the galaxy.

use galaxy::{Epoch, Placement, pace};
use kernel::Bounds;

use crate::settings::{settings, words};

/// The reaction to a store that has lost the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restore {
    /// As `Auto` with the embedded engine, as `Wait` elsewhere.
    Own,
    /// The newest snapshot is put back.
    Auto,
    /// An operator decides.
    Wait,
}

words!(Restore { "own" = Own, "auto" = Auto, "wait" = Wait });
words!(Epoch { "now" = Now, "j2000" = J2000 });

settings! {
    /// Settings of the galaxy.
    pub struct GalaxySettings, names, "galaxy." {
        engine: bool = "true", "whether this server may tick the world; of all servers one does";
        gateway: bool = "true",
            "whether this server has players on sockets; off for an engine whose Redis user may not say who is online";
        epoch: Epoch = "now", "when a new world begins: now, or at J2000 with time sync off";
        tick_rate: Option<f64> = "", "ticks per second of a new world; empty is 1, and 10 in the demo world",
            Bounds::within(pace::RANGE);
        spawn_body: Option<String> = "Earth", "body that new ships go round";
        spawn_altitude: Option<f64> = "400000", "metres above its mean radius at which they appear",
            Bounds::within(Placement::HEIGHTS);
        database_url: Option<String> as Url = "",
            "PostgreSQL for accounts and snapshots, such as postgres://user:password@host/name; empty is one SQLite file";
        restore: Restore = "own",
            "what happens when the store has lost the world: auto puts the newest snapshot back, wait leaves that to an operator; own is auto with the embedded engine and wait elsewhere";
        admin_user: Option<String> = "", "first admin among the players, made at the first start";
        admin_password: Option<String> as Secret = "", "password of that admin";
        logins_per_minute: u64 = "5",
            "tries to log in or to register from one address, counted by all servers together; 0 is no limit";
        wrong_passwords_per_minute: u64 = "5",
            "wrong passwords for one account, from wherever they come, counted by all servers together; 0 is no limit";
        messages_per_second: usize = "30", "messages of a socket, with a burst of twice that; 0 is no limit";
        sockets_per_address: usize = "50", "sockets of one address; 0 is no limit";
        sockets_per_player: usize = "10", "sockets of one player; 0 is no limit";
    }
}
