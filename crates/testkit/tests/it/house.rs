//! What is written around the code stays true: the two commands, links between documents, scripts of CI.

use std::path::{Path, PathBuf};

use testkit::picture::workspace;

fn read(name: &str) -> String {
    let path = workspace().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every document of ours, by its path from the root.
fn documents() -> Vec<PathBuf> {
    let root = workspace();
    let mut found = Vec::new();
    for dir in ["", "docs", "packaging"] {
        for entry in std::fs::read_dir(root.join(dir)).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            if path.extension().is_some_and(|ext| ext == "md") {
                found.push(path.strip_prefix(&root).expect("under the root").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .collect()
}

#[test]
fn readme_names_both_commands_and_ci_runs_the_second() {
    let readme = read("README.md");
    assert!(readme.contains("cargo run --release") && readme.contains("make test"));
    assert!(read(".ci/run").lines().any(|line| line.trim() == "exec make test"));
    let makefile = read("Makefile");
    for step in ["fmt --all --check", "clippy --workspace --all-targets", "--doc", "browser"] {
        assert!(makefile.contains(step), "make test lost its step {step}");
    }
    for store in ["embedded", "redis", "valkey", "cluster"] {
        assert!(makefile.contains(store), "make test lost the store {store}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = workspace();
    let all = documents();
    assert!(all.len() > 6, "the walk found the documents: {all:?}");
    for document in all {
        let text = read(&document.display().to_string());
        let folder = document.parent().unwrap_or(Path::new(""));
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || link.contains("://") {
                continue;
            }
            let path = root.join(folder).join(target);
            assert!(path.exists(), "{} links to {link}, which is not there", document.display());
        }
    }
}

#[test]
fn files_that_architecture_names_exist() {
    let root = workspace();
    let text = read("ARCHITECTURE.md");
    let named = text.split('`').skip(1).step_by(2).filter(|word| {
        let is_rust = Path::new(word).extension().is_some_and(|ext| ext == "rs");
        word.contains("/src/") && is_rust && !word.contains(['*', ' ', '<'])
    });
    let mut count = 0;
    for word in named {
        let plain = word.strip_prefix("crates/").unwrap_or(word);
        assert!(root.join("crates").join(plain).is_file(), "ARCHITECTURE.md names {word}");
        count += 1;
    }
    assert!(count > 10, "the document names files");
}

#[test]
fn documents_name_no_path_of_one_machine() {
    // Spelled in two halves, so that this file passes its own rule.
    let private = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];
    for document in documents() {
        let text = read(&document.display().to_string());
        for path in private {
            assert!(!text.contains(path), "{} names {path}", document.display());
        }
    }
}

#[test]
fn changelog_has_an_open_section_on_top() {
    let text = read("CHANGELOG.md");
    let first = text.lines().find(|line| line.starts_with("## "));
    assert_eq!(first, Some("## Unreleased"));
}

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

#[test]
fn every_metric_is_documented() {
    let guide = read("docs/metrics.md");
    let mut names = Vec::new();
    for path in below(&workspace().join("crates")) {
        let rust = path.extension().is_some_and(|ext| ext == "rs");
        if !rust || !path.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source can be read");
        for call in ["counter!(", "gauge!(", "histogram!("] {
            let words = text.split(call).skip(1).filter_map(|rest| {
                let rest = rest.trim_start().strip_prefix('"')?;
                rest.split('"').next().map(str::to_owned)
            });
            names.extend(words);
        }
    }
    assert!(names.len() > 40, "the walk found the metrics: {names:?}");
    for name in names {
        assert!(guide.contains(&format!("`{name}`")), "docs/metrics.md does not tell of {name}");
    }
}

#[test]
fn alerts_and_dashboard_name_metrics_that_exist() {
    let guide = read("docs/metrics.md");
    let known: Vec<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.contains('_'))
        .collect();
    for file in ["packaging/alerts.yml", "packaging/grafana/worldkeep.json"] {
        let text = read(file);
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let named: Vec<&str> = words
            .filter(|word| {
                ["worldkeep_", "jobs_", "workers_", "scheduler_", "ratelimit_"]
                    .iter()
                    .any(|start| word.starts_with(start))
            })
            .collect();
        assert!(named.len() > 10, "{file} names metrics: {named:?}");
        for name in named {
            let plain = name.strip_suffix("_bucket").unwrap_or(name);
            assert!(known.contains(&plain), "{file} names {name}, which is no metric");
        }
    }
}
