//! The commands, a file per group. `table` has what is known of each of them, `ctx` what a handler gets.

pub(crate) mod acl;
pub(crate) mod bit;
pub(crate) mod bitfield;
pub(crate) mod client;
pub(crate) mod cluster;
pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod ctx;
pub(crate) mod debug;
pub(crate) mod dump;
pub(crate) mod expire;
pub(crate) mod function;
pub(crate) mod geo;
pub(crate) mod getkeys;
pub(crate) mod hash;
pub(crate) mod help;
pub(crate) mod hll;
pub(crate) mod info;
pub(crate) mod keys;
pub(crate) mod latency;
pub(crate) mod lcs;
pub(crate) mod list;
pub(crate) mod many_pop;
pub(crate) mod multi;
pub(crate) mod pubsub;
pub(crate) mod random;
pub(crate) mod scan;
pub(crate) mod script;
pub(crate) mod server;
pub(crate) mod set;
pub(crate) mod sort;
pub(crate) mod stream;
pub(crate) mod string;
pub(crate) mod table;
pub(crate) mod tracking;
pub(crate) mod zset;

use table::Run;

/// The handlers of all groups.
pub(crate) const HANDLERS: &[&[(&str, Run)]] = &[
    acl::HANDLERS,
    client::HANDLERS,
    cluster::HANDLERS,
    command::HANDLERS,
    config::HANDLERS,
    connection::HANDLERS,
    debug::HANDLERS,
    bit::HANDLERS,
    bitfield::HANDLERS,
    dump::HANDLERS,
    expire::HANDLERS,
    function::HANDLERS,
    geo::HANDLERS,
    hash::HANDLERS,
    hll::HANDLERS,
    info::HANDLERS,
    keys::HANDLERS,
    latency::HANDLERS,
    list::HANDLERS,
    list::block::HANDLERS,
    multi::HANDLERS,
    pubsub::HANDLERS,
    scan::HANDLERS,
    script::HANDLERS,
    server::HANDLERS,
    set::HANDLERS,
    sort::HANDLERS,
    stream::HANDLERS,
    stream::claim::HANDLERS,
    stream::group::HANDLERS,
    stream::info::HANDLERS,
    stream::read::HANDLERS,
    string::HANDLERS,
    zset::HANDLERS,
    zset::ops::HANDLERS,
    zset::pop::HANDLERS,
    zset::range::HANDLERS,
];
