//! The server as a whole: `TIME FLUSHALL SWAPDB ROLE WAIT SAVE SHUTDOWN MEMORY …`. Commands of
//! replication are refused, with the reason.

use crate::commands::ctx::{Ctx, int, is};
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::client::OnTimeout;
use crate::data::num;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("time", Plain(time)),
    ("flushdb", Plain(|cx, argv| flush(cx, argv, false))),
    ("flushall", Plain(|cx, argv| flush(cx, argv, true))),
    ("swapdb", Plain(swapdb)),
    ("role", Plain(role)),
    ("wait", Plain(wait)),
    ("lastsave", Plain(lastsave)),
    ("save", Plain(save)),
    ("bgsave", Plain(bgsave)),
    ("bgrewriteaof", Plain(|cx, _| cx.core.start_rewrite().map(|text| cx.out.status(text)))),
    ("shutdown", Plain(shutdown)),
    ("lolwut", Plain(lolwut)),
    ("replicaof", Plain(replicaof)),
    ("slaveof", Plain(replicaof)),
    ("replconf", Plain(no_replication)),
    ("psync", Plain(no_replication)),
    ("sync", Plain(no_replication)),
    ("failover", Plain(no_replication)),
    ("migrate", Plain(no_migration)),
    (
        "module|list",
        Plain(|cx, _| {
            cx.out.array(0);
            Ok(())
        }),
    ),
    ("module|help", Plain(|cx, _| help::reply(cx, "MODULE", &[("LIST", "No modules, ever.")]))),
    ("memory|usage", Plain(memory_usage)),
    ("memory|stats", Plain(memory_stats)),
    ("memory|doctor", Plain(memory_doctor)),
    ("memory|malloc-stats", Plain(malloc_stats)),
    (
        "memory|purge",
        Plain(|cx, _| {
            cx.out.ok();
            Ok(())
        }),
    ),
    ("memory|help", Plain(|cx, _| help::reply(cx, "MEMORY", MEMORY_HELP))),
];

const MEMORY_HELP: &[(&str, &str)] = &[
    ("DOCTOR", "What looks wrong."),
    ("MALLOC-STATS", "Refers to the system's allocator."),
    ("PURGE", "Accepted; the system's allocator looks after itself."),
    ("STATS", "What takes how much."),
    ("USAGE <key> [SAMPLES <count>]", "Bytes that a key and its value take, about."),
];

fn time(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let now = cx.core.clock.now_us();
    cx.out.array(2);
    cx.out.bulk_int(now.div_euclid(1_000_000));
    cx.out.bulk_int(now.rem_euclid(1_000_000));
    Ok(())
}

fn flush(cx: &mut Ctx<'_>, argv: &[&[u8]], all: bool) -> Outcome {
    let apart = match argv {
        [_] => cx.core.config.text("lazyfree-lazy-user-flush") == b"yes",
        [_, how] if is(how, "sync") => false,
        [_, how] if is(how, "async") => true,
        _ => return Err(SYNTAX),
    };
    if all {
        for db in 0..cx.core.dbs.len() {
            cx.core.empty_db(db, apart);
        }
    } else {
        let db = cx.core.db;
        cx.core.empty_db(db, apart);
    }
    cx.core.invalidate_all();
    // Logged even when there was nothing: a reader of the log must not keep what it has.
    cx.core.dirty += 1;
    cx.out.ok();
    Ok(())
}

impl Core {
    /// Forgets all keys of a database; `apart` frees them on a thread of their own.
    pub(crate) fn empty_db(&mut self, index: usize, apart: bool) {
        self.touch_all(&[index]);
        let keys = std::mem::take(&mut self.dbs[index].keys);
        if apart && keys.len() > 10_000 {
            self.stats.lazyfreed += keys.len() as u64;
            // If no thread can be had, the closure is dropped here with the keys.
            let _ =
                std::thread::Builder::new().name("engine-free".into()).spawn(move || drop(keys));
        }
    }

    /// Exchanges the keys of two databases; who watches and waits stays where it is.
    fn swap_keys(&mut self, first: usize, second: usize) {
        let [first, second] = self.dbs.get_disjoint_mut([first, second]).expect("two databases");
        std::mem::swap(&mut first.keys, &mut second.keys);
        std::mem::swap(&mut first.copied_as, &mut second.copied_as);
        self.copy_from_start();
    }

    /// Watchers and waiters of keys that are in one of these databases are told.
    fn touch_all(&mut self, indexes: &[usize]) {
        let here = self.db;
        for index in indexes {
            self.db = *index;
            let (watched, waiting) = (&self.dbs[*index].watched, &self.dbs[*index].waiting);
            let names = watched.keys().chain(waiting.keys());
            let present = |key: &[u8]| indexes.iter().any(|db| self.dbs[*db].keys.contains(key));
            for key in names.filter(|key| present(key)).cloned().collect::<Vec<_>>() {
                self.break_watches(&key);
                self.signal_ready(&key);
            }
        }
        self.db = here;
    }

    /// Asks for a rewrite of the append-only log, which the next tick starts; the reply, or why there is none.
    pub(crate) fn start_rewrite(&mut self) -> Result<&'static str, ReplyError> {
        if !self.pending.on {
            return Err(ReplyError::fixed(
                "ERR this engine keeps its data in memory only: open it with a directory to have a log",
            ));
        }
        if self.copy.is_some() || std::mem::replace(&mut self.admin.rewrite_wanted, true) {
            return Err(ReplyError::fixed(
                "ERR Background append only file rewriting already in progress",
            ));
        }
        Ok("Background append only file rewriting started")
    }
}

fn swapdb(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if cx.core.config.cluster {
        return Err(ReplyError::fixed("ERR SWAPDB is not allowed in cluster mode"));
    }
    let first = num::parse_i64(argv[1]).ok_or(ReplyError::fixed("ERR invalid first DB index"))?;
    let second = num::parse_i64(argv[2]).ok_or(ReplyError::fixed("ERR invalid second DB index"))?;
    let place = |n: i64| {
        let known = usize::try_from(n).ok().filter(|n| *n < cx.core.dbs.len());
        known.ok_or(ReplyError::fixed("ERR DB index is out of range"))
    };
    let (first, second) = (place(first)?, place(second)?);
    if first != second {
        cx.core.touch_all(&[first, second]);
        cx.core.swap_keys(first, second);
        let here = cx.core.db;
        for db in [first, second] {
            cx.core.db = db;
            let waiting: Vec<Box<[u8]>> = cx.core.dbs[db].waiting.keys().cloned().collect();
            for key in waiting {
                cx.core.signal_ready(&key);
            }
        }
        cx.core.db = here;
    }
    cx.core.dirty += 1;
    cx.out.ok();
    Ok(())
}

fn role(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.array(3);
    cx.out.bulk(b"master");
    cx.out.int(0);
    cx.out.array(0);
    Ok(())
}

fn wait(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let replicas = int(argv[1])?;
    let ms = num::parse_i64(argv[2])
        .ok_or(ReplyError::fixed("ERR timeout is not an integer or out of range"))?;
    if ms < 0 {
        return Err(ReplyError::fixed("ERR timeout is negative"));
    }
    if replicas <= 0 {
        cx.out.int(0);
        return Ok(());
    }
    // There are no replicas: all that is left is to wait for the time to be over.
    let until = (ms > 0).then(|| cx.core.now.saturating_add(ms));
    cx.block(&[], argv, until, OnTimeout::Int(0))
}

fn lastsave(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.int(cx.core.admin.last_save_s);
    Ok(())
}

const NO_SNAPSHOT: ReplyError = ReplyError::fixed(
    "ERR this engine keeps no snapshot file: its append-only log, if it has one, holds the data",
);

fn save(_: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    Err(NO_SNAPSHOT)
}

fn bgsave(_: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    match argv {
        [_] => Err(NO_SNAPSHOT),
        [_, word] if is(word, "schedule") => Err(NO_SNAPSHOT),
        _ => Err(SYNTAX),
    }
}

fn shutdown(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (mut save, mut nosave, mut abort) = (false, false, false);
    for arg in &argv[1..] {
        match arg.to_ascii_lowercase().as_slice() {
            b"save" => save = true,
            b"nosave" => nosave = true,
            b"now" | b"force" => {}
            b"abort" => abort = true,
            _ => return Err(SYNTAX),
        }
    }
    if (abort && argv.len() > 2) || (save && nosave) {
        return Err(SYNTAX);
    }
    if abort {
        return Err(ReplyError::fixed("ERR No shutdown in progress."));
    }
    let Some(hook) = cx.core.admin.on_shutdown.clone() else {
        return Err(ReplyError::fixed(
            "ERR this engine is part of a program, which decides when it ends",
        ));
    };
    cx.client.closing = true;
    hook.call();
    Ok(())
}

fn lolwut(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    const ART: &str = "\
        .        *       .    .\n\
           .-'''-.    .        *\n\
     *    /  o    \\       .\n\
      .  |    .  o |   ==(====)==\n\
          \\  o    /  .\n\
      *    '-...-'       *    .\n\n";
    let text = format!("{ART}Redis ver. {}, kept inside your process\n", crate::REDIS_VERSION);
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

fn replicaof(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if cx.core.config.cluster {
        return Err(ReplyError::fixed("ERR REPLICAOF not allowed in cluster mode."));
    }
    if is(argv[1], "no") && is(argv[2], "one") {
        cx.out.ok();
        return Ok(());
    }
    no_replication(cx, argv)
}

fn no_replication(_: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    Err(ReplyError::fixed(
        "ERR this engine has no replication: use a Redis server where replicas are needed",
    ))
}

fn no_migration(_: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    Err(ReplyError::fixed("ERR this engine sends keys to no other server: use DUMP and RESTORE"))
}

/// Bytes of a slot in the table of keys.
const SLOT: usize = 56;

fn memory_usage(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    for pair in argv[3..].chunks(2) {
        match pair {
            [word, count] if is(word, "samples") => {
                if int(count)? < 0 {
                    return Err(SYNTAX);
                }
            }
            _ => return Err(SYNTAX),
        }
    }
    let key = argv[2];
    match cx.core.peek(key) {
        None => cx.out.null(),
        Some(value) => {
            let named = if key.len() > 22 { key.len() } else { 0 };
            cx.out.len(SLOT + named + value.memory_bytes());
        }
    }
    Ok(())
}

fn memory_stats(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let used = cx.core.used_memory();
    let overhead = cx.core.overhead();
    let peak = cx.core.admin.memory.peak.max(used);
    let keys: usize = cx.core.dbs.iter().map(|db| db.keys.len()).sum();
    let data = used.saturating_sub(overhead);
    let ints = [
        ("peak.allocated", peak),
        ("total.allocated", used),
        ("startup.allocated", 0),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", cx.core.clients.iter().map(|c| c.out.buf.capacity() as u64).sum()),
        ("cluster.links", 0),
        ("aof.buffer", 0),
        ("overhead.total", overhead),
        ("keys.count", keys as u64),
        ("keys.bytes-per-key", if keys == 0 { 0 } else { used / keys as u64 }),
        ("dataset.bytes", data),
    ];
    cx.out.map(ints.len() + 2);
    for (name, value) in ints {
        cx.out.bulk(name.as_bytes());
        cx.out.int(i64::try_from(value).unwrap_or(i64::MAX));
    }
    cx.out.bulk(b"dataset.percentage");
    cx.out.double(data as f64 * 100.0 / used as f64);
    cx.out.bulk(b"peak.percentage");
    cx.out.double(used as f64 * 100.0 / peak as f64);
    Ok(())
}

fn memory_doctor(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let used = cx.core.used_memory();
    let limit = cx.core.config.maxmemory;
    let text = if limit > 0 && used > limit / 10 * 9 {
        format!("The data takes about {used} bytes of {limit} allowed: writes are refused soon.\n")
    } else {
        format!("The data takes about {used} bytes. Nothing looks wrong.\n")
    };
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

fn malloc_stats(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.verbatim("txt", b"Stats not supported for the current allocator");
    Ok(())
}
