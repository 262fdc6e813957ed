//! A Cluster of one node: it owns all slots, so that key design shows its faults in development. Without
//! cluster mode all of this is refused, as Redis does.

use std::net::SocketAddr;

use crate::commands::ctx::{Ctx, int};
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::data::slot::{SLOTS, slot_of};
use crate::error::{Outcome, ReplyError};

macro_rules! fixed_slots {
    ($($name:literal)*) => {
        &[
            ("cluster|info", Plain(|cx, argv| on(cx, argv, info))),
            ("cluster|myid", Plain(|cx, argv| on(cx, argv, myid))),
            ("cluster|nodes", Plain(|cx, argv| on(cx, argv, nodes))),
            ("cluster|slots", Plain(|cx, argv| on(cx, argv, slots))),
            ("cluster|shards", Plain(|cx, argv| on(cx, argv, shards))),
            ("cluster|keyslot", Plain(|cx, argv| on(cx, argv, keyslot))),
            ("cluster|countkeysinslot", Plain(|cx, argv| on(cx, argv, countkeysinslot))),
            ("cluster|getkeysinslot", Plain(|cx, argv| on(cx, argv, getkeysinslot))),
            ("cluster|links", Plain(|cx, argv| on(cx, argv, nothing))),
            ("cluster|replicas", Plain(|cx, argv| on(cx, argv, nothing))),
            ("cluster|slaves", Plain(|cx, argv| on(cx, argv, nothing))),
            ("cluster|count-failure-reports", Plain(|cx, argv| on(cx, argv, zero))),
            ("cluster|help", Plain(|cx, _| help::reply(cx, "CLUSTER", HELP))),
            ("readonly", Plain(|cx, argv| on(cx, argv, ok))),
            ("readwrite", Plain(|cx, argv| on(cx, argv, ok))),
            ("asking", Plain(|cx, argv| on(cx, argv, ok))),
            $(($name, Plain(|cx, argv| on(cx, argv, one_node))),)*
        ]
    };
}

pub(crate) const HANDLERS: &[(&str, Run)] = fixed_slots! {
    "cluster|addslots" "cluster|addslotsrange" "cluster|bumpepoch" "cluster|delslots"
    "cluster|delslotsrange" "cluster|failover" "cluster|flushslots" "cluster|forget" "cluster|meet"
    "cluster|replicate" "cluster|reset" "cluster|saveconfig" "cluster|set-config-epoch"
    "cluster|setslot"
};

const HELP: &[(&str, &str)] = &[
    ("COUNTKEYSINSLOT <slot>", "How many keys a slot has."),
    ("GETKEYSINSLOT <slot> <count>", "Some keys of a slot."),
    ("INFO", "The state of the Cluster."),
    ("KEYSLOT <key>", "The slot of a key."),
    ("MYID", "The name of this node."),
    ("NODES", "All nodes: this one."),
    ("SHARDS", "Slots and the nodes that serve them."),
    ("SLOTS", "The same in an older form."),
];

fn on(cx: &mut Ctx<'_>, argv: &[&[u8]], run: fn(&mut Ctx<'_>, &[&[u8]]) -> Outcome) -> Outcome {
    if !cx.core.config.cluster {
        return Err(ReplyError::fixed("ERR This instance has cluster support disabled"));
    }
    run(cx, argv)
}

fn ok(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.ok();
    Ok(())
}

fn nothing(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.array(0);
    Ok(())
}

fn zero(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.int(0);
    Ok(())
}

fn one_node(_: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    Err(ReplyError::fixed(
        "ERR this is a Cluster of one node that owns all slots: nothing to change",
    ))
}

/// The address at which clients find this node.
fn address(cx: &Ctx<'_>) -> SocketAddr {
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    cx.client.laddr.parse().ok().or(cx.core.admin.tcp).unwrap_or(nowhere)
}

fn info(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let text = format!(
        "cluster_state:ok\r\ncluster_slots_assigned:{SLOTS}\r\ncluster_slots_ok:{SLOTS}\r\n\
         cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:1\r\ncluster_size:1\r\n\
         cluster_current_epoch:1\r\ncluster_my_epoch:1\r\ncluster_stats_messages_sent:0\r\n\
         cluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n"
    );
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

fn myid(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.bulk(cx.core.admin.run_id.as_bytes());
    Ok(())
}

fn nodes(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let addr = address(cx);
    let text = format!(
        "{} {}:{}@{} myself,master - 0 0 1 connected 0-{}\n",
        cx.core.admin.run_id,
        addr.ip(),
        addr.port(),
        u32::from(addr.port()) + 10_000,
        SLOTS - 1
    );
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

fn slots(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let addr = address(cx);
    cx.out.array(1);
    cx.out.array(3);
    cx.out.int(0);
    cx.out.int(i64::from(SLOTS) - 1);
    cx.out.array(4);
    cx.out.bulk(addr.ip().to_string().as_bytes());
    cx.out.int(i64::from(addr.port()));
    cx.out.bulk(cx.core.admin.run_id.as_bytes());
    cx.out.array(0);
    Ok(())
}

fn shards(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let addr = address(cx);
    let ip = addr.ip().to_string();
    cx.out.array(1);
    cx.out.map(2);
    cx.out.bulk(b"slots");
    cx.out.array(2);
    cx.out.int(0);
    cx.out.int(i64::from(SLOTS) - 1);
    cx.out.bulk(b"nodes");
    cx.out.array(1);
    cx.out.map(7);
    cx.out.bulk(b"id");
    cx.out.bulk(cx.core.admin.run_id.as_bytes());
    cx.out.bulk(b"port");
    cx.out.int(i64::from(addr.port()));
    for (name, value) in
        [("ip", ip.as_str()), ("endpoint", &ip), ("role", "master"), ("health", "online")]
    {
        cx.out.bulk(name.as_bytes());
        cx.out.bulk(value.as_bytes());
    }
    cx.out.bulk(b"replication-offset");
    cx.out.int(0);
    Ok(())
}

fn keyslot(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    cx.out.int(i64::from(slot_of(argv[2])));
    Ok(())
}

fn slot(arg: &[u8]) -> Result<u16, ReplyError> {
    let slot = u16::try_from(int(arg)?).ok().filter(|slot| *slot < SLOTS);
    slot.ok_or(ReplyError::fixed("ERR Invalid slot"))
}

fn countkeysinslot(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let slot = slot(argv[2])?;
    let n = cx.core.dbs[0].keys.iter().filter(|(key, _)| slot_of(key) == slot).count();
    cx.out.len(n);
    Ok(())
}

fn getkeysinslot(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (slot, max) = (slot(argv[2])?, int(argv[3])?);
    let max = usize::try_from(max)
        .map_err(|_| ReplyError::fixed("ERR Invalid slot or number of keys"))?;
    let keys: Vec<Vec<u8>> = cx.core.dbs[0]
        .keys
        .iter()
        .filter(|(key, _)| slot_of(key) == slot)
        .take(max)
        .map(|(key, _)| key.to_vec())
        .collect();
    cx.out.array(keys.len());
    for key in keys {
        cx.out.bulk(&key);
    }
    Ok(())
}
