"""Units drawn from the whole schema, and operands for any unit: what no one thought of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from model.model_units import Case
from pydantic import ValidationError

from hwsim.c import UnitInC
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, formats
from hwsim.spec import NotImplementedYet, Unit

ROUNDINGS, LOST = ("rne", "rna", "rz", "ru", "rd", "rto"), ("truncate", "floor", "jam", "rne", "rna", "ones-complement")
OWN: dict[str, dict[str, Any]] = {
    "bare-nearby": {"exponent_bits": 4, "fraction_bits": 3, "bias": 9, "subnormals": False, "nan": [0x7F, 0xFF]},
    "bare-zero": {
        "exponent_bits": 5, "fraction_bits": 4, "bias": 12, "subnormals": False, "underflow": "zero",
        "nan": "ieee", "infinities": True,
    },
    "long": {"exponent_bits": 10, "fraction_bits": 12, "bias": 511, "nan": "ieee", "infinities": True},
    "fine": {"exponent_bits": 3, "fraction_bits": 28, "bias": 3, "nan": "ieee", "infinities": True},
    "plain": {"exponent_bits": 3, "fraction_bits": 1, "bias": 2},
    "padded": {"exponent_bits": 6, "fraction_bits": 6, "bias": 20, "nan": [0x0FFF, 0x1FFF], "container": 16},
    "power": {"kind": "exponent", "exponent_bits": 5, "bias": 15},
    "quarter": {"kind": "fixed", "integer_bits": 3, "fraction_bits": 2},
}  # fmt: skip
OWN = {name: {"kind": "float", "name": name, **keys} for name, keys in OWN.items()}


class Drawn:
    """Random choices of a unit."""

    def __init__(self, random: np.random.Generator):
        self.random = random

    def one(self, *choices: Any) -> Any:
        """One of these."""
        return choices[int(self.random.integers(len(choices)))]

    def some(self, chance: float, **keys: Any) -> dict[str, Any]:
        """These keys, or none."""
        return keys if self.random.random() < chance else {}

    def format(self) -> Any:
        """A shipped format's name, or one of our own."""
        return self.one(*(name for name in formats() if name != "f64"), *OWN.values())

    def float(self) -> Any:
        """A format that sums can have."""
        return self.one("f32", "f16", "bf16", "e8m13", "e5m2", "e4m3", "dlfloat16", "tf32", *OWN.values())

    def mapping(self) -> dict[str, Any]:
        """A unit's mapping, which may break a rule."""
        one, some, number = self.one, self.some, lambda *ends: int(self.random.integers(*ends))
        method = one("aligned", "aligned", "even-odd", "exact", "sequential", "pairwise")
        lanes, groups = number(1, 7), number(1, 4)
        rule: dict[str, Any] = {"method": method}
        if method in ("aligned", "even-odd"):
            rule |= {"fraction_bits": one(0, 3, 9, 14, 26, 40, 70, 150), "lost": one(*LOST)}
            rule |= some(0.3, zero_terms="count") | some(0.2, max_exp_floor=number(-20, 12)) | some(0.3, zero="ieee")
            if method == "even-odd":
                rule["combine"] = {"fraction_bits": one(0, 5, 13, 30, 80), "lost": one(*LOST)}
        elif method == "exact":
            rule |= some(0.5, rounded=one("end", "group")) | some(0.3, zero="ieee")
        else:
            rule |= {"product": one("rounded", "fused"), "format": self.float(), "rounding": one(*ROUNDINGS)}
            rule |= some(0.3, flush=True)
        rule |= some(0.2, product_limit=number(-5, 20))
        made: dict[str, Any] = {
            "unit": "drawn",
            "operands": {
                "a": self.format(), "b": self.format(), "addend": one("none", self.float(), "i32"),
                **some(0.3, daz=True), **some(0.3, zeros="positive"), **some(0.2, convert=self.float()),
            },
            "instruction": {"k": lanes * groups, "lanes": lanes, "chain": one("addend", "none")},
            "result": {
                "format": one(self.float(), self.float(), "i32", "quarter"), "rounding": one(*ROUNDINGS),
                "overflow": one("infinity", "nan", "saturate", "propagate", "ieee", "wrap"),
                **some(0.3, tiny="positive"), **some(0.2, subnormals="flush"),
            },
        }  # fmt: skip
        if made["result"]["format"] == "quarter":
            made["result"]["format"] = OWN["quarter"]
        at = one("product", "subgroup", "promotion", "none", "none")
        if at != "none":
            made["scale"] = {
                "a": {"format": self.format(), "block": [1, lanes * one(1, 2)]},
                "b": {"format": self.format(), "block": [lanes * one(1, 2), 1]},
                "at": at,
            }
            if at == "subgroup" and method == "aligned":
                rule["subgroup"] = {"lanes": one(1, lanes), "method": "exact", "exponent": "scales"}
                rule["subgroup"] |= some(0.5, cancelled="count")
        if at == "promotion" or self.random.random() < 0.2:
            made["promotion"] = {
                "interval": lanes * one(1, 2), "format": self.float(), "rounding": one(*ROUNDINGS),
                "operation": "fma" if at == "promotion" else "add",
            }  # fmt: skip
        elif self.random.random() < 0.4:
            rule["addend"] = "late"
            made["instruction"]["start"] = "zero"
            add = {"operation": "add", "format": self.float(), "rounding": one(*ROUNDINGS), **some(0.3, flush=True)}
            bits = {"sum_bits": one(4, 20, 90), "addend_bits": one(4, 22, 60), "lost": one(*LOST)}
            bits |= some(0.4, drop_below=number(0, 30)) | some(0.4, total_bits=number(0, 40))
            made["late"] = one(add, {"operation": "window", **bits, **some(0.4, zero_addend="count")})
        if groups == 2 and self.random.random() < 0.3:
            made["instruction"]["order"] = {"modulo": 2, "groups": one([[0], [1]], [[1], [0]])}
        return {**made, "sum": rule}


def drawn_units(count: int, seed: int) -> Iterator[Unit]:
    """Units that break no rule, and that C takes."""
    draw = Drawn(np.random.default_rng(seed))
    while count:
        try:
            unit = Unit.model_validate(draw.mapping())
            UnitInC(unit, "")
        except (ValidationError, NotImplementedYet):
            continue
        count -= 1
        yield unit


def drawn_cases(unit: Unit, count: int, random: np.random.Generator) -> Iterator[Case]:
    """Operands of a unit: any codes, codes near one another, few of them other than zero."""
    scale = unit.scale
    blocks = (scale.a.block[1], scale.b.block[0]) if scale else (1, 1)
    step = int(np.lcm(*blocks))
    longest = unit.instruction.k if unit.instruction.chain is None else 3 * unit.instruction.k
    for index in range(count):
        most = max(1, longest // step)
        k = step * int(random.integers(1, most + 1))
        if unit.instruction.chain is None and k > unit.instruction.k:
            return
        kind = ("any", "near", "sparse", "small")[index % 4]
        a, b = (codes(fmt, k, kind, random) for fmt in (unit.operands.a, unit.operands.b))
        c = 0 if unit.operands.addend is None else codes(unit.operands.addend, 1, kind, random)[0]
        sides: list[list[int]] = [[], []]
        if scale is not None:
            sides = [
                codes(side.format, k // length, kind, random)
                for side, length in zip((scale.a, scale.b), blocks, strict=True)
            ]
        yield Case(a, b, c, *sides)


def codes(fmt: Format, count: int, kind: str, random: np.random.Generator) -> list[int]:
    """Codes of a format. kind: any; of few binades; mostly zeros; subnormals and zeros mostly."""
    if isinstance(fmt, FixedFormat):
        drawn = random.integers(0, 1 << fmt.bits, count)
        return np.where(random.random(count) < (0.7 if kind == "sparse" else 0.1), 0, drawn).tolist()  # type: ignore[no-any-return]
    if isinstance(fmt, ExponentFormat):
        if kind in ("near", "small"):
            middle = min(max(fmt.bias, fmt.min_code), fmt.max_code)
            drawn = np.clip(middle + random.integers(-3, 4, count), fmt.min_code, fmt.max_code)
            return drawn.tolist()  # type: ignore[no-any-return]
        return random.integers(0, 1 << fmt.bits, count).tolist()  # type: ignore[no-any-return]
    assert isinstance(fmt, FloatFormat)
    magnitudes = random.integers(0, fmt.sign_bit, count)
    if kind == "near":
        bexp = np.clip(fmt.bias + random.integers(-3, 4, count), 0, fmt.max_magnitude >> fmt.fraction_bits)
        magnitudes = bexp << fmt.fraction_bits | magnitudes & (1 << fmt.fraction_bits) - 1
    elif kind == "small":
        magnitudes &= (2 << fmt.fraction_bits) - 1
    elif kind == "sparse":
        magnitudes = np.where(random.random(count) < 0.6, 0, magnitudes)
    signs = random.integers(0, 2, count) * fmt.sign_bit if fmt.signed else 0
    return ((magnitudes | signs) << fmt.padding).tolist()  # type: ignore[no-any-return]
