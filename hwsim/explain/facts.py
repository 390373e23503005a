"""What wrong results of a design have in common: how they differ, when they come, what they do not depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from hwsim.cases.case import Case
from hwsim.explain.candidate import Candidate, results
from hwsim.formats import Class, FloatFormat, Format
from hwsim.formats.codes import unpack
from hwsim.spec import Unit

MOST_FACTS = 6
RARE = 0.5  # a condition that so many right cases meet too says little
FEW_ZEROS = 0.2  # of the largest kind of finite results, so many zeros are no kind of their own
ENOUGH = 2  # wrong results of which something can be said


class Observation(NamedTuple):
    """A result of a design.

    before: the result that left before it, None where nobody knows it. stalled: whether it came under back-pressure;
    None where nobody knows.
    """

    case: Case
    code: int
    before: int | None = None
    stalled: bool | None = None


class WrongResult(NamedTuple):
    """A wrong result. expected, got: codes. stalled: whether it came under back-pressure, None where nobody knows."""

    case: Case
    expected: int
    got: int
    stalled: bool | None = None


Classes = frozenset[tuple[str, str]]  # what is expected and what came, as `class_of` calls them


def by_class(
    fmt: Format, places: Sequence[int], wrong: Callable[[int], WrongResult]
) -> list[tuple[Classes, list[int]]]:
    """Wrong results by what is expected and what came, the largest kind first.

    Zeros are numbers where they are few: a number that is wrong is now and then zero.
    """
    kinds: dict[tuple[str, str], list[int]] = {}
    for index in places:
        result = wrong(index)
        kinds.setdefault((class_of(fmt, result.expected), class_of(fmt, result.got)), []).append(index)
    joined_kinds = [(frozenset([pair]), members) for pair, members in kinds.items()]
    finite = [kind for kind in joined_kinds if all(set(pair) <= {ZERO, NUMBER} for pair in kind[0])]
    if finite:
        many = max(len(members) for _, members in finite)
        joined = [kind for kind in finite if len(kind[1]) >= FEW_ZEROS * many or kind[0] == {(NUMBER, NUMBER)}]
        whole = max(joined, key=lambda kind: len(kind[1]))
        small = [kind for kind in finite if kind not in joined]
        others = [kind for kind in joined_kinds if kind not in small and kind is not whole]
        pairs = frozenset(pair for kind in (whole, *small) for pair in kind[0])
        joined_kinds = [*others, (pairs, sorted(index for kind in (whole, *small) for index in kind[1]))]
    return sorted(joined_kinds, key=lambda kind: -len(kind[1]))


def facts(unit: Unit, wrong: Sequence[WrongResult], right: Sequence[Observation]) -> tuple[str, ...]:
    """The features that all wrong results have in common, in a few sentences; none of fewer than two results.

    right: right results beside them. What most of them have too is not said.
    """
    if len(wrong) < ENOUGH:
        return ()
    return (*_differences(unit.output, wrong), *_conditions(unit, wrong, right))[:MOST_FACTS]


def _differences(fmt: Format, wrong: Sequence[WrongResult]) -> Iterator[str]:
    codes = {result.got for result in wrong}
    if len(codes) == 1:
        yield f"the result is always {next(iter(codes)):#x}"
    if isinstance(fmt, FloatFormat):
        yield from _float_differences(fmt, wrong)
    changed = 0
    for result in wrong:
        changed |= result.expected ^ result.got
    if changed.bit_count() == 1:
        yield f"only bit {changed.bit_length() - 1} of the result differs"


def _float_differences(fmt: FloatFormat, wrong: Sequence[WrongResult]) -> Iterator[str]:
    sign = fmt.sign_bit << fmt.padding if fmt.signed else 0
    if all((result.expected ^ result.got) == sign for result in wrong):
        zero = all(result.expected & ~sign == 0 for result in wrong)
        yield "only signs of zero differ" if zero else "only the sign differs"
        return
    finite = [_places(fmt, result) for result in wrong]
    apart = [result for result in finite if result is not None]
    if len(apart) < len(wrong):
        kinds = {(_kind(fmt, result.expected), _kind(fmt, result.got)) for result in wrong}
        if len(kinds) == 1:
            (expected, got) = kinds.pop()
            if expected != got:
                yield f"{got} where {expected} is expected"
        return
    steps = set(apart)
    if len(steps) == 1:
        (by,) = steps
        amount = "one ulp" if abs(by) == 1 else f"{abs(by)} ulp"
        yield f"the magnitude is always {amount} {'above' if by > 0 else 'below'}"
    elif steps <= {-1, 1}:
        yield "the magnitude is always one ulp above or below"
    elif all(step % (1 << fmt.fraction_bits) == 0 for step in steps):
        yield "only the exponent differs"
    elif all(step > 0 for step in steps) or all(step < 0 for step in steps):
        yield f"the magnitude is always {'above' if min(steps) > 0 else 'below'}"


def _places(fmt: FloatFormat, result: WrongResult) -> int | None:
    """The ulp that the result's magnitude is above the expected one; None unless both are finite and of one sign."""
    if _kind(fmt, result.expected) not in FINITE or _kind(fmt, result.got) not in FINITE:
        return None
    expected, got = result.expected >> fmt.padding, result.got >> fmt.padding
    if (expected ^ got) & fmt.sign_bit:
        return None
    return (got & (fmt.sign_bit - 1)) - (expected & (fmt.sign_bit - 1))


FINITE = ("zero", "a subnormal", "a number")
ZERO, NUMBER = "zero", "a number"


def class_of(fmt: Format, code: int) -> str:
    """The class of a code, in words: NaN, infinity, zero, or a number, subnormal or not; below 0, it is no code."""
    if code < 0:
        return "no result"
    if not isinstance(fmt, FloatFormat):
        return NUMBER if code else ZERO
    kind = _kind(fmt, code)
    return NUMBER if kind == "a subnormal" else kind


def _kind(fmt: FloatFormat, code: int) -> str:
    bare = code >> fmt.padding
    if code & ((1 << fmt.padding) - 1) or fmt.is_nan(bare):
        return "NaN"
    words = {
        Class.ZERO: "zero", Class.SUBNORMAL: "a subnormal", Class.NORMAL: "a number", Class.INFINITY: "infinity",
        Class.NAN: "NaN",
    }  # fmt: skip
    return words[fmt.fields(bare).cls]


def _negative(fmt: Format, code: int) -> bool:
    fields = unpack(fmt, code)
    return bool(fields.sign) and fields.cls is not Class.NAN


def _conditions(unit: Unit, wrong: Sequence[WrongResult], right: Sequence[Observation]) -> Iterator[str]:
    """Yield the conditions that all wrong results' cases meet, and most cases with right results do not."""
    fmt = unit.output
    if isinstance(fmt, FloatFormat):
        kinds = {_kind(fmt, result.expected) for result in wrong}
        if len(kinds) == 1 and kinds != {"a number"}:
            yield f"only where {next(iter(kinds))} is expected"
    rare = RARE * len(right)
    if (
        all(_negative(fmt, result.expected) for result in wrong)
        and sum(_negative(fmt, result.code) for result in right) <= rare
    ):
        yield "only where the result is negative"
    if all(result.stalled for result in wrong) and any(result.stalled is False for result in right):
        yield "only in suites with gaps and back-pressure"
    for words, holds in _input_conditions(unit):
        if all(holds(result.case) for result in wrong) and sum(holds(result.case) for result in right) <= rare:
            yield words


def _input_conditions(unit: Unit) -> Iterator[tuple[str, Callable[[Case], bool]]]:
    """Conditions of operands, in words, the narrower ones first."""
    lanes = unit.instruction.lanes
    a, b, c = unit.operands.a, unit.operands.b, unit.operands.addend

    def lane_in_use(lane: int) -> Callable[[Case], bool]:
        return lambda case: any(case.a[i] and case.b[i] for i in range(lane, len(case.a), lanes))

    def lane_alone(lane: int) -> Callable[[Case], bool]:
        return lambda case: {i % lanes for i in range(len(case.a)) if case.a[i] and case.b[i]} == {lane}

    def negative(side: Literal["a", "b"], fmt: Format) -> Callable[[Case], bool]:
        return lambda case: any(_negative(fmt, code) for code in set(getattr(case, side)))

    def pairs(holds: Callable[[bool, bool], bool]) -> Callable[[Case], bool]:
        return lambda case: any(
            holds(_negative(a, x), _negative(b, y)) for x, y in set(zip(case.a, case.b, strict=True)) if x and y
        )

    yield "only with special operands", lambda case: special_operands(unit, case)
    for lane in range(lanes if lanes > 1 else 0):
        yield f"only where lane {lane} alone is not zero", lane_alone(lane)
        yield f"only where lane {lane} is not zero", lane_in_use(lane)
    yield "only with more than one beat", lambda case: len(case.a) > lanes
    yield "only where both factors of a product are negative", pairs(lambda x, y: x and y)
    yield "only where a is negative", negative("a", a)
    yield "only where b is negative", negative("b", b)
    yield "only where a product is negative", pairs(lambda x, y: x != y)
    yield "only where a factor is negative", pairs(lambda x, y: x or y)
    if c is not None:
        yield "only where the addend is negative", lambda case: _negative(c, case.c)
        yield "only with an addend other than zero", lambda case: case.c != 0
    yield "only where a factor is subnormal", lambda case: _any_class(unit, case, (Class.SUBNORMAL,), addend=False)
    yield "only with subnormal operands", lambda case: _any_class(unit, case, (Class.SUBNORMAL,))
    yield (
        "only with operands of zero in every lane",
        lambda case: not any(x and y for x, y in zip(case.a, case.b, strict=True)),
    )
    below = (Class.ZERO, Class.SUBNORMAL)
    yield "only where a factor is zero", lambda case: _any_class(unit, case, (Class.ZERO,), addend=False)
    yield "only where a factor is zero or subnormal", lambda case: _any_class(unit, case, below, addend=False)


def special_operands(unit: Unit, case: Case) -> bool:
    """True if an operand, or a scale, is NaN or infinite."""
    scales: tuple[tuple[Format, tuple[int, ...]], ...] = ()
    if unit.scale is not None:
        scales = (unit.scale.a.format, case.scale_a), (unit.scale.b.format, case.scale_b)
    special = (Class.NAN, Class.INFINITY)
    return _any_class(unit, case, special) or any(
        unpack(fmt, code).cls in special for fmt, codes in scales for code in set(codes)
    )


def _any_class(unit: Unit, case: Case, classes: tuple[Class, ...], addend: bool = True) -> bool:
    """True if an operand is of one of some classes. addend: whether the addend counts as one."""
    operands = unit.operands
    factors = any(
        unpack(fmt, code).cls in classes
        for fmt, codes in ((operands.a, case.a), (operands.b, case.b))
        for code in set(codes)
    )
    return factors or (addend and operands.addend is not None and unpack(operands.addend, case.c).cls in classes)


PAIRS, LANE_PAIRS = 16, 10  # cases that are asked in pairs, of an operand and of a lane
LEAST = 8  # pairs from which on something is said
MOST_LANES = 16  # of more lanes only these are asked


class Varied(NamedTuple):
    """A part of a case. name: in a sentence. moved: a case with this part of another of the same length."""

    name: str
    moved: Callable[[Case, Case], Case]


def parts(unit: Unit) -> Iterator[Varied]:
    """The operands of a unit, and its lanes."""

    def operand(*fields: str) -> Callable[[Case, Case], Case]:
        def moved(to: Case, source: Case) -> Case:
            values: dict[str, Any] = {field: getattr(source, field) for field in fields}
            return replace(to, **values)

        return moved

    def lane(place: int, lanes: int) -> Callable[[Case, Case], Case]:
        def moved(to: Case, source: Case) -> Case:
            a, b = (
                tuple(theirs[i] if i % lanes == place else code for i, code in enumerate(mine))
                for mine, theirs in ((to.a, source.a), (to.b, source.b))
            )
            return replace(to, a=a, b=b)

        return moved

    yield Varied("a", operand("a"))
    yield Varied("b", operand("b"))
    if unit.operands.addend is not None:
        yield Varied("the addend", operand("c"))
    if unit.scale is not None:
        yield Varied("the scales of a", operand("scale_a"))
        yield Varied("the scales of b", operand("scale_b"))
    lanes = unit.instruction.lanes
    # Lanes are those of a beat where products come in order.
    if lanes > 1 and unit.instruction.order == "sequential":
        for place in range(min(lanes, MOST_LANES)):
            yield Varied(f"lane {place}", lane(place, lanes))


def varied(unit: Unit, cases: Sequence[Case]) -> list[Case]:
    """Cases in which one part of some of these cases is another's, and which must then have other results."""
    few = list(cases[:: max(1, len(cases) // (3 * PAIRS))])
    variants = list[tuple[str, Case, Case]]()
    for part in parts(unit):
        for number, case in enumerate(few):
            source = next((donor for donor in (*few[number + 1 :], *few[:number]) if len(donor.a) == len(case.a)), None)
            if source is not None and (moved := part.moved(case, source)) != case:
                variants.append((part.name, case, moved))
    model = Candidate("as specified", unit)
    before, after = (
        results(model, [case for _, case, _ in variants]),
        results(model, [moved for _, _, moved in variants]),
    )
    kept, counts = list[Case](), dict[str, int]()
    for (name, case, moved), code, other_code in zip(variants, before, after, strict=True):
        if code != other_code and counts.get(name, 0) < (LANE_PAIRS if name.startswith("lane") else PAIRS):
            counts[name] = counts.get(name, 0) + 1
            kept += [case, moved]
    return list(dict.fromkeys(kept))


def independent(unit: Unit, cases: Sequence[Case], expected: Sequence[int], got: Sequence[int]) -> list[str]:
    """Sentences that name the parts of cases on which no result depends: cases that differ in one alone agree.

    expected, got: a code for each case. Only cases that must have different results count, and only many of them say
    something. A lane is not told where the results do not depend on a or b.
    """
    sentences = dict[str, str]()
    empty = Case("", (), ())
    for part in parts(unit):
        if part.name.startswith("lane") and sentences.keys() & {"a", "b"}:
            break
        groups: dict[Case, list[int]] = {}
        for index, case in enumerate(cases):
            zeros = replace(empty, a=(0,) * len(case.a), b=(0,) * len(case.b))
            zeros = replace(zeros, scale_a=(0,) * len(case.scale_a), scale_b=(0,) * len(case.scale_b))
            groups.setdefault(replace(part.moved(case, zeros), id=""), []).append(index)
        pairs = [
            (first, second)
            for members in groups.values()
            for first, second in pairwise(members)
            if expected[first] != expected[second]
        ]
        if len(pairs) >= LEAST and all(got[first] == got[second] for first, second in pairs):
            sentences[part.name] = (
                f"the result does not depend on {part.name}: {len(pairs)} of {len(pairs)} pairs of cases that differ "
                "in it alone, and must have different results, have the same"
            )
    return list(sentences.values())
