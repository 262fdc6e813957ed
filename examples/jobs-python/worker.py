"""Claims jobs, renews their locks while they run, and finishes them: python3 worker.py LUA_DIR"""

import json
import os
import pathlib
import socket
import sys
import threading
import time

import redis

LOCK_SECONDS = 30
db = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), decode_responses=True)
lua = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
# register_script sends the hash first and the text when the server does not know it.
claim_job, process_delayed, release_lock = (
    db.register_script((lua / f"{name}.lua").read_text())
    for name in ("claim_job", "process_delayed", "release_lock"))
me = f"python-{os.getpid()}"
handlers = {"email": lambda job: {"sent": job["payload"]["to"]}}


def now():
    return int(time.time() * 1000)


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def heartbeat(stop):
    while True:
        db.set(f"bridge:workers:heartbeat:{me}", now(), ex=30)
        if stop.wait(10):
            return


def renewal(lock, stop):
    while not stop.wait(LOCK_SECONDS / 3):
        if db.get(lock) == me:
            db.expire(lock, LOCK_SECONDS)


def run(job):
    name, started = job["jobId"], now()
    lock = f"bridge:jobs:lock:{name}"
    db.set(f"bridge:jobs:status:{name}", "active")
    stop = threading.Event()
    threading.Thread(target=renewal, args=(lock, stop), daemon=True).start()
    try:
        result = {"success": True, "data": handlers[job["type"]](job)}
    except Exception as error:
        result = {"success": False, "error": {"message": str(error), "name": type(error).__name__}}
    stop.set()
    result |= {"completedAt": now(), "processingTime": now() - started}
    if db.get(lock) != me:
        return  # too late: another worker has it
    db.set(f"bridge:jobs:result:{name}", text(result), ex=86400)
    db.set(f"bridge:jobs:status:{name}", "completed" if result["success"] else "dead")
    if not result["success"]:
        db.lpush("bridge:jobs:deadletter", name)
    release_lock(keys=[lock, "bridge:jobs:active", f"bridge:ratelimit:concurrent:{job['type']}"], args=[me, name])
    print(name, "completed" if result["success"] else "dead", flush=True)


db.set(f"bridge:workers:{me}", text({
    "serverId": me, "stack": "python", "region": "eu", "capabilities": ["email"],
    "lastSeen": now(), "pid": os.getpid(), "hostname": socket.gethostname()}))
db.sadd("bridge:workers:active", me)
ending = threading.Event()
threading.Thread(target=heartbeat, args=(ending,), daemon=True).start()
try:
    while True:
        process_delayed(keys=["bridge:jobs:delayed", "bridge:jobs:waiting"], args=[now(), 100])
        found = claim_job(
            keys=["bridge:jobs:waiting", "bridge:jobs:active", "bridge:queues:paused"],
            args=[me, '["python"]', '["email"]', '["eu"]', now(), LOCK_SECONDS,
                  "bridge:jobs:data:", "bridge:jobs:lock:", "bridge:ratelimit:concurrent:"])
        if found:
            run(json.loads(found))
        else:
            time.sleep(0.25)
except KeyboardInterrupt:
    ending.set()
    db.delete(f"bridge:workers:{me}", f"bridge:workers:heartbeat:{me}")
    db.srem("bridge:workers:active", me)
