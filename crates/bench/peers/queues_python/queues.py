"""One measurement of a queue for Python: `python3 queues.py rq|worldkeep PORT work COUNT CONCURRENCY`. Prints one line of JSON:
jobs per second, and microseconds of the server's CPU per job. RQ has one job at a time in a process, here in its quicker
form, which does not fork."""

import asyncio
import json
import logging
import pathlib
import sys
import time

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "clients/python"))
payload = {"to": "a@b.c"}


def noop(**_):
    """A job of RQ."""


def cpu(db):
    info = db.info("cpu")
    return info["used_cpu_sys"] + info["used_cpu_user"]


def timed(db, count, work):
    before, cpu_before = time.perf_counter(), cpu(db)
    work()
    seconds = time.perf_counter() - before
    return {"per_s": count / seconds, "cpu_us": (cpu(db) - cpu_before) * 1e6 / count}


def rq(port, count, _slots):
    import queues  # the function must be found by its name
    from rq import Queue, SimpleWorker

    logging.disable(logging.CRITICAL)
    db = redis.Redis(port=port)
    queue = Queue("bench", connection=db)
    for _ in range(count):
        queue.enqueue(queues.noop, kwargs=payload, result_ttl=0)
    return timed(redis.Redis(port=port), count, lambda: SimpleWorker([queue], connection=db).work(burst=True))


def worldkeep(port, count, slots):
    from worldkeep.jobs import Jobs, Worker

    with Jobs(f"redis://127.0.0.1:{port}", retention_s=0, result_ttl_s=0) as jobs:
        jobs.dispatch_many({"type": "noop", "payload": payload} for _ in range(count))
        done = 0

        async def handler(_job, _cx):
            nonlocal done
            done += 1
            if done == count:
                worker.stop()

        worker = Worker(jobs, {"noop": handler}, concurrency=slots)
        return timed(redis.Redis(port=port), count, lambda: asyncio.run(worker.run()))


if __name__ == "__main__":
    which, port, _task, count, slots = sys.argv[1:]
    redis.Redis(port=int(port)).flushall()
    print(json.dumps({"rq": rq, "worldkeep": worldkeep}[which](int(port), int(count), int(slots))))
