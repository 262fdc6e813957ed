//! Reads the header of a script. A test holds it against the body, the keyspace tables and the Cluster slots
//! (`testkit::scripts_keep_their_headers!`, called by [`scripts!`](crate::scripts!)): what people read on top of a file is
//! true.
//!
//! ```text
//! -- claim: a device holds at most one player.
//! -- KEYS 1   claims  room:{code}:claims     the patterns of the table, plain; `*` is any key of the scope,
//! -- KEYS 2.. others  *                      never a part of a key: an ACL refuses what matches no pattern
//! -- ARGV 1   player
//! -- BUILDS bridge:jobs:lock:{jobId}         keys that the body puts together
//! -- CALLS  HSET HDEL                        commands, where the body has their names from an argument
//! -- GIVES  ok | taken_now                   words the body returns, or a description
//! ```

/// A header as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The script's name.
    pub name: String,
    /// The sentence that says what the script does.
    pub sentence: String,
    /// The script's keys.
    pub keys: Vec<Slot>,
    /// The script's arguments; these have no pattern.
    pub args: Vec<Slot>,
    /// Patterns of the keys it puts together itself.
    pub builds: Vec<String>,
    /// Commands whose names come from an argument.
    pub calls: Vec<String>,
    /// The answers of the script.
    pub gives: Vec<String>,
}

/// One numbered line of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Counted from 1.
    pub number: usize,
    /// `2..`: this one and all that follow.
    pub rest: bool,
    /// The name in the script's body.
    pub name: String,
    /// The pattern of a key.
    pub pattern: String,
}

/// Reads a header, or says which line is wrong.
pub fn parse(source: &str) -> Result<Header, String> {
    let mut lines = source.lines().map_while(|line| line.strip_prefix("--"));
    let first = lines.next().ok_or("line 1 must be `-- name: sentence`")?;
    let (name, sentence) =
        first.trim().split_once(": ").ok_or("line 1 must be `-- name: sentence`")?;
    let mut header =
        Header { name: name.into(), sentence: sentence.trim().into(), ..Header::default() };
    for (at, line) in lines.enumerate() {
        let wrong = |what: &str| format!("line {}: {what}", at + 2);
        let mut words = line.split_whitespace();
        match words.next() {
            Some(kind @ ("KEYS" | "ARGV")) => {
                let number = words.next().ok_or_else(|| wrong("a number is missing"))?;
                let rest = number.ends_with("..");
                let number = number.trim_end_matches("..");
                let number = number.parse().map_err(|_| wrong("say a number, or `2..`"))?;
                let name = words.next().ok_or_else(|| wrong("a name is missing"))?.to_owned();
                let pattern = words.next().unwrap_or_default().to_owned();
                if kind == "KEYS" && pattern.is_empty() {
                    return Err(wrong("a key needs its pattern, or * for any key of the scope"));
                }
                let slots = if kind == "KEYS" { &mut header.keys } else { &mut header.args };
                if number != slots.len() + 1 || slots.last().is_some_and(|last| last.rest) {
                    return Err(wrong(&format!("{kind} must count 1, 2, 3 and end with the rest")));
                }
                slots.push(Slot { number, rest, name, pattern });
            }
            Some("BUILDS") => header.builds.extend(words.map(str::to_owned)),
            Some("CALLS") => header.calls.extend(words.map(str::to_uppercase)),
            Some("GIVES") => {
                let all = line.trim_start().strip_prefix("GIVES").unwrap_or_default();
                header.gives.extend(all.split('|').map(|word| word.trim().to_owned()));
            }
            // More of the sentence.
            _ => header.sentence = format!("{} {}", header.sentence, line.trim()),
        }
    }
    if header.gives.iter().all(String::is_empty) {
        return Err("GIVES is missing: say what the script answers".to_owned());
    }
    Ok(header)
}
