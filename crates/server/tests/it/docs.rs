//! Generated documents are up to date. `UPDATE_EXPECT=1 cargo test -p worldkeep-server` writes them.

use std::path::PathBuf;

use testkit::picture::workspace;

pub(crate) fn hold(name: &str, made: &str) {
    let path: PathBuf = workspace().join("docs").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/{name} is old: run `UPDATE_EXPECT=1 cargo test -p worldkeep-server docs`"
    );
}

#[test]
fn openapi_document_is_up_to_date() {
    hold("openapi.json", &server::app::openapi_text(&server::app::openapi()));
}

/// Of two schemas with one name the document keeps one, and describes both with it.
#[test]
fn each_schema_has_a_name_of_its_own() {
    let mut names = std::collections::BTreeMap::<String, PathBuf>::new();
    let mut folders = vec![workspace().join("crates/server/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for item in text.split("utoipa::ToSchema").skip(1) {
                // Attributes stand between the derive and the item: `as` wins over the item's name.
                let mut words = item
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .filter(|word| !word.is_empty());
                let head = words.by_ref().take_while(|word| !matches!(*word, "struct" | "enum"));
                let given = head.skip_while(|word| *word != "as").nth(1).map(str::to_owned);
                let name = given.or_else(|| words.next().map(str::to_owned)).expect("an item");
                if let Some(other) = names.insert(name.clone(), path.clone()) {
                    panic!("{name} is a schema in {} and in {}", other.display(), path.display());
                }
            }
        }
    }
    assert!(names.len() > 80, "only {} schemas were found", names.len());
}

/// Every refusal there is, by the part that gives it.
fn refusals() -> Vec<(&'static str, Vec<server::reply::ErrorDef>)> {
    let mut tables = vec![("Any route", server::reply::ERRORS.to_vec())];
    let modules = server::modules::MODULES.iter().filter(|module| !module.refusals.is_empty());
    tables
        .extend(modules.map(|module| {
            (module.name, module.refusals.iter().map(|def| (*def).into()).collect())
        }));
    tables
}

#[test]
fn errors_page_is_up_to_date() {
    hold("errors.md", &server::reply::errors_page(&refusals()));
}

#[test]
fn every_refusal_has_a_sentence() {
    for (part, table) in refusals() {
        for error in table {
            let says = error.says;
            assert!(says.split_whitespace().count() > 2, "{part}: {}: {says:?}", error.code);
            let first = says.chars().next().is_some_and(|first| !first.is_uppercase());
            assert!(first && !says.ends_with('.'), "{part}: {}: {says:?}", error.code);
        }
    }
}

#[test]
fn metrics_page_is_up_to_date() {
    hold("metrics.md", &server::measure::metrics_page());
}

#[test]
fn settings_page_is_up_to_date() {
    hold("settings.md", &server::settings::settings_page());
}
