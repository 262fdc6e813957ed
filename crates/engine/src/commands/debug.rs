//! The parts of `DEBUG` that make sense here: waiting, expiry by hand, a value's inner form, sample replies.

use std::time::Duration;

use crate::commands::ctx::{Ctx, float, is};
use crate::commands::help;
use crate::commands::table::Run::{self, Plain};
use crate::data::glob;
use crate::error::{NO_SUCH_KEY, Outcome, ReplyError};

pub(crate) const HANDLERS: &[(&str, Run)] = &[("debug", Plain(debug))];

const HELP: &[(&str, &str)] = &[
    ("OBJECT <key>", "The inner form of a value."),
    ("PROTOCOL <type>", "A sample reply of that type."),
    ("SET-ACTIVE-EXPIRE <0|1>", "Whether keys expire without being asked for."),
    ("SLEEP <seconds>", "Stop the engine for so long."),
    ("STRINGMATCH-LEN <length> <pattern>", "Try a pattern on a text of zeros."),
    ("JMAP", "Accepted."),
];

const OFF: ReplyError = ReplyError::fixed(
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.",
);

fn debug(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    if !cx.core.admin.debug {
        return Err(OFF);
    }
    match (argv[1].to_ascii_lowercase().as_slice(), &argv[2..]) {
        (b"help", []) => return help::reply(cx, "DEBUG", HELP),
        (b"sleep", [seconds]) => {
            let seconds = float(seconds)?;
            let wait = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
            // It is what was asked for: the whole engine stands still.
            std::thread::sleep(wait);
            cx.out.ok();
        }
        (b"set-active-expire", [on]) => {
            cx.core.active_expire = !is(on, "0");
            cx.out.ok();
        }
        (b"stringmatch-len", [length, pattern]) => {
            const LENGTH_MAX: i64 = 16 << 20;
            let length = crate::commands::ctx::int(length)?.clamp(0, LENGTH_MAX);
            let text = vec![b'0'; usize::try_from(length).unwrap_or(0)];
            let fits = glob::matches(pattern, &text, false);
            cx.out.flag(fits);
        }
        (b"jmap" | b"change-repl-id" | b"set-disable-deny-scripts", _) => cx.out.ok(),
        (b"object", [key]) => object(cx, key)?,
        (b"protocol", [kind]) => protocol(cx, kind)?,
        _ => {
            let sub = String::from_utf8_lossy(argv[1]).into_owned();
            return Err(ReplyError::new(format!(
                "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try DEBUG HELP."
            )));
        }
    }
    Ok(())
}

fn object(cx: &mut Ctx<'_>, key: &[u8]) -> Outcome {
    let stamp = cx.core.keys().stamp(key).unwrap_or(0);
    let now = crate::core::access_stamp(cx.core.now);
    let value = cx.core.peek(key).ok_or(NO_SUCH_KEY)?;
    let text = format!(
        "Value at:0x0 refcount:1 encoding:{} serializedlength:{} lru:{stamp} lru_seconds_idle:{}",
        value.encoding_name(),
        value.memory_bytes(),
        now.wrapping_sub(stamp) & 0xff_ffff,
    );
    cx.out.status(&text);
    Ok(())
}

fn protocol(cx: &mut Ctx<'_>, kind: &[u8]) -> Outcome {
    let out = &mut *cx.out;
    match kind.to_ascii_lowercase().as_slice() {
        b"string" => out.bulk(b"Hello World"),
        b"integer" => out.int(12345),
        b"double" => {
            #[allow(clippy::approx_constant)] // the sample that Redis gives
            out.double(3.141);
        }
        b"null" => out.null(),
        b"bignum" => {
            let digits = b"1234567999999999999999999999999999999";
            if out.resp3 {
                out.buf.push(b'(');
                out.buf.extend_from_slice(digits);
                out.buf.extend_from_slice(b"\r\n");
            } else {
                out.bulk(digits);
            }
        }
        b"array" => {
            out.array(3);
            (0..3).for_each(|n| out.int(n));
        }
        b"set" => {
            out.set(3);
            (0..3).for_each(|n| out.int(n));
        }
        b"map" => {
            out.map(3);
            for n in 0..3 {
                out.int(n);
                out.bool(n == 1);
            }
        }
        b"attrib" => {
            if out.resp3 {
                out.buf.extend_from_slice(b"|1\r\n");
                out.bulk(b"key-popularity");
                out.array(2);
                out.bulk(b"key:123");
                out.int(90);
            }
            out.bulk(b"Some real reply following the attribute");
        }
        b"push" => {
            if !out.resp3 {
                return Err(ReplyError::fixed("ERR RESP2 is not supported by this command"));
            }
            out.push(2);
            out.bulk(b"server-cpu-usage");
            out.int(42);
            out.bulk(b"Some real reply following the push reply");
        }
        b"true" => out.bool(true),
        b"false" => out.bool(false),
        b"verbatim" => out.verbatim("txt", b"This is a verbatim\nstring"),
        _ => {
            return Err(ReplyError::fixed(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}
