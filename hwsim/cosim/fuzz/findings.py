"""Findings of random units: made simpler, and kept as files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, assert_never

import numpy as np
import yaml
from pydantic import Field, Strict, ValidationError

from hwsim.base.errors import InputError
from hwsim.base.files import written
from hwsim.cases.case import Batch, Case, batches
from hwsim.compute.kernels import kernel_of
from hwsim.cosim.casefile import CaseKeys, HexDumper
from hwsim.cosim.fuzz.draw import DrawnUnit
from hwsim.cosim.fuzz.hardware import UnitInMachineCode, alone_in_bulk, least_terms
from hwsim.cosim.fuzz.trial import Ask, Depth, Side, SideMismatch, Trial, codes_of_kernel
from hwsim.cosim.heldoperands import NONE_HELD, HeldOperands
from hwsim.cosim.shrink import Shrinker
from hwsim.formats.yamlfile import Document, FilePart, SpecError, read, validated
from hwsim.spec import Unit, described, pipeline
from hwsim.spec.fields import worded
from hwsim.spec.implementation import steps

Keys = dict[str, Any]
KeyPath = tuple[str, ...]
MOST_SECONDS = 60.0  # that shrinking a unit may take

# Keys that a unit can do without only together; of all others each is tried alone.
TOGETHER: tuple[tuple[KeyPath, ...], ...] = (
    (("late",), ("sum", "addend"), ("instruction", "start")), (("scale",), ("sum", "subgroup")),
    (("scale",), ("promotion",)), (("scale", "at"), ("sum", "subgroup")), (("sum", "flush"), ("sum", "tininess")),
    (("late", "flush"), ("late", "tininess")), (("result", "subnormals"), ("result", "tininess")),
)  # fmt: skip
FACTORS, REGISTERS = ("e2m1", "e4m3", "e5m2"), ("e5m2", "f16", "f32")
# Simpler values of keys of a name, the simplest first.
VALUES: dict[str, tuple[str, ...]] = {
    "a": FACTORS, "b": FACTORS, "addend": REGISTERS, "convert": REGISTERS[1:], "format": REGISTERS,
    "rounding": ("rz", "rne"), "product": ("fused",), "lost": ("truncate",), "overflow": ("saturate",),
}  # fmt: skip
OWN_STEPS = {"instruction", "scale"}  # whose numbers hang together, and are made smaller together


@dataclass(frozen=True)
class SimplerFinding:
    """A finding made simpler: the simpler unit, and what goes wrong there. tried: the number of units tried."""

    drawn: DrawnUnit
    found: SideMismatch
    tried: int = 0


class UnitShrinker:
    """Makes units simpler for as long as they fail the same way. again: a unit's failure, or None."""

    def __init__(self, again: Callable[[DrawnUnit], SideMismatch | None], seconds: float = MOST_SECONDS):
        self.again, self.until, self.tried = again, time.monotonic() + seconds, 0

    def shrink(self, drawn: DrawnUnit, found: SideMismatch) -> SimplerFinding:
        best = SimplerFinding(drawn, found)
        while (better := self._better(best)) is not None:
            best = better
        return replace(best, tried=self.tried)

    def _better(self, best: SimplerFinding) -> SimplerFinding | None:
        for candidate in _simpler(best.drawn):
            if time.monotonic() > self.until:
                return None
            self.tried += 1
            mismatch = self.again(candidate)
            if mismatch is not None and _alike(mismatch, best.found):
                return SimplerFinding(candidate, mismatch)
        return None


def _alike(one: SideMismatch, other: SideMismatch) -> bool:
    """True if two failures are of one kind: on one side, a result or an exception of one type."""
    kinds = [
        (mismatch.side, mismatch.raised, mismatch.said.split(":")[0] if mismatch.raised else "")
        for mismatch in (one, other)
    ]
    return kinds[0] == kinds[1]


def failing_again(
    side: Side, cases: int, handed: Mapping[Side, Ask] | None = None
) -> Callable[[DrawnUnit], SideMismatch | None]:
    """Return a function that finds a unit's failure on one side. handed: as of `Depth`."""
    depth = Depth(cases, frozenset((side,)), handed=handed or {})

    def again(drawn: DrawnUnit) -> SideMismatch | None:
        return next((mismatch for mismatch in Trial(drawn, depth).run().found if mismatch.side == side), None)

    return again


def _simpler(drawn: DrawnUnit) -> Iterator[DrawnUnit]:
    """Yield units and pipelines that are one step simpler; those of larger steps first."""
    plain = pipeline(drawn.unit, (), 1)
    if drawn.pipeline != plain:
        yield replace(drawn, pipeline=plain)
    for keys in _steps(worded(drawn.unit.model_dump(mode="json", exclude_unset=True))):
        try:
            unit = Unit.model_validate(keys)
        except (ValidationError, InputError):
            continue
        if described(unit):
            known = set(steps(unit))
            cuts = tuple(cut for cut in drawn.pipeline.cuts if cut in known)
            yield replace(drawn, unit=unit, pipeline=pipeline(unit, cuts, drawn.pipeline.contexts))


def _steps(keys: Keys) -> Iterator[Keys]:
    """Yield keys that are one step simpler, some of which make no unit."""
    places = list(_places(keys))
    for paths in (*TOGETHER, *((path,) for path, _ in places)):
        if _at(keys, paths[0]) is not None:
            changed = deepcopy(keys)
            for path in paths:
                _drop(changed, path)
            yield changed
    yield from _fewer(keys)
    for path, now in places:
        simpler = ("e8m0",) if path[0] == "scale" and path[-1] == "format" else VALUES.get(path[-1], ())
        if now != "none" and not _is_section(now):
            yield from (_put(keys, path, value) for value in simpler[: simpler.index(now) if now in simpler else None])
    for path, now in places:
        if type(now) is int and now and path[0] not in OWN_STEPS and path[-1] not in ("lanes", "nan"):
            sign = -1 if now < 0 else 1
            yield from (_put(keys, path, sign * less) for less in dict.fromkeys((0, abs(now) // 2, abs(now) - 1)))
    for path, now in places:
        if isinstance(now, dict) and "kind" in now:
            yield from _plainer_format(keys, path, now)


def _places(keys: Keys, inside: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every key by its path, with its value, sections before their keys; a format of a user's own is a value."""
    for key, value in keys.items():
        yield (*inside, key), value
        if _is_section(value):
            yield from _places(value, (*inside, key))


def _is_section(value: Any) -> bool:
    return isinstance(value, dict) and "kind" not in value


def _fewer(keys: Keys) -> Iterator[Keys]:
    """Yield keys with fewer lanes, or groups, and with blocks and intervals to match."""
    k, lanes = keys["instruction"]["k"], keys["instruction"]["lanes"]
    for fewer in dict.fromkeys((1, lanes // 2, lanes - 1)):
        if 0 < fewer < lanes:
            changed = deepcopy(keys)
            changed["instruction"] |= {"k": k // lanes * fewer, "lanes": fewer}
            changed["instruction"].pop("order", None)
            if isinstance(changed.get("promotion"), dict):
                changed["promotion"]["interval"] = changed["promotion"]["interval"] // lanes * fewer
            if isinstance(changed.get("scale"), dict):
                blocks = max(
                    fewer, changed["promotion"]["interval"] if changed["scale"].get("at") == "promotion" else 0
                )
                changed["scale"]["a"]["block"][1] = changed["scale"]["b"]["block"][0] = blocks
            if isinstance(changed["sum"].get("subgroup"), dict):
                changed["sum"]["subgroup"]["lanes"] = fewer
            yield changed
    if k > lanes:
        changed = deepcopy(keys)
        changed["instruction"]["k"] = lanes
        changed["instruction"].pop("order", None)
        yield changed
    if isinstance(keys.get("scale"), dict):
        for side, index in (("a", 1), ("b", 0)):
            if keys["scale"][side]["block"] != [1, 1]:
                changed = deepcopy(keys)
                changed["scale"][side]["block"] = [1, 1]
                yield changed
                changed = deepcopy(keys)
                changed["scale"][side]["block"] = [1, 1]
                changed["scale"][side]["block"][index] = lanes
                if changed != keys:
                    yield changed


def _plainer_format(keys: Keys, path: KeyPath, fmt: Keys) -> Iterator[Keys]:
    """Yield keys with a format of a user's own that has fewer keys, or a bit less."""
    for key in ("container", "underflow", "subnormals", "signed_zero", "infinities"):
        if key in fmt:
            changed = deepcopy(keys)
            _drop(changed, (*path, key))
            yield changed
    for key in ("fraction_bits", "integer_bits"):
        if fmt.get(key) and not isinstance(fmt.get("nan"), list):
            yield _put(keys, (*path, key), fmt[key] - 1)


def _at(keys: Any, path: KeyPath) -> Any:
    for key in path:
        keys = keys.get(key) if isinstance(keys, dict) else None
    return keys


def _put(keys: Keys, path: KeyPath, value: Any) -> Keys:
    changed = deepcopy(keys)
    _at(changed, path[:-1])[path[-1]] = value
    return changed


def _drop(keys: Keys, path: KeyPath) -> None:
    inside = _at(keys, path[:-1])
    if isinstance(inside, dict):
        inside.pop(path[-1], None)


@dataclass(frozen=True)
class _AnySide:
    """The properties that shrinking cases needs, where there is no design. products: of a beat."""

    unit: Unit
    products: int
    addend: bool = True
    held: HeldOperands = NONE_HELD


def simplest_case(drawn: DrawnUnit, found: SideMismatch) -> SideMismatch:
    """The finding with a simpler case; unchanged where no case fails alone."""
    ask = _asked(drawn, found.side)
    if found.case is None or ask is None:
        return found
    shrunk = Shrinker(_AnySide(drawn.unit, drawn.unit.instruction.lanes), ask).shrink([found.case])
    return found if shrunk is None else replace(found, case=shrunk.case, expected=shrunk.expected, got=shrunk.got)


def _asked(drawn: DrawnUnit, side: Side) -> Callable[[Sequence[Case]], np.ndarray] | None:
    """Return a function from cases to a side's results, (cases,); None for a side that does not take single cases."""
    unit = drawn.unit

    def of_batches(codes: Callable[[Batch], np.ndarray]) -> Callable[[Sequence[Case]], np.ndarray]:
        return lambda cases: np.concatenate([codes(batch).astype(object) for batch in batches(unit, cases)])

    match side:
        case "kernels":
            return of_batches(partial(codes_of_kernel, unit, kernel_of(unit).general))
        case "own kernel":
            return of_batches(partial(codes_of_kernel, unit, kernel_of(unit)))
        case "C":
            return of_batches(UnitInMachineCode(unit).codes)
        case "RTL":
            return partial(alone_in_bulk, drawn, Trial(drawn, Depth()).design)
        case "cases" | "gemm" | "clock" | "Icarus" | "vectors" | "export-c" | "study" | "qualify" | "modes":
            return None
        case _:
            assert_never(side)


MOST_CASES = 1_000_000


class FindingFile(FilePart):
    """The file's keys. side, said, expected, got: what was found, for a reader."""

    unit: Unit
    cuts: tuple[str, ...]
    contexts: Annotated[int, Strict()]
    register_ready: Annotated[bool, Strict()] = False
    seed: Annotated[int, Strict(), Field(ge=0)] = 1
    cases: Annotated[int, Strict(), Field(ge=1, le=MOST_CASES)] = 1000
    side: str = ""
    said: str = ""
    case: CaseKeys | None = None
    expected: int | None = None
    got: int | None = None


class KeptFinding:
    """A finding read from its file. drawn: the unit; case: alone, or None; cases: how many are drawn beside it."""

    def __init__(self, drawn: DrawnUnit, case: Case | None, cases: int):
        self.drawn, self.case, self.cases = drawn, case, cases


def write_finding(path: Path, drawn: DrawnUnit, found: SideMismatch, cases: int) -> None:
    """Write a finding to a file, to try it again with `hwsim fuzz --again FILE`. cases: of the trial."""
    head: dict[str, Any] = {
        "unit": worded(drawn.unit.model_dump(mode="json", exclude_unset=True)), "cuts": list(drawn.pipeline.cuts),
        "contexts": drawn.pipeline.contexts, "register_ready": drawn.pipeline.register_ready, "seed": drawn.seed,
        "cases": cases, "side": found.side, "said": found.said,
    }  # fmt: skip
    text = str(yaml.safe_dump(head, sort_keys=False, default_flow_style=None, width=110))
    if found.case is not None:
        case = found.case
        codes = {key: list(getattr(case, key)) for key in ("a", "b", "scale_a", "scale_b") if getattr(case, key)}
        text += HexDumper.dump({"case": {**codes, "c": case.c}, "expected": found.expected, "got": found.got})
    with written(path) as file:
        file.write(text.encode())


def load_finding(path: Path) -> KeptFinding:
    """A finding from its file. Raises SpecError, naming file, line and key, for a file that breaks a rule."""
    document = read(path)
    file = validated(FindingFile, document)
    described(file.unit).demand()
    try:
        built = pipeline(file.unit, file.cuts, file.contexts, register_ready=file.register_ready)
    except ValueError as error:
        raise SpecError(f"{document.where(('cuts',))}: {error}") from None
    drawn = DrawnUnit(file.unit, built, file.seed)
    return KeptFinding(drawn, None if file.case is None else _case(document, file.unit, file.case), file.cases)


def _case(document: Document, unit: Unit, keys: CaseKeys) -> Case:
    def wrong(key: str, rule: str) -> SpecError:
        return SpecError(f"{document.where(('case', key))}: case.{key} {rule}")

    terms, least, most = len(keys.a), least_terms(unit), None if unit.instruction.chain else unit.instruction.k
    if terms % least or (most is not None and terms > most):
        rule = f"a multiple of {least} codes" + (f", at most {most}," if most is not None else "")
        raise wrong("a", f"must have {rule} not {terms}")
    return keys.case(unit, "finding", wrong)
