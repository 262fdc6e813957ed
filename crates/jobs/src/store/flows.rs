//! Flows: trees of jobs. A dispatch stores a whole tree in one step; readers see how children ended, for the handler of their
//! parent and as a tree. Children are what a job depends on, so jobs with `dependsOn` alone have a tree as well.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kernel::reply;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::Error;
use crate::model::flow::{DEPTH_MAX, JOBS_MAX};
use crate::model::{Failure, Flow, Job, JobResult};
use crate::store::produce::{Dispatched, new_id};
use crate::store::{Jobs, cmd};

/// Results up to this many bytes are part of a tree; a longer one is read by the id of its job.
const SHOWN_RESULT: usize = 4_096;

/// How a job ended that another one waited for.
#[derive(Debug, Clone)]
pub struct ChildJob {
    /// The child's id.
    pub id: String,
    /// `completed`, `failed` or `dead`; `gone` when it was removed; another state while it has not ended.
    pub status: String,
    /// The result of its last attempt.
    pub result: Option<JobResult>,
}

impl ChildJob {
    /// Whether it completed.
    pub fn completed(&self) -> bool {
        self.status == "completed"
    }

    /// The result of its handler; `None` when it failed, returned nothing, or something else than a `T`.
    pub fn data<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.result.as_ref()?.data.as_ref()?.get()).ok()
    }

    /// Why it failed.
    pub fn error(&self) -> Option<&Failure> {
        self.result.as_ref()?.error.as_ref()
    }
}

/// A job with those it waits for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeBranch {
    /// The job's id.
    pub id: String,
    /// The job's type; absent when the job is gone.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The job's state; `gone` when nothing of it is left.
    pub status: String,
    /// The job's wish after the failure of a child, where it has children: `fail`, `wait` or `ignore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_dependency_failed: Option<String>,
    /// The result of its last attempt, when it is not long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The jobs it waits for, or waited for.
    pub children: Vec<TreeBranch>,
}

/// The tree that a job belongs to.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobTree {
    /// The job that was asked for.
    pub id: String,
    /// The tree from the root of its flow, or from the job itself.
    pub root: TreeBranch,
    /// The number of jobs in it.
    pub jobs: usize,
    /// Whether there are more than it shows.
    pub truncated: bool,
}

/// The stored parts of one job of a tree.
struct TreeLeaf {
    status: String,
    result: Option<String>,
    job: Option<Job>,
}

impl Jobs {
    /// Stores a flow, all of it or nothing. Gives its jobs, the root first.
    pub async fn dispatch_flow(&self, flow: Flow) -> Result<Vec<Dispatched>, Error> {
        let mut jobs = flow.into_jobs(self.options().payload_max, new_id)?;
        crate::worker::mark(&mut jobs);
        let order: Vec<Option<String>> = jobs.iter().rev().map(|job| job.id.clone()).collect();
        let records = jobs.into_iter().map(|job| self.prepare(job)).collect::<Result<_, _>>()?;
        let stored = self.enqueue_dependent(records).await?;
        let mut by_id: HashMap<String, Dispatched> =
            stored.into_iter().map(|one| (one.job.id.clone(), one)).collect();
        Ok(order.into_iter().flatten().filter_map(|id| by_id.remove(&id)).collect())
    }

    /// How these jobs ended for `parent`, which waited for them.
    pub(crate) async fn children(
        &self,
        parent: &str,
        ids: &[String],
    ) -> Result<Vec<ChildJob>, Error> {
        let noted = self.noted(&[parent]).await?.remove(0);
        let missing: Vec<&String> = ids.iter().filter(|id| !noted.contains_key(*id)).collect();
        let leaves = self.leaves(&missing).await?;
        let mut read: HashMap<&String, TreeLeaf> = missing.into_iter().zip(leaves).collect();
        let child = |id: &String| {
            let (status, result) = match (noted.get(id), read.remove(id)) {
                (Some((status, result)), _) => (status.clone(), result.clone()),
                (None, Some(leaf)) => (leaf.status, leaf.result),
                (None, None) => ("gone".to_owned(), None),
            };
            ChildJob { id: id.clone(), status, result: result.as_deref().and_then(JobResult::read) }
        };
        Ok(ids.iter().map(child).collect())
    }

    /// The tree that a job belongs to: up to 500 jobs and 16 deep. `None` when there is no such job.
    pub async fn tree(&self, id: &str) -> Result<Option<JobTree>, Error> {
        let asked = id.to_owned();
        let Some(leaf) = self.leaves(&[&asked]).await?.pop().filter(|leaf| leaf.status != "gone")
        else {
            return Ok(None);
        };
        let flow = leaf.job.as_ref().and_then(|job| job.x.flow.clone());
        let root = match flow.filter(|root| *root != asked) {
            // The root may be gone before its children.
            Some(root) => {
                let found = self.leaves(&[&root]).await?.pop();
                found.filter(|found| found.job.is_some()).map(|found| (root, found))
            }
            None => None,
        };
        let (root, leaf) = root.unwrap_or((asked.clone(), leaf));
        let (leaves, truncated) = self.walk(root.clone(), leaf).await?;
        let drawn = branch(root, &leaves, &mut BTreeSet::new());
        Ok(drawn.map(|root| JobTree { id: asked, root, jobs: leaves.len(), truncated }))
    }

    /// All jobs beneath a root, read level by level.
    async fn walk(
        &self,
        root: String,
        leaf: TreeLeaf,
    ) -> Result<(BTreeMap<String, TreeLeaf>, bool), Error> {
        let (mut found, mut truncated) = (BTreeMap::new(), false);
        let mut level = vec![(root, leaf)];
        for _ in 0..DEPTH_MAX {
            let parents: Vec<&str> = level
                .iter()
                .filter(|(_, leaf)| leaf.job.as_ref().is_some_and(|job| !job.depends_on.is_empty()))
                .map(|(id, _)| id.as_str())
                .collect();
            let noted: HashMap<String, (String, Option<String>)> =
                self.noted(&parents).await?.into_iter().flatten().collect();
            let mut next = BTreeSet::new();
            for (id, leaf) in level {
                if let Some(job) = &leaf.job {
                    next.extend(job.depends_on.iter().cloned());
                }
                found.insert(id, leaf);
            }
            next.retain(|id| !found.contains_key(id));
            let room = JOBS_MAX - found.len().min(JOBS_MAX);
            truncated |= next.len() > room;
            let ids: Vec<String> = next.into_iter().take(room).collect();
            let mut leaves = self.leaves(&ids.iter().collect::<Vec<_>>()).await?;
            for (id, leaf) in ids.iter().zip(&mut leaves) {
                // A child whose own keys are gone is remembered by its parent.
                if let (true, Some((status, result))) = (leaf.status == "gone", noted.get(id)) {
                    (leaf.status, leaf.result) = (status.clone(), result.clone());
                }
            }
            level = ids.into_iter().zip(leaves).collect();
            if level.is_empty() {
                return Ok((found, truncated));
            }
        }
        Ok((found, true))
    }

    /// Status and result of the children, as each of these parents remembers them.
    async fn noted(
        &self,
        parents: &[&str],
    ) -> Result<Vec<HashMap<String, (String, Option<String>)>>, Error> {
        let gets: Vec<_> = parents.iter().map(|id| cmd("HGETALL", self.space().flow(id))).collect();
        let values = if gets.is_empty() { Vec::new() } else { self.all(&gets).await? };
        let one = |value: &kernel::Value| {
            let pairs = reply::pairs(value).unwrap_or_default();
            let noted = pairs.into_iter().filter_map(|(id, text)| {
                let (status, result) = reply::text(text)?.split_once(' ')?;
                let result = (!result.is_empty()).then(|| result.to_owned());
                Some((reply::text(id)?.to_owned(), (status.to_owned(), result)))
            });
            noted.collect()
        };
        Ok(values.iter().map(one).collect())
    }

    async fn leaves(&self, ids: &[&String]) -> Result<Vec<TreeLeaf>, Error> {
        let space = self.space();
        let gets: Vec<_> = ids
            .iter()
            .flat_map(|id| {
                [space.data(id), space.status(id), space.result(id)].map(|key| cmd("GET", key))
            })
            .collect();
        let values = if gets.is_empty() { Vec::new() } else { self.all(&gets).await? };
        let text = |value: &kernel::Value| reply::text(value).map(str::to_owned);
        let leaf = |(id, parts): (&&String, &[kernel::Value])| TreeLeaf {
            status: text(&parts[1]).unwrap_or_else(|| "gone".to_owned()),
            result: text(&parts[2]),
            job: text(&parts[0]).and_then(|text| Job::read(id.as_str(), text).ok()),
        };
        Ok(ids.iter().zip(values.chunks_exact(3)).map(leaf).collect())
    }

    /// The jobs that took this one with them when they failed, and those that took them, the lowest first, each with the text of
    /// a new start. Nothing for a job that is in no flow.
    pub(crate) async fn failed_beneath(&self, job: &Job) -> Result<Vec<(Job, String)>, Error> {
        let (mut failed, mut level) = (Vec::new(), vec![job.clone()]);
        while !level.is_empty() && failed.len() <= JOBS_MAX {
            level.retain(|job| {
                let policy = job.x.on_dependency_failed.as_deref();
                job.x.flow.is_some() && !matches!(policy, Some("wait" | "ignore"))
            });
            let ids: Vec<&String> = level.iter().flat_map(|job| &job.depends_on).collect();
            let leaves = self.leaves(&ids).await?;
            let bad = |leaf: &TreeLeaf| matches!(leaf.status.as_str(), "failed" | "dead");
            level = leaves.into_iter().filter(bad).filter_map(|leaf| leaf.job).collect();
            failed.extend(level.iter().map(|job| (job.clone(), job.with_attempts(0))));
        }
        failed.reverse();
        Ok(failed)
    }
}

/// The branch of a job, unless the tree ends before it. One that was drawn already stays without its children.
fn branch(
    id: String,
    leaves: &BTreeMap<String, TreeLeaf>,
    drawn: &mut BTreeSet<String>,
) -> Option<TreeBranch> {
    let leaf = leaves.get(&id)?;
    let below = leaf.job.as_ref().map_or(&[][..], |job| &job.depends_on);
    let policy = |job: &Job| job.x.on_dependency_failed.clone().unwrap_or_else(|| "fail".into());
    let is_new = drawn.insert(id.clone());
    let children = below.iter().filter(|_| is_new);
    let short = leaf.result.clone().filter(|text| text.len() <= SHOWN_RESULT);
    Some(TreeBranch {
        kind: leaf.job.as_ref().map(|job| job.kind.clone()),
        status: leaf.status.clone(),
        on_dependency_failed: leaf.job.as_ref().filter(|_| !below.is_empty()).map(policy),
        result: short.and_then(|text| RawValue::from_string(text).ok()),
        children: children.filter_map(|child| branch(child.clone(), leaves, drawn)).collect(),
        id,
    })
}
