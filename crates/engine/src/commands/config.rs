//! `CONFIG GET SET RESETSTAT REWRITE HELP`.

use std::collections::BTreeMap;

use crate::acl::User;
use crate::commands::ctx::Ctx;
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::core::Core;
use crate::core::client::Client;
use crate::core::settings::{self, Effect, SETTINGS, Setting};
use crate::core::stats::Stats;
use crate::data::glob;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("config|get", Plain(get)),
    ("config|set", Plain(set)),
    ("config|resetstat", Plain(reset_stat)),
    ("config|rewrite", Plain(rewrite)),
    ("config|help", Plain(|cx, _| help::reply(cx, "CONFIG", HELP))),
];

const HELP: &[(&str, &str)] = &[
    ("GET <pattern> [<pattern> ...]", "Settings whose names match, with their values."),
    ("SET <directive> <value> [<directive> <value> ...]", "Change settings, all or none."),
    ("RESETSTAT", "Set the counters of INFO to zero."),
    ("REWRITE", "Refused: the engine has no configuration file."),
];

fn get(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut found: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for pattern in &argv[2..] {
        if !pattern.iter().any(|b| b"[*?".contains(b)) {
            if let Some(place) = settings::find(pattern) {
                found.entry(pattern.to_vec()).or_insert(place);
            }
            continue;
        }
        for (place, setting) in SETTINGS.iter().enumerate().filter(|(_, s)| !s.hidden) {
            for name in std::iter::once(setting.name).chain(setting.alias) {
                if glob::matches(pattern, name.as_bytes(), true) {
                    found.entry(name.as_bytes().to_vec()).or_insert(place);
                }
            }
        }
    }
    cx.out.map(found.len());
    for (name, place) in found {
        cx.out.bulk(&name);
        cx.out.bulk(cx.core.config.text_at(place));
    }
    Ok(())
}

fn failed(name: &[u8], why: &str) -> ReplyError {
    let name = String::from_utf8_lossy(name);
    ReplyError::new(format!(
        "ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"
    ))
}

fn set(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if !argv.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    let mut places: Vec<usize> = Vec::new();
    for pair in argv[2..].chunks(2) {
        let Some(place) = settings::find(pair[0]) else {
            let name = String::from_utf8_lossy(pair[0]);
            return Err(ReplyError::new(format!(
                "ERR Unknown option or number of arguments for CONFIG SET - '{name}'"
            )));
        };
        let setting = &SETTINGS[place];
        if setting.fixed {
            return Err(failed(pair[0], "can't set immutable config"));
        }
        if setting.protected {
            return Err(failed(pair[0], "can't set protected config"));
        }
        if places.contains(&place) {
            return Err(failed(pair[0], "duplicate parameter"));
        }
        places.push(place);
    }
    let mut checked = Vec::with_capacity(places.len());
    for (pair, place) in argv[2..].chunks(2).zip(&places) {
        let setting = &SETTINGS[*place];
        let text = setting
            .check(pair[1], cx.core.config.text_at(*place))
            .and_then(|text| cx.core.may_set(setting, &text).map(|()| text))
            .map_err(|why| failed(setting.name.as_bytes(), &why))?;
        checked.push((*place, text));
    }
    for (place, text) in checked {
        cx.core.config.set_at(place, text);
        cx.core.setting_changed(cx.client, SETTINGS[place].name);
    }
    cx.out.ok();
    Ok(())
}

fn reset_stat(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let started = cx.core.stats.started_ms;
    cx.core.stats = Stats::new(started);
    cx.out.ok();
    Ok(())
}

fn rewrite(_: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    Err(ReplyError::fixed("ERR The server is running without a config file"))
}

impl Core {
    /// Whether a checked value can be had here, or why not.
    fn may_set(&self, setting: &Setting, text: &[u8]) -> Result<(), String> {
        let name = setting.name;
        let log = self.pending.on;
        if name == "appendonly" && (text == b"yes") != log {
            return Err(if log {
                "the log of an engine opened with a directory cannot be switched off".into()
            } else {
                "this engine was opened without a directory: it can have no log".into()
            });
        }
        // Doors are opened by the program around the engine, not by a setting.
        if name == "port" && text != self.config.text("port") {
            return Err("Unable to listen on this port. Check server logs.".into());
        }
        if name == "bind" && text != self.config.text("bind") {
            return Err("Failed to bind to specified addresses.".into());
        }
        let now = self.config.text(name);
        match setting.effect {
            Effect::Refused(why) if text != now => {
                Err(format!("it stays '{}': {why}", String::from_utf8_lossy(now)))
            }
            _ => Ok(()),
        }
    }

    /// A setting that more than `Config` depends on has a new value.
    fn setting_changed(&mut self, running: &mut Client, name: &str) {
        match name {
            "requirepass" => {
                let password = self.config.text("requirepass").to_vec();
                let mut user = User::clone(self.admin.users.default_user());
                user.set_only_password(&password);
                self.replace_user(Some(running), user);
            }
            "maxmemory" => self.admin.memory.bytes = 0,
            "maxmemory-policy" | "lfu-log-factor" | "lfu-decay-time" => {
                for db in &mut self.dbs {
                    db.keys.count_uses(self.config.counting);
                }
            }
            "slowlog-max-len" => self.admin.slowlog.calls.truncate(self.config.slowlog_max_len),
            "latency-tracking" if !self.config.latency_tracking => {
                for stats in &mut self.stats.per_command {
                    stats.times = None;
                }
            }
            _ => {}
        }
    }

    /// A door for sockets was opened: what `CONFIG GET port` and `INFO` tell.
    pub(crate) fn door_opened(&mut self, addr: std::net::SocketAddr) {
        self.admin.tcp = Some(addr);
        self.config.set_text("port", addr.port().to_string().as_bytes());
        self.config.set_text("bind", addr.ip().to_string().as_bytes());
    }
}
