//! Catalogues: templates of things, read from JSON files such as `{"format":1,"reactors":[…]}`. A
//! catalogue is read whole or not at all, and read again when a file changes. A file that became
//! wrong leaves the old catalogue in force and is reported with file and line. The source is one
//! file, or all `*.json` of a directory by name, or the set that is shipped with the program.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::lines;

/// No file of templates is larger: a wrong path to something huge is refused, not read.
const MOST_BYTES: u64 = 64 << 20;

/// One entry of a catalogue. Give it `#[serde(deny_unknown_fields)]`, so that a slip of the pen is found.
pub trait Template: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The member of a file that holds the list, such as `reactors`.
    const KIND: &'static str;

    /// By what it is looked up.
    fn id(&self) -> u32;

    /// Checks the rules that the template's shape cannot express: ranges that depend on each other,
    /// states that lead nowhere.
    fn check(&self) -> Result<(), String>;
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// Counted from 1; 0 when it is about the file as a whole.
    pub line: usize,
    /// The problem, and what to do.
    pub says: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.says),
            line => write!(f, "{}:{line}: {}", self.file, self.says),
        }
    }
}

/// Why a catalogue was not taken: everything that is wrong with it, at most so many as anyone reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CatalogueError(pub Vec<Problem>);

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Of further problems nobody reads more.
const MOST_PROBLEMS: usize = 20;

type Set<T> = BTreeMap<u32, Arc<T>>;
/// Name, size and time of change of each file: when these are the same, nothing is read.
type Stamp = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// Templates by id. Cheap to share; reading never waits for a file.
pub struct Catalogue<T> {
    path: Option<PathBuf>,
    set: RwLock<Arc<Set<T>>>,
    stamp: Mutex<Stamp>,
}

impl<T: Template> Catalogue<T> {
    /// From these texts, each with a name for its problems: the shipped set, or a test's own.
    pub fn of(texts: &[(&str, &str)]) -> Result<Self, CatalogueError> {
        Ok(Self::with(None, read_all(texts)?, Stamp::new()))
    }

    /// From a file or a directory; without a path, from the shipped texts.
    pub fn open(path: Option<&Path>, shipped: &[(&str, &str)]) -> Result<Self, CatalogueError> {
        let Some(path) = path else { return Self::of(shipped) };
        let stamp = stamp(path).map_err(|problem| CatalogueError(vec![problem]))?;
        let set = read_files(&stamp)?;
        Ok(Self::with(Some(path.to_owned()), set, stamp))
    }

    fn with(path: Option<PathBuf>, set: Set<T>, stamp: Stamp) -> Self {
        Catalogue { path, set: RwLock::new(Arc::new(set)), stamp: Mutex::new(stamp) }
    }

    /// The template of this id.
    pub fn get(&self, id: u32) -> Option<Arc<T>> {
        self.set().get(&id).cloned()
    }

    /// All of them, by id.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.set().values().cloned().collect()
    }

    /// The number of templates.
    pub fn len(&self) -> usize {
        self.set().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.set().is_empty()
    }

    /// The file or directory of the templates; `None` for the shipped set.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads again if a file changed, came or went: `Ok(true)` when there is a new catalogue. On an error the
    /// old one stays, and the same broken files are not complained about twice.
    pub fn refresh(&self) -> Result<bool, CatalogueError> {
        let Some(path) = &self.path else { return Ok(false) };
        let mut known = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        let now = match stamp(path) {
            Ok(now) => now,
            // Gone, or not readable: told once, until it is back.
            Err(_) if known.is_empty() => return Ok(false),
            Err(problem) => {
                known.clear();
                return Err(CatalogueError(vec![problem]));
            }
        };
        if *known == now {
            return Ok(false);
        }
        let read = read_files(&now);
        *known = now;
        let set = Arc::new(read?);
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = set;
        Ok(true)
    }

    fn set(&self) -> Arc<Set<T>> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn stamp(path: &Path) -> Result<Stamp, Problem> {
    let problem = |path: &Path, error: std::io::Error| Problem {
        file: path.display().to_string(),
        line: 0,
        says: format!("cannot be read: {error}"),
    };
    let one = |path: PathBuf| {
        let data = std::fs::metadata(&path).map_err(|error| problem(&path, error))?;
        Ok((path, data.len(), data.modified().ok()))
    };
    let data = std::fs::metadata(path).map_err(|error| problem(path, error))?;
    if !data.is_dir() {
        return Ok(vec![one(path.to_owned())?]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| problem(path, error))? {
        let file = entry.map_err(|error| problem(path, error))?.path();
        if file.extension().is_some_and(|ending| ending == "json") {
            files.push(file);
        }
    }
    files.sort();
    files.into_iter().map(one).collect()
}

fn read_files<T: Template>(stamp: &Stamp) -> Result<Set<T>, CatalogueError> {
    let mut texts = Vec::new();
    for (path, bytes, _) in stamp {
        let name = path.display().to_string();
        let refuse =
            |says: String| CatalogueError(vec![Problem { file: name.clone(), line: 0, says }]);
        if *bytes > MOST_BYTES {
            return Err(refuse(format!("is larger than {} MiB", MOST_BYTES >> 20)));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| refuse(format!("cannot be read: {error}")))?;
        texts.push((name, text));
    }
    let texts: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    read_all(&texts)
}

fn read_all<T: Template>(texts: &[(&str, &str)]) -> Result<Set<T>, CatalogueError> {
    let mut set = Set::new();
    let mut from: BTreeMap<u32, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for (file, text) in texts {
        let mut wrong = |line: usize, says: String| {
            problems.push(Problem { file: (*file).to_owned(), line, says });
        };
        let entries = match lines::entries(text, T::KIND) {
            Ok(entries) => entries,
            Err((line, says)) => {
                wrong(line, says);
                continue;
            }
        };
        for entry in entries {
            let template: T = match lines::read(&entry) {
                Ok(template) => template,
                Err((line, says)) => {
                    wrong(line, says);
                    continue;
                }
            };
            let id = template.id();
            if let Err(says) = template.check() {
                wrong(entry.line, format!("template {id}: {says}"));
            } else if let Some(before) = from.get(&id) {
                wrong(entry.line, format!("template {id} is there already, at {before}"));
            } else {
                from.insert(id, format!("{file}:{}", entry.line));
                set.insert(id, Arc::new(template));
            }
        }
    }
    if problems.is_empty() {
        return Ok(set);
    }
    problems.truncate(MOST_PROBLEMS);
    Err(CatalogueError(problems))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Stone {
        id: u32,
        weight: u8,
    }

    impl Template for Stone {
        const KIND: &'static str = "stones";
        fn id(&self) -> u32 {
            self.id
        }
        fn check(&self) -> Result<(), String> {
            if self.weight == 0 { Err("`weight` must be more than 0".into()) } else { Ok(()) }
        }
    }

    fn told(text: &str) -> String {
        match Catalogue::<Stone>::of(&[("stones.json", text)]) {
            Ok(set) => format!("{} stones", set.len()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_fault_has_its_file_and_line() {
        let file = |body: &str| format!("{{\n \"format\": 1,\n \"stones\": [\n{body}\n ]\n}}");
        for (text, said) in [
            (file("  {\"id\": 1, \"weight\": 2}"), "1 stones"),
            (file(""), "0 stones"),
            (
                file("  {\"id\": 1,\n   \"wieght\": 2}"),
                "stones.json:5: unknown field `wieght`, expected `id` or `weight`",
            ),
            (
                file("  {\"id\": 1, \"weight\": 300}"),
                "stones.json:4: `weight`: invalid value: integer `300`, expected u8",
            ),
            (file("  {\"id\": 1}"), "stones.json:4: missing field `weight`"),
            (
                file("  {\"id\": 1, \"weight\": 0}"),
                "stones.json:4: template 1: `weight` must be more than 0",
            ),
            (
                file("  {\"id\": 1, \"weight\": 2},\n  {\"id\": 1, \"weight\": 3}"),
                "stones.json:5: template 1 is there already, at stones.json:4",
            ),
            (
                "{\"format\": 1,\n\"stones\": 7}".into(),
                "stones.json:2: invalid type: integer `7`, expected a sequence",
            ),
            ("{\"format\": 2}".into(), "stones.json:1: `format` must be 1, the only one there is"),
            ("{\"stones\": []}".into(), "stones.json:1: `format` is missing: write \"format\": 1"),
            ("{\"format\": 1}".into(), "stones.json:1: `stones` is missing: the list of templates"),
            (
                "{\"format\": 1,\n\n\"rocks\": []}".into(),
                "stones.json:3: `rocks` is not known here; a file has `format` and `stones`",
            ),
            ("{\n\n oops".into(), "stones.json:3: key must be a string"),
            (
                "[]".into(),
                "stones.json:1: invalid type: sequence, expected an object with `format` and a list of templates",
            ),
            ("{\"format\": 1, \"stones\": []}\n}".into(), "stones.json:2: trailing characters"),
        ] {
            assert_eq!(told(&text), said, "{text}");
        }
    }

    #[test]
    fn two_faults_are_told_together() {
        let text = "{\"format\":1,\"stones\":[{\"id\":1},\n{\"id\":2,\"weight\":0}]}";
        assert_eq!(
            told(text),
            "stones.json:1: missing field `weight`\nstones.json:2: template 2: `weight` must be more than 0"
        );
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_broken_one_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("a.json", r#"{"format":1,"stones":[{"id":1,"weight":1}]}"#);
        write("notes.txt", "not a template");
        let set = Catalogue::<Stone>::open(Some(dir.path()), &[]).unwrap();
        assert_eq!((set.len(), set.refresh()), (1, Ok(false)));
        write("b.json", r#"{"format":1,"stones":[{"id":2,"weight":1}]}"#);
        assert_eq!((set.refresh(), set.len()), (Ok(true), 2));
        write("b.json", "{\"format\":1,\n\"stones\":[{\"id\":2}]}");
        let error = set.refresh().unwrap_err().to_string();
        assert!(error.ends_with("b.json:2: missing field `weight`"), "{error}");
        assert_eq!((set.refresh(), set.len()), (Ok(false), 2), "the old ones stay");
        std::fs::remove_file(dir.path().join("b.json")).unwrap();
        assert_eq!((set.refresh(), set.len()), (Ok(true), 1));
        assert!(set.get(1).is_some() && set.get(2).is_none());
    }

    #[test]
    fn a_path_that_is_not_there_is_said() {
        let error =
            Catalogue::<Stone>::open(Some(Path::new("/nowhere/x.json")), &[]).err().unwrap();
        assert!(error.to_string().starts_with("/nowhere/x.json: cannot be read"), "{error}");
    }
}
