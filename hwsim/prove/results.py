"""What the last steps make of a sum: the model's rounding of it, or what a special value becomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from hwsim.formats import Class, FloatFormat
from hwsim.model.result import ResultRounding
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim, CasesClaim, Claim, LateClaim
from hwsim.prove.logic import (
    Kind,
    Term,
    all_substituted,
    both,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    substituted,
    value,
    width,
)
from hwsim.prove.relations import SPECIAL, exactly, holds
from hwsim.prove.symbolic import Integer, as_integer

AnyCase = TypeVar("AnyCase", bound=Claim | None)


def is_result(circuit: Circuit, fmt: FloatFormat, own: int) -> Callable[[object], Term]:
    """Of a result's code in its container: that it leaves a circuit, and an overflow to NaN is said to be one.

    own: the code of the unit's NaN.
    """
    code = Integer.unsigned(circuit.outputs["o__code"]) << fmt.padding
    said, can_be_nan = is_one(circuit.outputs["o__nan"]), fmt.is_nan(own >> fmt.padding)

    def said_and_done(result: object) -> Term:
        number = both(negated(said), holds(code == result))
        if not can_be_nan:
            return number
        is_nan = holds(as_integer(result) == own)
        its_code = holds(code == own >> fmt.padding << fmt.padding)  # padding holds ones where it leaves
        return both(implies(is_nan, both(said, its_code)), implies(negated(is_nan), number))

    return said_and_done


def special_result(
    circuit: Circuit, rounding: ResultRounding, fmt: FloatFormat, never: Collection[str], place: str = "i__special"
) -> Claim:
    """A group with a special term: flags alone decide the code.

    never: flags that no operand sets. place: of the flags among the circuit's inputs.
    """
    nan, positive, negative = (is_one(circuit.inputs[f"{place}__{flag}"]) for flag in SPECIAL)
    code, says_nan = circuit.outputs["o__code"], is_one(circuit.outputs["o__nan"])
    bits = width(code)
    not_a_number = both_or(nan, positive, negative)
    wanted = [implies(not_a_number, both(says_nan, same(code, value(rounding.nan >> fmt.padding, bits))))]
    for sign, flag in ((0, positive), (1, negative)):
        rounded = rounding.special(ModelTerm(sign, 0, 0, 0, Class.INFINITY))
        is_nan = rounded.code == rounding.nan and fmt.is_nan(rounded.code >> fmt.padding)
        said = says_nan if is_nan else negated(says_nan)
        infinite = both(flag, negated(not_a_number))
        wanted.append(implies(infinite, both(said, same(code, value(rounded.code >> fmt.padding, bits)))))
    known = tuple(negated(is_one(circuit.inputs[f"{place}__{flag}"])) for flag in never)
    return Claim(
        "special", "flags of special terms give NaN or an infinity, whatever the total is",
        "all flags that operands set, all totals", known, both(*wanted), tuple(circuit.inputs.values()),
    )  # fmt: skip


def both_or(nan: Term, positive: Term, negative: Term) -> Term:
    """Whether flags make NaN: the flag of NaN, or both infinities."""
    return negated(both(negated(nan), negated(both(positive, negative))))


def of_every_total(
    right: Callable[[Integer, Sequence[Term]], Term],
    port: Term,
    most: int,
    known: Sequence[Term],
    show: Sequence[Term],
    *,
    name: str = "result",
    over: str,
    at_once: int,
) -> Iterator[AnyClaim]:
    """That the code is the model's rounding of a total: of all totals at once, or by the place of the leading one.

    right: of a total and what is known, that it is rounded rightly. port: where the total enters. most: its largest
    magnitude. known: of the total at that port and of the rest. show: what else a case has. over: what of the rest the
    claim is about. at_once: the bits of a magnitude up to which the solver is asked once.
    """
    words = "the code is the model's rounding of the total"
    if most.bit_length() <= at_once:
        known, total = (exactly(Integer.signed(port), -most, most), *known), Integer.signed(port).between(-most, most)
        yield LateClaim(name, words, f"every total, {over}", known, lambda: right(total, known), (port, *show))
        return

    def of(number: object, below: tuple[Term, ...], few: tuple[Term, ...], case: str) -> Claim:
        total = as_integer(number)
        by = {port: total.at(width(port))}
        assumed = (*all_substituted(known, by), *few)
        return Claim(case, "", "", assumed, substituted(right(total, assumed), by), (*below, *show))

    yield CasesClaim(
        name, words, f"every place of the total's leading one, both signs, {over}",
        lambda: chain([of(0, (), (), "zero")], by_leading_one(of, most)),
    )  # fmt: skip
    yield leading_ones(name, most)


def by_leading_one(
    claim: Callable[[Integer, tuple[Term, ...], tuple[Term, ...], str], AnyCase], most: int, signs: bool = True
) -> Iterator[AnyCase]:
    """A claim of every total other than zero up to a magnitude, by sign and by the place of its leading one.

    signs: whether negative ones are asked, too; only roundings to +infinity and -infinity treat signs differently.
    """
    for place in range(most.bit_length()):
        below = constant(f"below{place}", max(1, place))
        leading = op(Kind.BV_CONCAT, value(1, 2), below) if place else value(1, 2)
        magnitude = Integer(leading, 1 << place, (2 << place) - 1)
        known = (holds(magnitude <= most),) if most >> place == 1 else ()
        for number in (magnitude, as_integer(-magnitude))[: 1 + signs]:
            yield claim(number, (below,), known, f"leading one at {place}")


def leading_ones(name: str, most: int) -> Claim:
    """That these are all magnitudes. name: of the claim of which they are cases."""
    places = most.bit_length()
    size = constant("leading.size", places)
    ends = [same(part(size, place, places - place), value(1, places - place)) for place in range(places)]
    return Claim(
        f"{name}: cases", "a magnitude is zero, or has a leading one", "every magnitude", (),
        either(same(size, value(0, places)), *ends), (size,),
    )  # fmt: skip
