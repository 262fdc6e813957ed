//! `ACL …`, `AUTH`, and what changes for connected clients when users change.

use std::sync::Arc;

use rand::RngExt as _;

use crate::acl::{self, AclLogEntry, User};
use crate::commands::ctx::{Ctx, int, is};
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::commands::table::{Found, TABLE};
use crate::core::Core;
use crate::core::client::Client;
use crate::error::{Outcome, ReplyError, SYNTAX};

pub(crate) const HANDLERS: &[(&str, Run)] = &[
    ("auth", Plain(auth)),
    ("acl|setuser", Plain(set_user)),
    ("acl|getuser", Plain(get_user)),
    ("acl|deluser", Plain(del_user)),
    ("acl|list", Plain(list)),
    ("acl|users", Plain(users)),
    ("acl|whoami", Plain(whoami)),
    ("acl|cat", Plain(cat)),
    ("acl|dryrun", Plain(dry_run)),
    ("acl|log", Plain(log)),
    ("acl|genpass", Plain(gen_pass)),
    ("acl|load", Plain(no_file)),
    ("acl|save", Plain(no_file)),
    ("acl|help", Plain(|cx, _| help::reply(cx, "ACL", HELP))),
];

const HELP: &[(&str, &str)] = &[
    ("CAT [<category>]", "Categories, or the commands of one."),
    ("DELUSER <username> [<username> ...]", "Remove users and close their connections."),
    (
        "DRYRUN <username> <command> [<arg> ...]",
        "Whether a user may make a call, without making it.",
    ),
    ("GETUSER <username>", "What a user may do."),
    ("GENPASS [<bits>]", "A random password."),
    ("LIST", "Users as rules."),
    ("LOAD", "Refused: the engine has no file of users."),
    ("LOG [<count> | RESET]", "What was refused lately, or forget it."),
    ("SAVE", "Refused: the engine has no file of users."),
    ("SETUSER <username> <attribute> [<attribute> ...]", "Add or change a user."),
    ("USERS", "Names of users."),
    ("WHOAMI", "The name of this connection's user."),
];

const WRONG_PASS: ReplyError =
    ReplyError::fixed("WRONGPASS invalid username-password pair or user is disabled.");

const TOO_MANY: ReplyError = ReplyError::fixed(
    "ERR too many failed logins from this address; log in outside of a transaction",
);

fn auth(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let (name, password) = match argv {
        [_, password] if cx.core.admin.users.default_user().nopass => {
            let _ = password;
            return Err(ReplyError::fixed(
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?",
            ));
        }
        [_, password] => (b"default".as_slice(), *password),
        [_, name, password] => (*name, *password),
        _ => return Err(SYNTAX),
    };
    log_in(cx, argv[0], name, password)?;
    cx.out.ok();
    Ok(())
}

/// Makes the connection that user's, or notes the failure.
pub(crate) fn log_in(cx: &mut Ctx<'_>, word: &[u8], name: &[u8], password: &[u8]) -> Outcome {
    // In a transaction nothing can be held back, so that many tries could come at once.
    if cx.client.deny_blocking && cx.core.logins_held(cx.client) {
        return Err(TOO_MANY);
    }
    let user = cx.core.admin.users.get(name).filter(|user| user.accepts(password));
    if let Some(user) = user {
        cx.client.user = Arc::clone(user);
        cx.client.authenticated = true;
        cx.core.login_succeeded(cx.client);
        return Ok(());
    }
    cx.core.login_failed(cx.client);
    let entry = AclLogEntry {
        count: 1,
        reason: "auth",
        context: if cx.client.multi.is_some() { "multi" } else { "toplevel" },
        object: word.to_vec(),
        username: name.to_vec(),
        time_ms: cx.core.now,
        client_info: cx.core.client_info(cx.client).into_bytes(),
    };
    let max = cx.core.config.acllog_max_len;
    cx.core.admin.acl_log.add(entry, max);
    Err(WRONG_PASS)
}

fn set_user(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let name = argv[2];
    if acl::has_spaces(name) {
        return Err(ReplyError::fixed("ERR Usernames can't contain spaces or null characters"));
    }
    let rules = acl::merge_selectors(&argv[3..]).map_err(|start| {
        let start = String::from_utf8_lossy(&start).into_owned();
        ReplyError::new(format!("ERR Unmatched parenthesis in acl selector starting at '{start}'."))
    })?;
    let all_channels = cx.core.config.acl_all_channels;
    let old = cx.core.admin.users.get(name).cloned();
    let mut user = old.as_deref().cloned().unwrap_or_else(|| User::new(name, all_channels));
    for rule in rules {
        user.apply(&rule, all_channels).map_err(|why| {
            let rule = String::from_utf8_lossy(&rule).into_owned();
            ReplyError::new(format!("ERR Error in ACL SETUSER modifier '{rule}': {why}"))
        })?;
    }
    user.settle();
    cx.core.replace_user(Some(cx.client), user);
    cx.out.ok();
    Ok(())
}

impl Core {
    /// Puts a user in the place of the one of that name; clients that may no longer listen are closed.
    pub(crate) fn replace_user(&mut self, mut running: Option<&mut Client>, user: User) {
        let user = Arc::new(user);
        let old = self.admin.users.get(&user.name).cloned();
        self.admin.users.put(Arc::clone(&user));
        let Some(old) = old else { return };
        let mut lost = Vec::new();
        let all = self.clients.iter_mut().chain(running.as_deref_mut());
        for client in all.filter(|client| Arc::ptr_eq(&client.user, &old)) {
            client.user = Arc::clone(&user);
            let named = client.channels.iter().chain(&client.shard_channels);
            let stays = named.into_iter().all(|name| user.may_hear(name, false))
                && client.patterns.iter().all(|name| user.may_hear(name, true));
            if !stays {
                lost.push(client.id);
            }
        }
        for id in lost {
            match &mut running {
                Some(client) if client.id == id => client.closing = true,
                _ => self.kill(id),
            }
        }
    }
}

fn get_user(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let Some(user) = cx.core.admin.users.get(argv[2]).cloned() else {
        cx.out.null();
        return Ok(());
    };
    cx.out.map(6);
    cx.out.bulk(b"flags");
    let flags = user.flags();
    cx.out.set(flags.len());
    for flag in flags {
        cx.out.bulk(flag.as_bytes());
    }
    cx.out.bulk(b"passwords");
    cx.out.array(user.passwords.len());
    for password in &user.passwords {
        cx.out.bulk(password.as_bytes());
    }
    describe(cx, &user.selectors[0]);
    cx.out.bulk(b"selectors");
    cx.out.array(user.selectors.len() - 1);
    for selector in &user.selectors[1..] {
        cx.out.map(3);
        describe(cx, selector);
    }
    Ok(())
}

fn describe(cx: &mut Ctx<'_>, selector: &acl::Selector) {
    cx.out.bulk(b"commands");
    cx.out.bulk(selector.commands_text().as_bytes());
    cx.out.bulk(b"keys");
    cx.out.bulk(&selector.keys_text());
    cx.out.bulk(b"channels");
    cx.out.bulk(&selector.channels_text());
}

fn del_user(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if argv[2..].contains(&b"default".as_slice()) {
        return Err(ReplyError::fixed("ERR The 'default' user cannot be removed"));
    }
    let mut gone = 0;
    for name in &argv[2..] {
        let Some(user) = cx.core.admin.users.remove(name) else { continue };
        gone += 1;
        let theirs = cx.core.clients.iter().filter(|client| Arc::ptr_eq(&client.user, &user));
        for id in theirs.map(|client| client.id).collect::<Vec<_>>() {
            cx.core.kill(id);
        }
        if Arc::ptr_eq(&cx.client.user, &user) {
            cx.client.closing = true;
        }
    }
    cx.out.len(gone);
    Ok(())
}

fn list(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let users = cx.core.admin.users.iter();
    cx.out.array(users.len());
    for user in users {
        cx.out.bulk(&[b"user ", user.name.as_slice(), b" ", &user.text()].concat());
    }
    Ok(())
}

fn users(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let users = cx.core.admin.users.iter();
    cx.out.array(users.len());
    for user in users {
        cx.out.bulk(&user.name);
    }
    Ok(())
}

fn whoami(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    cx.out.bulk(&cx.client.user.name);
    Ok(())
}

fn cat(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    match argv {
        [_, _] => {
            cx.out.array(acl::CATEGORIES.len());
            for category in acl::CATEGORIES {
                cx.out.bulk(category.as_bytes());
            }
            Ok(())
        }
        [_, _, name] => {
            let known = acl::CATEGORIES.iter().find(|category| is(name, category));
            let Some(category) = known else {
                let name = String::from_utf8_lossy(&name[..name.len().min(128)]);
                return Err(ReplyError::new(format!("ERR Unknown category '{name}'")));
            };
            let of = TABLE.specs.iter().filter(|spec| spec.categories.contains(category));
            let names: Vec<&str> = of.map(|spec| spec.full_name).collect();
            cx.out.array(names.len());
            for name in names {
                cx.out.bulk(name.as_bytes());
            }
            Ok(())
        }
        _ => Err(ReplyError::wrong_sub_args("ACL", argv[1])),
    }
}

fn dry_run(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let named = |at: usize| String::from_utf8_lossy(argv[at]).into_owned();
    let Some(user) = cx.core.admin.users.get(argv[2]).cloned() else {
        return Err(ReplyError::new(format!("ERR User '{}' not found", named(2))));
    };
    let call = &argv[3..];
    let Found::Command(spec) = TABLE.find(call) else {
        return Err(ReplyError::new(format!("ERR Command '{}' not found", named(3))));
    };
    if !spec.arity_fits(call.len()) {
        return Err(ReplyError::arity(spec.full_name));
    }
    let text = match user.denies(spec, call) {
        None => {
            cx.out.ok();
            return Ok(());
        }
        Some(acl::Denial::Command) => {
            format!("This user has no permissions to run the '{}' command", spec.full_name)
        }
        Some(acl::Denial::Key(at)) => {
            format!("This user has no permissions to access the '{}' key", named(at + 3))
        }
        Some(acl::Denial::Channel(at)) => {
            format!("This user has no permissions to access the '{}' channel", named(at + 3))
        }
    };
    cx.out.bulk(text.as_bytes());
    Ok(())
}

fn log(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut count = 10;
    match argv {
        [_, _] => {}
        [_, _, word] if is(word, "reset") => {
            cx.core.admin.acl_log.clear();
            cx.out.ok();
            return Ok(());
        }
        [_, _, n] => count = usize::try_from(int(n)?).unwrap_or(0),
        _ => return Err(ReplyError::wrong_sub_args("ACL", argv[1])),
    }
    let entries = cx.core.admin.acl_log.iter();
    let count = count.min(entries.len());
    let now = cx.core.clock.now_ms();
    cx.out.array(count);
    for entry in entries.take(count) {
        cx.out.map(7);
        cx.out.bulk(b"count");
        cx.out.int(i64::try_from(entry.count).unwrap_or(i64::MAX));
        for (name, value) in [
            ("reason", entry.reason.as_bytes()),
            ("context", entry.context.as_bytes()),
            ("object", &entry.object),
            ("username", &entry.username),
        ] {
            cx.out.bulk(name.as_bytes());
            cx.out.bulk(value);
        }
        cx.out.bulk(b"age-seconds");
        cx.out.double((now - entry.time_ms) as f64 / 1000.0);
        cx.out.bulk(b"client-info");
        cx.out.bulk(&entry.client_info);
    }
    Ok(())
}

fn gen_pass(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    const BITS_MAX: i64 = 4096;
    let bits = match argv {
        [_, _] => 256,
        [_, _, bits] => int(bits)?,
        _ => return Err(ReplyError::wrong_sub_args("ACL", argv[1])),
    };
    if !(1..=BITS_MAX).contains(&bits) {
        return Err(ReplyError::new(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a \
             positive number up to {BITS_MAX}"
        )));
    }
    // A secret: from the system's generator, not from the engine's quick one.
    let mut rng = rand::rng();
    let digits = (0..(bits + 3) / 4).map(|_| char::from_digit(rng.random_range(0..16), 16));
    let password: String = digits.flatten().collect();
    cx.out.bulk(password.as_bytes());
    Ok(())
}

fn no_file(_: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    Err(ReplyError::fixed(
        "ERR This Redis instance is not configured to use an ACL file. You may want to specify users \
         via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis \
         configuration file set) in order to store users in the Redis configuration.",
    ))
}
