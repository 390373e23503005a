"""What proofs rest on: unknown integers, sums as linear forms, and circuits that are alike inside."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import pytest

from hwsim.cases.drawing import Stream
from hwsim.prove import linear
from hwsim.prove import sweeping as alike
from hwsim.prove import sweeping as merging
from hwsim.prove import sweeping as sameproducts
from hwsim.prove.claims import CasesClaim, Claim, by_value, holds
from hwsim.prove.linear import Form, Forms, Variable, form
from hwsim.prove.sweeping import Alike, Merging, SameProducts, _holds_of_any_products, is_one_sum
from hwsim.prove.symbolic import Integer, OutOfTime, Truth, as_integer, paths
from hwsim.prove.terms import (
    Decided,
    Evaluated,
    Kind,
    Term,
    ask,
    both,
    constant,
    negated,
    op,
    part,
    same,
    substituted,
    value,
    width,
)

SEED = 20261123
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda x, y: 3 * x - y + (x << 2) - 7,
    "products": lambda x, y: x * y - abs(y),
    "bits": lambda x, y: ((x & 29) | abs(y)) ^ (x >> 1),
    "shifts": lambda x, y: (x << (abs(y) & 7)) + (y >> (x & 3)),
    "questions": lambda x, y: max(x, y) if x > 5 and y else (x == 2) + int(y < x),
    "places": lambda x, y: (x * 5).bit_length() - y.bit_length(),
}


def number(term: Term) -> int:
    assert term.is_value(), term
    return int(term.value(10))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_integers_are_what_known_ones_are(name: str) -> None:
    function, random = FUNCTIONS[name], Random(SEED)
    x, y = constant(f"x of {name}", 6), constant(f"y of {name}", 7)
    found = paths(lambda: function(Integer.unsigned(x), Integer.signed(y)))
    for _ in range(60):
        one, other = random.randrange(1 << 6), random.randrange(-1 << 6, 1 << 6)
        known = {x: value(one, 6), y: value(other, 7)}
        holding = [path for path in found if _is_true(substituted(path.condition, known))]
        assert len(holding) == 1
        result = as_integer(holding[0].result)
        want = int(function(one, other))
        assert result.low <= want <= result.high
        assert _is_true(op(Kind.EQUAL, substituted(result.term, known), value(want, width(result.term))))


def _is_true(term: Term) -> bool:
    from hwsim.prove.terms import ask

    return ask(both(term)).word == "proved"


def random_sum(random: Random, terms: list[Term], deep: int) -> Term:
    """Additions, slices, extensions and concatenations of some terms."""
    if not deep:
        return random.choice(terms)
    x = random_sum(random, terms, deep - 1)
    match random.randrange(6):
        case 0:
            return op(Kind.BV_SIGN_EXTEND, x, indices=[random.randint(1, 3)])
        case 1:
            return op(Kind.BV_ZERO_EXTEND, x, indices=[random.randint(1, 3)])
        case 2 if width(x) > 2:
            low = random.randrange(width(x) - 1)
            return op(Kind.BV_EXTRACT, x, indices=[random.randrange(low, width(x)), low])
        case 3:
            return op(Kind.BV_CONCAT, random_sum(random, terms, deep - 1), x)
        case 4:
            return op(Kind.BV_NOT, x)
        case _:
            y = random_sum(random, terms, deep - 1)
            bits = max(width(x), width(y))
            wide = [op(Kind.BV_ZERO_EXTEND, one, indices=[bits - width(one)]) for one in (x, y)]
            return op(random.choice([Kind.BV_ADD, Kind.BV_SUB]), *wide)


def of_form(found: Form, known: dict[str, int]) -> int | None:
    """What a form is where its variables are known; None where one is a part of another form."""
    total = found.constant
    for variable, factor in found.factors.items():
        if not isinstance(variable.of, str):
            return None
        total += factor * (known[variable.of] >> variable.low & (1 << variable.bits) - 1)
    return total % (1 << found.bits)


def test_forms_are_what_the_bits_are() -> None:
    random, compared = Random(SEED), 0
    terms = [constant(f"form {name}", bits) for name, bits in (("x", 3), ("y", 4), ("z", 5))]
    for _ in range(400):
        term = random_sum(random, terms, random.randint(1, 5))
        found = Forms().of(term)
        for _ in range(6):
            known = {one.symbol(): random.randrange(1 << width(one)) for one in terms}
            got = of_form(found, known)
            if got is not None:
                by = {one: value(known[one.symbol()], width(one)) for one in terms}
                assert _is_true(op(Kind.EQUAL, substituted(term, by), value(got, width(term)))), term
                compared += 1
    assert compared > 500


def joined(counted: int, upper: int) -> Term:
    """Two words of four bits, the top bit of which is a carry too, added in parts: low bits, and high less carries.

    counted: bits of the carries' number. upper: the high bits that are made.
    """
    low, carries = [], []
    for word in (X, Y):
        low.append(op(Kind.BV_ZERO_EXTEND, part(word, 0, 3), indices=[3]))
        carries.append(op(Kind.BV_ZERO_EXTEND, part(word, 3, 1), indices=[counted - 1]))
    count = op(Kind.BV_ADD, *carries)
    whole = op(Kind.BV_ADD, op(Kind.BV_ADD, *low), op(Kind.BV_ZERO_EXTEND, count, indices=[6 - counted]))
    less = op(Kind.BV_ZERO_EXTEND, count, indices=[upper - counted]) if upper > counted else part(count, 0, upper)
    return op(Kind.BV_CONCAT, op(Kind.BV_SUB, part(whole, 3, upper), less), part(whole, 0, 3))


X, Y = constant("joined x", 4), constant("joined y", 4)


@pytest.mark.parametrize("upper", [1, 2, 3])
@pytest.mark.parametrize("counted", [1, 2, 3])
def test_a_sum_in_parts_is_one_sum_where_it_is_equal(counted: int, upper: int) -> None:
    numbers = [
        op(Kind.BV_ADD, op(Kind.BV_SIGN_EXTEND, word, indices=[2]), op(Kind.BV_ZERO_EXTEND, top, indices=[5]))
        for word in (X, Y)
        for top in [part(word, 3, 1)]
    ]
    first, second = joined(counted, upper), part(op(Kind.BV_ADD, *numbers), 0, 3 + upper)
    assert is_one_sum(first, second) == (ask(same(first, second)).word == "proved") == (counted > 1)


def test_low_bits_of_a_sum_are_the_sum_only_where_no_bit_above_them_counts() -> None:
    total = op(Kind.BV_ADD, *(op(Kind.BV_ZERO_EXTEND, word, indices=[1]) for word in (X, Y)))
    for above, equal in ((0, True), (2, False)):
        high = part(total, 2, 2)
        high = op(Kind.BV_CONCAT, value(0, above), high) if above else high
        low_bits = op(Kind.BV_CONCAT, high, part(total, 0, 2))
        whole = part(op(Kind.BV_ZERO_EXTEND, total, indices=[1]), 0, 4 + above)
        assert is_one_sum(low_bits, whole) == (ask(same(low_bits, whole)).word == "proved") == equal


def test_a_question_is_followed_once_both_ways_and_again_as_it_was_answered() -> None:
    asked = op(Kind.BV_ULT, X, Y)

    def function() -> tuple[bool, ...]:
        return tuple(bool(Truth(condition)) for condition in (asked, asked, negated(asked)))

    for sure in (True, False):
        found = paths(function, asked=sure)
        assert sorted(path.result for path in found) == [(False, False, True), (True, True, False)]


@pytest.mark.parametrize("zeros", [0, 3])
@pytest.mark.parametrize("times", [1, 2, 40])
@pytest.mark.parametrize("place", range(5))
def test_a_repeated_bit_extends_a_sign_only_where_it_is_the_top_bit(place: int, times: int, zeros: int) -> None:
    x = constant("extended", 5)
    bit = op(Kind.BV_EXTRACT, x, indices=[place, place])
    before = op(Kind.BV_CONCAT, *[bit] * times) if times > 1 else bit
    rest = op(Kind.BV_CONCAT, x, value(0, zeros)) if zeros else x
    found = Forms().of(op(Kind.BV_CONCAT, before, rest))
    extended = Forms().of(op(Kind.BV_SIGN_EXTEND, rest, indices=[times]))
    assert (found.key() == extended.key()) == (place == 4)


@pytest.mark.parametrize("place", [0, 1, 2, 3, 5])  # 4 is the sign too, by another name
def test_an_extended_sign_is_extended_again_only_by_the_top_bit(place: int) -> None:
    x = constant("extended again", 5)
    once = op(Kind.BV_CONCAT, op(Kind.BV_EXTRACT, x, indices=[4, 4]), x)
    bit = op(Kind.BV_EXTRACT, once, indices=[place, place])
    found = Forms().of(op(Kind.BV_CONCAT, bit, op(Kind.BV_CONCAT, bit, once)))
    extended = Forms().of(op(Kind.BV_SIGN_EXTEND, x, indices=[3]))
    assert (found.key() == extended.key()) == (place == 5)


def test_a_sign_above_zeros_is_that_of_what_is_shifted() -> None:
    x, y = constant("x", 7), constant("y", 12)
    shifted = op(Kind.BV_CONCAT, x, value(0, 3))
    right = op(Kind.BV_ADD, op(Kind.BV_SIGN_EXTEND, shifted, indices=[2]), y)
    wanted = {Variable("x", 0, 6): 8, Variable("x", 6, 1): -512, Variable("y", 0, 12): 1}
    assert linear.equal(Forms().of(right), Form(12, 0, wanted))
    assert not linear.equal(Forms().of(right), Form(12, 0, {**wanted, Variable("x", 6, 1): 512}))


def test_a_sum_that_leaves_a_term_out_is_another_form() -> None:
    x, y = constant("kept x", 4), constant("kept y", 4)
    wide = [op(Kind.BV_ZERO_EXTEND, one, indices=[1]) for one in (x, y)]
    whole = form(5, 0, {Variable("kept x", 0, 4): 1, Variable("kept y", 0, 4): 1})
    assert Forms().of(op(Kind.BV_ADD, *wide)).key() == whole.key()
    assert Forms().of(wide[0]).key() != whole.key()


def test_cases_are_every_value_and_a_claim_without_a_case_is_not_proved() -> None:
    x, y = constant("x of cases", 3), constant("y of cases", 3)
    one, other = Integer.unsigned(x), Integer.unsigned(y)

    def word(claim: Term, *known: Term) -> str:
        return CasesClaim("cases", "", "", lambda: by_value(x, claim, known)).decide(20).word

    assert word(holds(one * other <= 49)) == "proved"
    assert [word(holds(one * other != number)) for number in (49, 30, 0, 11)] == ["refuted"] * 3 + ["proved"]
    assert word(holds(one * other != 30), holds(one < 5)) == "proved"  # 5 and 6 alone
    assert word(holds(one * other <= 49), holds(one > 7)) == "refuted"


def hard() -> Term:
    """That a number of 40 bits, the product of two primes, is no other product: some hundredths of a second."""
    x, y = (op(Kind.BV_ZERO_EXTEND, constant(name, 20), indices=[20]) for name in "xy")
    is_product = same(op(Kind.BV_MUL, x, y), value(1048573 * 1048571, 40))
    return negated(both(is_product, op(Kind.BV_ULT, x, y), negated(same(x, value(1048571, 40)))))


@pytest.mark.parametrize(("step", "word"), [(0.0, "proved"), (1.0, "undecided")])
def test_a_question_has_seconds_of_the_processor(step: float, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes by the clock: here this thread has used none, and then a second at each look."""
    used = count(0.0, step)
    monkeypatch.setattr(time, "thread_time", lambda: next(used))
    assert ask(hard(), seconds=1e-6 if not step else 3.0).word == word


A, B, C = (constant(f"alike.{name}", 24) for name in "abc")


def product_of_sum(two: int) -> Term:
    """(a + b) c, the sum made of bits that are one in one of both, and `two` times those that are in both."""
    carries = op(Kind.BV_MUL, value(two, 24), op(Kind.BV_AND, A, B))
    return op(Kind.BV_MUL, op(Kind.BV_ADD, op(Kind.BV_XOR, A, B), carries), C)


def claim(kind: type[Claim], two: int) -> Claim:
    plain = op(Kind.BV_MUL, op(Kind.BV_ADD, A, B), C)
    return kind("", "", "", (), same(plain, product_of_sum(two)), (A, B, C))


def test_factors_are_shown_to_be_equal_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "TURNS", ((0.5, 50.0),))
    assert claim(Claim, 2).decide(0.5).word == "undecided"
    assert claim(Alike, 2).decide(50).word == "proved"


def test_what_differs_is_refuted_by_values_of_the_claims_own_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "TURNS", ((1e-9, 50.0),))  # the solver has no time to see it at once
    answer = claim(Alike, 3).decide(50)
    assert answer.word == "refuted" and answer.model is not None
    a, b, c = (answer.model[term.symbol()] for term in (A, B, C))
    assert ((a + b) * c - ((a ^ b) + 3 * (a & b)) * c) % (1 << 24)


def test_what_is_equal_in_every_sample_alone_is_not_put_together() -> None:
    together = Merging(Evaluated({"alike.a": [1, 2], "alike.b": [4, 8], "alike.c": [3, 5]}))  # no sum has a carry
    plain, right, wrong = op(Kind.BV_MUL, op(Kind.BV_ADD, A, B), C), product_of_sum(2), product_of_sum(3)
    assert together.samples.of(plain) == together.samples.of(wrong)
    assert together.merged(plain).id() == together.merged(right).id() != together.merged(wrong).id()


def test_what_tells_terms_apart_is_looked_at_together() -> None:
    together = Merging(Evaluated({"alike.a": [0], "alike.b": [0], "alike.c": [0]}))
    for number in range(1, 12):
        together._sampled({"alike.a": number})
    assert [batch.count for batch in together.refuting] == [8, 2, 1]
    assert [batch.of(A) for batch in together.refuting] == [list(range(1, 9)), [9, 10], [11]]


def test_terms_of_one_circuit_are_asked_for_a_short_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[float]()

    def ask(claim: Term, assumptions: object, seconds: float, show: object = ()) -> Decided:
        asked.append(seconds)
        return Decided("undecided", seconds)

    monkeypatch.setattr(merging, "ask", ask)
    plain, other = op(Kind.BV_MUL, op(Kind.BV_ADD, A, B), C), product_of_sum(2)
    samples = {"alike.a": [1, 2], "alike.b": [4, 8], "alike.c": [3, 5]}
    for sides, wanted in (({}, {merging.NEAR, merging.FAR}), ({plain.id(): 1, other.id(): 1}, {merging.NEAR})):
        asked.clear()
        one = Merging(Evaluated(samples), sides=sides)
        one.alike[width(plain), tuple(one.samples.of(plain))] = [(plain, sides.get(plain.id(), merging.BOTH))]
        one._standing(other, sides.get(other.id(), merging.BOTH))
        assert set(asked) == wanted


@pytest.mark.parametrize(("seconds", "wanted"), [(10.0, merging.FAR), (500.0, 5.0)])
def test_questions_have_more_time_where_a_claim_has(
    seconds: float, wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    had = list[float]()

    class Recorded(Merging):
        def merged(self, term: Term) -> Term:
            had.append(self.far)
            return super().merged(term)

    monkeypatch.setattr(alike, "Merging", Recorded)
    made = claim(Alike, 2)
    assert isinstance(made, Alike) and made._part_by_part(made._merging(seconds)).word == "proved"
    assert set(had) == {wanted}


def test_products_of_equal_factors_are_any_number_and_those_by_a_constant_what_they_are() -> None:
    factor = op(Kind.BV_ADD, A, B)
    other = op(Kind.BV_ADD, op(Kind.BV_XOR, A, B), op(Kind.BV_MUL, value(2, 24), op(Kind.BV_AND, A, B)))
    product, again = op(Kind.BV_MUL, factor, C), op(Kind.BV_MUL, other, C)
    thrice, added = op(Kind.BV_MUL, C, value(3, 24)), op(Kind.BV_ADD, C, op(Kind.BV_ADD, C, C))
    assert of_any(same(product, again), constants=False) and not of_any(same(product, again), constants=True)
    assert of_any(same(op(Kind.BV_MUL, op(Kind.BV_ADD, B, A), C), product), constants=True)
    sums = same(op(Kind.BV_ADD, product, thrice), op(Kind.BV_ADD, again, added))
    assert of_any(sums, constants=False) and not of_any(sums, constants=True)
    assert not of_any(same(product, op(Kind.BV_MUL, factor, B)), constants=False)
    claims = (SameProducts("", "", "", (), one, (A, B, C)) for one in (same(product, again), sums))
    assert [claim.decide(60).word for claim in claims] == ["proved", "proved"]


def test_long_products_by_a_constant_are_any_number_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where factors are equal it does not matter that they are constants, and the solver need not multiply."""
    asked = list[bool]()

    def holds(claim: Term, conditions: object, seconds: float, *, constants: bool) -> bool:
        asked.append(constants)
        return constants

    monkeypatch.setattr(sameproducts, "_holds_of_any_products", holds)
    assert SameProducts("", "", "", (), same(A, B), (A, B)).decide(1).word == "proved"
    assert asked == [True]


@pytest.mark.parametrize(("factor", "wanted"), [(B, [True]), (value(3, 24), [True, False])])
def test_nothing_is_asked_twice_where_no_product_is_by_a_constant(
    factor: Term, wanted: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[bool]()

    def holds(claim: Term, conditions: object, seconds: float, *, constants: bool) -> bool:
        asked.append(constants)
        return False

    monkeypatch.setattr(sameproducts, "_holds_of_any_products", holds)
    assert SameProducts("", "", "", (), same(op(Kind.BV_MUL, A, factor), B), (A, B)).decide(1).word == "refuted"
    assert asked == wanted


def of_any(claim: Term, *, constants: bool) -> bool:
    """Whether a claim holds of any products."""
    return _holds_of_any_products(claim, (), 60.0, constants=constants)


def test_some_samples_repeat_a_few_bits() -> None:
    stream = Stream(1, "alike")
    drawn = [alike._drawn(stream, 64, at) for at in range(8)]
    repeating = [number for number in drawn if number == (number % 256) * 0x0101010101010101]
    assert len(repeating) == 2 and len(set(drawn)) == 8


def test_without_time_nothing_is_merged_and_later_it_is() -> None:
    samples = Evaluated({"alike.a": [1, 2], "alike.b": [3, 4], "alike.c": [5, 6]})
    first, second = (
        op(Kind.BV_ADD, A, B),
        op(Kind.BV_ADD, op(Kind.BV_XOR, A, B), op(Kind.BV_MUL, value(2, 24), op(Kind.BV_AND, A, B))),
    )
    merging = Merging(samples, 0.0)
    standing = merging.merged(first)
    with pytest.raises(OutOfTime):
        merging.merged(second)
    merging.until = math.inf
    assert merging.merged(second).id() == standing.id()
