"""Mistakes of what is wired to what: lanes, bits, scales, the addend, and what goes from one sum to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from hwsim.cases.case import Case, block_lengths
from hwsim.explain.mistakes.flaw import Flaw, Side
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.model.terms import Term
from hwsim.spec import Unit

Port = Literal["a", "b", "c", "result"]
ScaleMistake = Literal["ignored", "subtracted", "doubled", "next block", "first block", "reversed"]


def negated(fmt: Format, code: int) -> int:
    """The code of the number with the other sign, as a design makes it: a flipped bit, or a two's complement."""
    match fmt:
        case FloatFormat():
            return code ^ (fmt.sign_bit << fmt.padding if fmt.signed else 0)
        case FixedFormat():
            return -code % (1 << fmt.bits)
        case ExponentFormat():
            return code
        case _:
            assert_never(fmt)


def port_format(unit: Unit, port: Port) -> Format | None:
    """The format of what passes a port; None where the unit has none such."""
    match port:
        case "a":
            return unit.operands.a
        case "b":
            return unit.operands.b
        case "c":
            return unit.operands.addend
        case "result":
            return unit.output
        case _:
            assert_never(port)


@dataclass(frozen=True)
class OfPort(Flaw, ABC):
    """Something that is wrong with every code of a port."""

    port: Port

    @abstractmethod
    def turned(self, fmt: Format, code: int) -> int:
        """What a code of the port becomes. fmt: its format."""

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        fmt = port_format(unit, self.port)
        if self.port == "result" or fmt is None:
            return case
        codes = (case.c,) if self.port == "c" else getattr(case, self.port)
        made = tuple(self.turned(fmt, code) for code in codes)
        return replace(case, **{self.port: made[0] if self.port == "c" else made})  # type: ignore[arg-type]

    def code(self, unit: Unit, code: int) -> int:
        """As in `Flaw`."""
        return self.turned(unit.output, code) if self.port == "result" else code


class BitsReversed(OfPort):
    """The bits of every code are in the other order."""

    def turned(self, fmt: Format, code: int) -> int:
        """As in `OfPort`; the padding stays."""
        bare = code >> fmt.padding
        return int(f"{bare:0{fmt.bits}b}"[::-1], 2) << fmt.padding


class Negated(OfPort):
    """The sign is flipped."""

    def turned(self, fmt: Format, code: int) -> int:
        """As in `OfPort`."""
        return negated(fmt, code)


class SignIgnored(OfPort):
    """The sign bit is taken for 0."""

    def turned(self, fmt: Format, code: int) -> int:
        """As in `OfPort`."""
        if not isinstance(fmt, FloatFormat | FixedFormat) or not fmt.signed:
            return code
        return code & ~(fmt.sign_bit << fmt.padding)


@dataclass(frozen=True)
class PartsReversed(OfPort):
    """Every code is put together from its parts in the other order. bits: of a part."""

    bits: int

    def turned(self, fmt: Format, code: int) -> int:
        """As in `OfPort`; nobody reads the padding."""
        mask, made = (1 << self.bits) - 1, 0
        for place in range(0, fmt.container_bits, self.bits):
            made = made << self.bits | code >> place & mask
        return made >> fmt.padding << fmt.padding


@dataclass(frozen=True)
class LanesMoved(Flaw):
    """The lanes of one side of each beat come from others. source: the lane that each lane takes its factor from."""

    side: Side
    source: tuple[int, ...]

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        count = len(self.source)
        codes = case.a if self.side == "a" else case.b
        if len(codes) % count:  # of a unit with other groups
            return case
        moved = tuple(codes[i - i % count + self.source[i % count]] for i in range(len(codes)))
        return replace(case, a=moved) if self.side == "a" else replace(case, b=moved)


@dataclass(frozen=True)
class ProductsMoved(Flaw):
    """Products stand in other lanes' places, which counts where sums are rounded. source: of each lane."""

    source: tuple[int, ...]

    def products(self, products: tuple[Term, ...]) -> tuple[Term, ...]:
        """As in `Flaw`; of a unit with other groups, as specified."""
        return tuple(products[at] for at in self.source) if len(products) == len(self.source) else products


@dataclass(frozen=True)
class LaneRepeated(Flaw):
    """A lane's product stands in another lane's place too."""

    lane: int
    source: int

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`; of a unit with fewer lanes, as specified."""
        lanes = unit.instruction.lanes
        if max(self.lane, self.source) >= lanes:
            return case

        def taken(codes: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(
                codes[i - self.lane + self.source] if i % lanes == self.lane else code for i, code in enumerate(codes)
            )

        return replace(case, a=taken(case.a), b=taken(case.b))


@dataclass(frozen=True)
class LaneNegated(Flaw):
    """A lane's product is subtracted."""

    lane: int

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        fmt, lanes = unit.operands.a, unit.instruction.lanes
        return replace(
            case, a=tuple(negated(fmt, code) if i % lanes == self.lane else code for i, code in enumerate(case.a))
        )


@dataclass(frozen=True)
class ScaleWrong(Flaw):
    """The scales of one side enter in a way that is a mistake. side: whose.

    Blocks are mixed up within a group, or, where a group has a single one, within the whole dot product.
    """

    side: Side
    mistake: ScaleMistake

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        if unit.scale is None:
            return case
        fmt = unit.scale.of(self.side).format
        codes = case.scale_a if self.side == "a" else case.scale_b
        together = unit.instruction.lanes // block_lengths(unit)[0 if self.side == "a" else 1]
        size = together if together > 1 else len(codes)
        parts = (codes[first : first + size] for first in range(0, len(codes), size))
        made = tuple(code for part in parts for code in self._made(fmt, part))
        return replace(case, scale_a=made) if self.side == "a" else replace(case, scale_b=made)

    def _made(self, fmt: Format, codes: tuple[int, ...]) -> tuple[int, ...]:
        if not isinstance(fmt, ExponentFormat):
            return codes
        match self.mistake:
            case "ignored":
                return self._each(fmt, codes, lambda code: fmt.bias)
            case "subtracted":
                return self._each(fmt, codes, lambda code: 2 * fmt.bias - code)
            case "doubled":
                return self._each(fmt, codes, lambda code: 2 * code - fmt.bias)
            case "next block":
                return (*codes[1:], *codes[:1])
            case "first block":
                return codes[:1] * len(codes)
            case "reversed":
                return codes[::-1]
            case _:
                assert_never(self.mistake)

    def _each(self, fmt: ExponentFormat, codes: tuple[int, ...], made: Callable[[int], int]) -> tuple[int, ...]:
        """The codes by a rule, as far as it stays inside the format; NaNs stay."""
        return tuple(code if fmt.is_nan(code) else min(max(made(code), fmt.min_code), fmt.max_code) for code in codes)


@dataclass(frozen=True)
class SumForgotten(Flaw):
    """Only the last group of a dot product counts. keeps_addend: whether the addend is still added."""

    keeps_addend: bool

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        first = len(case.a) - unit.instruction.fill
        if first <= 0:
            return case
        made = replace(case, a=case.a[first:], b=case.b[first:], c=case.c if self.keeps_addend else 0)
        if unit.scale is None:
            return made
        lengths = block_lengths(unit)
        if any(first % length and first // length != (len(case.a) - 1) // length for length in lengths):
            return case  # a block that begins before the last group, and ends within it, is none of a shorter case
        return replace(made, scale_a=case.scale_a[first // lengths[0] :], scale_b=case.scale_b[first // lengths[1] :])


@dataclass(frozen=True)
class NotCleared(Flaw):
    """A sum goes on from the result before it, in the place of its addend."""

    def case(self, unit: Unit, case: Case, before: int | None) -> Case:
        """As in `Flaw`."""
        return case if before is None else replace(case, c=before)
