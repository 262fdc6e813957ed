"""Dispatches a job and waits for its result: python3 producer.py"""

import json
import os
import time
import uuid

import redis

db = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), decode_responses=True)
job = {
    "jobId": str(uuid.uuid4()),
    "type": "email",
    "payload": {"to": "someone@example.org"},
    "schedule": {},
    "retry": {"attempts": 3, "backoff": {"type": "exponential", "delay": 2000}},
    "priority": 5,
    "dependsOn": [],
    "target": {},
    "metadata": {},
    "createdAt": int(time.time() * 1000),
    "attempts": 0,
}
with db.pipeline(transaction=True) as step:
    step.set(f"bridge:jobs:data:{job['jobId']}", json.dumps(job, separators=(",", ":")))
    step.set(f"bridge:jobs:status:{job['jobId']}", "waiting")
    step.rpush("bridge:jobs:waiting", job["jobId"])
    step.publish("bridge:x:wake", job["type"])  # wakes idle Worldkeep workers at once
    step.execute()
print("dispatched", job["jobId"])

while (status := db.get(f"bridge:jobs:status:{job['jobId']}")) not in ("completed", "failed", "dead"):
    time.sleep(0.05)
print(status, db.get(f"bridge:jobs:result:{job['jobId']}"))
