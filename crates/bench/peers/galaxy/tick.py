"""Ticks per second of the usual way in Python: read the ships, move them with numpy, write them in pipelines.

    tick.py PORT COUNT SECONDS
"""
import json
import sys
import time

import numpy as np
import redis

port, count, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
store = redis.Redis(port=port, decode_responses=True)
keys = ["ship:00000000-0000-4000-8000-%012x" % n for n in range(count)]
GM = 3.986004355e14


def in_parts(say):
    answers = []
    for part in range(0, count, 1000):
        pipe = store.pipeline(transaction=False)
        for n in range(part, min(part + 1000, count)):
            say(pipe, n)
        answers += pipe.execute()
    return answers


def first(pipe, n):
    fields = {"position": json.dumps([7e6 + n, 0.0, 0.0]), "velocity": json.dumps([0.0, 7500.0, 0.0]),
              "attitude": json.dumps([1.0, 0.0, 0.0, 0.0]), "angular_velocity": json.dumps([0.0, 0.0, 0.0])}
    pipe.hset(keys[n], mapping=fields)


def tick():
    read = in_parts(lambda pipe, n: pipe.hgetall(keys[n]))
    r = np.array([json.loads(ship["position"]) for ship in read])
    v = np.array([json.loads(ship["velocity"]) for ship in read])
    for _ in range(2):
        v += -GM * r / np.linalg.norm(r, axis=1)[:, None] ** 3 * 0.5
        r += v * 0.5
    place, moves = r.tolist(), v.tolist()

    def write(pipe, n):
        fields = {"position": json.dumps(place[n]), "velocity": json.dumps(moves[n]),
                  "attitude": read[n]["attitude"], "angular_velocity": read[n]["angular_velocity"]}
        pipe.hset(keys[n], mapping=fields)

    in_parts(write)


in_parts(first)
start, ticks = time.perf_counter(), 0
while time.perf_counter() - start < seconds:
    tick()
    ticks += 1
print(json.dumps({"per_s": ticks / (time.perf_counter() - start)}))
