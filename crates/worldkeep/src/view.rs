//! The look of answers on a terminal, as data: columns with a JSON pointer and a way to spell the
//! value. A value from a store may hold anything, so control characters never reach the terminal.

use kernel::{Clock as _, SystemClock};
use serde_json::Value;

use crate::cli::Global;
use crate::print;

/// Longest text of a cell.
const CELL: usize = 80;

/// The form in which an answer is printed.
pub enum Show<'a> {
    /// `items` as rows; the sentence when there are none.
    Table(&'static [Column], &'static str),
    /// One object, a line per column.
    Facts(&'static [Column]),
    /// A sentence made from the answer, a note that `--quiet` leaves out.
    Says(&'a dyn Fn(&Value) -> String),
    /// Lines made from the answer.
    Lines(&'a dyn Fn(&Value) -> Vec<String>),
}

/// One column, or one line of facts.
#[derive(Clone, Copy)]
pub struct Column {
    head: &'static str,
    at: &'static str,
    spell: fn(&Value) -> String,
}

/// A column with the text at a JSON pointer, `""` for the whole item.
pub const fn col(head: &'static str, at: &'static str) -> Column {
    Column { head, at, spell: text }
}

impl Column {
    /// Spells it another way.
    #[must_use]
    pub const fn by(self, spell: fn(&Value) -> String) -> Self {
        Column { spell, ..self }
    }

    fn cell(&self, item: &Value) -> String {
        (self.spell)(item.pointer(self.at).unwrap_or(&Value::Null))
    }
}

/// Prints an answer for people.
pub fn print(global: &Global, answer: &Value, show: &Show<'_>) {
    match show {
        Show::Table(columns, none) => {
            let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            if items.is_empty() {
                if !global.quiet {
                    print::note(none);
                }
                return;
            }
            table(columns, items);
            if answer["cursor"].is_string() && !global.quiet {
                print::note("there are more: ask for them with --limit");
            }
        }
        Show::Facts(columns) => facts(columns, answer),
        Show::Says(says) if !global.quiet => print::line(says(answer)),
        Show::Says(_) => {}
        Show::Lines(lines) => lines(answer).iter().for_each(print::line),
    }
}

/// Rows under a head.
pub fn table(columns: &[Column], items: &[Value]) {
    let head: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let rows: Vec<Vec<String>> = items
        .iter()
        .map(|item| columns.iter().map(|column| shorten(&column.cell(item))).collect())
        .collect();
    print::table(&head, &rows);
}

/// A line per column; what is empty is left out.
pub fn facts(columns: &[Column], item: &Value) {
    let width = columns.iter().map(|column| column.head.chars().count()).max().unwrap_or(0) + 2;
    for column in columns {
        let text = column.cell(item);
        if !text.is_empty() {
            print::line(format!("{:<width$}{text}", column.head));
        }
    }
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= CELL {
        return text.to_owned();
    }
    text.chars().take(CELL - 1).chain(['…']).collect()
}

/// Texts as they are, other JSON as JSON, nothing for null.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        other => plain(&other.to_string()),
    }
}

/// Without what could move the cursor or change colours.
pub fn plain(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

/// Unix milliseconds as UTC.
pub fn when(value: &Value) -> String {
    let Some(ms) = millis(value) else { return String::new() };
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => ms.to_string(),
    }
}

/// Unix milliseconds as the time since or until then: `3 s ago`, `in 2 h`.
pub fn since(value: &Value) -> String {
    let Some(ms) = millis(value) else { return String::new() };
    let now = i64::try_from(SystemClock::new().now_ms()).unwrap_or(i64::MAX);
    if ms > now { format!("in {}", long(ms - now)) } else { format!("{} ago", long(now - ms)) }
}

/// Milliseconds as a duration.
pub fn took(value: &Value) -> String {
    millis(value).map(long).unwrap_or_default()
}

/// A list of texts with commas.
pub fn list(value: &Value) -> String {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// `yes` or nothing.
pub fn yes(value: &Value) -> String {
    if *value == Value::Bool(true) { "yes".into() } else { String::new() }
}

fn millis(value: &Value) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation)] // Whole milliseconds are enough for people.
    value.as_i64().or_else(|| value.as_f64().map(|ms| ms as i64))
}

fn long(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..10_000 if ms % 1000 >= 100 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        1_000..120_000 => format!("{} s", ms / 1000),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_spelled_for_people() {
        assert_eq!(when(&json!(1_794_768_259_299_u64)), "2026-11-15 18:44:19Z");
        assert_eq!(took(&json!(1234)), "1.2 s");
        assert_eq!(took(&json!(90_000)), "90 s");
        assert_eq!(took(&json!(5_000)), "5 s");
        assert_eq!(took(&json!(299_958)), "4 min");
        assert_eq!(list(&json!(["a", "b"])), "a, b");
        assert_eq!(text(&json!({"a": 1})), r#"{"a":1}"#);
        assert_eq!((yes(&json!(true)), yes(&json!(false))), ("yes".into(), String::new()));
        assert_eq!(text(&Value::Null), "");
    }

    #[test]
    fn a_stored_text_cannot_move_the_cursor() {
        assert_eq!(text(&json!("\u{1b}[31mred\n")), "\\u{1b}[31mred\\n");
    }

    #[test]
    fn columns_read_by_pointer() {
        let item = json!({ "job": { "type": "email" }, "long": "x".repeat(200) });
        assert_eq!(col("type", "/job/type").cell(&item), "email");
        assert_eq!(shorten(&col("long", "/long").cell(&item)).chars().count(), CELL);
    }
}
