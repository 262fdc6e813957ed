"""Steps per second of CPU time of 29 bodies and COUNT craft, one force evaluation each.

    physics.py rebound COUNT SECONDS SOL.TSV      the leapfrog of REBOUND
    physics.py numpy COUNT SECONDS SOL.TSV        the same steps, all pairs at once over separate arrays
    physics.py loop COUNT SECONDS SOL.TSV         the same, body by body, so that the arrays stay in the cache
"""
import json
import math
import sys
import time

import numpy as np

which, count, seconds, table = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
rows = [line.split("\t") for line in open(table) if not line.startswith("#")]
gm = [float(row[2]) for row in rows]
state = [[float(x) for x in row[4:10]] for row in rows]
home = [row[0] for row in rows].index("Earth")


def craft(n):
    distance = 6.771e6 + 1e3 * (n % 5000)
    speed, angle = math.sqrt(gm[home] / distance), 2.399963229728653 * n
    cos, sin = math.cos(angle), math.sin(angle)
    moves = (distance * cos, distance * sin, 0.0, -speed * sin, speed * cos, 0.0)
    return [a + b for a, b in zip(state[home], moves)]


def by_rebound():
    import rebound

    sim = rebound.Simulation()
    sim.G = 1.0
    for g, s in zip(gm, state):
        sim.add(m=g, x=s[0], y=s[1], z=s[2], vx=s[3], vy=s[4], vz=s[5])
    sim.N_active = len(gm)
    for n in range(count):
        s = craft(n)
        sim.add(x=s[0], y=s[1], z=s[2], vx=s[3], vy=s[4], vz=s[5])
    sim.integrator = "leapfrog"
    sim.dt = 0.5
    return lambda steps: sim.steps(steps)


def by_numpy(at_once):
    everything = np.array(state + [craft(n) for n in range(count)])
    x, y, z, vx, vy, vz = (np.ascontiguousarray(everything[:, axis]) for axis in range(6))
    h = 0.5

    own = np.arange(len(gm))
    weights = np.array(gm)

    def pull_at_once():
        dx, dy, dz = (r[: len(gm)] - r[:, None] for r in (x, y, z))
        squared = dx * dx + dy * dy + dz * dz
        squared[own, own] = 1.0
        pulls = weights / (squared * np.sqrt(squared))
        pulls[own, own] = 0.0
        return (pulls * dx).sum(axis=1), (pulls * dy).sum(axis=1), (pulls * dz).sum(axis=1)

    def pull_by_body():
        ax, ay, az = np.zeros_like(x), np.zeros_like(y), np.zeros_like(z)
        for body, g in enumerate(gm):
            dx, dy, dz = x[body] - x, y[body] - y, z[body] - z
            squared = dx * dx + dy * dy + dz * dz
            squared[body] = 1.0
            pulls = g / (squared * np.sqrt(squared))
            pulls[body] = 0.0
            ax += pulls * dx
            ay += pulls * dy
            az += pulls * dz
        return ax, ay, az

    pull = pull_at_once if at_once else pull_by_body
    force = [pull()]

    def run(steps):
        for _ in range(steps):
            for v, a in zip((vx, vy, vz), force[0]):
                v += a * (h / 2)
            for r, v in zip((x, y, z), (vx, vy, vz)):
                r += v * h
            force[0] = pull()
            for v, a in zip((vx, vy, vz), force[0]):
                v += a * (h / 2)

    return run


run = {"rebound": by_rebound, "numpy": lambda: by_numpy(True), "loop": lambda: by_numpy(False)}[which]()
run(2)
start, steps = time.process_time(), 0
while time.process_time() - start < seconds:
    run(5)
    steps += 5
print(json.dumps({"per_s": steps / (time.process_time() - start)}))
