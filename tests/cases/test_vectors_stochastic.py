"""Random cases: the same every time, of the shapes and the mixture that they say."""

from collections import Counter

import pytest
from cases.vectors_measure import NAMES, unit_of

from hwsim.cases.case import block_lengths, term_scales
from hwsim.cases.counter import Stream, normals
from hwsim.cases.stochastic import CHUNK, most_beats, random_cases
from hwsim.formats import Class, unpack
from hwsim.model.definition import Definition
from hwsim.spec import load_unit

COUNT = 480


@pytest.fixture(params=NAMES)
def unit(request):
    return unit_of(request.param)


@pytest.mark.parametrize("n", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 100])
def test_the_first_cases_do_not_depend_on_how_many_there_are(unit, n):
    assert random_cases(unit, n, 5) == random_cases(unit, COUNT, 5)[:n]


def test_seeds_and_units_have_streams_of_their_own():
    hopper, ada = unit_of(NAMES[0]), unit_of("ada-mma-e4m3-f32")
    first = [random_cases(unit, 9, seed)[0].a[:16] for unit in (hopper, ada) for seed in (0, 1)]
    assert len(set(first)) == 4


@pytest.mark.quick
def test_a_stream_is_the_same_on_every_machine():
    """Threefry keyed by SHA-256 of the seed and the names: written down here once."""
    rng = Stream(7, "unit", "suite", 3)
    assert rng.integers(0, 1 << 32, 4).tolist() == [2125377283, 1266424249, 1546973397, 3100776457]
    assert normals(Stream(7, "x"), (3,)).tolist() == [-1.0107269287109375, -0.2308197021484375, -0.5792999267578125]


@pytest.mark.parametrize("name", ["hopper-mma-e4m3-f16", "blackwell-mma-e5m2-f32"])
def test_units_of_whole_instructions_get_them(name):
    unit = load_unit(name)
    cases, definition = random_cases(unit, 48, 5), Definition(unit)
    lengths = Counter(len(case.a) for case in cases)
    assert set(lengths) == {32, 64}
    finite = [definition.dot(case.a, case.b, case.c) for case in cases]
    assert all(len(one.additions) == len(case.a) // 32 for one, case in zip(finite, cases, strict=True))
    assert len({one.code for one in finite}) > 24


def test_cases_are_whole_beats_of_valid_codes(unit):
    seen = Counter()
    for case in random_cases(unit, COUNT, 1):
        for fmt, codes in ((unit.operands.a, set(case.a)), (unit.operands.b, set(case.b))):
            for code in codes:
                unpack(fmt, code)
        unpack(unit.operands.addend, case.c)
        beats, rest = divmod(len(case.a), unit.instruction.lanes)
        assert (rest, len(case.b)) == (0, len(case.a))
        seen[beats] += 1
        if unit.scale:
            blocks = [-(-len(case.a) // length) for length in block_lengths(unit)]
            assert [len(case.scale_a), len(case.scale_b)] == blocks
    assert set(seen) == set(range(1, most_beats(unit) + 1))


def test_a_third_of_each_kind_and_ids_are_unique(unit):
    cases = random_cases(unit, COUNT, 1)
    assert len({case.id for case in cases}) == COUNT
    kinds = Counter(case.id.rpartition("-")[2] for case in cases)
    assert kinds == {"uniform": COUNT // 3, "normal": COUNT // 3, "cancelling": COUNT // 3}


def test_specials_are_rare_and_there(unit):
    definition, cases = Definition(unit), random_cases(unit, COUNT, 2)
    codes = [definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in cases]
    classes = Counter(unpack(unit.output, code).cls for code in codes)
    assert 0 < classes[Class.NAN] < COUNT // 8
    assert classes[Class.NORMAL] > COUNT * 3 // 4


def test_cancelling_sums_have_left_shifts(unit):
    """By a place or more, in one beat of six at least."""
    definition, window = Definition(unit), unit.sum.fraction_bits
    shifts = Counter()
    for case in random_cases(unit, COUNT, 3)[2::3]:
        for group in definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).groups:
            growth = group.growth(window)
            shifts[growth is None or growth < 0] += 1
    assert shifts[True] > sum(shifts.values()) // 6


def test_addends_are_of_every_kind(unit):
    classes = Counter()
    for case in random_cases(unit, COUNT * 4, 4):
        sign, _, _, cls = unpack(unit.operands.addend, case.c)
        classes[cls, sign] += 1
    assert {cls for cls, _ in classes} == set(Class)
    assert classes[Class.NORMAL, 0] > COUNT
    assert classes[Class.ZERO, 1]


def test_scales_are_near_one_another_and_at_times_not():
    unit = unit_of("mxfp8-e4m3-f32")
    sums = [case.scale_a[0] + case.scale_b[0] - 254 for case in random_cases(unit, COUNT, 6)]
    assert sum(abs(total) <= 30 for total in sums) > COUNT // 2
    assert max(sums) > 127
    assert min(sums) < -126


@pytest.mark.parametrize("name", ["blackwell-mxf4nvf4-e2m1-f32", "deepseek-v3-e4m3-f32-scaled"])
def test_scales_that_are_floats_are_drawn_near_one_another_anywhere_and_as_nan(name):
    unit = load_unit(name)
    cases, definition = random_cases(unit, 2 * COUNT, 5), Definition(unit)
    fmt, long = unit.scale.a.format, block_lengths(unit)[0]
    assert all(len(case.scale_a) == -(-len(case.a) // long) for case in cases)
    scales = [[unpack(fmt, code) for code in case.scale_a] for case in cases]
    near = [max(x.exp for x in one) - min(x.exp for x in one) <= 6 for one in scales if len(one) > 1]
    assert len(near) / 2 < sum(near) < len(near)
    assert {x.cls for one in scales for x in one} >= {Class.NORMAL, Class.NAN}
    assert len({x.sig for one in scales for x in one}) >= 8
    codes = {definition.dot(case.a, case.b, case.c, *term_scales(unit, case)).code for case in cases[:96]}
    assert len(codes) > 60
