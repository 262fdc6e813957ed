//! `worldkeep version`.

use serde_json::json;

use crate::cli::Global;
use crate::print;

pub(super) fn run(global: &Global) {
    let version = env!("CARGO_PKG_VERSION");
    if global.json {
        print::json(&json!({ "name": "worldkeep", "version": version }));
    } else {
        print::line(format!("worldkeep {version}"));
    }
}
