"""Clients of Worldkeep. `worldkeep.jobs` is its job queue."""

__version__ = "0.1.0"
