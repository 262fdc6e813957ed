//! Settings of the galaxy.

use crate::settings::{SettingDef, Shape, def};

pub(super) const SETTINGS: &[SettingDef] = &[
    def(
        "galaxy.engine",
        Shape::Flag,
        "true",
        "whether this server may tick the world; of all servers one does",
    ),
    def(
        "galaxy.epoch",
        Shape::Choice(&["now", "j2000"]),
        "now",
        "when a new world begins: now, or at J2000 with time sync off",
    ),
    def(
        "galaxy.tick_rate",
        Shape::Decimal,
        "",
        "ticks per second of a new world, 0.1 to 100; empty is 1, and 10 in the demo world",
    ),
    def("galaxy.spawn_body", Shape::Text, "Earth", "body that new ships go round"),
    def(
        "galaxy.spawn_altitude",
        Shape::Decimal,
        "400000",
        "metres above its mean radius at which they appear, 1000 to 10^12",
    ),
    def(
        "galaxy.database_url",
        Shape::Url,
        "",
        "PostgreSQL for accounts and snapshots, such as postgres://user:password@host/name; empty is one SQLite file",
    ),
    def(
        "galaxy.restore",
        Shape::Choice(&["own", "auto", "wait"]),
        "own",
        "what happens when the store has lost the world: auto puts the newest snapshot back, wait leaves that to an operator; own is auto with the embedded engine and wait elsewhere",
    ),
    def(
        "galaxy.admin_user",
        Shape::Text,
        "",
        "first admin among the players, made at the first start",
    ),
    def("galaxy.admin_password", Shape::Secret, "", "password of that admin"),
    def(
        "galaxy.logins_per_minute",
        Shape::Number,
        "5",
        "tries to log in or to register from one address, counted by all servers together; 0 is no limit",
    ),
    def(
        "galaxy.wrong_passwords_per_minute",
        Shape::Number,
        "5",
        "wrong passwords for one account, from wherever they come, counted by all servers together; 0 is no limit",
    ),
    def(
        "galaxy.messages_per_second",
        Shape::Number,
        "30",
        "messages of a socket, with a burst of twice that; 0 is no limit",
    ),
    def("galaxy.sockets_per_address", Shape::Number, "50", "sockets of one address; 0 is no limit"),
    def("galaxy.sockets_per_player", Shape::Number, "10", "sockets of one player; 0 is no limit"),
];
