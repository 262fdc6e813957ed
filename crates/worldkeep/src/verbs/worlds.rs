//! Helpers that the verbs of reactors and monsters share: headers that choose the tenant, paths of
//! fields, lists of JSON:API that are followed over their pages, destroying, teardown and showing a
//! catalogue.

use field::{Catalogue, CatalogueError, Field, FileKind, Template};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::worlds::{FieldFlags, TemplateVerb, TenantFlags};
use crate::exit::Failure;
use crate::remote::{self, Ask, Remote};
use crate::view::{self, Column, Show, text};
use crate::{open, path as api, print};

/// The headers of every request.
pub(super) fn headers(tenant: &TenantFlags) -> Vec<(&'static str, String)> {
    vec![
        ("TENANT_ID", tenant.tenant.clone()),
        ("REGION", tenant.region.clone()),
        ("MAJOR_VERSION", tenant.major.to_string()),
        ("MINOR_VERSION", tenant.minor.to_string()),
    ]
}

/// A path of a field, such as `/api/worlds/0/…/reactors`.
pub(super) fn path(field: &Field, what: &str) -> String {
    format!("/api/{}/{what}", field.path())
}

/// A body with these attributes.
pub(super) fn body(kind: &str, attributes: &Value) -> Value {
    json!({ "data": { "type": kind, "attributes": attributes } })
}

/// Lists all pages: rows for people, one document for programs.
pub(super) fn list(
    global: &Global,
    ask: Ask,
    columns: &'static [Column],
    none: &str,
) -> Result<(), Failure> {
    super::wait(async {
        let remote = Remote::open(global, &[]).await?;
        let mut all: Vec<Value> = Vec::new();
        let mut next = Some(ask);
        let mut meta = Value::Null;
        while let Some(ask) = next.take() {
            let mut page = remote.json(&ask).await?;
            if let Value::Array(found) = page["data"].take() {
                all.extend(found);
            }
            meta = page["meta"]["total"].take();
            if let Some(link) = page["links"]["next"].as_str() {
                next = Some(Ask::get(link).headers(ask.headers));
            }
        }
        if global.json {
            print::json(&json!({ "data": all, "meta": { "total": meta } }));
        } else if all.is_empty() {
            if !global.quiet {
                print::note(none);
            }
        } else {
            view::table(columns, &all);
        }
        Ok(())
    })
}

/// For routes that answer with nothing: a sentence, or JSON that says the same.
pub(super) fn done(
    global: &Global,
    ask: &Ask,
    json: &Value,
    says: &dyn Fn(&Value) -> String,
) -> Result<(), Failure> {
    super::wait(async { Remote::open(global, &[]).await?.raw(ask).await })?;
    if global.json {
        print::json(json);
    } else if !global.quiet {
        print::line(says(&Value::Null));
    }
    Ok(())
}

/// The things that a module keeps, in the words of its paths and sentences.
#[derive(Clone, Copy)]
pub(super) struct Things {
    /// Such as `monster`.
    pub(super) one: &'static str,
    /// Such as `monsters`.
    pub(super) many: &'static str,
}

impl Things {
    /// Takes away one, or without an id every one of a field, after asking.
    pub(super) fn destroy(
        self,
        global: &Global,
        id: Option<u32>,
        place: &FieldFlags,
    ) -> Result<(), Failure> {
        let Things { one, many } = self;
        let Some(id) = id else {
            open::confirm(global, &format!("destroy every {one} of field {}", place.field))?;
            let ask = Ask::delete(path(&place.field, many)).headers(headers(&place.tenant));
            let says = |_: &Value| format!("field {} is empty", place.field);
            return done(global, &ask, &json!({ "emptied": place.field.to_string() }), &says);
        };
        let ask = Ask::delete(api!("/api/{}/{}", many, id)).headers(headers(&place.tenant));
        let says = |_: &Value| format!("{one} {id} is destroyed");
        done(global, &ask, &json!({ "destroyed": id.to_string() }), &says)
    }

    /// Takes away every one of every tenant, after asking.
    pub(super) fn teardown(self, global: &Global) -> Result<(), Failure> {
        let Things { one, many } = self;
        open::confirm(global, &format!("destroy every {one} of every tenant"))?;
        let says = |answer: &Value| {
            format!("{} {many} are destroyed", text(&answer["data"]["attributes"]["destroyed"]))
        };
        remote::run(global, &[], &Ask::delete(format!("/api/{many}")), &Show::Says(&says))
    }
}

/// Checks files of templates, or prints their schema; needs no server.
pub(super) fn template_verb(
    global: &Global,
    verb: &TemplateVerb,
    title: &str,
    kinds: &[FileKind],
) -> Result<(), Failure> {
    let TemplateVerb::Check { paths } = verb else {
        print::json(&field::schema(title, kinds));
        return Ok(());
    };
    let mut wrong = Vec::new();
    for path in paths {
        let file = path.display();
        match field::check_files(path, kinds) {
            Ok((count, kind)) if global.json => {
                print::json(&json!({"file": file.to_string(), "kind": kind, "templates": count}));
            }
            Ok((count, kind)) => print::line(format!("{file}: {count} {kind}, nothing is wrong")),
            Err(CatalogueError(problems)) => wrong.extend(problems),
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(CatalogueError(wrong).to_string()))
}

/// Shows a catalogue; needs no server.
pub(super) fn templates<T: Template + Serialize>(
    global: &Global,
    opened: Result<Catalogue<T>, CatalogueError>,
    columns: &'static [Column],
) -> Result<(), Failure> {
    let set =
        opened.map_err(|error| Failure::failed(format!("the catalogue is wrong:\n{error}")))?;
    let all: Vec<Value> = set.all().iter().map(|one| json!(**one)).collect();
    if global.json {
        print::json(&json!(all));
    } else {
        view::table(columns, &all);
    }
    Ok(())
}
