"""Runners of tasks: on this machine's cores, or on Dask."""
