"""Runners of parts: on this machine's cores, each in a process of its own, or on Dask."""
