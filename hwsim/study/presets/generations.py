"""Units of GPUs and CPUs that multiply the same formats, and what they return of the same codes."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hwsim.compute.products import gemm
from hwsim.formats import FloatFormat, get_format
from hwsim.formats.blocks import BlockScale, one_code, scale_shape
from hwsim.spec import Unit, load_unit, presets
from hwsim.study.accuracy.exact import DoubleDouble, difference, exact_product, magnitude
from hwsim.study.accuracy.measures import measure, ulps
from hwsim.study.data import Drawn
from hwsim.study.presets.rounding import float_format

MAKERS = ("volta", "ampere", "ada", "hopper", "blackwell", "geforce", "cdna1", "cdna2", "cdna3", "intel")
FORMATS_OF_NAME = re.compile(r"-(?:e\dm\d\w*|b?f16|[tx]f32)-f(?:16|32)(?=-|$)")
# Left out: a shorter K, other scales' blocks, an addend in f16; in 16 bits and tf32 what is not `mma.sync` or MFMA, and
# Turing and GeForce, whose groups are those of Ampere and of Blackwell.
VARIANT = re.compile(r"-k\d+-|-e8m0-|-addend-")
SAME_GROUPS = re.compile(r"(turing|geforce)-|\w+-(wgmma|tcgen05)-")
WIDE_FACTORS, FMAS, FP8 = {"f16", "bf16", "tf32"}, {"f32", "f64"}, {"e4m3", "e5m2"}
SAYINGS = {"unit", "summary", "evidence", "source"}
Results = NDArray[np.floating]


@dataclass(frozen=True)
class EquivalentUnits:
    """Units whose specifications say the same, but for names and sources."""

    units: tuple[Unit, ...]

    @property
    def label(self) -> str:
        """The units' names without their formats: `hopper-mma, blackwell-mma`."""
        names = [FORMATS_OF_NAME.sub("", unit.name) for unit in self.units]
        return ", ".join(sorted(names, key=lambda name: MAKERS.index(name.split("-")[0])))

    @property
    def short(self) -> str:
        """The same, without what all have: `hopper, blackwell mma`; else the first name, and the others' makers."""
        makers, instructions = zip(*(name.rsplit("-", 1) for name in self.label.split(", ")), strict=True)
        if len(set(instructions)) == 1:
            return f"{', '.join(makers)} {instructions[0]}"
        return ", ".join((f"{makers[0]} {instructions[0]}", *(maker.split("-")[0] for maker in makers[1:])))

    @property
    def unit(self) -> Unit:
        """One of them."""
        return self.units[0]


@dataclass(frozen=True)
class FormatGroup:
    """All units that take factors of the same numbers and return a format of the same width.

    a, b: the factors' formats; an `fnuz` format counts as the one of its name without. result: f32 or f16; e8m13 is
    f32, as what it returns is.
    """

    a: str
    b: str
    result: str
    members: tuple[EquivalentUnits, ...]

    @property
    def name(self) -> str:
        """What it multiplies and returns."""
        return f"{self.a if self.a == self.b else f'{self.a} x {self.b}'} to {self.result}"

    @property
    def units(self) -> int:
        """How many units it has."""
        return sum(len(member.units) for member in self.members)


def groups() -> list[FormatGroup]:
    """The groups of presets of real hardware, by their formats, without those that bring no arithmetic of their own."""
    found: dict[tuple[str, str, str], dict[str, list[Unit]]] = defaultdict(lambda: defaultdict(list))
    for name in presets():
        if name.split("-")[0] not in MAKERS:
            continue
        unit = load_unit(name)
        a, b = (fmt.name.removesuffix("fnuz") for fmt in (unit.operands.a, unit.operands.b))
        if _compared(name, a, b):
            result = "f16" if unit.output.name == "f16" else "f32"
            found[a, b, result][arithmetic_of(unit)].append(unit)
    return [
        FormatGroup(*key, tuple(sorted((EquivalentUnits(tuple(units)) for units in alike.values()), key=_place)))
        for key, alike in sorted(found.items())
    ]


def _compared(name: str, a: str, b: str) -> bool:
    """Whether a preset with these factors is in a group."""
    if VARIANT.search(name) or a in FMAS:
        return False
    return not SAME_GROUPS.match(name) if a in WIDE_FACTORS else a == b or {a, b} == FP8


def arithmetic_of(unit: Unit) -> str:
    """All that decides what a unit returns, as text."""
    data = unit.model_dump(mode="json")
    return json.dumps({key: value for key, value in data.items() if key not in SAYINGS}, sort_keys=True)


def _place(member: EquivalentUnits) -> tuple[int, str]:
    return MAKERS.index(member.label.split("-")[0]), member.label


@dataclass(frozen=True)
class Pair:
    """What two units return of the same codes.

    share: of the results, those that differ in bits. ulp: the largest difference, in `Compared.ulp`. snr: of the first
    one's results over the difference, in dB; infinite where nothing differs.
    """

    share: float
    ulp: float
    snr: float


@dataclass(frozen=True)
class UnitError:
    """One unit's results against the exact sums.

    nearest: the share that is the exact sum rounded to nearest. ulp: the largest error, in `Compared.ulp`. snr: in dB.
    shrink: the mean error towards zero over the mean magnitude of the exact sums.
    """

    nearest: float
    ulp: float
    snr: float
    shrink: float


@dataclass(frozen=True)
class Compared:
    """A group on one matrix product."""

    group: FormatGroup
    exact: DoubleDouble
    magnitude: NDArray[np.float64]
    returned: tuple[Results, ...]

    @property
    def format(self) -> FloatFormat:
        """What all results are in, or fit in."""
        return float_format(self.group.result)

    @cached_property
    def ulp(self) -> float:
        """An ulp of the result's format at the root mean square of the exact sums.

        It is one for all: sums that cancel have ulps of their own that are as small as one likes.
        """
        size = np.sqrt(np.mean(self.exact.hi**2, keepdims=True))
        return float(ulps(self.format, DoubleDouble.of(size)).max())

    @cached_property
    def pairs(self) -> dict[tuple[int, int], Pair]:
        """All pairs of its arithmetics, by their places."""
        return {(i, j): self._pair(i, j) for i, j in combinations(range(len(self.returned)), 2)}

    @cached_property
    def errors(self) -> tuple[UnitError, ...]:
        """Each arithmetic's own error."""
        rounded = nearest(self.exact, self.returned[0].dtype)
        return tuple(self._error(one, rounded) for one in self.returned)

    @property
    def different(self) -> int:
        """How many different matrices came back."""
        return len({one.tobytes() for one in self.returned})

    def _pair(self, i: int, j: int) -> Pair:
        x, y = self.returned[i], self.returned[j]
        gap = np.abs(x.astype(np.float64) - y.astype(np.float64))
        power = float(np.sum(gap**2))
        signal = float(np.sum(x.astype(np.float64) ** 2))
        return Pair(
            float(np.mean(_bits(x) != _bits(y))),
            float(gap.max()) / self.ulp,
            10 * float(np.log10(signal / power)) if power else np.inf,
        )

    def _error(self, returned: Results, rounded: Results) -> UnitError:
        values = DoubleDouble.of(returned.astype(np.float64))
        found = measure(values, self.exact, self.magnitude)
        largest = float(np.abs(difference(values, self.exact)).max()) / self.ulp
        return UnitError(float(np.mean(_bits(returned) == _bits(rounded))), largest, found["snr_db"], found["shrink"])


def compare(group: FormatGroup, drawn: Drawn) -> Compared:
    """What all units of a group return of the same numbers, rounded once to the factors' formats."""
    a, b = _rounded(group, "a", drawn.a), _rounded(group, "b", drawn.b)
    returned = tuple(_returned(member.unit, a, b) for member in group.members)
    return Compared(group, exact_product(a, b), magnitude(a, b), returned)


def nearest(exact: DoubleDouble, dtype: np.dtype[np.floating]) -> Results:
    """Exact numbers rounded once, to nearest even, to float32 or float16 (round to odd in float64 first)."""
    inward = np.where(exact.hi * exact.lo < 0, np.nextafter(exact.hi, 0), exact.hi)
    odd = inward.view(np.int64) | (exact.lo != 0)
    return np.asarray(odd.view(np.float64).astype(dtype))


def _rounded(group: FormatGroup, which: str, numbers: NDArray[np.float32]) -> NDArray[np.float64]:
    """Numbers of the group's format that every one of its units has; RNE, saturating."""
    own = get_format(getattr(group, which))
    others = dict.fromkeys(getattr(member.unit.operands, which) for member in group.members)
    values = numbers.astype(np.float64)
    for fmt in (own, *others, own):
        values = fmt.decode(fmt.encode(values))
    return values


def _returned(unit: Unit, a: NDArray[np.float64], b: NDArray[np.float64]) -> Results:
    scale_a = scale_b = None
    if unit.scale is not None:
        scale_a, scale_b = _ones(unit.scale.a, (len(a), a.shape[1])), _ones(unit.scale.b, (len(b), b.shape[1]))
    made = gemm(unit, unit.operands.a.encode(a), unit.operands.b.encode(b), None, scale_a, scale_b)
    return np.asarray(made)


def _ones(scale: BlockScale, shape: tuple[int, int]) -> NDArray[np.uint8]:
    return np.full(scale_shape(shape[0], shape[1], scale.block), one_code(scale.format), np.uint8)


def _bits(values: Results) -> NDArray[np.unsignedinteger]:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")
