//! A store that writes down what goes over the wire: the exact words of every command, in order, as text
//! for expect tests. Our promise of byte compatibility is kept by such recordings.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use kernel::{
    Answer, Cmd, Deadline, Fault, Message, Packed, Script, Session, Status, Store, Topic, Value,
};
use parking_lot::Mutex;

/// Wraps a store and keeps a transcript: a command per line, its answer indented below.
///
/// A pipeline's commands start with `|`, a session's with `#`; a script shows its name, keys and arguments.
#[derive(Clone)]
pub struct Recorder {
    store: Arc<dyn Store>,
    text: Arc<Mutex<String>>,
    scripts: Arc<Mutex<Vec<ScriptCall>>>,
}

/// The arguments of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCall {
    /// The script.
    pub name: &'static str,
    /// The keys.
    pub keys: Vec<String>,
    /// The arguments.
    pub args: Vec<String>,
}

impl Recorder {
    /// Records what goes to `store`.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Recorder { store, text: Arc::default(), scripts: Arc::default() })
    }

    /// The transcript so far; the next one starts empty.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.text.lock())
    }

    /// The scripts that were called since this was last asked.
    pub fn take_scripts(&self) -> Vec<ScriptCall> {
        std::mem::take(&mut *self.scripts.lock())
    }

    /// Like [`take`](Self::take), without the answers.
    pub fn take_commands(&self) -> String {
        let kept = |line: &&str| !line.starts_with("  ");
        self.take().lines().filter(kept).fold(String::new(), |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        })
    }
}

fn note(text: &Mutex<String>, line: &str) {
    let mut text = text.lock();
    text.push_str(line);
    text.push('\n');
}

fn note_outcome(text: &Mutex<String>, outcome: &Result<Value, Fault>) {
    match outcome {
        Ok(value) => note(text, &format!("  {}", show(value))),
        Err(fault) => note(text, &format!("  ! {fault}")),
    }
}

/// A word as it is, or quoted where it is empty or holds more than printable ASCII without blanks.
fn word(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'\'';
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', "\\'")),
        _ => format!("'{}'", bytes.escape_ascii()),
    }
}

fn texts(words: &[&[u8]]) -> Vec<String> {
    words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn line(cmd: &Cmd) -> String {
    let words: Vec<String> = cmd
        .args_iter()
        .map(|arg| match arg {
            redis::Arg::Simple(bytes) => word(bytes),
            _ => "0".to_owned(),
        })
        .collect();
    words.join(" ")
}

fn show(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_owned(),
        Value::Okay => "OK".to_owned(),
        Value::Int(number) => format!("({number})"),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => word(bytes),
        Value::ServerError(error) => {
            format!("-{} {}", error.code(), error.details().unwrap_or_default())
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(show).collect();
            format!("[{}]", items.join(" "))
        }
        other => format!("{other:?}"),
    }
}

impl Store for Recorder {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        Answer::Later(Box::pin(async move {
            note(&self.text, &line(cmd));
            let outcome = self.store.call(cmd, by).await;
            note_outcome(&self.text, &outcome);
            outcome
        }))
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, Fault>>> {
        Answer::Later(Box::pin(async move {
            let outcomes = self.store.pipeline(cmds, by).await;
            for (at, cmd) in cmds.iter().enumerate() {
                note(&self.text, &format!("| {}", line(cmd)));
                match &outcomes {
                    Ok(all) => note_outcome(&self.text, &all[at]),
                    Err(fault) => note(&self.text, &format!("  ! {fault}")),
                }
            }
            outcomes
        }))
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        Answer::Later(Box::pin(async move {
            let mut text = format!("SCRIPT {} {}", script.name(), keys.len());
            for part in keys.iter().chain(args) {
                let _ = write!(text, " {}", word(part));
            }
            note(&self.text, &text);
            self.scripts.lock().push(ScriptCall {
                name: script.name(),
                keys: texts(keys),
                args: texts(args),
            });
            let outcome = self.store.script(script, keys, args, by).await;
            note_outcome(&self.text, &outcome);
            outcome
        }))
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let session = self.store.session(key, by).await?;
            let text = Arc::clone(&self.text);
            Ok(Box::new(Recorded { session, text }) as Box<dyn Session>)
        }))
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        for topic in topics {
            match topic {
                Topic::Channel(name) => note(&self.text, &format!("SUBSCRIBE {name}")),
                Topic::Pattern(name) => note(&self.text, &format!("PSUBSCRIBE {name}")),
            }
        }
        self.store.subscribe(topics, by)
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}

struct Recorded {
    session: Box<dyn Session>,
    text: Arc<Mutex<String>>,
}

impl Session for Recorded {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        Answer::Later(Box::pin(async move {
            note(&self.text, &format!("# {}", line(cmd)));
            let outcome = self.session.call(cmd, by).await;
            note_outcome(&self.text, &outcome);
            outcome
        }))
    }

    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()> {
        note(&self.text, "# MULTI");
        for cmd in cmds.iter().flat_map(|part| part.cmds()) {
            note(&self.text, &format!("# {}", line(&cmd)));
        }
        self.session.queue(cmds, by)
    }

    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>> {
        Answer::Later(Box::pin(async move {
            note(&self.text, "# EXEC");
            let outcome = self.session.exec(by).await;
            match &outcome {
                Ok(None) => note(&self.text, "  nil"),
                Ok(Some(values)) => {
                    note(&self.text, &format!("  {}", show(&Value::Array(values.clone()))));
                }
                Err(fault) => note(&self.text, &format!("  ! {fault}")),
            }
            outcome
        }))
    }
}
