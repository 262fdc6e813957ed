//! `CLIENT TRACKING`, `CACHING`, `GETREDIR` and `TRACKINGINFO`: what a client asks of `core/tracking.rs`.

use std::collections::BTreeSet;

use crate::commands::ctx::{Ctx, int, is};
use crate::core::tracking::ClientTracking;
use crate::error::{Outcome, ReplyError, SYNTAX};

const BROKEN_SWITCH: ReplyError = ReplyError::fixed(
    "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then \
     re-enabling it with a different mode.",
);
const BROKEN_OPT: ReplyError = ReplyError::fixed(
    "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then \
     re-enabling it with a different mode.",
);

pub(crate) fn client_tracking(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let mut wanted = ClientTracking::default();
    let mut prefixes: Vec<&[u8]> = Vec::new();
    let mut at = 3;
    while at < argv.len() {
        let more = at + 1 < argv.len();
        if is(argv[at], "redirect") && more {
            at += 1;
            if wanted.redirect != 0 {
                return Err(ReplyError::fixed(
                    "ERR A client can only redirect to a single other client",
                ));
            }
            wanted.redirect = u64::try_from(int(argv[at])?).unwrap_or(u64::MAX);
            let known = |id| cx.core.clients.get(id).is_some_and(|c| !c.closing);
            if wanted.redirect != cx.client.id && !known(wanted.redirect) {
                return Err(ReplyError::fixed(
                    "ERR The client ID you want redirect to does not exist",
                ));
            }
        } else if is(argv[at], "bcast") {
            wanted.bcast = true;
        } else if is(argv[at], "optin") {
            wanted.optin = true;
        } else if is(argv[at], "optout") {
            wanted.optout = true;
        } else if is(argv[at], "noloop") {
            wanted.noloop = true;
        } else if is(argv[at], "prefix") && more {
            at += 1;
            prefixes.push(argv[at]);
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    if is(argv[2], "on") {
        start(cx, wanted, &prefixes)?;
    } else if is(argv[2], "off") {
        cx.core.stop_tracking(cx.client);
    } else {
        return Err(SYNTAX);
    }
    cx.out.ok();
    Ok(())
}

fn start(cx: &mut Ctx<'_>, mut wanted: ClientTracking, prefixes: &[&[u8]]) -> Outcome {
    if !wanted.bcast && !prefixes.is_empty() {
        return Err(ReplyError::fixed("ERR PREFIX option requires BCAST mode to be enabled"));
    }
    let old = cx.client.tracking.as_deref();
    if old.is_some_and(|old| old.bcast != wanted.bcast) {
        return Err(BROKEN_SWITCH);
    }
    if wanted.bcast && (wanted.optin || wanted.optout) {
        return Err(ReplyError::fixed("ERR OPTIN and OPTOUT are not compatible with BCAST"));
    }
    if wanted.optin && wanted.optout {
        return Err(ReplyError::fixed("ERR You can't specify both OPTIN mode and OPTOUT mode"));
    }
    if old.is_some_and(|old| (wanted.optin && old.optout) || (wanted.optout && old.optin)) {
        return Err(BROKEN_OPT);
    }
    let known = old.map(|old| old.prefixes.clone()).unwrap_or_default();
    if wanted.bcast {
        no_overlap(&known, prefixes)?;
    }
    let id = cx.client.id;
    let tracking = &mut cx.core.admin.tracking;
    tracking.clients += usize::from(old.is_none());
    wanted.prefixes = known;
    if wanted.bcast {
        let whole: &[&[u8]] = &[b""];
        for prefix in if prefixes.is_empty() { whole } else { prefixes } {
            wanted.prefixes.insert(prefix.to_vec());
            tracking.prefixes.entry(prefix.to_vec()).or_default().clients.insert(id);
        }
    }
    cx.client.tracking = Some(Box::new(wanted));
    Ok(())
}

fn no_overlap(known: &BTreeSet<Vec<u8>>, prefixes: &[&[u8]]) -> Outcome {
    let overlap = |a: &[u8], b: &[u8]| a.starts_with(b) || b.starts_with(a);
    let show = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    for (i, prefix) in prefixes.iter().enumerate() {
        if let Some(other) = known.iter().find(|other| overlap(other, prefix)) {
            return Err(ReplyError::new(format!(
                "ERR Prefix '{}' overlaps with an existing prefix '{}'. Prefixes for a single client \
                 must not overlap.",
                show(prefix),
                show(other)
            )));
        }
        if let Some(other) = prefixes[i + 1..].iter().find(|other| overlap(other, prefix)) {
            return Err(ReplyError::new(format!(
                "ERR Prefix '{}' overlaps with another provided prefix '{}'. Prefixes for a single \
                 client must not overlap.",
                show(prefix),
                show(other)
            )));
        }
    }
    Ok(())
}

pub(crate) fn client_caching(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let Some(tracking) = cx.client.tracking.as_deref_mut() else {
        return Err(ReplyError::fixed(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or \
             OPTOUT mode enabled",
        ));
    };
    if is(argv[2], "yes") {
        if !tracking.optin {
            return Err(ReplyError::fixed(
                "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
            ));
        }
    } else if is(argv[2], "no") {
        if !tracking.optout {
            return Err(ReplyError::fixed(
                "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
            ));
        }
    } else {
        return Err(SYNTAX);
    }
    tracking.caching = true;
    cx.out.ok();
    Ok(())
}

pub(crate) fn client_getredir(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let redirect = cx.client.tracking.as_deref().map(|tracking| tracking.redirect);
    cx.out.int(redirect.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX)));
    Ok(())
}

pub(crate) fn client_trackinginfo(cx: &mut Ctx<'_>, _: &[&[u8]]) -> Outcome {
    let mut flags: Vec<&str> = Vec::new();
    match cx.client.tracking.as_deref() {
        None => flags.push("off"),
        Some(tracking) => {
            let caching = tracking.caching;
            for (flag, set) in [
                ("on", true),
                ("bcast", tracking.bcast),
                ("optin", tracking.optin),
                ("caching-yes", tracking.optin && caching),
                ("optout", tracking.optout),
                ("caching-no", tracking.optout && caching),
                ("noloop", tracking.noloop),
                ("broken_redirect", tracking.broken_redirect),
            ] {
                if set {
                    flags.push(flag);
                }
            }
        }
    }
    cx.out.map(3);
    cx.out.bulk(b"flags");
    cx.out.set(flags.len());
    for flag in flags {
        cx.out.bulk(flag.as_bytes());
    }
    cx.out.bulk(b"redirect");
    client_getredir(cx, &[])?;
    cx.out.bulk(b"prefixes");
    let prefixes = cx.client.tracking.as_deref().map(|t| &t.prefixes);
    cx.out.array(prefixes.map_or(0, BTreeSet::len));
    for prefix in prefixes.into_iter().flatten() {
        cx.out.bulk(prefix);
    }
    Ok(())
}
