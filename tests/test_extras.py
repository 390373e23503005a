"""Tests that need an extra, where it is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("demanded", "status", "said"), [("", 5, "SKIPPED"), ("1", 2, "ERROR")])
def test_without_an_extra_its_tests_are_left_out_with_the_reason_and_in_ci_they_fail(
    demanded: str, status: int, said: str
) -> None:
    hidden = "import sys; sys.modules['torch'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    files = ["tests/pytorch/test_torch_optim.py", "tests/papers/test_papers.py"]
    environment = {**os.environ, "HWSIM_TESTS_DEMAND_ALL": demanded}
    command = [sys.executable, "-c", hidden, "-q", "-rsE", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout and "PyTorch is the extra `torch`" in done.stdout
