"""Writes tests/data/de421.tsv: the Earth about the Sun and Luna about the Earth, 365 days after J2000, by JPL's DE421.

    pip install jplephem de421 && python3 tests/oracle/ephemeris.py

Run from the crate's folder. DE421 has the axes of the equator; those of the mean ecliptic of J2000 are written.
"""
import math

import de421
import numpy
from jplephem import Ephemeris

J2000 = 2451545.0
OBLIQUITY = math.radians(84381.448 / 3600)
ephemeris = Ephemeris(de421)


def ecliptic(v):
    x, y, z = v
    cos, sin = math.cos(OBLIQUITY), math.sin(OBLIQUITY)
    return [float(x), float(cos * y + sin * z), float(-sin * y + cos * z)]


def place(name, days):
    return numpy.ravel(ephemeris.position(name, J2000 + days)) * 1e3


def write(out, days):
    luna = place("moon", days)
    earth = place("earthmoon", days) - luna / (1 + ephemeris.EMRAT) - place("sun", days)
    for name, home, at in (("Earth", "Sun", earth), ("Luna", "Earth", luna)):
        out.write("\t".join([repr(days * 86400.0), name, home] + [repr(x) for x in ecliptic(at)]) + "\n")


with open("tests/data/de421.tsv", "w") as out:
    out.write("# Made by tests/oracle/ephemeris.py: metres from the body named third, mean ecliptic of J2000.\n")
    out.write("# seconds since J2000\tname\tabout\tx\ty\tz\n")
    write(out, 0)
    write(out, 365)
