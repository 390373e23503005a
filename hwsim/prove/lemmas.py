"""The results of the model's functions of all terms of a group, for terms of which nothing is known.

Two folds, `greatest` and `some`, have no branch for each term here: they return one condition, and any number of which
it is known that it is the largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NoReturn

from hwsim.formats import Class
from hwsim.model import rounding, terms
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.claims import CasesClaim, Claim, StructuralClaim, each, exactly, holds
from hwsim.prove.composition import ModelCall, TokenSum, Unmet, aliases, integer
from hwsim.prove.symbolic import Integer, Truth, as_integer, bits_for, given_function, paths
from hwsim.prove.terms import Term, both, constant, either, false, implies, is_one, negated, same


class AnyTerm(ModelTerm):
    """A term of unknown class: conditions answer what the folds ask of it. What is not given must not be asked."""

    __slots__ = ()

    def _given(self, at: int) -> Any:
        part = tuple.__getitem__(self, at)
        if part is None:
            raise Unmet("something of a term is asked that is not known to be the same in the RTL")
        return part

    sign = property(lambda self: self._given(0))
    exp = property(lambda self: self._given(1))
    sig = property(lambda self: self._given(2))
    fraction_bits = property(lambda self: self._given(3))
    is_nan = property(lambda self: Truth(self._given(4)[0]))
    is_infinite = property(lambda self: Truth(self._given(4)[1]))
    is_number = property(lambda self: Truth(self._given(4)[2]))
    is_special = property(lambda self: Truth(either(*self._given(4)[:2])))
    is_zero = property(lambda self: Truth(both(*map(negated, self._given(4)))))

    @property
    def cls(self) -> Class:
        """Raises Unmet: the class is not asked."""
        raise Unmet("the class of a term is asked outside of the folds")

    def _unpacked(self, *_: object) -> NoReturn:
        raise Unmet("a term is unpacked, or compared")

    __iter__ = __getitem__ = __eq__ = _unpacked
    __hash__ = None  # type: ignore[assignment]


def any_term(
    *, sign: Any = None, exp: Any = None, bits: Any = None, number: Term | None = None,
    special: tuple[Term, Term] | None = None,
) -> Any:  # fmt: skip
    """A term of which this is known.

    number: the condition that it is other than zero. special: the conditions that it is NaN, and an infinity.
    """
    conditions = (*((false(), false()) if special is None else special), false() if number is None else number)
    return tuple.__new__(AnyTerm, (sign, exp, None, bits, conditions))


def _some(conditions: Iterable[object]) -> Any:
    """The condition that one of some conditions holds."""
    truths = [holds(condition) for condition in conditions]
    return Truth(either(*truths)) if truths else False


def _greatest(facts: list[Term], candidates: Iterable[tuple[Any, object]]) -> Any:
    """An unknown number that the facts say is the largest of those that count; None where none does."""
    pairs = [(as_integer(number), holds(counts)) for number, counts in candidates]
    if not pairs or not Truth(either(false(), *(counts for _, counts in pairs))):
        return None
    low, high = min(number.low for number, _ in pairs), max(number.high for number, _ in pairs)
    bits = bits_for(low, high)
    largest = Integer.signed(constant(f"lemma.greatest{len(facts)}.{bits}", bits))
    facts.append(
        both(
            exactly(largest, low, high), *(implies(counts, holds(largest >= number)) for number, counts in pairs),
            either(*(both(counts, holds(largest == number)) for number, counts in pairs)),
        )
    )  # fmt: skip
    return largest.between(low, high)


@contextmanager
def folded() -> Iterator[list[Term]]:
    """Replace the model's folds by ones without a branch for each term. Yield the list of facts about their numbers."""
    facts: list[Term] = []
    with ExitStack() as stack:
        for function, fold in ((terms.some, _some), (terms.greatest, partial(_greatest, facts))):
            for module, name in aliases(function):
                stack.enter_context(given_function(module, name, fold))
        yield facts


def zero_terms(signs: Iterable[Any]) -> list[ModelTerm]:
    """Terms of zero with these signs."""
    return [ModelTerm(sign, 0, 0, 0, Class.ZERO) for sign in signs]


def specials_claim(call: ModelCall, sizes: Sequence[int], which: str = "") -> Claim:
    """The claim that terms are NaN together, or an infinity, just where flags say so that each of them may set.

    which: of the claim's name, before `special`.
    """
    names = ("sign", "nan", "infinite")
    ports = [[constant(f"specials.{name}{index}", 1) for name in names] for index in range(max(sizes))]
    every, flags = list[Any](), list[tuple[Term, Term, Term]]()
    for sign, nan, infinite in ports:
        classes = is_one(nan), both(is_one(infinite), negated(is_one(nan)))
        bits = Integer.unsigned(constant(f"specials.bits{len(every)}", 8))
        every.append(any_term(sign=Integer.unsigned(sign), bits=bits, special=classes))
        flags.append((classes[0], both(classes[1], negated(is_one(sign))), both(classes[1], is_one(sign))))
    wanted = []
    with folded():
        for size in sizes:
            is_nan, plus, minus = (either(false(), false(), *each_of) for each_of in zip(*flags[:size], strict=True))
            not_a_number, infinite = either(is_nan, both(plus, minus)), either(plus, minus)

            def right(
                size: int = size, nan: Term = not_a_number, infinite: Term = infinite, minus: Term = minus
            ) -> Term:
                combined = call(every[:size])
                if combined is None:
                    return both(negated(nan), negated(infinite))
                if combined.cls is Class.NAN:
                    return nan
                negative = holds(as_integer(combined.sign) == 1)
                return both(negated(nan), infinite, same(negative, minus), holds(combined.cls is Class.INFINITY))

            wanted.append(each(paths(right)))
    return Claim(
        f"composition: {which}special", "terms are NaN or an infinity together just where flags of each say so",
        f"{' or '.join(map(str, sizes))} terms of any class", (), both(*wanted),
        tuple(port for each in ports for port in each),
    )  # fmt: skip


def exact_sum_claims(call: ModelCall, size: int, sig_bits: int, most: int) -> Iterator[StructuralClaim | CasesClaim]:
    """Yield the claims that a sum is that of its terms, in units of the lowest last place, or of any below it.

    size: how many terms. sig_bits: of the largest. most: places from the lowest unit to the last place of any term.
    """
    name, words = "composition: exact sum", "a sum is each term once, in units of the least last place of all"

    def is_sum() -> bool:
        exps, bits = (
            [Integer.signed(constant(f"exact.{what}{index}", 16)) for index in range(size)] for what in ("exp", "bits")
        )
        every = [any_term(exp=exp, bits=term_bits) for exp, term_bits in zip(exps, bits, strict=True)]
        places = {id(term): ("term", index) for index, term in enumerate(every)}
        lowest, units = list[list[Any]](), list[Any]()
        unit: Any = Integer.signed(constant("exact.unit", 16))

        def least(numbers: Iterable[Any]) -> Any:
            lowest.append(list(numbers))
            return unit

        def in_units(term: Any, unit_exp: Any) -> Any:
            units.append(unit_exp)
            return integer(*places[id(term)])

        with given_function(rounding, "least", least), given_function(rounding, "in_units", in_units):
            total, its_unit = call(every)
        wanted = [exp - term_bits for exp, term_bits in zip(exps, bits, strict=True)]
        of_all = len(lowest) == 1 and [number.term for number in lowest[0]] == [number.term for number in wanted]
        once = isinstance(total, TokenSum) and total.number == 0 and sorted(total.parts) == sorted(places.values())
        return of_all and once and its_unit is unit and all(number is unit for number in units)

    yield StructuralClaim(name, words, f"{size} terms of any exponents and significands", is_sum)
    sig, sign = constant("exact.sig", sig_bits), constant("exact.sign", 1)
    size_of = Integer.unsigned(sig)

    def apart(up: int) -> Claim:
        """The claim about a term, `up` places above the unit."""

        def right() -> Term:
            minus = int(Truth(is_one(sign)))
            term = ModelTerm(minus, up, size_of, 0, Class.NORMAL)
            low, above = (as_integer(rounding.in_units(term, unit)) for unit in (0, 1))
            return holds(low == above << 1)

        return Claim(f"{up} places up", "", "", (), each(paths(right)), (sig, sign))

    yield CasesClaim(
        "composition: exact terms", "in units of half as much a term is twice as much", f"terms up to {most} places up",
        lambda: (apart(up) for up in range(1, most + 1)),
    )  # fmt: skip


def lost_claim(call: ModelCall, size: int) -> Claim:
    """The claim that some bit is lost just where a term loses one."""
    lost = [constant(f"lost.{index}", 1) for index in range(size)]
    every, total = [any_term() for _ in lost], Integer.signed(constant("lost.total", 2))

    def right() -> Term:
        left = iter(lost)
        with given_function(terms, "lost_part", lambda *_: Integer.unsigned(next(left))), folded():
            some_lost = call(every, (total, total))
        return both(same(holds(some_lost), either(false(), *map(is_one, lost))), holds(next(left, None) is None))

    return Claim(
        "composition: lost",
        "a bit is lost where a term loses one",
        f"{size} terms",
        (),
        each(paths(right)),
        tuple(lost),
    )
