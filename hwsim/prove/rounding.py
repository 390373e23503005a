"""The claims of roundings: of a sum, in whatever unit it is counted, and of any magnitude to a format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from hwsim.formats import Class, FloatFormat
from hwsim.model.rounding import ResultRounding, pack, round_to
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.circuits import Circuit, circuits, connected, fixed
from hwsim.prove.claims import SPECIAL, AnyClaim, CasesClaim, Claim, LateClaim, each, exactly, holds, is_each
from hwsim.prove.symbolic import Integer, Places, Tailed, as_integer, bits_for, paths
from hwsim.prove.terms import (
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
from hwsim.rtl.encode import EncodeTarget
from hwsim.spec import Rounding
from hwsim.spec.keys import Overflow

AnyCase = TypeVar("AnyCase", bound=Claim | None)


def is_result(circuit: Circuit, fmt: FloatFormat, own: int) -> Callable[[object], Term]:
    """Of a result's code in its container: the condition that a circuit returns it, and marks an overflow to NaN.

    own: the code of the unit's NaN.
    """
    code = Integer.unsigned(circuit.outputs["o__code"]) << fmt.padding
    says_nan, can_be_nan = is_one(circuit.outputs["o__nan"]), fmt.is_nan(own >> fmt.padding)

    def said_and_done(result: object) -> Term:
        number = both(negated(says_nan), holds(code == result))
        if not can_be_nan:
            return number
        is_nan = holds(as_integer(result) == own)
        its_code = holds(code == own >> fmt.padding << fmt.padding)  # padding holds ones where it leaves
        return both(implies(is_nan, both(says_nan, its_code)), implies(negated(is_nan), number))

    return said_and_done


def special_result(
    circuit: Circuit, code_of: Callable[[ModelTerm], int], fmt: FloatFormat, never: Collection[str],
    place: str = "i__special",
) -> Claim:  # fmt: skip
    """The claim that flags alone decide the code of a group with a special term.

    code_of: the code of a special term. never: flags that no operand sets. place: of the flags among the inputs.
    """
    is_nan, positive, negative = (is_one(circuit.inputs[f"{place}__{flag}"]) for flag in SPECIAL)
    code, says_nan = circuit.outputs["o__code"], is_one(circuit.outputs["o__nan"])
    bits = width(code)
    not_a_number = makes_nan(is_nan, positive, negative)
    nan = code_of(ModelTerm(0, 0, 0, 0, Class.NAN))
    wanted = [implies(not_a_number, both(says_nan, same(code, value(nan >> fmt.padding, bits))))]
    for sign, flag in ((0, positive), (1, negative)):
        rounded = code_of(ModelTerm(sign, 0, 0, 0, Class.INFINITY))
        overflows_to_nan = rounded == nan and fmt.is_nan(rounded >> fmt.padding)
        marked = says_nan if overflows_to_nan else negated(says_nan)
        infinite = both(flag, negated(not_a_number))
        wanted.append(implies(infinite, both(marked, same(code, value(rounded >> fmt.padding, bits)))))
    known = tuple(negated(is_one(circuit.inputs[f"{place}__{flag}"])) for flag in never)
    return Claim(
        "special", "flags of special terms give NaN or an infinity, whatever the total is",
        "all flags that operands set, all totals", known, both(*wanted), tuple(circuit.inputs.values()),
    )  # fmt: skip


def makes_nan(nan: Term, positive: Term, negative: Term) -> Term:
    """The condition that flags make NaN: the flag of NaN, or both infinities."""
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
    """Yield the claims that the code is the model's rounding of a total, at once or by the place of its leading one.

    right: of a total and what is known, that it is rounded rightly. port: where the total enters. most: its largest
    magnitude. known: conditions on the total at that port and on the rest. show: what else a case has. over: what of
    the rest the claim is about. at_once: the bits of a magnitude up to which the solver is asked once.
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
    """Yield the claim of every total other than zero up to a magnitude, by sign and by the place of its leading one.

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
    """The claim that the cases of a claim are all magnitudes. name: of the claim of which they are cases."""
    places = most.bit_length()
    size = constant("leading.size", places)
    ends = [same(part(size, place, places - place), value(1, places - place)) for place in range(places)]
    return Claim(
        f"{name}: cases", "a magnitude is zero, or has a leading one", "every magnitude", (),
        either(same(size, value(0, places)), *ends), (size,),
    )  # fmt: skip


def unit_exp_claims(place: str, rounding: ResultRounding, most: int, units: tuple[int, int]) -> Iterator[AnyClaim]:
    """Yield the claims that a total rounds as twice as much of half its unit does.

    For more than twice as much it follows, one by one. place: the beginning of the claims' names. most: of a total's
    magnitude. units: the exponents of the larger unit.
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
    """The claim that a longer total rounds as its upper bits do and whether others are set.

    units: the exponents of the last of its upper bits.
    """
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
    """An unknown exponent, as a constant and as an integer, and the condition that it is within its ends."""
    unit = constant(name, bits_for(*ends))
    exp = Integer.signed(unit)
    return unit, exp.between(*ends), exactly(exp, *ends)


def _alike(rounding: ResultRounding, first: tuple[Any, Any], second: tuple[Any, Any]) -> Term:
    """The condition that two totals in units of their own have one code."""
    codes = [as_integer(rounding.total(*total).code) for total in (first, second)]
    return holds(codes[0] == codes[1])


def _reads_tails(fmt: FloatFormat) -> bool:
    """True if the model's rounding of small numbers looks at all their bits."""
    return not fmt.subnormals and fmt.underflow == "nearby"


class Encoding:
    """A target's steps, from a magnitude to a code without its padding. rounding, overflow: the target's."""

    def __init__(self, target: EncodeTarget, rounding: Rounding, overflow: Overflow):
        assert isinstance(target.to, FloatFormat)
        self.target, self.fmt, self.rounding, self.overflow = target, target.to, rounding, overflow

    @cached_property
    def circuit(self) -> Circuit:
        """The steps as one circuit."""
        return connected(list(circuits({step.name: step for step in self.target.steps()}).values()))

    def of(self, magnitude: Term, top: Any, sign: Term) -> Term:
        """The code of a magnitude. top: the exponent field of its top bit."""
        inputs = self.circuit.inputs
        exponent = as_integer(top).at(width(inputs["i__top_bexp"]))
        chosen = {"i__magnitude": magnitude, "i__top_bexp": exponent, "i__sign": sign}
        quiet = {name: value(0, width(term)) for name, term in inputs.items() if name not in chosen}
        return fixed(self.circuit, {**chosen, **quiet}).outputs["o__code"]

    def claims(self, name: str, least: int, most: int) -> Iterator[AnyClaim]:
        """Yield the claims that any number is rounded as the model rounds it. least, most: exponents of its top bit."""
        target, fmt = self.target, self.fmt
        bits = target.magnitude_bits
        magnitude, sign = constant("any.magnitude", bits), constant("any.sign", 1)
        top = constant("any.top", width(self.circuit.inputs["i__top_bexp"]))
        exponent, number = Integer.signed(top), Integer.unsigned(magnitude)
        within = exactly(exponent, least + target.bias, most + target.bias)
        some = negated(same(magnitude, value(0, bits)))
        places = bits - number.bit_length()
        there, led = self.of(magnitude, exponent, sign), op(Kind.BV_SHL, magnitude, as_integer(places).at(bits))
        yield Claim(
            f"{name}: normalized", "the code is that of the same number with its leading one on top", "any magnitude",
            (some, within), same(there, self.of(led, exponent - places, sign)), (magnitude, top),
        )  # fmt: skip
        on_top = (
            is_one(part(magnitude, bits - 1, 1)),
            exactly(exponent, least + target.bias - bits, most + target.bias),
        )

        def rounded() -> int:
            negative = int(as_integer(Integer.unsigned(sign)) != 0)
            unit_exp = exponent - target.bias - bits + 1
            return round_to(fmt, negative, number, unit_exp, self.rounding, self.overflow).code >> fmt.padding

        yield Claim(
            f"{name}: rounded", "a number with its leading one on top is rounded once", "any such number and exponent",
            on_top, is_each(Integer.unsigned(there), paths(rounded, on_top)), (magnitude, top, sign),
        )  # fmt: skip
        zero = Integer.unsigned(self.of(value(0, bits), exponent, sign))
        signed = as_integer(Integer.unsigned(sign)) if fmt.signed_zero else 0
        yield Claim(
            f"{name}: zero", "of zero a zero of its sign is left, where there is one", "every exponent", (within,),
            holds(zero == pack(fmt, signed, 0) >> fmt.padding), (top,),  # type: ignore[arg-type]
        )  # fmt: skip
