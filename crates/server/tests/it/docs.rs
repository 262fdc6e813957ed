//! Generated documents are up to date. `UPDATE_EXPECT=1 cargo test -p worldkeep-server` writes them.

use std::path::PathBuf;

use testkit::picture::workspace;

fn hold(name: &str, made: &str) {
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

#[test]
fn errors_page_is_up_to_date() {
    let mut tables = vec![("Any route", server::reply::ERRORS)];
    tables.extend(
        server::modules::MODULES.iter().map(|m| (m.name, m.errors)).filter(|t| !t.1.is_empty()),
    );
    hold("errors.md", &server::reply::errors_page(&tables));
}

#[test]
fn settings_page_is_up_to_date() {
    hold("settings.md", &server::settings::settings_page());
}
