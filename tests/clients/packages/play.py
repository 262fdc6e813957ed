"""The common cases of all languages, played with the package for Python: python3 play.py URL   prints how many held.
Each life is played twice: with a coroutine, and with a plain function in a thread and a producer of asyncio."""

import asyncio
import json
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "../../../clients/python"))

from worldkeep.jobs import AsyncJobs, Dead, Discard, JobError, Jobs, JobsError, RetryAfter, Snooze, Worker  # noqa: E402

url = sys.argv[1]
cases = json.loads((here / "cases.json").read_text(encoding="utf-8"))
jobs = Jobs(url)


def ask(*words):
    return jobs.store.redis.execute_command(*words)


def key(name):
    return f"bridge:{name}"


def timeless(text):
    return re.sub(r'"createdAt":\d+', '"createdAt":0', text)


def fail(payload, attempt):
    """Raises what the payload asks for."""
    is_due = "times" not in payload or attempt < payload["times"]
    if "discard" in payload:
        raise Discard(payload["discard"])
    if "dead" in payload:
        raise Dead(payload["dead"])
    if "retryAfter" in payload and is_due:
        raise RetryAfter(payload["retryAfter"])
    if "throw" in payload and is_due:
        raise JobError(payload["throw"][1], payload["throw"][0])
    return payload.get("return")


def seen(children):
    return [[one.job_id, one.status, one.error["name"] if one.error else one.data] for one in children]


async def play(job, cx):
    payload = job.payload
    if "children" in payload:
        return seen(await cx.children())
    if "child" in payload:
        await cx.spawn_child("play", payload["child"])
    for percent, message in payload.get("progress", []):
        await cx.progress(percent, message)
    if "untilCancelled" in payload:
        await asyncio.sleep(60)
    if "snooze" in payload:
        slept = await cx.restored()
        if slept:
            return slept
        await cx.checkpoint({"slept": 1})
        raise Snooze(payload["snooze"])
    return fail(payload, cx.attempt)


def play_in_thread(job, cx):
    payload = job.payload
    if "children" in payload:
        return seen(cx.children())
    if "child" in payload:
        cx.spawn_child("play", payload["child"])
    for percent, message in payload.get("progress", []):
        cx.progress(percent, message)
    if "untilCancelled" in payload:
        cx.wait_cancelled(60)
    if "snooze" in payload:
        slept = cx.restored()
        if slept:
            return slept
        cx.checkpoint({"slept": 1})
        raise Snooze(payload["snooze"])
    return fail(payload, cx.attempt)


def until(what, holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, f"not within 20 s: {what}"
        time.sleep(0.005)


def dispatch(given, flow=None):
    return jobs.dispatch_flow(flow) if flow else jobs.dispatch_many(given)


def dispatch_async(given, flow=None):
    async def send():
        async with AsyncJobs(url) as queue:
            return await (queue.dispatch_flow(flow) if flow else queue.dispatch_many(given))

    return asyncio.run(send())


def stored(one):
    job = one["job"]
    (answer,) = dispatch([job])
    assert answer.error is None, answer.error
    assert timeless(ask("GET", key(f"jobs:data:{job['jobId']}"))) == one["text"], ask("GET", key(f"jobs:data:{job['jobId']}"))
    assert answer.status == one["status"] == ask("GET", key(f"jobs:status:{job['jobId']}"))


def refusal_of(flow):
    try:
        dispatch(None, flow)
    except JobsError as error:
        return error


def refused(one):
    error = refusal_of(one["flow"]) if "flow" in one else dispatch([one["job"]])[0].error
    assert error and (error.code, error.field) == (one["code"], one["field"]), error and (error.code, error.field, str(error))
    assert ask("DBSIZE") == 0, "a refusal changes nothing"


def check_end(name, want, events):
    view = jobs.get(name)
    assert view.status == want["status"], (name, view.status)
    assert view.job.attempts == want["attempts"], (name, view.job.attempts)
    if "text" in want:
        assert timeless(view.job.text) == want["text"], view.job.text
    if want["status"] == "completed":
        assert view.result.get("data") == want.get("data"), (name, view.result)
    if "error" in want:
        error, (wanted, message) = view.result["error"], want["error"]
        assert error["name"] == wanted and message in (None, error["message"]), error
    if "progress" in want:
        assert [view.progress["percent"], view.progress["message"]] == want["progress"], view.progress
    told = [kind for kind, job_id in events if job_id == name]
    assert "events" not in want or told == want["events"], (name, told)


def life(one, handler, send):
    answers = [answer.error.code if answer.error else None for answer in send(one.get("jobs"), one.get("flow"))]
    wanted = one.get("answers", [None] * len(answers))
    assert answers == wanted, answers
    worker = Worker(jobs, {"play": handler}, server_id="w1", region="eu", capabilities=["gpu"])
    thread = threading.Thread(target=worker.run_blocking)
    thread.start()
    try:
        for name in one.get("cancel", []):
            until(f"{name} runs", lambda: jobs.get(name).status == "active")
            jobs.cancel(name)
        for name in one.get("when", {}):
            until(f"{name} was tried", lambda: jobs.get(name).job.attempts > 0)

        def is_done():
            stats = jobs.stats()
            busy = stats["waiting"] + stats["active"] + stats["delayed"]
            return busy == one.get("left", 0) and ask("SCARD", key("x:parked")) == 0

        until("all is done", is_done)
    finally:
        worker.stop()
        thread.join(40)
    assert not thread.is_alive(), "the worker has ended"
    events = [(fields["type"], fields["id"]) for _, fields in ask("XRANGE", key("events:stream"), "-", "+")]
    for name, want in one["ends"].items():
        check_end(name, want, events)
    assert ask("LRANGE", key("jobs:deadletter"), 0, -1) == one.get("dead", [])
    if "claimed" in one:
        assert [name for kind, name in events if kind == "claimed"] == one["claimed"]
    for name in one.get("gone", []):
        assert ask("EXISTS", key(name)) == 0, name
    assert ask("HLEN", key("x:claimed")) == 0
    assert int(ask("GET", key("ratelimit:concurrent:play")) or 0) == 0
    assert ask("SCARD", key("workers:active")) == 0, "the worker has left the registry"


def refuses(code, act):
    try:
        act()
    except JobsError as error:
        assert error.code == code, (code, error.code, str(error))
        return
    raise AssertionError(f"{code} is refused")


def verbs():
    """The verbs that no case has: wait, events that resume, pause, definitions, options that are refused."""
    worker = Worker(jobs, {"play": play}, server_id="w1")
    thread = threading.Thread(target=worker.run_blocking)
    thread.start()
    name = jobs.dispatch("play", {"return": 3})
    assert jobs.wait(name) == 3
    bad = jobs.dispatch("play", {"discard": "no"})
    refuses("job_failed", lambda: jobs.wait(bad))
    refuses("no_such_job", lambda: jobs.wait("nobody"))
    seen = []
    for event in jobs.events(after="0-0", types=["claimed", "completed"]):
        seen.append(event)
        if event["type"] == "completed":
            break
    assert [(event["type"], event["id"]) for event in seen] == [("claimed", name), ("completed", name)], seen
    assert next(jobs.events(after=seen[0]["seq"]))["seq"] == seen[1]["seq"], "a reader goes on where it was"

    async def first():
        async with AsyncJobs(url) as queue:
            async for event in queue.events(after="0-0", types=["claimed"]):
                return event["id"]

    assert asyncio.run(first()) == name
    assert jobs.pause("play")
    paused = jobs.dispatch("play", {})
    refuses("wait_timeout", lambda: jobs.wait(paused, 0.05))
    assert jobs.resume("play")
    assert jobs.wait(paused) is None
    assert jobs.put_cron("c", "play", cron="@daily") is True
    assert jobs.put_cron("c", "play", cron="@hourly") is False
    refuses("job_exists", lambda: jobs.put_cron(name, "play", cron="@daily"))
    assert jobs.has_same_scripts() is None, "nobody leads"
    twin = Worker(jobs, {"play": play}, server_id="w1")
    twin.pid = 1
    refuses("worker_in_use", twin.run_blocking)
    worker.stop()
    thread.join(40)
    assert not thread.is_alive(), "the worker has ended"
    gone = subprocess.Popen(["true"])
    gone.wait()
    ask("SET", key("workers:late"), json.dumps({"pid": gone.pid, "hostname": socket.gethostname()}))
    ask("SET", key("workers:heartbeat:late"), 1, "EX", 30)
    heir = Worker(jobs, {"play": play}, server_id="late")
    thread = threading.Thread(target=heir.run_blocking)
    thread.start()
    until("a dead predecessor is replaced at once", lambda: ask("SISMEMBER", key("workers:active"), "late") == 1)
    heir.stop()
    thread.join(40)
    refuses("invalid_option", lambda: Jobs(url, lock_ttl_s=1))
    refuses("invalid_option", lambda: Jobs(url, colour="red"))
    refuses("invalid_option", lambda: Worker(jobs, {}))
    refuses("invalid_server_id", lambda: Worker(jobs, {"play": play}, server_id="active"))


def cuts():
    """Connections are cut again and again: nothing is lost, stored twice or run twice."""
    ran, ids, over = [], [], threading.Event()

    async def note(job, _cx):
        ran.append(job.job_id)

    def cutter():
        while not over.wait(0.04):
            ask("CLIENT", "KILL", "SKIPME", "yes")

    cut = Jobs(url)
    worker = Worker(cut, {"play": note}, concurrency=20)
    threads = [threading.Thread(target=worker.run_blocking), threading.Thread(target=cutter)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        ids += [answer.job_id for answer in cut.dispatch_many([{"type": "play"}] * 50)]
    over.set()
    threads[1].join(10)
    until("all is done", lambda: jobs.stats()["waiting"] + jobs.stats()["active"] == 0)
    assert sorted(ran) == sorted(ids), "each ran once"
    worker.stop()
    threads[0].join(40)
    assert not threads[0].is_alive(), "the worker has ended"
    cut.close()


count = 0
checks = [(one, lambda one=one: stored(one)) for one in cases["stored"]]
checks += [(one, lambda one=one: refused(one)) for one in cases["refused"]]
for handler, send in ((play, dispatch), (play_in_thread, dispatch_async)):
    checks += [(one, lambda one=one, h=handler, s=send: life(one, h, s)) for one in cases["lives"]]
checks += [({"name": "verbs"}, verbs), ({"name": "cuts"}, cuts)]
for one, check in checks:
    ask("FLUSHALL")
    try:
        check()
    except Exception:
        print(one.get("name") or one["job"], file=sys.stderr)
        raise
    count += 1
jobs.close()
print(count)
