"""Who carries tasks out: this machine's cores, or Dask's."""
