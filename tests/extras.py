"""Tests that need an extra: without it a user's machine leaves them out and says why; CI fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

TORCH = ("torch", "PyTorch is the extra `torch`")
# By their folder, or by their file: the module that they import, and the extra that brings it.
NEEDED = {
    "pytorch": [TORCH],
    "papers": [TORCH, ("sklearn", "scikit-learn is the extra `models`")],
    "test_tensors.py": [TORCH],
    "test_device.py": [TORCH],
    "test_gpu_check.py": [TORCH],
    "test_study_dask.py": [("distributed", "Dask is the extra `distributed`")],
    "test_campaign_dask.py": [("distributed", "Dask is the extra `distributed`")],
    "test_benches_uvm.py": [("pyuvm", "pyuvm is the extra `uvm`")],
    "test_benches_axis.py": [("cocotbext", "cocotbext-axi is the extra `axi`")],
    "test_engine_axi.py": [("cocotbext", "cocotbext-axi is the extra `axi`")],
    "test_systemverilog.py": [("z3", "z3 is the extra `z3`")],
    "test_coverage_files.py": [
        ("cocotb_coverage", "cocotb-coverage is of the extra `dev`"),
        ("ucis", "pyucis is of the extra `dev`"),
    ],
    "test_campaign_queries.py": [("duckdb", "DuckDB is the extra `campaign`")],
}


def lacking(path: Path) -> str:
    """Why the tests of a file cannot run; nothing where they can."""
    needed = [*NEEDED.get(path.parent.name, []), *NEEDED.get(path.name, [])]
    return "; ".join(why for module, why in needed if find_spec(module) is None)


class LeftOut(pytest.Module):
    """A file that is not imported."""

    missing: Callable[[str], None]
    why: str

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Skip the file, or fail, before it is imported."""
        self.missing(self.why)
        return iter(())
