"""What proofs rest on, beside known integers: unknown ones, and sums as linear forms."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import pytest

from hwsim.prove.claims import CasesClaim, by_value, holds
from hwsim.prove.linear import Form, Forms, Variable, form
from hwsim.prove.symbolic import Integer, as_integer, paths
from hwsim.prove.terms import Kind, Term, ask, both, constant, negated, op, same, substituted, value, width

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
