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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_becomes_a_picture_with_a_quiet_zone() {
        let svg = svg("http://127.0.0.1:7070/r/ABCD2345").unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("viewBox=\"0 0 37 37\""), "{svg}");
        // The first finder pattern begins right behind the quiet zone.
        assert!(svg.contains("d=\"M4 4h7v1h-7z"), "{svg}");
        assert!(super::svg(&"x".repeat(5000)).is_none());
    }
}
