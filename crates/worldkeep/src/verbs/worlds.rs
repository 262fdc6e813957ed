//! What the verbs of reactors and monsters share: headers that choose the tenant, paths of fields, and lists of
//! JSON:API that are followed over their pages.

use field::Field;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::cli::worlds::TenantFlags;
use crate::exit::Failure;
use crate::print;
use crate::remote::{Ask, Remote};
use crate::view::{self, Column};

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
