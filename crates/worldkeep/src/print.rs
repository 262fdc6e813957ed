//! Output to the terminal: results on stdout, problems on stderr. Colours only on a terminal and
//! never with `NO_COLOR`. A closed pipe (`worldkeep keys | head`) ends quietly.

use std::io::{IsTerminal as _, Write as _};

/// One line of the result.
pub fn line(text: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{}", text.as_ref()).is_err() {
        // Whoever read us is gone; there is nobody left to tell.
        std::process::exit(0);
    }
}

/// A result as JSON, indented on a terminal and in one line elsewhere.
pub fn json<T: serde::Serialize>(value: &T) {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    line(text.unwrap_or_default());
}

/// A JSON text as it came, every number in its spelling; indented on a terminal.
pub fn raw_json(text: &[u8]) {
    let text = if text.is_empty() { b"null" } else { text };
    match serde_json::from_slice::<&serde_json::value::RawValue>(text) {
        Ok(_) if std::io::stdout().is_terminal() => {
            json(&serde_json::from_slice::<serde_json::Value>(text).unwrap_or_default());
        }
        _ => line(String::from_utf8_lossy(text).trim_end()),
    }
}

/// A problem, on stderr.
pub fn problem(text: &str) {
    let (on, off) = if colours() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(std::io::stderr(), "{on}worldkeep:{off} {text}");
}

/// Something to know, on stderr.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Columns padded to the widest cell; the last one is not padded.
pub fn table(head: &[&str], rows: &[Vec<String>]) {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut text = String::new();
        for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
            text.push_str(cell);
            if n + 1 < row.len() {
                text.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
            }
        }
        line(text.trim_end());
    }
}
