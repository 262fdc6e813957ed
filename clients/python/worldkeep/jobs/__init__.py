"""Producer, worker and events of Worldkeep's job queue, for threads (`Jobs`) and for asyncio (`AsyncJobs`)."""

from .bundle import DIGEST as scripts_digest
from .client import AsyncJobs, Jobs
from .context import JobContext
from .errors import Dead, Discard, JobError, JobsError, RetryAfter, Snooze, StoreError
from .job import Job
from .worker import Worker

__all__ = [
    "AsyncJobs", "Dead", "Discard", "Job", "JobContext", "JobError", "Jobs", "JobsError", "RetryAfter", "Snooze",
    "StoreError", "Worker", "scripts_digest",
]
