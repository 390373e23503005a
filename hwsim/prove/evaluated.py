"""Terms worked out for known numbers: what every bit vector in a term is, in each of several samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor

from hwsim.errors import InputError
from hwsim.prove.logic import Kind, Term, width

Numbers = Sequence[int]


def signed(number: int, bits: int) -> int:
    """The two's complement that an unsigned number of so many bits is."""
    return number - (1 << bits) if number >> bits - 1 else number


def _shifted_left(number: int, by: int, bits: int) -> int:
    return number << by if by < bits else 0


def _shifted_right(number: int, by: int, bits: int) -> int:
    return number >> by if by < bits else 0


def _shifted_signed(number: int, by: int, bits: int) -> int:
    return signed(number, bits) >> min(by, bits)


# Of unsigned numbers, modulo 2^bits; of conditions, which are 0 and 1, the last bit.
FOLDED: Mapping[object, Callable[[int, int], int]] = {
    Kind.BV_ADD: add, Kind.BV_SUB: sub, Kind.BV_MUL: mul, Kind.BV_AND: and_, Kind.BV_OR: or_, Kind.BV_XOR: xor,
    Kind.AND: and_, Kind.OR: or_, Kind.XOR: xor, Kind.IMPLIES: lambda x, y: 1 - x | y,
}  # fmt: skip
NEGATED: Mapping[object, Callable[[int, int], int]] = {Kind.BV_NAND: and_, Kind.BV_NOR: or_, Kind.BV_XNOR: xor}
COMPARED: Mapping[object, Callable[[int, int], bool]] = {
    Kind.EQUAL: eq, Kind.DISTINCT: ne,
    Kind.BV_ULT: lt, Kind.BV_ULE: le, Kind.BV_UGT: gt, Kind.BV_UGE: ge,
}  # fmt: skip
COMPARED_SIGNED: Mapping[object, Callable[[int, int], bool]] = {
    Kind.BV_SLT: lt, Kind.BV_SLE: le, Kind.BV_SGT: gt, Kind.BV_SGE: ge,
}  # fmt: skip
SHIFTED: Mapping[object, Callable[[int, int, int], int]] = {
    Kind.BV_SHL: _shifted_left, Kind.BV_SHR: _shifted_right, Kind.BV_ASHR: _shifted_signed,
}  # fmt: skip


class Evaluated:
    """Terms by what they are in some samples, each worked out once. known: what constants are, by name."""

    def __init__(self, known: Mapping[str, Numbers]):
        self.known, self.count = known, len(next(iter(known.values()), ()))
        self.found: dict[int, tuple[Term, Numbers]] = {}

    def of(self, term: Term) -> Numbers:
        """A number for each sample, unsigned; 0 or 1 of a condition. Raises InputError for what is not known."""
        stack = [term]
        while stack:
            here = stack[-1]
            missing = [child for child in here.children() if child.id() not in self.found]
            if missing and here.id() not in self.found:
                stack += missing
                continue
            stack.pop()
            if here.id() not in self.found:
                self.found[here.id()] = here, self._one(here)
        return self.found[term.id()][1]

    def _one(self, term: Term) -> Numbers:
        if term.is_true() or term.is_false():
            return [int(bool(term.is_true()))] * self.count
        if term.is_value():
            return [int(term.value(10))] * self.count
        if term.is_const():
            if term.symbol() not in self.known:
                raise InputError(f"{term.symbol()} must be known here")
            return self.known[term.symbol()]
        return self._computed(term, [self.found[child.id()][1] for child in term.children()])

    def _computed(self, term: Term, of: list[Numbers]) -> Numbers:
        kind, children = term.kind(), term.children()
        bits = width(term) if term.sort().is_bv() else 1
        mask = (1 << bits) - 1
        if (fold := FOLDED.get(kind) or NEGATED.get(kind)) is not None:
            total = list(of[0])
            for numbers in of[1:]:
                total = list(map(fold, total, numbers))
            return [(~one if kind in NEGATED else one) & mask for one in total]
        if (compare := COMPARED.get(kind)) is not None:
            return [int(compare(x, y)) for x, y in zip(*of, strict=True)]
        if (compare := COMPARED_SIGNED.get(kind)) is not None:
            wide = width(children[0])
            return [int(compare(signed(x, wide), signed(y, wide))) for x, y in zip(*of, strict=True)]
        if (shift := SHIFTED.get(kind)) is not None:
            return [shift(x, by, bits) & mask for x, by in zip(*of, strict=True)]
        if kind == Kind.ITE:
            return [yes if condition else no for condition, yes, no in zip(*of, strict=True)]
        if kind == Kind.BV_CONCAT:
            total = list(of[0])
            for child, numbers in zip(children[1:], of[1:], strict=True):
                total = [high << width(child) | low for high, low in zip(total, numbers, strict=True)]
            return total
        return self._of_one(term, kind, of[0], mask)

    def _of_one(self, term: Term, kind: object, numbers: Numbers, mask: int) -> Numbers:
        child = term.children()[0]
        if kind == Kind.NOT:
            return [1 - one for one in numbers]
        wide = width(child)
        if kind == Kind.BV_NOT:
            return [~one & mask for one in numbers]
        if kind == Kind.BV_NEG:
            return [-one & mask for one in numbers]
        if kind == Kind.BV_ZERO_EXTEND:
            return numbers
        if kind == Kind.BV_SIGN_EXTEND:
            return [signed(one, wide) & mask for one in numbers]
        if kind == Kind.BV_EXTRACT:
            return [one >> term.indices()[1] & mask for one in numbers]
        if kind == Kind.BV_REDOR:
            return [int(one != 0) for one in numbers]
        if kind == Kind.BV_REDAND:
            return [int(one == (1 << wide) - 1) for one in numbers]
        if kind == Kind.BV_REDXOR:
            return [one.bit_count() & 1 for one in numbers]
        raise InputError(f"operations must be known here: {kind} is not")
