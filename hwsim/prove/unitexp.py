"""The model's rounding is of a number, in whatever unit it is counted: models and circuits have units of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hwsim.formats import FloatFormat
from hwsim.model.result import ResultRounding
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, LateClaim
from hwsim.prove.explore import paths
from hwsim.prove.logic import Kind, Term, both, constant, is_one, op, value
from hwsim.prove.relations import each, exactly, holds
from hwsim.prove.results import by_leading_one
from hwsim.prove.symbolic import Integer, as_integer, bits_for
from hwsim.prove.tailed import Places, Tailed


def unit_exp_claims(place: str, rounding: ResultRounding, most: int, units: tuple[int, int]) -> Iterator[AnyClaim]:
    """That a total rounds as twice as much of half its unit does: of more it follows, one by one.

    place: what the claims' names begin with. most: of a total's magnitude. units: the exponents of the larger unit.
    """
    fmt = rounding.rule.format
    bits = fmt.fraction_bits + 2
    if isinstance(fmt, FloatFormat) and bits < most.bit_length() and not _reads_tails(fmt):
        yield _tails(place, rounding, bits, (units[0], units[1] + most.bit_length() - bits))
        most = (1 << bits) - 1

    def of(total: Integer, show: tuple[Term, ...], known: tuple[Term, ...], name: str) -> Claim:
        unit, exp, within = _unit("unit", units)
        wanted = paths(lambda: _alike(rounding, (total, exp), (total << 1, exp - 1)), (*known, within))
        return Claim(name, "", "", (*known, within), each(wanted), (*show, unit))

    yield CasesClaim(
        f"{place}: units", "a total rounds as twice as much of half its unit does",
        f"totals of up to {most.bit_length()} places, and every unit", lambda: by_leading_one(of, most),
    )  # fmt: skip


def _tails(place: str, rounding: ResultRounding, bits: int, units: tuple[int, int]) -> LateClaim:
    """A longer total rounds as its upper bits do and whether others are set. units: of its upper bits' last."""
    below, some = constant("tails.head", bits - 1), constant("tails.some", 1)
    head = Integer(op(Kind.BV_CONCAT, value(1, 2), below), 1 << bits - 1, (1 << bits) - 1)
    unit, exp, within = _unit("tails.exp", units)

    def same_code() -> Term:
        total: Any = Tailed(head, is_one(some))
        jammed = (head << 1) + Integer.unsigned(some)
        signed = ((total, jammed), (-total, -jammed))
        return both(*(_alike(rounding, (long, Places(exp, -1)), (short, exp - 1)) for long, short in signed))

    return LateClaim(
        f"{place}: tails", f"a total rounds as its {bits} leading bits do, and whether any below is set",
        "longer totals, and every unit", (within,), lambda: each(paths(same_code, (within,))), (below, some, unit),
    )  # fmt: skip


def _unit(name: str, ends: tuple[int, int]) -> tuple[Term, Any, Term]:
    """An exponent that is not known, as a constant and as an integer, and that it is within its ends."""
    unit = constant(name, bits_for(*ends))
    exp = Integer.signed(unit)
    return unit, exp.between(*ends), exactly(exp, *ends)


def _alike(rounding: ResultRounding, first: tuple[Any, Any], second: tuple[Any, Any]) -> Term:
    """That two totals of units of their own have one code."""
    codes = [as_integer(rounding.total(*one).code) for one in (first, second)]
    return holds(codes[0] == codes[1])


def _reads_tails(fmt: FloatFormat) -> bool:
    """Whether the model's rounding of small numbers looks at all their bits."""
    return not fmt.subnormals and fmt.underflow == "nearby"
