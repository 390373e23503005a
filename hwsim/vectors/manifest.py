"""The manifest of a vector set: all that it takes to read it, and to make it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

import hwsim
from hwsim.cases.bins.counter import Counter as Coverage
from hwsim.cases.bins.plan import plan as coverage_plan
from hwsim.formats import Format
from hwsim.readings import Discrimination
from hwsim.spec import NotImplementedYet, Unit
from hwsim.vectors.block import EXPECTED, OPERANDS, PARTIAL, STAGES, Block
from hwsim.vectors.layout import Layout, operand_layout, partial_layout, result_layout
from hwsim.vectors.plan import SetPlan, Wanted
from hwsim.vectors.stages import stage_layout
from hwsim.vectors.text import column_formats

UNIT = "unit.yaml"  # the specification once more, as a file that commands take
VERSION = 2  # of the sequence of cases, and of what the files hold and how
NOTE = (
    "# Written by `hwsim vectors`; docs/vectors.md says what the files hold. `hwsim check` compares results with it.\n"
)


class Counts:
    """What is in a set so far."""

    def __init__(self, unit: Unit, planned: SetPlan, total: int):
        self.unit, self.total = unit, total
        self.cases = self.lines = 0
        self.parts: Counter[str] = Counter()
        self.coverage = _coverage(unit)
        self._ends = []
        end = 0
        for part in planned.parts:
            end += len(part.cases)
            self._ends.append((part.name, end))

    def add(self, block: Block) -> None:
        """Count a block."""
        self.parts[self._part(self.cases)] += block.cases
        self.cases += block.cases
        self.lines += block.lines
        if self.coverage is not None and block.explained:
            for case, explained in zip(block.batch.cases(), block.explained, strict=True):
                self.coverage.sample(case, explained)

    def _part(self, case: int) -> str:
        return next((name for name, end in self._ends if case < end), "random")

    def state(self) -> dict[str, Any]:
        """What `restore` goes on from."""
        coverage = None if self.coverage is None else self.coverage.state()
        return {"cases": self.cases, "lines": self.lines, "parts": dict(self.parts), "coverage": coverage}

    def restore(self, state: Mapping[str, Any] | None) -> int:
        """Go on from what was noted; the cases that are there."""
        if state is not None:
            self.cases, self.lines, self.parts = state["cases"], state["lines"], Counter(state["parts"])
            if self.coverage is not None:
                self.coverage = Coverage.restore(self.coverage.plan, state["coverage"])
        return self.cases


def _coverage(unit: Unit) -> Coverage | None:
    try:
        return Coverage(coverage_plan(unit))
    except NotImplementedYet:
        return None


def manifest(
    wanted: Wanted, planned: SetPlan, counts: Counts, digests: Mapping[str, str], files: Sequence[str]
) -> bytes:
    """The manifest's bytes."""
    unit = wanted.unit
    layouts = {OPERANDS: operand_layout(unit), EXPECTED: result_layout(unit)}
    if PARTIAL in files:
        layouts[PARTIAL] = partial_layout(unit)
    if STAGES in files:
        layouts[STAGES] = stage_layout(unit)
    data = {
        "generator": "hwsim vectors",
        "hwsim": hwsim.__version__,
        "version": VERSION,
        "suite": wanted.suite,
        "seed": wanted.seed,
        "cases": counts.cases,
        "lines": counts.lines,
        "parts": _parts(planned, counts),
        "discrimination": _discrimination(planned.told),
        "coverage": _bins(counts.coverage),
        "unit": unit.model_dump(mode="json", exclude_unset=True),
        "formats": {name: fmt.model_dump(mode="json", exclude_unset=True) for name, fmt in used_formats(unit).items()},
        "files": {name: _file(layouts.get(name), digest) for name, digest in sorted(digests.items())},
    }
    data = {key: value for key, value in data.items() if value is not None}
    text = yaml.safe_dump(data, sort_keys=False, width=110, allow_unicode=True)
    return (NOTE + text).encode()


def used_formats(unit: Unit) -> dict[str, Format]:
    """The formats that codes of a set are in, by name."""
    return {fmt.name: fmt for fmt in (*column_formats(unit).values(), unit.result.format)}


def _parts(planned: SetPlan, counts: Counts) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for part in planned.parts:
        made = counts.parts[part.name]
        parts[part.name] = {"cases": made}
        if part.why:
            parts[part.name]["why"] = part.why
        elif made < len(part.cases):
            parts[part.name]["of"] = len(part.cases)
    if planned.random:
        parts["random"] = {"cases": counts.parts["random"]}
    return parts


def _discrimination(told: Discrimination | None) -> dict[str, Any] | None:
    """How the readings of the specification stand to each other, by all of the part's cases."""
    if told is None:
        return None
    others: dict[str, dict[str, list[str]]] = {}
    for pair in told.pairs:
        if pair.word != "told apart":
            names = f"{pair.first.name} / {pair.second.name}"
            others.setdefault(pair.word, {}).setdefault(pair.reason or pair.sentence, []).append(names)
    apart = [pair.differ for pair in told.pairs if pair.word == "told apart"]
    words = {"pairs": len(told.pairs), "told_apart": len(apart), "by_at_least": min(apart, default=0)}
    return {**words, **{word: dict(pairs) for word, pairs in sorted(others.items())}}


def _bins(coverage: Coverage | None) -> dict[str, Any] | None:
    """What the cases that the model explained hit, and what nothing can hit."""
    if coverage is None:
        return None
    sampled = [one for one in coverage.plan.bins if one.how == "model"]
    counts = coverage.counts
    bins: dict[str, dict[str, int]] = {}
    unreachable: dict[str, dict[str, list[str]]] = {}
    for one in sampled:
        if one.unreachable is None:
            bins.setdefault(one.group, {})[one.name] = counts[one.name]
        else:
            unreachable.setdefault(one.group, {}).setdefault(one.unreachable, []).append(one.name)
    return {
        "cases": coverage.cases,
        "groups": {
            group: {"bins": made.bins, "reachable": made.reachable, "hit": made.hit}
            for group, made in coverage.summary().items()
            if any(one.group == group for one in sampled)
        },
        "missed": [one.name for one in coverage.missed()],
        "unreachable": unreachable,
        "bins": bins,
    }


def _file(layout: Layout | None, digest: str) -> dict[str, Any]:
    if layout is None:
        return {"sha256": digest}
    fields = {
        field.name: {"offset": field.offset, "bits": field.bits, "count": field.count}
        | ({"signed": True} if field.signed else {})
        for field in layout.fields
    }
    return {"sha256": digest, "bits": layout.bits, "digits": layout.digits, "fields": fields}
