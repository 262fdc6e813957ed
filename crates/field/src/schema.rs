//! The JSON Schema of catalogue files, derived from the types that read them: editors check and complete with it, and the
//! files in `docs/` are made of it.

use std::path::Path;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{Catalogue, CatalogueError, Template};

/// One kind of catalogue file: the name of its list, and the schema of that list.
pub struct FileKind {
    name: &'static str,
    list: fn(&mut SchemaGenerator) -> schemars::Schema,
    open: fn(&Path) -> Result<usize, CatalogueError>,
}

impl FileKind {
    /// The kind of file that holds such templates.
    pub fn of<T: Template>() -> Self {
        FileKind {
            name: T::KIND,
            list: |generator| generator.subschema_for::<Vec<T>>(),
            open: |path| Catalogue::<T>::open(Some(path), &[]).map(|set| set.len()),
        }
    }
}

/// Reads a file, or all files of a directory, as the kind whose list the first one holds: how many templates there are of
/// which kind, or everything that is wrong.
pub fn check_files(
    path: &Path,
    kinds: &[FileKind],
) -> Result<(usize, &'static str), CatalogueError> {
    let first = std::fs::read_dir(path).map_or(Some(path.to_owned()), |files| {
        let files = files.flatten().map(|file| file.path());
        files.filter(|file| file.extension().is_some_and(|ending| ending == "json")).min()
    });
    let text = first.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let members: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let kind = kinds.iter().find(|kind| members.contains_key(kind.name)).unwrap_or(&kinds[0]);
    Ok(((kind.open)(path)?, kind.name))
}

/// The schema of a file that holds one of these kinds.
pub fn schema(title: &str, kinds: &[FileKind]) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut members = Map::new();
    members.insert("$schema".to_owned(), json!({"type": "string"}));
    members.insert("format".to_owned(), json!({"const": 1}));
    for kind in kinds {
        members.insert(kind.name.to_owned(), (kind.list)(&mut generator).to_value());
    }
    let one_of: Vec<Value> = kinds.iter().map(|kind| json!({"required": [kind.name]})).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": members,
        "required": ["format"],
        "oneOf": one_of,
        "additionalProperties": false,
        "$defs": generator.take_definitions(true),
    })
}
