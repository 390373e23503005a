"""The manifest of a vector set: all that it takes to read it, and to make it again."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import yaml

import hwsim
from hwsim.cases.bins.plan import Counter as Coverage
from hwsim.cases.bins.plan import plan as coverage_plan
from hwsim.cosim.vectors.block import Block
from hwsim.cosim.vectors.layout import Layout
from hwsim.cosim.vectors.lines import column_formats, layouts, lines_of
from hwsim.cosim.vectors.plan import SetPlan, Wanted
from hwsim.explain import Discrimination
from hwsim.formats import Format
from hwsim.sources import identity
from hwsim.spec import NotImplementedYet, Unit

VERSION = 4  # of the sequence of cases, and of what the files hold and how
NOTE = "# By `hwsim vectors`; `hwsim docs vectors` says what the files hold. `hwsim check` compares results with it.\n"


class Counts:
    """What is in a set so far. parts: cases of each part."""

    def __init__(self, unit: Unit, planned: SetPlan):
        self.unit, self.planned = unit, planned
        self.cases = self.lines = 0
        self.parts: Counter[str] = Counter()
        self.coverage: Coverage | None = None
        with contextlib.suppress(NotImplementedYet):
            self.coverage = Coverage(coverage_plan(unit))

    def add(self, block: Block) -> None:
        """Count a block."""
        self.parts[self._part()] += len(block.batch)
        self.cases += len(block.batch)
        self.lines += len(block.batch) * lines_of(self.unit, block.batch)
        if self.coverage is not None and block.explained:
            for case, explained in zip(block.batch.cases(), block.explained, strict=True):
                self.coverage.sample(case, explained)

    def _part(self) -> str:
        """The part of the next case."""
        end = 0
        for part in self.planned.parts:
            end += len(part.cases)
            if self.cases < end:
                return part.name
        return "random"

    def made(self) -> Iterator[tuple[str, int, int | None, str]]:
        """Name and number of cases of each part; of how many, where not all are there; why there are none.

        Of how many is not said where a set ends before its smoke part does: what nobody asked for is not looked for.
        """
        whole = True
        for name, same in groupby(self.planned.parts, key=lambda part: part.name):
            pieces = list(same)
            whole = whole and all(part.asked for part in pieces if name == "smoke")
            made, there = self.parts[name], sum(len(part.cases) for part in pieces) if whole else 0
            yield name, made, there if made < there else None, pieces[0].why if whole else ""
        for part in self.planned.lacking:
            if part.asked and part.why:
                yield part.name, 0, None, part.why
        if self.planned.random:
            yield "random", self.parts["random"], None, ""

    def state(self) -> dict[str, Any]:
        """What `restore` goes on from."""
        coverage = None if self.coverage is None else self.coverage.state()
        return {"cases": self.cases, "lines": self.lines, "parts": dict(self.parts), "coverage": coverage}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what was noted."""
        self.cases, self.lines, self.parts = state["cases"], state["lines"], Counter(state["parts"])
        if self.coverage is not None:
            self.coverage = Coverage.restore(self.coverage.plan, state["coverage"])


def manifest(wanted: Wanted, counts: Counts, digests: Mapping[str, str], files: Sequence[str]) -> bytes:
    """The manifest's bytes."""
    unit, layout = wanted.unit, layouts(wanted.unit, files)
    data = {
        "generator": "hwsim vectors",
        "hwsim": hwsim.__version__,
        "code": identity("hwsim.cosim.vectors.make"),
        "version": VERSION,
        "suite": wanted.suite,
        "seed": wanted.seed,
        "cases": counts.cases,
        "lines": counts.lines,
        "parts": {name: _part(made, of, why) for name, made, of, why in counts.made()},
        "discrimination": _discrimination(counts.planned.told()),
        "coverage": _bins(counts.coverage),
        "unit": unit.model_dump(mode="json", exclude_unset=True),
        "formats": {name: fmt.model_dump(mode="json", exclude_unset=True) for name, fmt in used_formats(unit).items()},
        "files": {name: _file(layout.get(name), digest) for name, digest in sorted(digests.items())},
    }
    data = {key: value for key, value in data.items() if value is not None}
    text = yaml.safe_dump(data, sort_keys=False, width=110, allow_unicode=True)
    return (NOTE + text).encode()


def used_formats(unit: Unit) -> dict[str, Format]:
    """The formats that codes of a set are in, by name."""
    return {fmt.name: fmt for fmt in (*column_formats(unit).values(), unit.output, unit.result.format)}


def _part(made: int, of: int | None, why: str) -> dict[str, Any]:
    return {"cases": made} | ({"why": why} if why else {"of": of} if of is not None else {})


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
