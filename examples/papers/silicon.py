"""The same matrix product on every matrix unit of real hardware: where two generations differ, and by how much.

Units are those that captures of V100 to B200 GPUs and MMA-Sim settle; `hwsim units NAME` has each unit's sources. A
group are all units that take factors of the same numbers and return a format of the same width; those whose
specifications say the same stand together. Prints the tables of docs/studies/silicon.md.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from paper import Record, figure, options, pivot, table

import hwsim
from hwsim.study import DoubleDouble, difference, draw, exact_product, parse_data

MAKERS = ("volta", "ampere", "ada", "hopper", "blackwell", "geforce", "cdna1", "cdna2", "cdna3", "intel")
FORMATS_OF_NAME = re.compile(r"-(?:e\dm\d\w*|b?f16|[tx]f32)-f(?:16|32)(?=-|$)")
# Left out: a shorter K, other scales' blocks, an addend in f16; in 16 bits and tf32 what is not `mma.sync` or MFMA, and
# Turing and GeForce, whose groups are those of Ampere and of Blackwell.
VARIANT = re.compile(r"-k\d+-|-e8m0-|-addend-")
SAME_GROUPS = re.compile(r"(turing|geforce)-|\w+-(wgmma|tcgen05)-")
WIDE_FACTORS, FMAS, FP8 = {"f16", "bf16", "tf32"}, {"f32", "f64"}, {"e4m3", "e5m2"}
SAYINGS = {"unit", "summary", "evidence", "source"}
SHOWN = ("e4m3 to f32", "e5m2 to f32", "f16 to f32", "bf16 to f32", "tf32 to f32")
EQUAL = 200.0  # dB: what a heatmap shows in the place of an infinite SNR
Key = tuple[str, str, str]


class Pair(NamedTuple):
    """Two units' results: the share that differs in bits, the largest difference in ulp, SNR of one over it in dB."""

    share: float
    ulp: float
    snr: float


class Compared(NamedTuple):
    """A group on one matrix product.

    members: units of one specification each. ulp: of the result's format at the root mean square of the exact sums.
    """

    members: list[list[Any]]
    exact: DoubleDouble
    returned: list[NDArray[Any]]
    ulp: float

    def pair(self, i: int, j: int) -> Pair:
        x, y = self.returned[i], self.returned[j]
        gap = np.abs(x.astype(np.float64) - y.astype(np.float64))
        power, signal = float(np.sum(gap**2)), float(np.sum(x.astype(np.float64) ** 2))
        snr = 10 * float(np.log10(signal / power)) if power else math.inf
        return Pair(float(np.mean(bits(x) != bits(y))), float(gap.max()) / self.ulp, snr)

    def errors(self, i: int) -> dict[str, float]:
        """Against the exact sums: the share rounded to nearest, the largest error in ulp, SNR in dB, shrink."""
        returned, exact = self.returned[i], self.exact
        error = difference(DoubleDouble.of(returned.astype(np.float64)), exact)
        power = float(np.sqrt(np.mean(error**2)))
        return {
            "nearest": float(np.mean(bits(returned) == bits(nearest(exact, returned.dtype)))),
            "ulp": float(np.abs(error).max()) / self.ulp,
            "snr": 20 * math.log10(float(np.sqrt(np.mean(exact.hi**2))) / power) if power else math.inf,
            "shrink": float(np.mean(-error * np.sign(exact.hi)) / np.mean(np.abs(exact.hi))),
        }


def main(arguments: Sequence[str] | None = None) -> None:
    args = options(__doc__, arguments)
    length, size = args.pick(64, 4096, 16384), args.pick(4, 64, 128)

    def compared(entry: Any) -> dict[str, Compared]:
        drawn = draw(parse_data(entry, Path()), args.seed, 0, length, size, size)
        return {group_name(key): compare(key, members, drawn) for key, members in groups().items()}

    normal = compared("normal")
    positive = compared({"distribution": "non-negative", "kind": "half-normal", "name": "half-normal"})
    rows = []
    for name, on_normal in normal.items():
        different = [len({result.tobytes() for result in of[name].returned}) for of in (normal, positive)]
        rows.append([name, str(sum(map(len, on_normal.members))), str(len(on_normal.members)), *map(str, different)])
    header = ["factors and result", "units", "specifications", "different results, normal", "half-normal"]
    table("Units and different results", header, rows)
    rows = []
    for name in SHOWN:
        for i, members in enumerate(normal[name].members):
            on_normal, on_positive = normal[name].errors(i), positive[name].errors(i)
            cells = [
                decibels(on_normal["snr"]),
                f"{100 * on_normal['nearest']:.1f}",
                ulps(on_normal["ulp"]),
                decibels(on_positive["snr"]),
            ]
            shrink = round(100 * on_positive["shrink"], 4) + 0.0  # never -0.0
            rows.append([name, short(members), *cells, f"{100 * on_positive['nearest']:.1f}", f"{shrink:.4f}"])
    header = [
        "formats",
        "units",
        "SNR, dB",
        "nearest, %",
        "largest, ulp",
        "half-normal: SNR, dB",
        "nearest, %",
        "shrink, %",
    ]
    table("Each unit against the exact sum", header, rows, 2)
    for name in SHOWN:
        pairs = of_pairs(normal[name])
        once = [pair for pair in pairs if pair["first"]]
        pivot(f"Pairs, {name}", once, {name: "unit"}, "other", lambda pair: str(pair["note"]))
        axes = ("Unit (the row of that number)", "SNR (dB)")
        look: dict[str, Any] = {"titles": axes, "kind": "heatmap"}
        figure(
            args, f"silicon-{name.split()[0]}", f"How alike units are, {name}", pairs, "number", "snr", "unit", **look
        )


def groups() -> dict[Key, list[list[Any]]]:
    """The units of real hardware by factors and result, those of one specification together.

    An `fnuz` format counts as the one of its name without; e8m13 is f32, as what it returns is.
    """
    command = [sys.executable, "-m", "hwsim", "units", "*"]
    wide = {**os.environ, "COLUMNS": "1000"}  # no name is cut
    listed = subprocess.run(command, capture_output=True, text=True, check=True, env=wide)
    units: dict[Key, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for name in (line.split()[0] for line in listed.stdout.splitlines()[1:] if line.strip()):
        if name.split("-")[0] not in MAKERS or "-sp-" in name or "int" in name:  # sparse ones, and integers
            continue
        unit: Any = hwsim.load_unit(name)
        a, b = (fmt.name.removesuffix("fnuz") for fmt in (unit.operands.a, unit.operands.b))
        plain = not VARIANT.search(name) and a not in FMAS
        if plain and (not SAME_GROUPS.match(name) if a in WIDE_FACTORS else a == b or {a, b} == FP8):
            data = {key: value for key, value in unit.model_dump(mode="json").items() if key not in SAYINGS}
            result = "f16" if unit.output.name == "f16" else "f32"
            units[a, b, result][json.dumps(data, sort_keys=True)].append(unit)
    return {key: sorted(alike.values(), key=place) for key, alike in sorted(units.items())}


def group_name(key: Key) -> str:
    a, b, result = key
    return f"{a if a == b else f'{a} x {b}'} to {result}"


def label(units: Sequence[Any]) -> str:
    """The units' names without their formats: `hopper-mma, blackwell-mma`."""
    names = [FORMATS_OF_NAME.sub("", unit.name) for unit in units]
    return ", ".join(sorted(names, key=lambda name: MAKERS.index(name.split("-")[0])))


def place(units: Sequence[Any]) -> tuple[int, str]:
    return MAKERS.index(label(units).split("-")[0]), label(units)


def short(units: Sequence[Any]) -> str:
    """The same, without what all have: `hopper, blackwell mma`; else the first name, and the others' makers."""
    makers, instructions = zip(*(name.rsplit("-", 1) for name in label(units).split(", ")), strict=True)
    if len(set(instructions)) == 1:
        return f"{', '.join(makers)} {instructions[0]}"
    return ", ".join((f"{makers[0]} {instructions[0]}", *(maker.split("-")[0] for maker in makers[1:])))


def compare(key: Key, members: list[list[Any]], drawn: Any) -> Compared:
    """Results of all units of a group for the same numbers, rounded once to formats that every one of them has."""
    units = [alike[0] for alike in members]
    a, b = (rounded(name, [getattr(unit.operands, side) for unit in units], getattr(drawn, side))
            for name, side in zip(key[:2], "ab", strict=True))  # fmt: skip
    exact = exact_product(a, b)
    fmt: Any = hwsim.get_format(key[2])
    size = math.frexp(float(np.sqrt(np.mean(exact.hi**2))))[1] - 1
    ulp = 2.0 ** (max(size, fmt.emin) - fmt.fraction_bits)
    return Compared(members, exact, [returned(unit, a, b) for unit in units], ulp)


def rounded(name: str, formats: list[Any], numbers: NDArray[np.float32]) -> NDArray[np.float64]:
    own: Any = hwsim.get_format(name)
    values = numbers.astype(np.float64)
    for fmt in (own, *dict.fromkeys(formats), own):
        values = fmt.decode(fmt.encode(values))
    return values


def returned(unit: Any, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[Any]:
    """The unit's results; scales, where it takes some, are 1."""
    scales = [None, None]
    if unit.scale is not None:
        for side_index, (side, x) in enumerate(((unit.scale.a, a), (unit.scale.b, b))):
            shape = [-(-n // step) for n, step in zip(x.shape, side.block, strict=True)]
            scales[side_index] = side.format.encode(np.ones(shape))
    return np.asarray(hwsim.gemm(unit, unit.operands.a.encode(a), unit.operands.b.encode(b), None, *scales))


def nearest(exact: DoubleDouble, dtype: Any) -> NDArray[Any]:
    """Exact numbers rounded once, to nearest even, to float32 or float16 (round to odd in float64 first)."""
    inward = np.where(exact.hi * exact.lo < 0, np.nextafter(exact.hi, 0), exact.hi)
    return np.asarray((inward.view(np.int64) | (exact.lo != 0)).view(np.float64).astype(dtype))


def bits(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")


def decibels(value: float) -> str:
    return "exact" if value == math.inf else f"{value:.1f}"


def ulps(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def of_pairs(group: Compared) -> list[Record]:
    """Every unit beside every other; `first` where it stands before it. Units are numbered."""
    names = [f"{number} {short(alike)}" for number, alike in enumerate(group.members, 1)]
    records = []
    for i, unit in enumerate(names):
        for j, other in enumerate(names):
            if i != j:
                pair = group.pair(min(i, j), max(i, j))
                note = (
                    f"{100 * pair.share:.1f} %; {ulps(pair.ulp)} ulp; {decibels(pair.snr)} dB"
                    if pair.share
                    else "equal"
                )
                of = {"unit": unit, "other": other, "number": str(j + 1), "first": i < j, "note": note}
                records.append(of | {"snr": EQUAL if math.isinf(pair.snr) else pair.snr})
    return records


if __name__ == "__main__":
    main()
