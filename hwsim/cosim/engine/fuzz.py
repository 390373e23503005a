"""Engines at random, played as `hwsim engine --cosim` plays them; one that fails is made smaller."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from hwsim.base.errors import InputError, ToolMissing
from hwsim.base.files import written
from hwsim.base.processes import scratch_folder
from hwsim.cosim.engine.draw import drawn_engine
from hwsim.cosim.engine.run import play
from hwsim.cosim.engine.suites import scripts
from hwsim.cosim.fuzz.draw import Setting, unit_settings
from hwsim.cosim.fuzz.run import FuzzedUnit, FuzzPlan
from hwsim.cosim.fuzz.trial import Side
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, engine_yaml, load_engine

SIMULATORS: dict[Side, str] = {"RTL": "verilator", "Icarus": "icarus"}
MOST_SECONDS = 120.0  # that making an engine smaller may take
SIMPLEST_UNIT = "int8-i32"


class EngineFailure(NamedTuple):
    """What goes wrong of an engine. kinds: the exception's type, or the suites and ports that differ."""

    kinds: frozenset[str]
    words: str


Fails = Callable[[Engine], EngineFailure | None]


def fuzzed_engine(plan: FuzzPlan, number: int) -> FuzzedUnit:
    """Draw and play one engine; what fails is made smaller, and written as an engine's file."""
    engine = drawn_engine(plan.seed, number)
    counts: dict[Side, int] = {}
    found: list[tuple[Side, str, str]] = []
    for side, simulator in SIMULATORS.items():
        if not plan.has(number, side):
            continue

        def fails(engine: Engine, simulator: str = simulator) -> EngineFailure | None:
            return played(engine, simulator, plan.seed)[1]

        counts[side], failure = played(engine, simulator, plan.seed)
        if failure is not None:
            smaller = smallest(engine, fails, failure)
            name = f"{number}-{simulator}.yaml" if plan.folder is not None else ""
            if plan.folder is not None:
                with written(plan.folder / name) as file:
                    file.write(engine_yaml(smaller).encode())
            found.append((side, (fails(smaller) or failure).words, name))
    return FuzzedUnit(number, {}, {}, counts, engine_settings(engine), found)


def played(engine: Engine, simulator: str, seed: int) -> tuple[int, EngineFailure | None]:
    """Play an engine's suites in small. Returns the number of results, and what went wrong, in words the first."""
    results, kinds, words = 0, set[str](), ""
    try:
        every = list(scripts(engine, seed, small=True))
        with scratch_folder() as folder:
            for outcome in play(engine, every, folder, simulator, seed):
                results += outcome.results
                kinds |= {f"{outcome.name}: {one.kind}" for one in outcome.mismatches}
                if outcome.count and not words:
                    words = f"{outcome.name}: {outcome.count} differ, the first {outcome.mismatches[0]}"
    except ToolMissing:
        raise
    except Exception as error:  # whatever an engine that its file allows raises is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        first = str(error).strip().split("\n")[0]
        kind, where = type(error).__name__, f"{place.filename.rpartition('/')[2]}:{place.lineno}"
        return results, EngineFailure(frozenset([kind]), f"{kind}: {first} ({where})")
    return results, EngineFailure(frozenset(kinds), words) if words else None


def smallest(engine: Engine, fails: Fails, failure: EngineFailure, seconds: float = MOST_SECONDS) -> Engine:
    """The smallest engine found that fails so, too: it raises the same type of exception, or has a suite and a port in
    common that differ. No simpler value of one of its keys does. seconds: to look for it.
    """
    end = time.monotonic() + seconds

    def alike(other: Engine) -> bool:
        found = fails(other)
        return found is not None and bool(found.kinds & failure.kinds)

    while time.monotonic() < end:
        smaller = next((other for other in simpler(engine) if time.monotonic() < end and alike(other)), None)
        if smaller is None:
            break
        engine = smaller
    return engine


def simpler(engine: Engine) -> Iterator[Engine]:
    """Engines with one key that is simpler."""
    r, c = engine.reuse
    changes: list[dict[str, Any]] = [
        {"rows": 1},
        {"columns": 1},
        {"reuse": (1, 1)},
        {"reuse": (1, c)},
        {"reuse": (r, 1)},
    ]
    changes += [{"control": None}, {"reset": "sync"}, {"drain": 1}, {"cuts": None}]
    changes += [{"unit": SIMPLEST_UNIT, "cuts": None}]
    changes += [{"unit": mode, "cuts": None} for mode in modes_of(engine.unit) if engine.has_modes]
    ports = engine.ports.model_dump()
    for name, bits in ports.items():
        changes += [{"ports": {**ports, name: other}} for other in ((None,) if name == "c" else (64,)) if bits != other]
    keys = {name: getattr(engine, name) for name in Engine.model_fields}
    for change in changes:
        try:
            other = load_engine({**keys, **change})
        except (ValidationError, InputError):
            continue
        if other != engine:
            yield other


def engine_settings(engine: Engine) -> list[Setting]:
    """The value of each key of an engine, and of its unit, or of the first of its modes."""
    modes, ports = modes_of(engine.unit), engine.ports
    return [
        *unit_settings(modes[0]), ("modes", str(len(modes))),
        ("rows x columns", f"{engine.rows} x {engine.columns}"), ("reuse", f"{engine.reuse[0]} x {engine.reuse[1]}"),
        ("drain", str(engine.drain)), ("latency", str(engine.pipeline.latency)),
        ("control", engine.control or "none"), ("reset", engine.reset),
        *((f"ports.{name}", str(bits or "none")) for name, bits in ports.model_dump().items()),
    ]  # fmt: skip
