//! A flow: a job and the jobs that must end before it, as a tree. A parent depends on its children, so a flow is stored as
//! jobs with `dependsOn`, which programs of the seed can read; `x.flow` and `x.parent` name the root and the parent.

use kernel::json::{self, Change};
use serde_json::value::RawValue;

use super::new_job::{NewJob, OnConflict};
use crate::error::{Error, refusal};

/// Jobs of a flow, at most: one step stores them all.
pub(crate) const JOBS_MAX: usize = 500;
/// Jobs from the root of a flow to its lowest leaf, at most.
pub(crate) const DEPTH_MAX: usize = 16;

/// A job and those that must end before it. A parent does after the failure of a child what its `x.onDependencyFailed` says:
/// it fails (the default), it waits, or it goes on.
#[derive(Debug, Clone, Default)]
pub struct Flow {
    /// The parent.
    pub job: NewJob,
    /// The job's children, each a flow of its own.
    pub children: Vec<Flow>,
}

impl From<NewJob> for Flow {
    fn from(job: NewJob) -> Flow {
        Flow { job, children: Vec::new() }
    }
}

impl Flow {
    /// A flow whose root is this job.
    pub fn new(job: NewJob) -> Flow {
        job.into()
    }

    /// One more child.
    #[must_use]
    pub fn child(mut self, child: impl Into<Flow>) -> Flow {
        self.children.push(child.into());
        self
    }

    /// Reads a request body: a job with `children`.
    pub fn from_json(text: &str) -> Result<Flow, Error> {
        read(text, 1).map_err(|(path, error)| at(&path, error))
    }

    /// The jobs with the ids of their flow, each child before its parent. Refuses what no flow can be.
    pub(crate) fn into_jobs(
        self,
        payload_max: usize,
        new_id: fn() -> String,
    ) -> Result<Vec<NewJob>, Error> {
        let mut jobs = Vec::new();
        let root = self.job.id.clone().unwrap_or_else(new_id);
        let place = FlowPlace { flow: &root, parent: None, depth: 1 };
        add(self, root.clone(), &place, payload_max, new_id, &mut jobs)
            .map_err(|(path, error)| at(&path, error))?;
        Ok(jobs)
    }
}

/// The place of the job whose turn it is.
struct FlowPlace<'a> {
    flow: &'a str,
    parent: Option<&'a str>,
    depth: usize,
}

/// A refusal and the path to the job that it is about, such as `children[1].`.
type RefusedJob = (String, Error);

fn add(
    flow: Flow,
    id: String,
    place: &FlowPlace<'_>,
    payload_max: usize,
    new_id: fn() -> String,
    jobs: &mut Vec<NewJob>,
) -> Result<(), RefusedJob> {
    let Flow { mut job, children } = flow;
    check(&job, place.depth).map_err(|error| (String::new(), error))?;
    for (number, child) in children.into_iter().enumerate() {
        let child_id = child.job.id.clone().unwrap_or_else(new_id);
        job.depends_on.push(child_id.clone());
        let below = FlowPlace { flow: place.flow, parent: Some(&id), depth: place.depth + 1 };
        add(child, child_id, &below, payload_max, new_id, jobs)
            .map_err(|(path, error)| (format!("children[{number}].{path}"), error))?;
    }
    job.x.flow = Some(place.flow.to_owned());
    job.x.parent = place.parent.map(str::to_owned);
    job.id = Some(id);
    job.validate(payload_max).map_err(|error| (String::new(), error))?;
    if jobs.len() == JOBS_MAX {
        let sentence = format!("a flow has up to {JOBS_MAX} jobs");
        return Err((String::new(), Error::invalid(refusal::INVALID_FLOW, "children", sentence)));
    }
    jobs.push(job);
    Ok(())
}

fn check(job: &NewJob, depth: usize) -> Result<(), Error> {
    let refuse =
        |field: &'static str, why: String| Err(Error::invalid(refusal::INVALID_FLOW, field, why));
    if depth > DEPTH_MAX {
        return refuse("children", format!("a flow is up to {DEPTH_MAX} jobs deep"));
    }
    if job.schedule.cron.is_some() {
        return refuse("schedule.cron", "a cron definition cannot be part of a flow".to_owned());
    }
    if job.unique.as_ref().is_some_and(|unique| unique.on_conflict != OnConflict::Reject) {
        let why =
            "a job of a flow can be unique with reject only: all of a flow is stored, or none";
        return refuse("unique", why.to_owned());
    }
    Ok(())
}

fn read(text: &str, depth: usize) -> Result<Flow, RefusedJob> {
    let here = |error| (String::new(), error);
    let children = json::get(text, "children").map(RawValue::get);
    let Some(children) = children else {
        return NewJob::from_json(text).map(Flow::from).map_err(here);
    };
    let refuse = |why: String| here(Error::invalid(refusal::INVALID_FLOW, "children", why));
    if depth > DEPTH_MAX {
        return Err(refuse(format!("a flow is up to {DEPTH_MAX} jobs deep")));
    }
    let rest = json::edit(text, &[("children", Change::Remove)])
        .map_err(|error| refuse(format!("a job is an object: {error}")))?;
    let mut flow = Flow::from(NewJob::from_json(&rest).map_err(here)?);
    let list: Vec<&RawValue> = serde_json::from_str(children)
        .map_err(|_| refuse("children must be a list of jobs".to_owned()))?;
    for (number, child) in list.into_iter().enumerate() {
        let child = read(child.get(), depth + 1)
            .map_err(|(path, error)| (format!("children[{number}].{path}"), error))?;
        flow.children.push(child);
    }
    Ok(flow)
}

/// The refusal with the path to the job in front of its field and of what it says.
fn at(path: &str, error: Error) -> Error {
    match error {
        Error::Invalid { def, field, message } if !path.is_empty() => {
            let field = format!("{path}{field}").trim_end_matches('.').to_owned();
            let message = format!("{}: {message}", path.trim_end_matches('.'));
            Error::Invalid { def, field: field.into(), message }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> String {
        "made".to_owned()
    }

    #[test]
    fn children_come_before_their_parent_and_name_it() {
        let text = r#"{"type":"root","jobId":"r","children":[
            {"type":"left","jobId":"a","children":[{"type":"leaf","jobId":"a1"}]},
            {"type":"right","jobId":"b"}]}"#;
        let jobs = Flow::from_json(text).unwrap().into_jobs(1_000, ids).unwrap();
        let shown: Vec<String> = jobs
            .iter()
            .map(|job| {
                let parent = job.x.parent.as_deref().unwrap_or("-");
                format!("{} < {parent} {}", job.id.as_deref().unwrap(), job.depends_on.join(","))
            })
            .collect();
        assert_eq!(shown, ["a1 < a ", "a < r a1", "b < r ", "r < - a,b"]);
        assert!(jobs.iter().all(|job| job.x.flow.as_deref() == Some("r")));
    }

    #[test]
    fn a_refusal_names_the_job_in_the_tree() {
        let field = |text: &str| {
            let flow = Flow::from_json(text).and_then(|flow| flow.into_jobs(1_000, ids));
            let error = flow.unwrap_err();
            format!("{} {}", error.code(), error.field().unwrap_or_default())
        };
        let leaf = |leaf: &str| format!(r#"{{"type":"r","children":[{{"type":"a"}},{leaf}]}}"#);
        assert_eq!(field(&leaf(r#"{"type":""}"#)), "invalid_type children[1].type");
        assert_eq!(field(&leaf("5")), "invalid_body children[1]");
        assert_eq!(
            field(&leaf(r#"{"type":"b","children":{}}"#)),
            "invalid_flow children[1].children"
        );
        let cron = leaf(r#"{"type":"b","schedule":{"cron":"* * * * *"}}"#);
        assert_eq!(field(&cron), "invalid_flow children[1].schedule.cron");
        let throttle = leaf(r#"{"type":"b","throttle":{"key":"k","windowMs":5}}"#);
        assert_eq!(field(&throttle), "invalid_flow children[1].unique");
        let deep =
            "{\"type\":\"t\",\"children\":[".repeat(17) + "{\"type\":\"t\"}" + &"]}".repeat(17);
        assert!(field(&deep).starts_with("invalid_flow children[0]"), "{}", field(&deep));
        let wide = vec![r#"{"type":"a"}"#; JOBS_MAX].join(",");
        let wide = format!(r#"{{"type":"r","children":[{wide}]}}"#);
        assert_eq!(field(&wide), "invalid_flow children");
    }
}
