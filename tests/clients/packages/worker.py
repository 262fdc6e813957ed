"""A worker that is killed: python3 worker.py URL ID SLOTS MS   Its handler notes each start, takes a moment, and has its
effect once."""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../../../clients/python"))

import redis.asyncio  # noqa: E402

from worldkeep.jobs import Jobs, Worker  # noqa: E402

url, server_id, slots, ms = sys.argv[1:]
db = redis.asyncio.Redis.from_url(url)


async def work(job, _cx):
    await db.incr("runs")
    await asyncio.sleep(int(ms) / 1000)
    # The key by which an effect is done once: the job's id.
    await db.sadd("effects", job.job_id)
    return {"by": "python"}


jobs = Jobs(url, namespace="{bridge}", lock_ttl_s=5, max_recoveries=1000)
Worker(jobs, {"work": work}, server_id=server_id, concurrency=int(slots)).run_blocking()
