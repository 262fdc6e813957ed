"""Writes tests/data/truth.tsv: where bodies and craft are after a while, by REBOUND's 15th-order integrator (IAS15).

    pip install rebound && python3 tests/oracle/truth.py

Run from the crate's folder. The start is data/sol.tsv, moved to its barycentre. Craft are test particles.
"""
import math
import rebound

rows = [line.rstrip("\n").split("\t") for line in open("data/sol.tsv") if not line.startswith("#")]
names = [row[0] for row in rows]
gm = [float(row[2]) for row in rows]
total = sum(gm)
state = [[float(x) for x in row[4:10]] for row in rows]
centre = [math.fsum(g * s[axis] for g, s in zip(gm, state)) / total for axis in range(6)]
state = [[x - c for x, c in zip(s, centre)] for s in state]


def world(craft):
    sim = rebound.Simulation()
    sim.G = 1.0
    for g, s in zip(gm, state):
        sim.add(m=g, x=s[0], y=s[1], z=s[2], vx=s[3], vy=s[4], vz=s[5])
    sim.N_active = len(gm)
    for about, r, v in craft:
        home = state[names.index(about)]
        s = [h + d for h, d in zip(home, list(r) + list(v))]
        sim.add(x=s[0], y=s[1], z=s[2], vx=s[3], vy=s[4], vz=s[5])
    sim.integrator = "ias15"
    return sim


def circle(about, distance):
    speed = math.sqrt(gm[names.index(about)] / distance)
    return (about, (distance, 0.0, 0.0), (0.0, speed * math.cos(0.5), speed * math.sin(0.5)))


def write(out, case, seconds, craft, bodies):
    sim = world(craft)
    sim.integrate(seconds, exact_finish_time=1)
    for index, name in enumerate(names):
        if name in bodies:
            p = sim.particles[index]
            out.write("\t".join([case, repr(seconds), "body", name] + [repr(x) for x in (p.x, p.y, p.z)]) + "\n")
    for index, (about, r, v) in enumerate(craft):
        p = sim.particles[len(names) + index]
        h = sim.particles[names.index(about)]
        rel = (p.x - h.x, p.y - h.y, p.z - h.z)
        moves = (p.vx - h.vx, p.vy - h.vy, p.vz - h.vz)
        ends = [repr(x) for x in (*r, *v, *moves)]
        out.write("\t".join([case, repr(seconds), "craft", about] + [repr(x) for x in rel] + ends) + "\n")


with open("tests/data/truth.tsv", "w") as out:
    out.write("# Made by tests/oracle/truth.py. Bodies: metres from the barycentre. Craft: metres from their body,\n")
    out.write("# then the place and velocity they had at the start, then the velocity they have.\n# case\tseconds\tkind\tname\tx\ty\tz\tstart\tmoves\n")
    write(out, "day", 86400.0, [], names)
    leo = circle("Earth", 6371008.4 + 400e3)
    write(out, "orbit", 5544.865, [leo], [])
    io = circle("Io", 1821490 + 50e3)
    write(out, "io", 6 * 2 * math.pi * math.sqrt((1821490 + 50e3) ** 3 / gm[names.index("Io")]), [io], [])
    far = [circle("Earth", 9e8), circle("Luna", 4e7), circle("Mars", 2.0e7), circle("Sun", 2e11), circle("Saturn", 1.0e9),
           ("Earth", (7e6, 0.0, 0.0), (0.0, 12000.0, 500.0))]
    write(out, "far", 20000.0, far, [])
    write(out, "year", 365 * 86400.0, [], ["Sun", "Earth", "Luna"])
