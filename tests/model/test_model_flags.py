"""Status flags, against IEEE 754's words on exact rationals: nothing here is taken from the model's own rounding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor
from typing import Any, Literal, NamedTuple

import pytest
from built_presets import others_slow
from model.witness_numbers import choose, floor_log2
from odd_units import unit as known
from unit_keys import chained, exact_sum, odd_unit, promoted, window

from hwsim.cases.case import Case, dot
from hwsim.cases.drawing import Stream
from hwsim.model import flags
from hwsim.model.definition import Definition
from hwsim.model.flags import FLAG_NAMES, FlagName, FlagRules, undefined
from hwsim.spec import Unit


class Small(NamedTuple):
    """A format with subnormals, infinities and IEEE 754's NaNs, as the test reads it."""

    exponent_bits: int
    fraction_bits: int
    bias: int

    @property
    def keys(self) -> dict[str, Any]:
        """It as a specification has it."""
        return {"name": "small", "kind": "float", **self._asdict(), "infinities": True, "nan": "ieee"}

    @property
    def codes(self) -> int:
        """How many codes it has."""
        return 1 << 1 + self.exponent_bits + self.fraction_bits

    @property
    def emin(self) -> int:
        """Exponent of the least normal number."""
        return 1 - self.bias

    @property
    def most(self) -> Fraction:
        """The largest finite number."""
        exp = (1 << self.exponent_bits) - 2 - self.bias
        return (2 - Fraction(1, 1 << self.fraction_bits)) * Fraction(2) ** exp

    def value(self, code: int) -> Fraction | str:
        """A number, `inf`, `-inf`, `nan` or `snan`."""
        negative, bare = divmod(code, self.codes // 2)
        biased, fraction = divmod(bare, 1 << self.fraction_bits)
        if biased == (1 << self.exponent_bits) - 1:
            if fraction == 0:
                return "-inf" if negative else "inf"
            return "nan" if 2 * fraction >= 1 << self.fraction_bits else "snan"
        hidden = int(biased > 0)
        number = (hidden + Fraction(fraction, 1 << self.fraction_bits)) * Fraction(2) ** (max(biased, 1) - self.bias)
        return -number if negative else number


SMALL = Small(3, 2, 3)
Rounding = Literal["rne", "rna", "rz", "ru", "rd"]


def to_multiple(number: Fraction, step: Fraction, rounding: Rounding) -> Fraction:
    """The multiple of a step that a rounding takes a number to."""
    size = abs(number) / step
    return choose(floor(size), size, number < 0, rounding) * (-step if number < 0 else step)


def binade(number: Fraction) -> int:
    """The exponent of a number's leading one."""
    return floor_log2(abs(number))


def expected(fmt: Small, exact: Fraction, rounding: Rounding, tininess: str) -> dict[str, bool]:
    """Overflow, underflow and inexact of a number, by IEEE 754-2019, sections 7.4 to 7.6."""
    if exact == 0:
        return {"overflow": False, "underflow": False, "inexact": False}
    unbounded = to_multiple(exact, Fraction(2) ** (binade(exact) - fmt.fraction_bits), rounding)
    overflow = abs(unbounded) > fmt.most
    delivered = to_multiple(exact, Fraction(2) ** (max(binade(exact), fmt.emin) - fmt.fraction_bits), rounding)
    inexact = overflow or delivered != exact
    tiny = abs(exact if tininess == "before" else unbounded) < Fraction(2) ** fmt.emin
    return {"overflow": overflow, "underflow": tiny and inexact, "inexact": inexact}


def invalid(values: Sequence[tuple[Fraction | str, Fraction | str]], c: Fraction | str, rule: str) -> bool | None:
    """Section 7.2, of a sum of products and an addend."""
    operands = [c, *(one for pair in values for one in pair)]
    if (rule == "invalid" and "snan" in operands) or (rule == "all" and {"nan", "snan"} & set(operands)):
        return True
    infinities, made = set[str](), False
    terms = [pair for pair in values if not {"nan", "snan"} & set(pair)]
    for a, b in terms:
        if isinstance(a, str) or isinstance(b, str):
            if a == 0 or b == 0:
                made = True
            else:
                negative = sum(one.startswith("-") if isinstance(one, str) else one < 0 for one in (a, b)) == 1
                infinities.add("-inf" if negative else "inf")
    if isinstance(c, str) and c.endswith("inf"):
        infinities.add(c)
    made = made or len(infinities) == 2
    return None if made and {"nan", "snan"} & set(operands) else made


def cases(count: int, products: int, specials: bool) -> Iterator[Case]:
    """Codes at random, every other case of small numbers; every pair of special ones with special and other addends."""
    draw = Stream(1, "flags", str(products))

    def code(small: bool) -> int:
        return draw.randrange(12) | 32 * draw.randrange(2) if small else draw.randrange(SMALL.codes)

    for number in range(count):
        small = number % 2 == 1
        a, b = (tuple(code(small) for _ in range(products)) for _ in range(2))
        yield Case(f"r{number}", a, b, code(small))
    if not specials:
        return
    special = [code for code in range(SMALL.codes) if isinstance(SMALL.value(code), str) or SMALL.value(code) == 0]
    for a in special:
        for b in special:
            for c in {*special, *range(0, SMALL.codes, 17)}:
                yield Case("s", (a, *[0] * (products - 1)), (b, *[0] * (products - 1)), c)


def unit(name: str, products: int, rounding: Rounding) -> Unit:
    small = SMALL.keys
    rule = chained("sequential", small, rounding) if name == "chain" else exact_sum(zero="ieee")
    return odd_unit(
        name, (small, small), small, rule, small, products, chain="none", rounding=rounding, overflow="ieee"
    )


def differ(
    made: Unit, rounding: Rounding, tininess: Literal["before", "after"], count: int = 2000, specials: bool = True
) -> set[FlagName]:
    """The flags of which the model says something else than the rationals."""
    definition, wrong = Definition(made), set[FlagName]()
    rule: Literal["invalid", "quiet", "all"]
    for case in cases(count, made.instruction.lanes, specials):
        explanation = dot(definition, case)
        values = [(SMALL.value(a), SMALL.value(b)) for a, b in zip(case.a, case.b, strict=True)]
        c = SMALL.value(case.c)
        want: dict[FlagName, bool | None] = {"overflow": False, "underflow": False, "inexact": False}
        if all(isinstance(number, Fraction) for number in (c, *(number for pair in values for number in pair))):
            exact = sum((a * b for a, b in values), c)  # type: ignore[operator, misc]
            want |= expected(SMALL, exact, rounding, tininess)  # type: ignore[arg-type]
        want |= {"divide_by_zero": False, "nan": "nan" in str(SMALL.value(explanation.code))}
        for rule in ("invalid", "quiet", "all"):
            rules = FlagRules(tininess, rule)
            want["invalid"] = invalid(values, c, rule)
            wrong |= {name for name in FLAG_NAMES if flags.flag(explanation, name, rules) != want[name]}
    return wrong


@pytest.mark.parametrize("tininess", ["before", "after"])
@pytest.mark.parametrize("rounding", others_slow(["rne", "rna", "rz", "ru", "rd"], ["rne", "rz", "ru"]))
@pytest.mark.parametrize(("name", "products"), [("chain", 1), ("exact", 1), ("exact", 3)])
def test_flags_are_those_of_the_exact_rationals(
    name: str, products: int, rounding: Rounding, tininess: Literal["before", "after"]
) -> None:
    # Special values are not rounded: one rounding is enough for them.
    assert differ(unit(name, products, rounding), rounding, tininess, 300, specials=rounding == "rne") == set()


def tiny_alone(group: Any, name: Any, rules: Any) -> bool:
    """Underflow of every tiny result, exact or not, which is that of a trap that is enabled."""
    return bool(group.rounded.tiny) if name == "underflow" else OF_ROUNDING(group, name, rules)


OF_ROUNDING = flags._of_rounding


@pytest.mark.parametrize(
    ("change", "made", "caught"),
    [
        ({"tiny_after": lambda *_: True}, "rne", {"underflow"}),
        ({"signaling": lambda *_: False}, "rne", {"invalid"}),
        ({"_of_rounding": tiny_alone}, "rne", {"underflow"}),
        ({"_has_nan": lambda *_: False}, "rne", {"invalid"}),
        ({}, "ru", {"overflow", "underflow"}),  # a unit of another rounding
    ],
)
def test_a_wrong_rule_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], made: Rounding, caught: set[FlagName]
) -> None:
    for name, wrong in change.items():
        monkeypatch.setattr(flags, name, wrong)
    assert differ(unit("exact", 1, made), "rne", "after") == caught


WINDOW = odd_unit("window", "e5m2", "f32", window(23), "f32", 2)
GROUPS = odd_unit("groups", "e5m2", "f32", exact_sum(rounded="group"), "f32", 2)
FUSED = odd_unit("fused", "e5m2", "f32", chained("sequential", "f32"), "f32", 1, chain="none")


@pytest.mark.parametrize(
    ("made", "products", "name", "said"),
    [
        (WINDOW, 2, "inexact", "one rounding, and window loses bits below its window"),
        (WINDOW, 2, "nan", ""),
        (FUSED, 1, "inexact", ""),
        (FUSED, None, "inexact", "rounds every addition, and dot products have several"),
        (odd_unit("e", "e5m2", "f32", exact_sum(), "f32", 2), None, "underflow", ""),
        (
            odd_unit("e", "e5m2", "f32", exact_sum(rounded="group"), "f32", 2),
            None,
            "inexact",
            "rounds after each group",
        ),
        (odd_unit("e", "e5m2", "f32", exact_sum(rounded="group"), "f32", 2), 2, "inexact", ""),
        (odd_unit("e", "e5m2", "f32", exact_sum(), "f32", 2, **promoted(2, "f32")), 2, "overflow", "promotes"),
        (odd_unit("e", "e5m2", "f32", exact_sum(), "f32", 2, daz=True), 2, "inexact", "takes subnormals for zeros"),
        (odd_unit("e", "e5m2", "none", exact_sum(), "e4m3", 2, overflow="nan"), 2, "invalid", "e4m3 has no infinity"),
        (known("exact-blocks"), 2, "invalid", "sums parts of a group first"),
        (odd_unit("e", "int8", "none", exact_sum(), "i32", 2, overflow="wrap"), 2, "overflow", ""),
        (odd_unit("e", "int8", "none", exact_sum(), "i32", 2, overflow="wrap"), 2, "underflow", "a fixed number, i32"),
        (odd_unit("e", "int8", "none", exact_sum(), "i32", 2, overflow="wrap"), 2, "nan", "i32 has no NaN"),
    ],
)
def test_a_flag_that_is_not_defined_is_refused_with_the_reason(
    made: Unit, products: int | None, name: FlagName, said: str
) -> None:
    reason = undefined(made, name, products)
    assert (said in reason) if said else not reason
