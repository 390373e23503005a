"""The compiled readings are the readings, and cases that are drawn are the same for ever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from built_presets import others_soaked
from readings.test_semantics_readings import directed_cases, drawn

from hwsim.cases.case import Case, term_scales
from hwsim.readings import READINGS, arrays, integers
from hwsim.readings.answering import by_length, by_reading
from hwsim.readings.changes import changed
from hwsim.readings.reader import Reader
from hwsim.readings.stimuli import Stimuli
from hwsim.spec import Unit, load_unit

COMPILED = [
    "blackwell-mxf4-e2m1-f32",
    "blackwell-mxf4nvf4-e2m1-f32",
    "cdna3-mfma-bf16-f32",
    "cdna3-mfma-xf32-f32",
    "hopper-wgmma-e4m3-f32",
    "deepseek-v3-e4m3-f32",
    "mxfp8-e4m3-f32",
    "ada-mma-e4m3-f16",
    "hopper-mma-e4m3-f32",
    "rvbna-e4m3-f32-n8",
    "mxint8-f32",
    "hopper-mma-tf32-f32",
    "cdna3-mfma-f16-f32",
]


def slowly(unit: Unit, cases: Sequence[Case]) -> np.ndarray:
    readers = [Reader(unit, reading) for reading in READINGS]
    return np.array([[r.answer(k.a, k.b, k.c, *term_scales(unit, k)) for r in readers] for k in cases])


@pytest.mark.parametrize("name", others_soaked(COMPILED, COMPILED[::2]))
def test_compiled_readings_are_the_readings(name: str) -> None:
    unit = load_unit(name)
    whole = [case for case in directed_cases(name) if len(case.a) % unit.instruction.k == 0][:40]
    cases = [*drawn(name, 4, 30), *whole]
    slow, told = slowly(unit, cases), 0
    for places in by_length(cases).values():
        here = [cases[place] for place in places]
        made = arrays.products(unit, here)
        finite = made.finite & arrays.finite_codes(unit, [case.c for case in here])
        c = np.where(finite, [case.c for case in here], 0)
        fast = arrays.evaluated(unit, made, c)
        sure = finite[:, None] & (fast >= 0)
        assert (fast[sure] == slow[places][sure]).all()
        told += int(sure.sum())
    assert told > 0.6 * slow.size


def test_what_is_not_finite_is_left_to_the_reader() -> None:
    unit, name = load_unit("hopper-wgmma-e4m3-f32"), "hopper-wgmma-e4m3-f32"
    cases = [case for case in directed_cases(name) if case.id.startswith(("special", "nan", "inf"))][:40]
    cases = cases or directed_cases(name)[:100]
    slow = slowly(unit, cases)
    for number in (0, 9, 35):
        assert by_reading(unit, READINGS[number])(cases) == slow[:, number].tolist()


def test_a_chunk_s_products_are_those_of_its_cases() -> None:
    for name in ("mxfp8-e4m3-f32", "hopper-mma-e4m3-f32", "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-bf16-f32"):
        unit = load_unit(name)
        stimuli = Stimuli(unit, 7)
        chunk = stimuli.chunk(11, 50, 2 * stimuli.step)
        made, cases = stimuli.products(chunk), [stimuli.case(chunk, index) for index in range(50)]
        again = arrays.products(unit, cases)
        assert (made.sig == again.sig).all()
        where = made.sig != 0
        assert (made.unit[where] == again.unit[where]).all()
        assert (made.finite == again.finite).all()
        assert where.sum() > 100


def test_a_case_depends_on_its_number_alone() -> None:
    stimuli = Stimuli(load_unit("hopper-wgmma-e4m3-f32"), 1)
    many, one = stimuli.chunk(100, 50, 32), stimuli.chunk(130, 1, 32)
    assert stimuli.case(many, 30) == stimuli.case(one, 0)
    other = Stimuli(load_unit("hopper-wgmma-e4m3-f32"), 2).chunk(130, 1, 32)
    assert (other.rows != one.rows).any()


@pytest.mark.parametrize("seed", range(4))
def test_wide_sums_are_python_s(seed: int) -> None:
    rng = np.random.Generator(np.random.Philox(seed))
    for _ in range(200):
        words, exact = np.zeros(12, np.int64), 0
        for _ in range(int(rng.integers(1, 40))):
            value, place = int(rng.integers(-(1 << int(rng.integers(1, 61))), 1 << 60)), int(rng.integers(0, 280))
            integers.add_to(words, 0, value, place)
            exact += value << place
        sign, sig, place = integers.gathered(words)
        assert sign == (exact < 0)
        size = abs(exact)
        assert sig >> 1 == size >> place >> 1
        assert sig & 1 == ((size >> place) & 1 or bool(size & ((1 << place) - 1)))
        assert sig.bit_length() >= min(size.bit_length(), 61)


@pytest.mark.parametrize(
    "changes",
    [
        {"sum": {"zero_terms": "count"}},
        {"sum": {"max_exp_floor": -12}},
        {"sum": {"max_exp_floor": 300}},
        {"result": {"subnormals": "flush"}},
        {"result": {"rounding": "rd", "tiny": "signed"}},
        {"result": {"rounding": "rna"}},
        {"result": {"rounding": "ru"}},
        {"sum": {"fraction_bits": 0}},
        {"sum": {"fraction_bits": 50}},
    ],
    ids=str,
)
def test_compiled_readings_are_the_readings_of_changed_units(changes: dict[str, object]) -> None:
    name = "hopper-wgmma-e4m3-f32"
    unit = changed(load_unit(name), changes)
    assert arrays.settings(unit) is not None
    cases = [case for case in drawn(name, 6, 12) if len(case.a) == 32]
    cases += [case for case in directed_cases(name) if len(case.a) == 32][:20]
    slow = slowly(unit, cases)
    for number in range(40):
        assert by_reading(unit, READINGS[number])(cases) == slow[:, number].tolist(), READINGS[number].name
