//! `worldkeep config show`: every setting, its value and where it comes from. Secrets are hidden.

use serde_json::json;

use crate::cli::{Config, Global};
use crate::exit::Failure;
use crate::{config, print};

pub(super) fn run(global: &Global, verb: &Config) -> Result<(), Failure> {
    let Config::Show = verb;
    let settings = config::load(
        global.config.as_deref(),
        std::env::vars(),
        &super::serve::flags(global, None),
    )?;
    if global.json {
        let all: Vec<_> = settings
            .iter()
            .map(|one| {
                json!({ "name": one.def.name, "value": one.shown(), "source": one.source.to_string(),
                        "variable": config::variable(one.def.name), "says": one.def.says })
            })
            .collect();
        print::json(&all);
        return Ok(());
    }
    let rows: Vec<Vec<String>> = settings
        .iter()
        .map(|one| {
            let shown = one.shown();
            let shown = if shown.is_empty() { "–".to_owned() } else { shown };
            vec![one.def.name.to_owned(), shown, one.source.to_string(), one.def.says.to_owned()]
        })
        .collect();
    print::table(&["setting", "value", "from", "meaning"], &rows);
    Ok(())
}
