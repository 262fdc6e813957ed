//! `jobs lua export DIR`: the scripts with their contracts, for programs in other languages.

use serde_json::json;

use crate::cli::Global;
use crate::cli::jobs::Lua;
use crate::config::plain;
use crate::exit::Failure;
use crate::print;

pub(super) fn run(global: &Global, verb: &Lua) -> Result<(), Failure> {
    let Lua::Export { dir } = verb;
    let files = jobs::export::export(dir).map_err(|error| {
        Failure::failed(format!("cannot write into {}: {}", dir.display(), plain(&error)))
    })?;
    if global.json {
        print::json(&json!({ "directory": dir, "files": files }));
    } else if !global.quiet {
        for file in files {
            print::line(file.display().to_string());
        }
    }
    Ok(())
}
