//! Messages to clients, and who hears them. What goes to a room's sockets is one text per step on the room's
//! bus: a line per message, an audience and the message as it is sent, so a server only hands the bytes on.
//!
//! `a` all · `m` masters · `p` plays · `d=<device>` every socket of a device · `i=<device>` its Play sockets ·
//! `x` the plays no `i` line of the same text named · `c` all, and then the room is closed.

use serde::Serialize;

/// The audience of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience<'a> {
    /// Everybody in the room.
    All,
    /// Holders of the key.
    Masters,
    /// Everybody else.
    Plays,
    /// Every socket of a device.
    Device(&'a str),
    /// The Play sockets of a device, with something of their own.
    Own(&'a str),
    /// The plays that had nothing of their own in this text.
    Rest,
    /// Everybody, for the last time.
    Closing,
}

impl<'a> Audience<'a> {
    fn word(&self) -> String {
        match self {
            Audience::All => "a".into(),
            Audience::Masters => "m".into(),
            Audience::Plays => "p".into(),
            Audience::Device(device) => format!("d={device}"),
            Audience::Own(device) => format!("i={device}"),
            Audience::Rest => "x".into(),
            Audience::Closing => "c".into(),
        }
    }

    fn read(word: &'a str) -> Option<Self> {
        Some(match word {
            "a" => Audience::All,
            "m" => Audience::Masters,
            "p" => Audience::Plays,
            "x" => Audience::Rest,
            "c" => Audience::Closing,
            other => match other.split_once('=')? {
                ("d", device) => Audience::Device(device),
                ("i", device) => Audience::Own(device),
                _ => return None,
            },
        })
    }
}

/// The messages of a step, in order.
#[derive(Debug, Default)]
pub(crate) struct PushedTexts(String);

impl PushedTexts {
    pub(crate) fn push(&mut self, to: &Audience<'_>, kind: &str, payload: &impl Serialize) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&line(to, kind, payload));
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// One line of a bus text.
pub(crate) fn line(to: &Audience<'_>, kind: &str, payload: &impl Serialize) -> String {
    format!("{} {}", to.word(), message(kind, payload, None))
}

/// The lines of a bus text: audience, and where in the text its message stands. What makes no sense is left out.
pub fn lines(text: &str) -> impl Iterator<Item = (Audience<'_>, std::ops::Range<usize>)> {
    let mut at = 0;
    text.split('\n').filter_map(move |line| {
        let start = at;
        at += line.len() + 1;
        let (word, message) = line.split_once(' ')?;
        let from = start + word.len() + 1;
        Some((Audience::read(word)?, from..from + message.len()))
    })
}

/// A message as it is sent.
pub fn message(kind: &str, payload: &impl Serialize, id: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Message<'a, T> {
        r#type: &'a str,
        payload: &'a T,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
    }
    serde_json::to_string(&Message { r#type: kind, payload, id }).expect("messages are plain data")
}

/// An answer to the caller alone; the socket adds the message's `id`.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The message's `type`.
    pub kind: &'static str,
    /// The message's `payload`, as JSON text.
    pub payload: Box<serde_json::value::RawValue>,
}

impl Reply {
    /// From anything that serializes.
    pub fn new(kind: &'static str, payload: &impl Serialize) -> Self {
        let payload = serde_json::value::to_raw_value(payload).expect("payloads are plain data");
        Reply { kind, payload }
    }

    /// As it is sent.
    pub fn text(&self, id: Option<&str>) -> String {
        message(self.kind, &self.payload, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_text_is_read_back_line_by_line() {
        let mut told = PushedTexts::default();
        told.push(&Audience::Own("dev-1"), "A", &serde_json::json!({"n": "x\ny é"}));
        told.push(&Audience::Rest, "B", &1);
        told.push(&Audience::All, "C", &2);
        let text = told.text().to_owned() + "\nnonsense\nq {}";
        let read: Vec<_> = lines(&text).map(|(to, at)| (to, &text[at])).collect();
        assert_eq!(
            read,
            [
                (Audience::Own("dev-1"), r#"{"type":"A","payload":{"n":"x\ny é"}}"#),
                (Audience::Rest, r#"{"type":"B","payload":1}"#),
                (Audience::All, r#"{"type":"C","payload":2}"#),
            ]
        );
    }

    #[test]
    fn an_answer_repeats_the_id_of_its_question() {
        let reply = Reply::new("PONG", &serde_json::json!({"now": 5}));
        assert_eq!(reply.text(None), r#"{"type":"PONG","payload":{"now":5}}"#);
        assert_eq!(reply.text(Some("7")), r#"{"type":"PONG","payload":{"now":5},"id":"7"}"#);
    }
}
