//! Keys of any type: deletion, names, copies, `OBJECT`. Deadlines are in `expire`, scanning in `scan`.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::table::Run::{self, Plain};
use crate::core::evict::minutes_stamp;
use crate::core::notify::class;
use crate::core::{Core, access_stamp};
use crate::data::glob;
use crate::error::{NO_SUCH_KEY, Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("del", Plain(del)),
    ("unlink", Plain(del)),
    ("exists", Plain(exists)),
    ("touch", Plain(touch)),
    ("type", Plain(type_of)),
    ("keys", Plain(keys)),
    ("randomkey", Plain(randomkey)),
    ("dbsize", Plain(dbsize)),
    ("rename", Plain(|cx, argv| rename(cx, argv, false))),
    ("renamenx", Plain(|cx, argv| rename(cx, argv, true))),
    ("copy", Plain(copy)),
    ("move", Plain(move_to)),
    ("object|encoding", Plain(|cx, argv| object(cx, argv, Facet::Encoding))),
    ("object|refcount", Plain(|cx, argv| object(cx, argv, Facet::Refcount))),
    ("object|idletime", Plain(|cx, argv| object(cx, argv, Facet::Idle))),
    ("object|freq", Plain(|cx, argv| object(cx, argv, Facet::Freq))),
    ("object|help", Plain(object_help)),
];

fn del(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut gone = 0;
    for key in &argv[1..] {
        if cx.core.remove(key).is_some() {
            cx.core.changed(class::GENERIC, "del", key);
            gone += 1;
        }
    }
    cx.out.len(gone);
    Ok(())
}

fn exists(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let n = argv[1..].iter().filter(|key| cx.core.peek(key).is_some()).count();
    cx.out.len(n);
    Ok(())
}

fn touch(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let n = argv[1..].iter().filter(|key| cx.core.read(key).is_some()).count();
    cx.out.len(n);
    Ok(())
}

fn type_of(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let name = cx.core.peek(argv[1]).map_or("none", |value| value.type_name());
    cx.out.status(name);
    Ok(())
}

fn keys(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let pattern = argv[1];
    let now = cx.core.now;
    let keyspace = cx.core.keys();
    let mark = cx.out.begin_array();
    let mut n = 0;
    for (key, _) in keyspace.iter() {
        let over = keyspace.expire_at(key).is_some_and(|at| at <= now);
        if !over && glob::matches(pattern, key, false) {
            cx.out.bulk(key);
            n += 1;
        }
    }
    cx.out.end_array(mark, n);
    Ok(())
}

fn randomkey(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    const TRIES: usize = 100; // many may be over and not yet deleted
    for _ in 0..TRIES {
        let Core { dbs, db, rng, .. } = &mut *cx.core;
        let Some(key) = dbs[*db].keys.random(rng).map(|(key, _)| key.to_vec()) else { break };
        if !cx.core.expire_if_due(&key) {
            cx.out.bulk(&key);
            return Ok(());
        }
    }
    cx.out.null();
    Ok(())
}

fn dbsize(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let n = cx.core.keys().len();
    cx.out.len(n);
    Ok(())
}

fn rename(cx: &mut Ctx<'_>, argv: &[&[u8]], only_new: bool) -> Outcome {
    let (from, to) = (argv[1], argv[2]);
    if !cx.core.exists(from) {
        return Err(NO_SUCH_KEY);
    }
    let taken = cx.core.exists(to);
    if only_new && taken {
        cx.out.flag(false);
        return Ok(());
    }
    if from != to {
        let deadline = cx.core.keys().expire_at(from);
        if taken {
            cx.core.remove(to);
        }
        let value = cx.core.remove(from).expect("it was there just now");
        cx.core.put(to, value);
        if let Some(at) = deadline {
            cx.core.set_deadline(to, at);
        }
        cx.core.touched(from);
        cx.core.touched(to);
        cx.core.notify(class::GENERIC, "rename_from", from);
        cx.core.notify(class::GENERIC, "rename_to", to);
    }
    if only_new {
        cx.out.flag(from != to);
    } else {
        cx.out.ok();
    }
    Ok(())
}

fn db_index(core: &Core, arg: &[u8]) -> Result<usize, ReplyError> {
    let db = int(arg)?;
    let db = usize::try_from(db).ok().filter(|db| *db < core.dbs.len());
    db.ok_or(ReplyError::fixed("ERR DB index is out of range"))
}

const SAME_OBJECT: ReplyError =
    ReplyError::fixed("ERR source and destination objects are the same");

fn copy(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (from, to) = (argv[1], argv[2]);
    let home = cx.core.db;
    let (mut db, mut replace) = (home, false);
    let mut at = 3;
    while let Some(arg) = argv.get(at) {
        if is(arg, "REPLACE") {
            replace = true;
        } else if is(arg, "DB") && at + 1 < argv.len() {
            at += 1;
            db = db_index(cx.core, argv[at])?;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if db == home && from == to {
        return Err(SAME_OBJECT);
    }
    let Some(value) = cx.core.read(from).cloned() else {
        cx.out.flag(false);
        return Ok(());
    };
    let deadline = cx.core.keys().expire_at(from);
    let done = cx.core.in_db(db, |core| {
        if core.exists(to) && !replace {
            return false;
        }
        core.remove(to);
        core.put(to, value);
        if let Some(at) = deadline {
            core.set_deadline(to, at);
        }
        core.changed(class::GENERIC, "copy_to", to);
        true
    });
    cx.out.flag(done);
    Ok(())
}

fn move_to(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let key = argv[1];
    let home = cx.core.db;
    let db = usize::try_from(int(argv[2])?)
        .ok()
        .filter(|db| *db < cx.core.dbs.len())
        .ok_or(ReplyError::fixed("ERR DB index is out of range"))?;
    if db == home {
        return Err(SAME_OBJECT);
    }
    let blocked = !cx.core.exists(key) || cx.core.in_db(db, |core| core.exists(key));
    if blocked {
        cx.out.flag(false);
        return Ok(());
    }
    let deadline = cx.core.keys().expire_at(key);
    let value = cx.core.remove(key).expect("it was there just now");
    cx.core.changed(class::GENERIC, "move_from", key);
    cx.core.in_db(db, |core| {
        core.put(key, value);
        if let Some(at) = deadline {
            core.set_deadline(key, at);
        }
        core.changed(class::GENERIC, "move_to", key);
    });
    cx.out.flag(true);
    Ok(())
}

impl Core {
    /// Does something in another database.
    pub(crate) fn in_db<T>(&mut self, db: usize, work: impl FnOnce(&mut Core) -> T) -> T {
        let home = std::mem::replace(&mut self.db, db);
        let result = work(self);
        self.db = home;
        result
    }
}

#[derive(Clone, Copy)]
enum Facet {
    Encoding,
    Refcount,
    Idle,
    Freq,
}

fn object(cx: &mut Ctx<'_>, argv: &[&[u8]], facet: Facet) -> Outcome {
    let key = argv[2];
    let counting = cx.core.config.counting;
    let lfu = counting.is_some();
    let now = access_stamp(cx.core.now);
    let Some(value) = cx.core.peek(key) else {
        cx.out.null();
        return Ok(());
    };
    match facet {
        Facet::Encoding => cx.out.bulk(value.encoding_name().as_bytes()),
        Facet::Refcount => cx.out.int(1),
        Facet::Idle if lfu => {
            return Err(ReplyError::fixed(
                "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
            ));
        }
        Facet::Freq if !lfu => {
            return Err(ReplyError::fixed(
                "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
            ));
        }
        Facet::Idle => {
            let then = cx.core.keys().stamp(key).unwrap_or(now);
            cx.out.int(i64::from(now.wrapping_sub(then) & 0x00FF_FFFF));
        }
        Facet::Freq => {
            let now = minutes_stamp(cx.core.now);
            let stamp = cx.core.keys().stamp(key).unwrap_or(now);
            cx.out.int(i64::from(counting.unwrap_or_default().now(stamp, now)));
        }
    }
    Ok(())
}

fn object_help(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.help(
        "OBJECT",
        &[
            "ENCODING <key>",
            "    How the value is held in memory.",
            "FREQ <key>",
            "    How often the key was used of late, where the eviction policy counts it.",
            "IDLETIME <key>",
            "    Seconds since the key was last used.",
            "REFCOUNT <key>",
            "    How many references the value has.",
        ],
    );
    Ok(())
}
