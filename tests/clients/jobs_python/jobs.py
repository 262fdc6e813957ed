"""A producer, worker and reader of the job queue, written from its document alone: no code of ours but the exported Lua.

  python3 jobs.py PORT NAMESPACE LUA_DIR dispatch COUNT     prints the ids
  python3 jobs.py PORT NAMESPACE LUA_DIR work COUNT         claims and finishes that many, prints their ids
  python3 jobs.py PORT NAMESPACE LUA_DIR claim              claims one and ends without finishing it
  python3 jobs.py PORT NAMESPACE LUA_DIR read ID...         prints status and result of each
  python3 jobs.py PORT NAMESPACE LUA_DIR vectors            runs both vectors.json
"""

import json
import os
import pathlib
import sys
import time
import uuid

import redis

port, ns, lua, verb, *rest = sys.argv[1:]
db = redis.Redis(port=int(port), decode_responses=True)
me = f"python-{os.getpid()}"


def key(*parts):
    return ":".join((ns, *parts))


def now():
    return int(time.time() * 1000)


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def run(name, keys, args):
    source = (pathlib.Path(lua) / f"{name}.lua").read_text()
    # register_script runs EVALSHA and falls back to loading the script.
    return db.register_script(source)(keys=keys, args=args)


def dispatch(count):
    for n in range(count):
        job = {
            "jobId": str(uuid.uuid4()),
            "type": "double",
            "payload": {"n": n, "text": 'é/"\\', "list": []},
            "schedule": {"delay": 50} if n % 10 == 3 else {},
            "retry": {"attempts": 3, "backoff": {"type": "exponential", "delay": 2000}},
            "priority": 8 if n % 7 == 0 else 5,
            "dependsOn": [],
            "target": {"stack": ["rust", "node", "python"], "mode": "any"} if n % 5 == 0 else {},
            "metadata": {},
            "createdAt": now(),
            "attempts": 0,
        }
        delayed = job["schedule"].get("delay", 0) > 0
        with db.pipeline(transaction=True) as step:
            step.set(key("jobs", "data", job["jobId"]), text(job))
            step.set(key("jobs", "status", job["jobId"]), "delayed" if delayed else "waiting")
            if delayed:
                due = job["createdAt"] + job["schedule"]["delay"]
                step.zadd(key("jobs", "delayed"), {job["jobId"]: due})
            elif job["priority"] >= 7:
                step.lpush(key("jobs", "waiting"), job["jobId"])
            else:
                step.rpush(key("jobs", "waiting"), job["jobId"])
            step.execute()
        print(job["jobId"])


def register():
    worker = {"serverId": me, "stack": "python", "region": "eu", "capabilities": ["email"],
              "lastSeen": now(), "pid": os.getpid(), "hostname": "client"}
    db.set(key("workers", me), text(worker))
    db.sadd(key("workers", "active"), me)
    beat()


def beat():
    db.set(key("workers", "heartbeat", me), now(), ex=30)


def claim(seconds):
    return run("claim_job",
               [key("jobs", "waiting"), key("jobs", "active"), key("queues", "paused")],
               [me, '["python"]', '["email"]', '["eu"]', now(), seconds,
                key("jobs", "data", ""), key("jobs", "lock", ""), key("ratelimit", "concurrent", "")])


def work(count):
    register()
    # It gives up when nothing came for twenty seconds.
    done, until, beat_at = 0, time.time() + 20, time.time() + 10
    while done < count and time.time() < until:
        if time.time() >= beat_at:
            beat()
            beat_at = time.time() + 10
        run("process_delayed", [key("jobs", "delayed"), key("jobs", "waiting")], [now(), 100])
        found = claim(30)
        if found is None:
            time.sleep(0.02)
            continue
        job, started = json.loads(found), now()
        name = job["jobId"]
        db.set(key("jobs", "status", name), "active")
        db.set(key("jobs", "progress", name), text({"percent": 50, "message": "half", "updatedAt": now()}))
        result = {"success": True, "data": {"twice": job["payload"]["n"] * 2, "by": "python"},
                  "completedAt": now(), "processingTime": now() - started}
        db.set(key("jobs", "result", name), text(result), ex=86400)
        db.set(key("jobs", "status", name), "completed")
        released = run("release_lock",
                       [key("jobs", "lock", name), key("jobs", "active"), key("ratelimit", "concurrent", job["type"])],
                       [me, name])
        assert released == 1, f"the lock of {name} was not ours"
        done, until = done + 1, time.time() + 20
        print(name)
    db.delete(key("workers", me), key("workers", "heartbeat", me))
    db.srem(key("workers", "active"), me)


def claim_only():
    register()
    print(json.loads(claim(1))["jobId"])


def read(ids):
    for name in ids:
        status, result, data = db.mget(key("jobs", "status", name), key("jobs", "result", name), key("jobs", "data", name))
        job = json.loads(data)
        print(text({"id": name, "status": status, "result": json.loads(result), "attempts": job["attempts"],
                    "n": job["payload"]["n"]}))


def state():
    found = {}
    for name in db.keys("*"):
        kind = db.type(name)
        if kind == "string":
            found[name] = {"string": db.get(name)}
        elif kind == "list":
            found[name] = {"list": db.lrange(name, 0, -1)}
        elif kind == "set":
            found[name] = {"set": sorted(db.smembers(name))}
        elif kind == "hash":
            found[name] = {"hash": db.hgetall(name)}
        elif kind == "stream":
            found[name] = {"stream": [fields for _, fields in db.xrange(name)]}
        else:
            pairs = db.zrange(name, 0, -1, withscores=True)
            found[name] = {"zset": [[member, str(int(score)) if score == int(score) else str(score)] for member, score in pairs]}
        if db.ttl(name) >= 0:
            found[name]["ttl"] = True
    return found


def is_reply(reply, got):
    if "list" in reply:
        same = isinstance(got, list) and len(got) == len(reply["list"])
        return same and all(is_reply(one, there) for one, there in zip(reply["list"], got))
    if "json" in reply:
        return json.loads(got) == reply["json"]
    return got == reply.get("text", reply.get("int"))


def play(folder):
    every = json.loads((pathlib.Path(lua) / folder / "vectors.json").read_text())
    for vector in every:
        db.flushall()
        for command in vector["before"]:
            db.execute_command(*command)
        reply, failed, got = vector["reply"], False, None
        try:
            got = run(folder + vector["script"], vector["keys"], vector["args"])
        except redis.ResponseError:
            failed = True
        right = failed if "error" in reply else not failed and is_reply(reply, got)
        assert right, f"{vector['name']}: the reply is {got}"
        for value in vector["after"].values():
            if "ttl" in value:
                value["ttl"] = True
        assert state() == vector["after"], f"{vector['name']}: {state()}"
    return len(every)


def vectors():
    print(play("") + play("own/"))


{"dispatch": lambda: dispatch(int(rest[0])), "work": lambda: work(int(rest[0])), "claim": claim_only,
 "read": lambda: read(rest), "vectors": vectors}[verb]()
