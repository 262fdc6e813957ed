"""Dispatches a job and waits for its result: python3 producer.py"""

from worldkeep.jobs import Jobs

with Jobs() as jobs:  # REDIS_URL, or this machine
    job_id = jobs.dispatch("email", {"to": "someone@example.org"})
    print("dispatched", job_id)
    print("completed", jobs.wait(job_id))
