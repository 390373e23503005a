"""A few units that stand for many: together they have every rule, format and shape that any of the many has."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from odd_units import unit

from hwsim.formats import Format, formats, get_format
from hwsim.quantize import get_rule
from hwsim.quantize.rule import Rule
from hwsim.spec import Unit

Item = TypeVar("Item")
Fact = Hashable

WORDS = {"unit", "summary", "evidence", "source"}
# How often a rule is applied, and to how many bits, makes no other rule.
LENGTHS = {"k", "lanes", "fraction_bits", "block", "interval"}
FACTORS = {"a", "b"}
FORMATS = {*formats()}
FORMAT_LENGTHS = {"name", "summary", "source", "exponent_bits", "fraction_bits", "integer_bits", "bias"}


def representatives(
    items: Iterable[Item], facts: Callable[[Item], set[Fact]], cost: Callable[[Item], Any]
) -> list[Item]:
    """As few of these as have, together, every fact that any of them has: of equally useful ones the cheapest."""
    left = [(item, facts(item)) for item in items]
    missing = set[Fact]().union(*(of for _, of in left))
    chosen = list[int]()
    while missing:
        best = min(range(len(left)), key=lambda at: (-len(left[at][1] & missing), cost(left[at][0]), at))
        chosen.append(best)
        missing -= left[best][1]
    return [left[at][0] for at in sorted(chosen)]


def with_every_format(names: Iterable[str], beside: Iterable[str] = ()) -> list[str]:
    """Of presets and odd units some that have every rule, every format of an operand and every shape of a sum.

    beside: units whose rules need not be met again.
    """
    return _named(names, beside, lambda one: {*_rules(one, True)})


def with_every_rule(names: Iterable[str], beside: Iterable[str] = ()) -> list[str]:
    """The same, whatever their formats are."""
    return _named(names, beside, lambda one: {*_rules(one, False)})


def with_every_shape(names: Iterable[str]) -> list[str]:
    """One of each shape of a sum: its method, and what is beside it."""
    return _named(names, (), lambda one: {_shape(one)})


def formats_of_every_kind(names: Iterable[str]) -> list[str]:
    """Formats with all that any of these has or lacks: a sign, zeros, subnormals, NaN, infinities, padding."""
    return representatives(names, lambda name: {*_kind(get_format(name))}, lambda name: get_format(name).bits)


def rules_of_every_kind(names: Iterable[str]) -> list[str]:
    """Rules of quantisation with every way of choosing, applying and bounding scales, and every kind of format."""
    return representatives(names, lambda name: {*_choices(get_rule(name))}, len)


def _kind(fmt: Format) -> Iterator[tuple[Fact, ...]]:
    for key, value in fmt.model_dump(exclude=FORMAT_LENGTHS).items():
        yield key, _said(value)


def _choices(rule: Rule) -> Iterator[tuple[Fact, ...]]:
    for key, value in vars(rule).items():
        if isinstance(value, Format):
            yield from ((key, *fact) for fact in _kind(value))
        elif key not in {"source", "block"}:
            yield key, value


def _named(names: Iterable[str], beside: Iterable[str], facts: Callable[[Unit], set[Fact]]) -> list[str]:
    met = set[Fact]().union(*(facts(unit(name)) for name in beside))
    return [one.name for one in representatives(map(unit, names), lambda one: facts(one) - met, _bits)]


def _bits(one: Unit) -> tuple[int, str]:
    """How large its circuit is, about."""
    return one.instruction.k * (one.operands.a.bits + one.operands.b.bits) + one.output.bits, one.name


def _shape(one: Unit) -> Fact:
    """The method, where scales and the addend come in, how parts are summed and how they are promoted."""
    parts = one.model_dump(mode="json")
    scale, promotion, group = (parts[key] or {} for key in ("scale", "promotion", "sum"))
    subgroup = group.get("subgroup") or {}
    return group["method"], scale.get("at"), one.late is None, subgroup.get("method"), promotion.get("add")


def _rules(one: Unit, formats: bool) -> Iterator[Fact]:
    """What a unit's file says, key by key, but for lengths; of numbers and lists it counts that there are some."""
    yield _shape(one)
    for path, value in _leaves("", one.model_dump(mode="json", exclude=WORDS)):
        if isinstance(value, dict):  # a format of its own
            yield path, value["kind"] if formats else "a format"
        elif isinstance(value, str) and value in FORMATS:
            yield path, value if formats else "a format"
        else:
            yield path, _said(value)


def _said(value: Any) -> Fact:
    """A word as it is; of numbers and lists, whether there are some."""
    return value if isinstance(value, str | bool | None) else (type(value).__name__, bool(value))


def _leaves(path: str, data: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(data, dict) or "kind" in data:
        yield path, data
        return
    for key, value in data.items():
        if key not in LENGTHS:
            yield from _leaves(f"{path}.{'factor' if key in FACTORS else key}", value)
