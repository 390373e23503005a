"""Random numbers that stay the same, and random cases of every kind: valid, and what they are called."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from itertools import islice
from math import lcm

import numpy as np
import pytest
from cases.vectors_measure import ODD
from cases.vectors_measure import unit_of as measured_unit
from vectors.vectorset_units import KINDS as UNITS
from vectors.vectorset_units import unit_of

from hwsim.cases import drawing
from hwsim.cases.aimed import aimed
from hwsim.cases.case import Case, block_lengths, expected, term_scales
from hwsim.cases.drawing import AHEAD, DIRECTED, MORE, Stream, key_of, normals
from hwsim.cases.random_cases import FEW, FEW_UNTIL, KINDS, MANY, draw, most_beats, random_batch, random_cases, runs
from hwsim.cases.random_loops import words
from hwsim.formats import Class, unpack
from hwsim.formats.codes import is_padded
from hwsim.formats.stochastic import threefry2x32
from hwsim.model.definition import Definition
from hwsim.model.record import Group
from hwsim.model.terms import Term
from hwsim.spec import Unit, load_unit


def word_at(seed, names, place):
    """A word from the definition, in Python's integers."""
    text = "\0".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little"))
    return threefry2x32(key, (place, 0))[0]


def test_words_are_threefry_at_a_counter():
    drawn = Stream(3, "hopper", 5)
    words = [*drawn.words(drawing.FEW + 1).tolist(), *(drawn.word() for _ in range(4)), *drawn.words(2).tolist()]
    assert words == [word_at(3, ("hopper", 5), place) for place in range(drawing.FEW + 7)]


def test_words_that_are_drawn_together_are_those_at_their_places():
    drawn, places = Stream(3, "ahead"), range(2 * MORE)
    assert [drawn.word() for _ in places] == [word_at(3, ("ahead",), place) for place in places]
    # Of those that are drawn ahead of their turn, none is returned before an array's, or twice.
    apart = Stream(3, "ahead")
    for _ in range(AHEAD + 1):
        apart.word()
    first = 2 * AHEAD
    assert apart.words(drawing.FEW + 1).tolist() == [
        word_at(3, ("ahead",), place) for place in range(first, first + drawing.FEW + 1)
    ]
    after = [apart.word() for _ in range(AHEAD)][-1]
    assert after == word_at(3, ("ahead",), first + drawing.FEW + 1)


def test_names_and_numbers_do_not_mix():
    assert len({key_of(1, "2"), key_of(1, 2), key_of(12), key_of(1, "2", ""), key_of(1)}) == 5


def test_single_draws_stay_in_their_ranges_and_reach_their_ends():
    drawn = Stream(1, "range")
    seen = Counter(drawn.randrange(7) for _ in range(7000))
    assert set(seen) == set(range(7))
    assert all(850 < count < 1150 for count in seen.values())
    assert {drawn.randint(-1, 1) for _ in range(100)} == {-1, 0, 1}
    far = [drawn.randrange(3 << 62) for _ in range(300)]
    assert 0 <= min(far) < 1 << 60 and (3 << 62) - (1 << 60) < max(far) < 3 << 62
    assert len({number & 0xFFFF for number in far}) > 250
    assert all(0 <= drawn.random() < 1 for _ in range(AHEAD + 1))


def test_samples_and_shuffles_are_permutations_all_alike():
    drawn, seen, shuffled = Stream(1, "order"), Counter(), Counter()
    for _ in range(2400):
        seen[tuple(drawn.sample("abcd", 4))] += 1
        items = list("abcd")
        drawn.shuffle(items)
        shuffled["".join(items)] += 1
    for found in (seen, shuffled):
        assert len(found) == 24
        assert all(55 < count < 150 for count in found.values())


def test_arrays_stay_in_their_ranges_and_reach_their_ends():
    drawn = Stream(1, "arrays")
    assert drawn.integers(7, 8, (2, 3)).tolist() == [[7] * 3] * 2
    assert Counter(drawn.integers(-2, 3, (4000,)).tolist()).keys() == {-2, -1, 0, 1, 2}
    assert drawn.integers(0, 1 << 32, (4000,)).max() > 0.99 * 2**32
    shares = drawn.uniforms(4000)
    assert 0 <= shares.min() < 0.01 < 0.99 < shares.max() < 1


def test_what_cannot_be_drawn_is_refused():
    drawn = Stream(1)
    with pytest.raises(ValueError, match="stop must be at least 1, not 0"):
        drawn.randrange(0)
    with pytest.raises(IndexError, match="nothing"):
        drawn.choice([])
    with pytest.raises(ValueError, match="a sample of 3"):
        drawn.sample([1, 2], 3)


COUNT = 480
WORD = 0xFFFFFFFF


@pytest.fixture(params=[*UNITS, ODD, "mxint8-f32"])
def unit(request):
    return measured_unit(request.param) if request.param == ODD else unit_of(request.param)


def test_words_are_threefry():
    key = key_of(1, "x")
    x, y = np.empty((2, 9), np.uint32)
    words(key & WORD, key >> 32, 5, 77, x, y)
    for i in range(9):
        assert threefry2x32((key & WORD, key >> 32), (5 + i, 77)) == (x[i], y[i])


@pytest.mark.quick
def test_a_stream_is_the_same_on_every_machine():
    """Threefry keyed by SHA-256 of the seed and the names: written down here once."""
    rng = Stream(7, "unit", "suite", 3)
    assert rng.integers(0, 1 << 32, (4,)).tolist() == [2125377283, 1266424249, 1546973397, 3100776457]
    assert normals(Stream(7, "x"), (3,)).tolist() == [-1.0107269287109375, -0.2308197021484375, -0.5792999267578125]


@pytest.mark.parametrize("n", [0, 1, FEW - 1, FEW, FEW + 1, 100, FEW_UNTIL - 1])
def test_the_first_cases_do_not_depend_on_how_many_there_are(n):
    unit = unit_of("deepseek-v3-e4m3-f32-scaled")
    assert random_cases(unit, n, 5) == random_cases(unit, FEW_UNTIL + MANY + 1, 5)[:n]


def test_runs_are_short_at_first_and_then_long():
    assert list(runs(2 * FEW + 1)) == [(0, FEW), (FEW, FEW), (2 * FEW, 1)]
    assert list(runs(FEW_UNTIL + MANY + 1))[-3:] == [
        (FEW_UNTIL - FEW, FEW),
        (FEW_UNTIL, MANY),
        (FEW_UNTIL + MANY, 1),
    ]


def test_seeds_and_units_have_streams_of_their_own():
    units = (unit_of("hopper-wgmma-e4m3-f32"), unit_of("ada-mma-e4m3-f32"))
    first = [random_cases(unit, 9, seed)[0].a[:16] for unit in units for seed in (0, 1)]
    assert len(set(first)) == 4


def test_cases_are_whole_sums_of_valid_codes_of_every_length(unit):
    fill, lengths = unit.instruction.fill, Counter()
    cases = random_cases(unit, COUNT, 1)
    for case in cases:
        for fmt, codes in ((unit.operands.a, set(case.a)), (unit.operands.b, set(case.b))):
            for code in codes:
                unpack(fmt, code)
        whole, rest = divmod(len(case.a), fill)
        assert (rest, len(case.b)) == (0, len(case.a))
        lengths[whole] += 1
        blocks = [-(-len(case.a) // length) for length in block_lengths(unit)] if unit.scale else [0, 0]
        assert [len(case.scale_a), len(case.scale_b)] == blocks
    longest = most_beats(unit) * unit.instruction.lanes // fill
    assert set(lengths) <= set(range(1, longest + 1))
    assert len(lengths) == longest or (longest > 100 and len(lengths) > 28 and {1, 2, longest} <= set(lengths))
    assert len({case.id for case in cases}) == COUNT
    assert [case.id for case in cases[:2]] == ["random/00000000-any", "random/00000001-near"]


def test_results_are_those_of_the_definition_and_differ(unit):
    batch = random_batch(unit, 3, FEW_UNTIL + MANY, 64)
    definition = Definition(unit)
    codes = [definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in batch.cases()]
    assert expected(unit, batch).tolist() == codes
    assert len(set(codes)) > 40


@pytest.mark.parametrize("name", ["hopper-mma-e4m3-f16", "blackwell-mma-e5m2-f32"])
def test_units_of_whole_instructions_get_them(name):
    unit = load_unit(name)
    cases, definition = random_cases(unit, 48, 5), Definition(unit)
    assert {len(case.a) for case in cases} == {32, 64}
    made = [definition.dot(case.a, case.b, case.c) for case in cases]
    assert all(len(one.additions) == len(case.a) // 32 for one, case in zip(made, cases, strict=True))


def test_addends_are_of_every_kind(unit):
    if unit.operands.addend is None:
        return
    classes = Counter(unpack(unit.operands.addend, case.c).cls for case in random_cases(unit, 4 * COUNT, 4))
    there = {unpack(unit.operands.addend, code).cls for code in _landmark_codes(unit.operands.addend)}
    assert set(classes) == there
    assert classes[Class.NORMAL] > COUNT


def _landmark_codes(fmt):
    from hwsim.cases.palette import infinities, nans, numbers, zeros

    return [*zeros(fmt), *numbers(fmt).values(), *nans(fmt), *infinities(fmt)]


def test_scales_are_near_one_another_and_at_times_not():
    unit = unit_of("mxfp8-e5m2-f32")
    sums = [case.scale_a[0] + case.scale_b[0] - 254 for case in random_cases(unit, COUNT, 6)]
    assert sum(abs(total) <= 30 for total in sums) > COUNT // 2
    assert max(sums) > 127
    assert min(sums) < -100


@pytest.mark.parametrize("name", ["blackwell-mxf4nvf4-e2m1-f32", "deepseek-v3-e4m3-f32-scaled"])
def test_scales_that_are_floats_are_drawn_near_one_another_anywhere_and_as_nan(name):
    unit = load_unit(name)
    cases, fmt = random_cases(unit, 2 * COUNT, 5), unit.scale.a.format
    scales = [[unpack(fmt, code) for code in case.scale_a] for case in cases]
    near = [max(x.exp for x in one) - min(x.exp for x in one) <= 6 for one in scales if len(one) > 1]
    assert len(near) / 2 < sum(near) < len(near)
    assert {x.cls for one in scales for x in one} >= {Class.NORMAL, Class.NAN}
    assert len({x.sig for one in scales for x in one}) >= 8


def test_kinds_are_what_they_are_called():
    unit = load_unit("hopper-wgmma-e4m3-f32")
    definition, cases = Definition(unit), random_cases(unit, 1024, 1)
    kinds = {kind: [] for kind in KINDS}
    for case in cases:
        kinds[case.id.split("-")[1]].append(definition.dot(case.a, case.b, case.c).groups[0])
    assert {len(groups) for groups in kinds.values()} == {len(cases) // len(KINDS)}

    def share(kind, holds):
        return sum(map(holds, kinds[kind])) / len(kinds[kind])

    def sparse(group):
        return sum(term.sig > 0 for term in group.products) <= 4

    assert share("special", lambda group: group.special is not None) > 0.5
    assert share("any", lambda group: group.special is None) == 1
    assert sum(sparse(one) for one in kinds["sparse"]) >= len(kinds["sparse"]) // 2 > sum(map(sparse, kinds["near"]))
    lost = unit.sum.fraction_bits - 6

    def straddles(group):
        return any(lost < group.max_exp - term.exp <= unit.sum.fraction_bits + 1 for term in group.products if term.sig)

    assert share("straddle", straddles) > 0.6
    assert share("near", straddles) < share("straddle", straddles)
    assert share("addend", lambda group: group.addend.sig > 0 and group.addend.exp >= group.max_exp - 2) > 0.5

    def cancelled(group):
        return group.total == 0 or abs(group.total).bit_length() < unit.sum.fraction_bits

    assert share("cancel", cancelled) > 2 * share("near", cancelled)


HOPPER = "hopper-wgmma-e4m3-f32"
KEY = 0x123456789ABCDEF


def drawn(unit: Unit, kinds: tuple[str, ...], count: int = 64, first: int = 0) -> list[Case]:
    terms = lcm(unit.instruction.k, *(block_lengths(unit) if unit.scale else ()))
    return list(draw(unit, KEY, first, count, terms, kinds, "test").cases())


def test_a_case_depends_on_its_number_and_its_kind_alone() -> None:
    unit, kinds = load_unit(HOPPER), ("near", "edge", "special")
    mixed = drawn(unit, kinds, 60)
    assert [case.id for case in mixed[:4]] == [
        "test/00000000-near", "test/00000001-edge", "test/00000002-special", "test/00000003-near",
    ]  # fmt: skip
    for at, kind in enumerate(kinds):
        assert mixed[at::3] == drawn(unit, (kind,), 60)[at::3]
    assert drawn(unit, kinds, 50, 10) == mixed[10:]
    assert drawn(load_unit("ada-mma-e4m3-f32"), ("growth",), 8) != drawn(unit, ("growth",), 8)


@pytest.fixture(
    params=[*UNITS, ODD, "mxint8-f32", "blackwell-mxf4nvf4-e2m1-f32", "hopper-mma-e4m3-f16", "cdna3-mfma-xf32-f32"]
)
def any_unit(request: pytest.FixtureRequest) -> Unit:
    return measured_unit(request.param) if request.param == ODD else unit_of(request.param)


def test_cases_of_every_kind_are_valid_and_differ(any_unit: Unit) -> None:
    definition, operands = Definition(any_unit), any_unit.operands
    cases = drawn(any_unit, tuple(DIRECTED), 4 * len(DIRECTED))
    sides = [("a", operands.a), ("b", operands.b)]
    if any_unit.scale is not None:
        sides += [("scale_a", any_unit.scale.a.format), ("scale_b", any_unit.scale.b.format)]  # type: ignore[list-item]
    for case in cases:
        codes = [(fmt, code) for name, fmt in sides for code in getattr(case, name)]
        codes += [(operands.addend, case.c)] if operands.addend else []
        special = any(unpack(fmt, code).cls in (Class.NAN, Class.INFINITY) for fmt, code in codes)
        assert special <= case.id.endswith("specials")
    results = {definition.dot(case.a, case.b, case.c, *term_scales(any_unit, case)).code for case in cases}
    assert len(results) > len(cases) // 3


def leads(group: Group) -> int:
    """Terms of the largest exponent."""
    return sum(term.exp == group.max_exp for term in (*group.products, group.addend) if term is not None and term.sig)


def there(group: Group) -> list[Term]:
    """The products other than zero."""
    return [term for term in group.products if term.sig]


def few_at_the_edge(group: Group) -> bool:
    """Whether there are few products, and at the window's end one."""
    least = group.fraction_bits - 8
    return len(there(group)) <= 7 and any(
        least < (group.max_exp or 0) - term.exp <= least + 13 for term in there(group)
    )


def all_zero(group: Group) -> bool:
    return not any(term.sig for term in group.products)


HOLDS: dict[str, Callable[[Group], bool]] = {
    "rounding": few_at_the_edge,
    "tie": lambda group: few_at_the_edge(group) and group.addend is not None and not group.addend.sig,
    "edge": few_at_the_edge,
    "ladder": lambda group: leads(group) < 12 < len(there(group)),
    "opposite": lambda group: any(
        (x.exp, x.sig, x.sign) == (y.exp, y.sig, 1 - y.sign) for x in group.products for y in group.products if x.sig
    ),
    "below": lambda group: group.addend is not None and group.addend.exp == group.max_exp,
    "few": lambda group: len(there(group)) <= 2,
    "subnormal": lambda group: len(there(group)) <= 7 and any(term.sig < 48 for term in there(group)),
    "growth": lambda group: leads(group) > 1 and abs(group.total) >= 4 << group.fraction_bits,
    "zeros": lambda group: sum(
        (a & 0x7F == 0) != (b & 0x7F == 0) for a, b in zip(group.codes_a, group.codes_b, strict=True)
    ) > 8,
    "empty": lambda group: all_zero(group) and group.addend is not None and not group.addend.sig,
    "floor": lambda group: leads(group) > 1,
    "halfway": lambda group: leads(group) == 1 and group.addend is not None and not group.addend.sig,
    "tiny": lambda group: group.addend is not None and group.addend.exp <= -118,
    "vanishing": lambda group: group.addend is not None and not group.addend.sig and not all_zero(group),
    "overflow": lambda group: group.addend is not None and group.addend.exp >= 125,
    "specials": lambda group: group.special is not None,
}  # fmt: skip


@pytest.mark.parametrize("kind", DIRECTED)
def test_kinds_are_what_they_are_called_in_words(kind: str) -> None:
    unit = load_unit(HOPPER)
    definition = Definition(unit)

    def share(of: str) -> float:
        groups = [definition.dot(case.a, case.b, case.c).groups[0] for case in drawn(unit, (of,), 100)]
        return sum(map(HOLDS[kind], groups)) / len(groups)

    assert share(kind) > max(0.5, 2 * share("edge" if kind == "ladder" else "any"))


def test_products_are_where_binary32_begins_and_above_its_end() -> None:
    unit = load_unit("hopper-mma-bf16-f32")
    definition = Definition(unit)
    said = {
        kind: [definition.dot(case.a, case.b, case.c).groups[0] for case in drawn(unit, (kind,), 100)]
        for kind in DIRECTED
    }

    def tops(kind: str) -> list[int]:
        return [group.max_exp for group in said[kind] if group.max_exp is not None]

    assert all(-158 <= top <= -126 for top in tops("floor"))
    assert sum(group.rounded.code == 0 for group in said["vanishing"]) > 20
    assert sum(group.rounded.overflow for group in said["overflow"]) > 20


def test_aimed_cases_have_codes_alone_where_scales_have_padding() -> None:
    keys = load_unit("deepseek-v3-e4m3-f32-scaled").model_dump()
    sides = {side: keys["scale"][side] | {"format": "tf32"} for side in ("a", "b")}
    unit = Unit.model_validate(keys | {"unit": "padded", "scale": keys["scale"] | sides})
    for case in islice(aimed(unit, 1), 300):
        for side, codes in ((unit.scale.a, case.scale_a), (unit.scale.b, case.scale_b)):  # type: ignore[union-attr]
            assert all(is_padded(side.format, code) for code in codes), case
