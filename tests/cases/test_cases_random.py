"""Random cases: the same every time, of the lengths and the kinds that they say, and valid codes of every class."""

from collections import Counter

import numpy as np
import pytest
from cases.vectors_measure import ODD
from cases.vectors_measure import unit_of as measured_unit
from vectors.vectorset_units import KINDS as UNITS
from vectors.vectorset_units import unit_of

from hwsim.cases.case import block_lengths, expected, term_scales
from hwsim.cases.drawing import Stream, key_of, normals
from hwsim.cases.random_cases import FEW, FEW_UNTIL, KINDS, MANY, most_beats, random_batch, random_cases, runs
from hwsim.cases.random_loops import words
from hwsim.formats import Class, unpack
from hwsim.formats.stochastic import threefry2x32
from hwsim.model.definition import Definition
from hwsim.spec import load_unit

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
