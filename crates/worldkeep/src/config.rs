//! Configuration in layers: defaults, then `worldkeep.toml` (or `--config FILE`), then
//! `WORLDKEEP_…`, then flags. An unknown setting is an error that names the nearest known setting;
//! secrets may come from files.

use std::path::{Path, PathBuf};

use server::settings::{Name, SettingError, Settings, Shape, Source};

use crate::exit::Failure;

/// Read when it is in the working directory.
pub const FILE: &str = "worldkeep.toml";

/// Names in the environment that are not settings but belong to us.
const NOT_SETTINGS: &[&str] = &[
    "WORLDKEEP_SERVER",
    "WORLDKEEP_CA",
    "WORLDKEEP_TOKEN",
    "WORLDKEEP_CONFIG",
    "WORLDKEEP_VALKEY",
];

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        Failure::usage(error.to_string())
    }
}

/// All layers. `flags` are pairs of setting and text, with the flag's spelling.
pub fn load(
    file: Option<&Path>,
    env: impl IntoIterator<Item = (String, String)>,
    flags: &[(Name, String, &str)],
) -> Result<Settings, Failure> {
    let mut settings = Settings::new();
    match file {
        Some(path) => from_file(&mut settings, path)?,
        None if Path::new(FILE).is_file() => from_file(&mut settings, Path::new(FILE))?,
        None => {}
    }
    from_env(&mut settings, env)?;
    for (name, text, flag) in flags {
        settings.set(name, text, Source::Flag((*flag).to_owned()))?;
    }
    Ok(settings)
}

fn from_file(settings: &mut Settings, path: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {}", path.display(), plain(&error)))
    })?;
    let table: toml::Table = text.parse().map_err(|error| {
        Failure::usage(format!("{} is not valid TOML: {error}", path.display()))
    })?;
    let mut flat = Vec::new();
    flatten("", &table, &mut flat, path)?;
    for (name, text) in flat {
        settings.set(&name, &text, Source::File(path.to_owned()))?;
    }
    Ok(())
}

/// `[limits] body_bytes = 1` becomes `limits.body_bytes`.
fn flatten(
    prefix: &str,
    table: &toml::Table,
    flat: &mut Vec<(String, String)>,
    path: &Path,
) -> Result<(), Failure> {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, flat, path)?,
            toml::Value::String(text) => flat.push((name, text.clone())),
            toml::Value::Integer(number) => flat.push((name, number.to_string())),
            toml::Value::Float(number) => flat.push((name, number.to_string())),
            toml::Value::Boolean(flag) => flat.push((name, flag.to_string())),
            toml::Value::Array(items) if items.iter().all(toml::Value::is_str) => {
                let words: Vec<&str> = items.iter().filter_map(toml::Value::as_str).collect();
                flat.push((name, words.join(",")));
            }
            _ => {
                return Err(Failure::usage(format!(
                    "setting `{name}` in {}: write a text, a number, true or false, or a list of texts",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

fn from_env(
    settings: &mut Settings,
    env: impl IntoIterator<Item = (String, String)>,
) -> Result<(), Failure> {
    let names: Vec<(String, &'static str, Shape)> = settings
        .iter()
        .map(|setting| (variable(setting.def.name), setting.def.name, setting.def.shape))
        .collect();
    let mut found: Vec<(String, String)> = env
        .into_iter()
        .filter(|(name, _)| name.starts_with("WORLDKEEP_") && !is_foreign(name))
        .collect();
    found.sort();
    for (variable, text) in found {
        if let Some((_, name, _)) = names.iter().find(|(known, ..)| *known == variable) {
            settings.set(name, &text, Source::Env(variable))?;
            continue;
        }
        let stem = variable.strip_suffix("_FILE");
        let secret = names.iter().find(|(known, _, shape)| {
            Some(known.as_str()) == stem && matches!(shape, Shape::Secret | Shape::Url)
        });
        let Some((_, name, _)) = secret else {
            // Refused, with the nearest name.
            let name = variable["WORLDKEEP_".len()..].to_lowercase();
            settings.set(&name, &text, Source::Env(variable))?;
            continue;
        };
        let path = PathBuf::from(&text);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let why = plain(&error);
            Failure::usage(format!("{variable}: cannot read {}: {why}", path.display()))
        })?;
        settings.set(name, text.trim(), Source::EnvFile(variable, path))?;
    }
    Ok(())
}

/// `limits.body_bytes` is `WORLDKEEP_LIMITS_BODY_BYTES`.
pub fn variable(name: &str) -> String {
    format!("WORLDKEEP_{}", name.replace('.', "_").to_uppercase())
}

/// Ours without being settings, or put there by Kubernetes for a service that is called worldkeep.
fn is_foreign(name: &str) -> bool {
    let rest = &name["WORLDKEEP_".len()..];
    NOT_SETTINGS.contains(&name)
        || rest.starts_with("TEST_")
        || rest == "PORT"
        || rest.starts_with("PORT_")
        || rest.starts_with("SERVICE_HOST")
        || rest.starts_with("SERVICE_PORT")
}

/// The system's words without its numbers.
pub(crate) fn plain(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use server::settings::names;

    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn later_layers_win_and_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.toml");
        std::fs::write(
            &file,
            "http = '127.0.0.1:1'\nlog = 'warn'\nmodules = ['jobs', 'rooms']\n[limits]\nbody_bytes = 5\n",
        )
        .unwrap();
        let env = env(&[
            ("WORLDKEEP_HTTP", "127.0.0.1:2"),
            ("WORLDKEEP_LAYOUT", "tagged"),
            ("HOME", "/"),
        ]);
        let settings =
            load(Some(&file), env, &[(names::http, "127.0.0.1:3".into(), "--http")]).unwrap();
        assert_eq!(settings.server.http.as_deref(), Some("127.0.0.1:3"));
        assert_eq!(settings.get(names::http).source.to_string(), "flag --http");
        assert_eq!(settings.get(names::layout).source.to_string(), "environment WORLDKEEP_LAYOUT");
        assert_eq!(settings.get(names::log).source, Source::File(file));
        assert_eq!(settings.limits.body_bytes, 5);
        assert_eq!(settings.server.modules, ["jobs", "rooms"]);
        assert_eq!(settings.get(names::resp).source, Source::Default);
    }

    #[test]
    fn unknown_names_are_errors_everywhere() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.toml");
        std::fs::write(&file, "[limits]\nbody_byte = 5\n").unwrap();
        let failure = load(Some(&file), [], &[]).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.contains("`limits.body_byte`"), "{}", failure.message);
        assert!(
            failure.message.contains("did you mean `limits.body_bytes`?"),
            "{}",
            failure.message
        );
        let failure = load(None, env(&[("WORLDKEEP_REDDIS", "x")]), &[]).unwrap_err();
        assert!(failure.message.contains("did you mean `redis`?"), "{}", failure.message);
    }

    #[test]
    fn secrets_may_come_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "wk_secret\n").unwrap();
        let path = file.to_str().unwrap();
        let settings = load(None, env(&[("WORLDKEEP_ADMIN_TOKEN_FILE", path)]), &[]).unwrap();
        assert_eq!(settings.server.admin_token.as_deref(), Some("wk_secret"));
        assert_eq!(settings.get(names::admin_token).shown(), "(hidden)");
        let failure =
            load(None, env(&[("WORLDKEEP_ADMIN_TOKEN_FILE", "/nowhere/x")]), &[]).unwrap_err();
        assert_eq!(failure.code, 2);
        // Only secrets have files: a typo elsewhere must not read one.
        assert!(load(None, env(&[("WORLDKEEP_HTTP_FILE", path)]), &[]).is_err());
    }

    #[test]
    fn broken_files_are_usage_errors() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.toml");
        std::fs::write(&file, "http = ").unwrap();
        assert_eq!(load(Some(&file), [], &[]).unwrap_err().code, 2);
        std::fs::write(&file, "http = 1.5").unwrap();
        assert!(load(Some(&file), [], &[]).unwrap_err().message.contains("`http`"));
        let missing = dir.path().join("none.toml");
        assert!(load(Some(&missing), [], &[]).unwrap_err().message.contains("cannot read"));
    }

    #[test]
    fn kubernetes_variables_are_left_alone() {
        let env = env(&[
            ("WORLDKEEP_SERVICE_HOST", "10.0.0.1"),
            ("WORLDKEEP_PORT_7070_TCP", "tcp://10.0.0.1:7070"),
            ("WORLDKEEP_PORT", "tcp://10.0.0.1:7070"),
            ("WORLDKEEP_TEST_STORES", "embedded"),
        ]);
        assert!(load(None, env, &[]).is_ok());
    }
}
