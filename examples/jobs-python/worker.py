"""Runs jobs of the types it has handlers for, until Ctrl-C: python3 worker.py"""

import asyncio

from worldkeep.jobs import Jobs, RetryAfter, Worker


def email(job, cx):
    """Plain functions run in threads."""
    cx.progress(50, "half")
    print(job.job_id, "email", flush=True)
    return {"sent": job.payload["to"]}


async def flaky(job, cx):
    """Coroutines run on the worker's event loop. This one fails once and is run again after a second."""
    if cx.attempt == 0:
        raise RetryAfter(1000, "not yet")
    await asyncio.sleep(0)
    return {"attempt": cx.attempt}


Worker(Jobs(), {"email": email, "flaky": flaky}, region="eu", concurrency=8).run_blocking()
