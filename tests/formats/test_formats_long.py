"""Fixed formats of any width, their point anywhere: against exact rationals, and what refuses them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.witness_numbers import Form, fixed
from pydantic import ValidationError

from hwsim.base.arrays import code_array, from_words, to_words
from hwsim.base.errors import InputError
from hwsim.formats import FixedFormat, codes_of, container_dtype, get_format, order_key, parse, unpack
from hwsim.formats import reference as wide_codec
from hwsim.formats.reference import encode_reference
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import Rule
from hwsim.spec import Unit
from hwsim.spec.conversion import Conversion

ROUNDINGS = ("rne", "rna", "rz", "ru", "rd", "rto")


def placed(bits: int, fraction_bits: int) -> FixedFormat:
    return FixedFormat(name="placed", integer_bits=bits - 1 - fraction_bits, fraction_bits=fraction_bits)


# Both sides of every limit: what int64 and float64 hold, what a container of 64 bits holds.
FORMATS = [placed(bits, at) for bits in (2, 16, 33, 52, 53, 54, 63, 64, 65, 73, 200) for at in (-5, 0, 3, 40, 150)]


def numbers(fmt: FixedFormat) -> st.SearchStrategy[Fraction]:
    """Around the format's steps, the places between them, and its ends."""
    unit, end = Fraction(2) ** -fmt.fraction_bits, 1 << fmt.bits - 1
    steps = st.one_of(st.integers(-end - 3, end + 2), st.integers(-9, 9), st.sampled_from([-end, end - 1, end]))
    between = st.sampled_from([Fraction(part, 1 << 70) for part in (0, 1, 1 << 69, (1 << 69) - 1, (1 << 69) + 1)])
    return st.builds(lambda step, part: (step + part) * unit, steps, between)


@settings(max_examples=300)
@given(st.data(), st.sampled_from(FORMATS), st.sampled_from(ROUNDINGS))
def test_codes_are_those_of_exact_rationals(data: st.DataObject, fmt: FixedFormat, rounding: str) -> None:
    number = data.draw(numbers(fmt))
    want = fixed(Form(0, fmt.fraction_bits, 0, "fixed", fmt.bits), number, rounding, "saturate")
    for encode in (fmt.encode, lambda *how: encode_reference(fmt, *how)):
        codes = encode([number], rounding)
        assert codes.tolist() == [want]
        assert codes.dtype == container_dtype(fmt)
    value = Fraction(fmt.decode([want])[0])
    assert value == (want - (want >> fmt.bits - 1 << fmt.bits)) * Fraction(2) ** -fmt.fraction_bits


def test_a_wrong_rounding_is_told() -> None:
    # What the comparison above holds codecs to: each of these takes another neighbour somewhere.
    form, end = Form(0, 0, 0, "fixed", 73), Fraction(1 << 60)
    halves = [(end + part) * sign for part in (Fraction(1, 2), Fraction(3, 2), Fraction(1, 4)) for sign in (1, -1)]
    picked = {rounding: tuple(fixed(form, half, rounding, "saturate") for half in halves) for rounding in ROUNDINGS}
    assert len(set(picked.values())) == len(ROUNDINGS)


@pytest.mark.parametrize("fmt", [placed(73, 20), placed(54, 20), placed(53, 20)], ids=lambda fmt: str(fmt.bits))
def test_what_no_rational_is(fmt: FixedFormat) -> None:
    end = 1 << fmt.bits - 1
    assert fmt.encode([math.inf, -math.inf]).tolist() == [end - 1, end]
    assert fmt.encode(np.float32([0.5, -0.5])).tolist() == [1 << 19, 2 * end - (1 << 19)]
    assert fmt.encode([math.nan], missing="zero").tolist() == [0]
    assert fmt.encode([math.nan], missing="saturate").tolist() == [end - 1]
    with pytest.raises(InputError, match=r"x\[1\] is nan, for which placed has no code"):
        fmt.encode([1.0, math.nan])
    with pytest.raises(TypeError, match="x must hold real numbers"):
        fmt.encode(["one"])


def test_long_formats_are_not_rounded_to_at_random() -> None:
    with pytest.raises(InputError, match="rounding must not be stochastic for placed"):
        placed(73, 20).encode([0.5], "stochastic", random_bits=4, seed=1)


def test_codes_of_more_than_64_bits_are_pythons_integers() -> None:
    fmt = placed(73, 20)
    given_codes = codes_of(fmt, [1, -1, (1 << 73) - 1])
    assert (given_codes.dtype, given_codes.tolist()) == (np.dtype(object), [1, (1 << 73) - 1, (1 << 73) - 1])
    assert order_key(fmt, given_codes).tolist() == [1, -1, -1]
    assert unpack(fmt, 1 << 72)[:3] == (1, 0, 1 << 72)
    with pytest.raises(InputError, match=r"codes\[0\] is 9444732965739290427392: placed codes are -"):
        codes_of(fmt, [1 << 73])
    with pytest.raises(InputError, match="placed codes are"):
        codes_of(fmt, [-(1 << 72) - 1])


@pytest.mark.parametrize(
    ("codes", "words"),
    [([0, 5], [[0], [5]]), ([1 << 70, 3], [[0, 64], [3, 0]]), ([(1 << 64) - 1], [[(1 << 64) - 1]]), ([], [])],
)
def test_codes_as_words_and_back(codes: list[int], words: list[list[int]]) -> None:
    found = to_words(code_array(codes))
    assert found.dtype == np.uint64
    assert found.tolist() == words
    assert from_words(found).tolist() == codes


def test_words_of_a_width_do_not_depend_on_the_codes() -> None:
    assert to_words(code_array([1, 2], 73), 2).tolist() == [[1, 0], [2, 0]]
    assert to_words(code_array([1, 2]), 2).tolist() == [[1, 0], [2, 0]]


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"integer_bits": 2000, "fraction_bits": 0}, "less than or equal to 1000"),
        ({"integer_bits": -4, "fraction_bits": 3}, "must make a code of 1 to 1024 bits, not of 0"),
        ({"integer_bits": 1000, "fraction_bits": 1000}, "must make a code of 1 to 1024 bits, not of 2001"),
    ],
)
def test_what_no_code_has(keys: dict[str, int], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        parse({"name": "wrong", "kind": "fixed", **keys})


LONG = {"name": "long", "kind": "fixed", "integer_bits": 40, "fraction_bits": 0}
LOW = {"name": "low", "kind": "fixed", "integer_bits": 9, "fraction_bits": -2}
RULE = "must have at most 32 bits, and no negative number of integer or fraction bits"


def keys(**more: Any) -> dict[str, Any]:
    return {
        "unit": "odd", "operands": {"a": "e2m1", "b": "e2m1"}, "instruction": {"k": 4, "lanes": 4},
        "sum": {"method": "exact"}, "result": {"format": LONG, "rounding": "rne", "overflow": "wrap"}, **more,
    }  # fmt: skip


@pytest.mark.parametrize("fmt", [LONG, LOW], ids=["long", "low"])
def test_operands_have_short_formats(fmt: dict[str, Any]) -> None:
    Unit.model_validate(keys())
    wrong = [keys(operands={"a": fmt, "b": "e2m1"}), keys(operands={"a": "e2m1", "b": fmt})]
    wrong.append(keys(scale={"a": {"format": fmt, "block": [1, 4]}, "b": {"format": "e8m0", "block": [4, 1]}}))
    for unit in wrong:
        with pytest.raises(ValidationError, match=RULE):
            Unit.model_validate(unit)
    with pytest.raises(SpecError, match=f"element {RULE}"):
        Rule(element=parse(fmt), scale_format=get_format("e8m0"))
    with pytest.raises(InputError, match=f"source {RULE}"):
        Conversion(source=parse(fmt), target=get_format("f32"))
    with pytest.raises(InputError, match=f"target {RULE}"):
        Conversion(source=get_format("f32"), target=parse(fmt))


def test_shifted_formats_are_encoded_alike_by_loops_and_by_the_definition() -> None:
    x = np.random.default_rng(3).normal(0, 500, 9_000).astype(np.float32)
    for fmt in (placed(12, -3), placed(20, 25), placed(9, -130), placed(40, 22)):
        for rounding in ROUNDINGS[::2]:
            assert (fmt.encode(x, rounding) == encode_reference(fmt, x, rounding)).all()
    assert wide_codec.decode(placed(70, 22), placed(70, 22).encode([0.25]))[0] == Fraction(1, 4)
