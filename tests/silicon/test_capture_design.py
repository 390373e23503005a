"""Designed cases: every pair of candidates is told apart, or is known not to be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from built_presets import others_slow
from silicon.capture_samples import WGMMA, answers, some_cases

from hwsim.explain.candidate import NO_EDIT, changed
from hwsim.explain.questions import BY_NAME, QUESTIONS
from hwsim.explain.silicon.cases import FILLERS, INSTRUCTIONS, KINDS, RANDOM, Designed, design, fillers, instruction_of
from hwsim.formats import Class, unpack
from hwsim.spec import load_unit, presets

PROMISED = 16

# Candidates that no operands of the unit tell apart, and why. All others are, pair by pair.
TOGETHER: dict[str, dict[str, list[set[str]]]] = {
    WGMMA: {
        # Every exponent of its terms is -126 or more: an f32 addend's least is emin, an 8-bit product's far above.
        "floor": [{"none", "-126", "-131", "-132", "-133", "-139", "-149"}],
        # What is below e8m13's least subnormal is below the window of an addend at emin, too.
        "tiny": [{"kept, zero without a sign", "kept, zero with the sign"}],
        # A finite sum cannot be too large (`hwsim cosim` says so: proved), and an infinity is one either way.
        "overflow": [
            {"infinity", "NaN", "as IEEE 754 has it"},
        ],
    },
    "hopper-mma-f16-f16": {
        # No exponent of its terms is below -28, the least of a product, nor a bit below 2^-48, its last place.
        "floor": [{"none", "-24", "-28"}],
    },
}


def designed(unit: str) -> dict[str, Designed]:
    loaded = load_unit(unit)
    return {one.rule.name: one for one in design(instruction_of(loaded), loaded, 1, 1, quota=PROMISED)[1]}


@pytest.mark.parametrize("unit", others_slow(TOGETHER, [WGMMA]))
def test_every_pair_of_candidates_is_told_apart(unit: str) -> None:
    made = designed(unit)
    assert list(made) == [rule.name for rule in QUESTIONS]
    for name, one in made.items():
        assert one.alike == TOGETHER[unit].get(name, []), name
        if len(one.candidates) < 2:
            assert name in {"conversion", "addend-bits", "zeros", "cancelled", "late-window"}
            continue
        assert one.least >= PROMISED or not any(one.apart.values()), name
        # Counted anew, from the cases that are written.
        given = [answers(candidate, one.cases) for candidate in one.candidates]
        for (i, j), count in one.apart.items():
            assert sum(x != y for x, y in zip(given[i], given[j], strict=True)) == count
            names = {one.candidates[i].name, one.candidates[j].name}
            assert bool(count) != any(names <= alike for alike in one.alike)
        assert {case.tag for case in one.cases} == ({name} if any(one.apart.values()) else set())


def test_the_same_seed_gives_the_same_cases() -> None:
    unit = load_unit(WGMMA)
    rules = (BY_NAME["lost"], BY_NAME["nan"])
    first, again, other = (design(instruction_of(unit), unit, 300, seed, rules)[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first.cases) == 300


def test_what_fills_up_is_of_every_kind() -> None:
    unit = load_unit(WGMMA)
    instruction = instruction_of(unit)
    cases = list(fillers(instruction, unit, 1000, 1))
    assert len(cases) == 1000
    shares = {tag: sum(case.tag == tag for case in cases) for tag, *_ in FILLERS}
    assert shares == {"random": 500, "far": 150, "cancelling": 150, "chained": 100, "dense": 100}
    assert {len(case.a) for case in cases if case.tag == "chained"} == {64, 128}
    off = sum(case.c is None for case in cases)
    assert 100 < off < 200
    mma = INSTRUCTIONS["mma.m16n8k32.f32.e4m3.e4m3"]
    assert all(case.c is not None for case in fillers(mma, unit, 100, 1))


@pytest.mark.parametrize("kinds", sorted({*KINDS.values(), RANDOM}), ids="-".join)
@pytest.mark.parametrize("name", [WGMMA, "hopper-mma-e4m3xe5m2-f16", "hopper-mma-bf16-f32", "hopper-mma-tf32-f32"])
def test_stimuli_are_operands_of_the_instruction(name: str, kinds: tuple[str, ...]) -> None:
    unit = load_unit(name)
    instruction, some_special = instruction_of(unit), 0
    for case in some_cases(name, 40, kinds, (1, 4)):
        assert len(case.a) == len(case.b)
        assert len(case.a) in {instruction.k, 4 * instruction.k}
        assert case.c is not None
        classes = set()
        for codes, fmt in zip(
            (case.a, case.b, (case.c,)), (*instruction.factors, instruction.accumulator), strict=True
        ):
            for code in codes:
                assert 0 <= code < 1 << fmt.container_bits
                classes.add(unpack(fmt, code).cls)
                # Ones in the padding are what hardware returns; it has not been asked to take them.
                assert not code & ((1 << fmt.padding) - 1)
        some_special += bool(classes & {Class.NAN, Class.INFINITY})
    assert (some_special > 20) == (kinds == ("specials",))
    assert bool(some_special) == ("specials" in kinds)


def test_a_unit_stands_for_one_instruction() -> None:
    hopper = [name for name in presets() if name.startswith("hopper-") and name != "hopper-mma-f64-f64"]
    with pytest.raises(ValueError, match="is none of the instructions that can be captured"):
        instruction_of(load_unit("hopper-mma-f64-f64"))  # codes of 64 bits are not in the program
    found = {name: instruction_of(load_unit(name)).name for name in hopper}
    assert found["hopper-wgmma-e4m3-f32"] == "wgmma.m64n8k32.f32.e4m3.e4m3"
    assert found["hopper-mma-tf32-f32"] == "mma.m16n8k8.f32.tf32.tf32"
    assert found["hopper-mma-e4m3xe5m2-f16"] == "mma.m16n8k32.f16.e4m3.e5m2"
    # Every one of the program's instructions has a unit.
    assert set(found.values()) == set(INSTRUCTIONS)
    assert len(set(found.values())) == len(found)


def test_a_unit_that_no_gpu_has_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unit mxfp8-e4m3-f32 \(e4m3 x e4m3 \+ f32, k 32\) is none of the instruct"):
        instruction_of(load_unit("mxfp8-e4m3-f32"))
    with pytest.raises(ValueError, match="unknown instruction 'mma'; known: wgmma"):
        instruction_of(load_unit(WGMMA), "mma")
    with pytest.raises(
        ValueError, match=r"is none of the instructions that can be captured: mma.m16n8k4.f32.tf32.tf32$"
    ):
        instruction_of(load_unit(WGMMA), "mma.m16n8k4.f32.tf32.tf32")
    renamed = changed(load_unit(WGMMA), {"unit": "mine"})
    assert instruction_of(renamed).name == "mma.m16n8k32.f32.e4m3.e4m3"
    assert instruction_of(renamed, "wgmma.m64n8k32.f32.e4m3.e4m3").switch


@pytest.mark.parametrize("rule", QUESTIONS, ids=BY_NAME)
def test_the_unit_itself_is_among_the_candidates_of_every_rule(rule: object) -> None:
    for name in presets():
        unit = load_unit(name)
        if name.startswith("hopper-"):
            among = BY_NAME[rule.name].candidates(unit)  # type: ignore[attr-defined]
            assert sum(one.unit == unit and one.edit == NO_EDIT for one in among) == 1, name
            names = [one.name for one in among]
            assert len(set(names)) == len(names)


def test_an_addend_that_is_rounded_first_is_that_of_the_codec() -> None:
    unit = load_unit(WGMMA)
    plain, rounded = BY_NAME["addend-bits"].candidates(unit)
    f32, own = unit.operands.addend, unit.result.format
    assert f32 is not None
    assert rounded.name == f"rounded to {own.name} first"
    drawn = [replace(case, a=(0,) * 32, b=(0,) * 32) for case in some_cases(WGMMA, 200, ("addend",))]
    differ = 0
    for case, got, exact in zip(drawn, answers(rounded, drawn), answers(plain, drawn), strict=True):
        assert case.c is not None
        want = int(own.encode(f32.decode([case.c]), "rne", "infinity")[0])
        # With no product beside it, the addend is all that is returned.
        if case.c & 0x7FFFFFFF >= 1 << 23 and want & 0x7FFFFFFF < 0x7F800000:
            assert got == want
            differ += want != exact
    assert differ > 30
