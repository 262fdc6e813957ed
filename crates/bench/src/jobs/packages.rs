//! The packages for Node and Python beside the queue that programs of their language would take: `BullMQ` and RQ. Jobs and
//! results are removed at their end on all sides.

use std::path::Path;

use super::super::peers::{Python, installed_in};
use super::super::stats::median;
use super::super::{Figure, Tell};
use super::{Bench, ratio};

impl Bench {
    pub(super) fn packages(&self, tell: &mut Tell<'_>) -> Result<(), String> {
        installed_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/js"))?;
        let count = self.size.count * 10;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..self.size.rounds {
            ours.push(self.peer("worldkeep", "work", count, 100)?);
            theirs.push(self.peer("bullmq", "work", count, 100)?);
        }
        let per_s = median(ours.iter().map(|said| said.per_s));
        tell(Figure::plain("Node package, process, concurrency 100", per_s, "jobs/s"));
        let node = ratio(&ours, &theirs, |said| said.per_s);
        tell(Figure::at_least("Node package to BullMQ, concurrency 100", node, "×", 1.5));

        let python = Python::ready("queues_python")?;
        let (mut one, mut many, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        let few = self.size.count.min(1_000);
        for _ in 0..self.size.rounds {
            let run = |which: &str, count: usize, slots: &str| {
                let count = count.to_string();
                python.run("queues.py", &[which, &self.port, "work", &count, slots])
            };
            one.push(run("worldkeep", few, "1")?);
            many.push(run("worldkeep", self.size.count * 5, "100")?);
            theirs.push(run("rq", few, "1")?);
        }
        for (what, ours) in [("concurrency 1", &one), ("concurrency 100", &many)] {
            let per_s = median(ours.iter().map(|said| said.per_s));
            tell(Figure::plain(format!("Python package, process, {what}"), per_s, "jobs/s"));
        }
        let python = ratio(&one, &theirs, |said| said.per_s);
        tell(Figure::at_least("Python package to RQ, one job at a time", python, "×", 3.0));
        let python = ratio(&many, &theirs, |said| said.per_s);
        tell(Figure::plain("Python package with 100 slots to RQ", python, "×"));
        Ok(())
    }
}
