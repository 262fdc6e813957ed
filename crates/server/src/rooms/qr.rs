//! The QR code of a join link as SVG: error correction M, quiet zone of four modules, one path.

use qrcode::{Color, EcLevel, QrCode};

const QUIET: usize = 4;

/// `None` when the text is too long for any QR code.
pub(super) fn svg(text: &str) -> Option<String> {
    use std::fmt::Write as _;
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let width = code.width();
    let colors = code.to_colors();
    let whole = width + 2 * QUIET;
    let mut path = String::new();
    for (y, row) in colors.chunks_exact(width).enumerate() {
        let mut x = 0;
        while x < width {
            let run = row[x..].iter().take_while(|color| **color == Color::Dark).count();
            if run > 0 {
                let _ = write!(path, "M{} {}h{run}v1h-{run}z", x + QUIET, y + QUIET);
            }
            x += run.max(1);
        }
    }
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {whole}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{whole}v{whole}H0z\"/>\
         <path fill=\"#000\" d=\"{path}\"/></svg>"
    ))
}

/// The same for a terminal: two modules in a character, light ones drawn, so that a dark terminal shows it right.
/// `colours` says it in black and white whatever the terminal's own colours are.
pub fn terminal(text: &str, colours: bool) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let width = code.width();
    let modules = code.to_colors();
    let margin = 2; // what scanners need on a screen
    let is_dark = |x: usize, y: usize| {
        let inside = |n: usize| n.checked_sub(margin).filter(|n| *n < width);
        let at = inside(x).zip(inside(y));
        at.is_some_and(|(x, y)| modules[y * width + x] == Color::Dark)
    };
    let whole = width + 2 * margin;
    let (on, off) = if colours { ("\x1b[97;40m", "\x1b[0m") } else { ("", "") };
    let row = |y: usize| {
        let cell = |x: usize| match (is_dark(x, y), y + 1 >= whole || is_dark(x, y + 1)) {
            (false, false) => '█',
            (false, true) => '▀',
            (true, false) => '▄',
            (true, true) => ' ',
        };
        format!("{on}{}{off}\n", (0..whole).map(cell).collect::<String>())
    };
    Some((0..whole).step_by(2).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_becomes_lines_for_a_terminal() {
        let text = terminal("http://192.168.1.20:7071/play", false).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let width = lines[0].chars().count();
        assert!(lines.iter().all(|line| line.chars().count() == width), "{text}");
        assert_eq!(lines.len(), width.div_ceil(2), "two rows of modules in a line");
        assert!(lines[0].chars().all(|c| c == '█'), "the margin is light: {text}");
        // The finder pattern's dark corner begins behind the margin.
        assert!(lines[1].starts_with("██ ▄▄▄▄▄ "), "{text}");
        assert!(terminal("x", true).unwrap().starts_with("\x1b[97;40m"));
    }

    #[test]
    fn a_link_becomes_a_picture_with_a_quiet_zone() {
        let svg = svg("http://127.0.0.1:7070/r/ABCD2345").unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("viewBox=\"0 0 37 37\""), "{svg}");
        // The first finder pattern begins right behind the quiet zone.
        assert!(svg.contains("d=\"M4 4h7v1h-7z"), "{svg}");
        assert!(super::svg(&"x".repeat(5000)).is_none());
    }
}
