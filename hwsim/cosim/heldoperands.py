"""Operands that a design has no port for, and that are the same numbers in every case: `ports: {b: 1.0}`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hwsim.cases.case import Case
from hwsim.cases.matrices import GemmProblem
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, container_dtype

NARROW_BITS = 4  # of a number's significand, up to which a format of few other numbers stands in for its own
FACTORS = (("a", "b"), ("b", "a"))


@dataclass(frozen=True)
class StandIn:
    """A format of zero and few numbers, among them those of an operand that is always the same: cases are drawn for it.

    keys: of the format. codes: of the operand's numbers there. sign: weight of a code's sign; 0 where it has none.
    """

    keys: Mapping[str, Any]
    codes: tuple[int, ...]
    sign: int = 0

    def over(self, count: int) -> tuple[int, ...]:
        """The codes of so many elements."""
        return tuple(self.codes[element % len(self.codes)] for element in range(count))


@dataclass(frozen=True)
class HeldOperand:
    """An operand that is the same numbers in every case.

    numbers: one for each element of a beat, or one for all. codes: those of the operand's format. fmt: this.
    stand_in: None where there is none.
    """

    name: str
    numbers: tuple[float, ...]
    codes: tuple[int, ...]
    fmt: Format
    stand_in: StandIn | None = None

    @property
    def said(self) -> str:
        """The numbers in words."""
        shown = [f"{number:g}" for number in dict.fromkeys(self.numbers)]
        return shown[0] if len(shown) == 1 else f"[{', '.join(f'{number:g}' for number in self.numbers)}]"

    def over(self, count: int) -> tuple[int, ...]:
        """The codes of so many elements."""
        return tuple(self.codes[element % len(self.codes)] for element in range(count))


@dataclass(frozen=True)
class HeldOperands:
    """All held operands of a design, by name; most designs have none.

    Cases are drawn for a unit in which formats of few numbers stand in for theirs: `drawn` makes cases of the design of
    them, with the same products, and `as_drawn` says of a case of the design what it would be there.
    formats: of all operands, by name.
    """

    by_name: Mapping[str, HeldOperand] = field(default_factory=dict)
    formats: Mapping[str, Format] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __str__(self) -> str:
        return ", ".join(f"{name} = {operand.said}" for name, operand in self.by_name.items())

    def _fields(self, case: Case) -> Iterator[tuple[str, tuple[int, ...] | int]]:
        """Yield the name of each held operand, and its value in such a case."""
        for name, operand in self.by_name.items():
            yield name, operand.codes[0] if name == "c" else operand.over(len(getattr(case, name)))

    def differs(self, case: Case) -> str:
        """The operand in a case that the design cannot take, in words; empty where there is none."""
        others = (name for name, held in self._fields(case) if getattr(case, name) != held)
        return next((f"{name} other than {self.by_name[name].said}" for name in others), "")

    def put(self, case: Case) -> Case:
        """Return a case with the held operands in the place of its own."""
        return replace(case, **dict(self._fields(case))) if self else case  # type: ignore[arg-type]

    def drawn(self, cases: Iterable[Case], *, solved: bool = False) -> list[Case]:
        """Turn cases drawn for the unit with stand-ins into cases of the design; of equal ones the first is kept.

        solved: whether their products are to stay what they are: for bins. Others keep their other factors.
        """
        if not self:
            return list(cases)
        distinct: dict[object, Case] = {}
        for case in cases:
            held = self.put(self._with_products(case) if solved else case)
            distinct.setdefault((held.a, held.b, held.c, held.scale_a, held.scale_b), held)
        return list(distinct.values())

    def _with_products(self, case: Case) -> Case:
        """Change a case's other factors so that, with the held ones, its products stay; of one lane they may differ."""
        for name, opposite in FACTORS:
            operand = self.by_name.get(name)
            if operand is not None and operand.stand_in is not None:
                drawn, codes = getattr(case, name), list(getattr(case, opposite))
                sign = operand.stand_in.sign
                for lane, (code, held) in enumerate(zip(drawn, operand.stand_in.over(len(drawn)), strict=True)):
                    if not code & ~sign and len(drawn) > 1:
                        codes[lane] = 0
                    elif (code ^ held) & sign:
                        codes[lane] = negated(self.formats[opposite], codes[lane])
                case = replace(case, **{opposite: tuple(codes)})  # type: ignore[arg-type]
        return case

    def as_drawn(self, case: Case) -> Case:
        """Turn a case of the design into a case of the unit that cases are drawn for."""
        operands: dict[str, Any] = {}
        for name, operand in self.by_name.items():
            if operand.stand_in is not None:
                operands[name] = (
                    operand.stand_in.codes[0] if name == "c" else operand.stand_in.over(len(getattr(case, name)))
                )
            elif name == "c" and not any(operand.numbers):
                operands["c"] = 0  # the unit that cases are drawn for has no addend
        return replace(case, **operands)

    def in_product(self, problem: GemmProblem) -> GemmProblem:
        """Return a matrix product with the held operands in the place of its own."""
        rows, columns = problem.A.shape[0], problem.B.shape[1]
        arrays: dict[str, Any] = {}
        for name, operand in self.by_name.items():
            dtype = container_dtype(operand.fmt)
            if name == "c":
                arrays["C"] = np.full((rows, columns), operand.codes[0], dtype)
                continue
            key = name.upper() if name in ("a", "b") else name
            shape = getattr(problem, key).shape
            along = np.array(operand.over(shape[1] if key in ("A", "scale_a") else shape[0]), dtype)
            arrays[key] = np.ascontiguousarray(
                np.broadcast_to(along if key in ("A", "scale_a") else along[:, None], shape)
            )
        return replace(problem, **arrays)

    def without_stand_ins(self) -> HeldOperands:
        """The same operands, for cases that are drawn for the design's own unit."""
        return replace(self, by_name={name: replace(operand, stand_in=None) for name, operand in self.by_name.items()})


NONE_HELD = HeldOperands()


def negated(fmt: Format, code: int) -> int:
    """The code of the negated number; the same code where the format has none."""
    if isinstance(fmt, FixedFormat):
        return -code & (1 << fmt.bits) - 1 if fmt.signed else code
    return code ^ fmt.sign_bit << fmt.padding if isinstance(fmt, FloatFormat) and fmt.signed else code


def code_of_number(fmt: Format, number: float) -> int | None:
    """The code of a number, or None where the format does not have it."""
    try:
        codes = fmt.encode([number], "rne", "saturate", "error")
    except ValueError:
        return None
    (value,) = fmt.decode(codes).tolist()
    same = value == number and math.copysign(1.0, float(value)) == math.copysign(1.0, number)
    return int(codes[0]) if same else None


def held_operand(name: str, fmt: Format, numbers: Sequence[float]) -> HeldOperand | None:
    """An operand that is always these numbers; None where its format lacks one of them."""
    codes = [code_of_number(fmt, number) for number in numbers]
    kept = tuple(code for code in codes if code is not None)
    if len(kept) != len(codes):
        return None
    return HeldOperand(name, tuple(numbers), kept, fmt, _stand_in(name, fmt, numbers))


def _stand_in(name: str, fmt: Format, numbers: Sequence[float]) -> StandIn | None:
    """A stand-in for numbers of a single magnitude of few bits; None for others."""
    magnitudes = {abs(number) for number in numbers}
    if len(magnitudes) != 1 or not all(magnitudes):
        return None
    above, below = magnitudes.pop().as_integer_ratio()
    exp = (above & -above).bit_length() - below.bit_length()
    sig = above // (above & -above)
    called = {"name": f"{name.replace('_', '-')}-held"}
    if isinstance(fmt, ExponentFormat):
        return StandIn({**called, "kind": "exponent", "exponent_bits": 1, "bias": -exp, "nan": [1]}, (0,))
    fraction = sig.bit_length() - 1
    if fraction >= NARROW_BITS:
        return None
    keys = {**called, "kind": "float", "exponent_bits": 1, "fraction_bits": fraction, "bias": 1 - fraction - exp}
    if name.startswith("scale_"):
        return StandIn({**keys, "signed": False, "signed_zero": False}, (sig,))
    sign = 1 << fraction + 1
    return StandIn(keys, tuple(sig | (sign if number < 0 else 0) for number in numbers), sign)
