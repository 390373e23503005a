"""hwsim's presets and MMA-Sim 2.1.1, a simulator of matrix units by other people: the same bits.

Both are models; what each GPU returns is in `tests/silicon`. MMA-Sim runs on PyTorch and compiles a function when it is
imported, for which it needs a C++ compiler and ninja.
"""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from built_presets import others_slow
from conftest import missing
from peers.mmasim import (
    KINDS,
    Codes,
    Instruction,
    Operands,
    arithmetic,
    drawn,
    every_instruction,
    instruction_of,
    k_of,
    preset_of,
    run,
)
from representatives import with_every_format

import hwsim
from hwsim.compute.kernels.tiles import multiply_pairs
from hwsim.compute.products import kernel_for
from hwsim.formats import container_dtype
from hwsim.spec import Unit, load_unit, presets

COMPARED = [name for name in presets() if instruction_of(load_unit(name))]
FLOORED = [name for name in COMPARED if getattr(load_unit(name).sum, "max_exp_floor", None)]
CASES, CASES_OF_SHAPES, SOAKED, AT_ONCE = 2_000, 600, 100_000, 20_000
SEED = 20261123


@pytest.fixture(scope="module", autouse=True)
def mmasim() -> None:
    """MMA-Sim, and what it needs; without it the tests are skipped."""
    for module in ("torch", "mmasim", "ninja"):
        if find_spec(module) is None:
            missing(f"{module} is missing; install it with: pip install 'hwsim[peers]'")
    if shutil.which("c++") is None:
        missing("a C++ compiler is missing, which MMA-Sim needs")
    import torch

    torch.set_num_threads(1)  # other tests have the other cores


def ours(unit: Unit, given: Operands) -> Codes:
    """What hwsim's kernel returns, as codes."""
    kernel = kernel_for(unit)
    assert kernel is not None
    scales = None if given.scale_a is None or given.scale_b is None else (given.scale_a, given.scale_b)
    return multiply_pairs(kernel.general, given.a, given.b, given.c, scales).astype(container_dtype(unit.output))


def theirs(unit: Unit, given: Operands, instruction: Instruction | None = None) -> Codes:
    """What an instruction returns: the preset's counterpart unless given."""
    instruction = instruction or instruction_of(unit)
    assert instruction is not None
    return run(instruction, unit, given.a, given.b, given.c, given.scale_a, given.scale_b)


INFINITY = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF << 52}


def is_nan(codes: Codes, bits: int) -> Codes:
    """Of binary16, binary32 or binary64."""
    return codes & ((1 << bits - 1) - 1) > INFINITY[bits]


def differing(unit: Unit, given: Operands, instruction: Instruction | None = None) -> Codes:
    """Which results differ: in any bit, or, of a unit whose codes of NaN are not published, in being NaN."""
    mine, other = ours(unit, given), theirs(unit, given, instruction)
    different = mine != other
    if unit.result.nan == "any":
        bits = 8 * other.itemsize
        different &= ~(is_nan(mine, bits) & is_nan(other, bits))
    if unit.name == "cdna3-mfma-e5m2fnuz-f32":
        different &= ~dropped(given)
    return different


def dropped(given: Operands) -> Codes:
    """Where MMA-Sim loses an infinite or NaN addend: see the test of that."""
    return given.c & 0x7F800000 == 0x7F800000


def compare(name: str, given: Operands, instruction: Instruction | None = None) -> None:
    unit = load_unit(name)
    different = differing(unit, given, instruction)
    if different.any():
        at = int(np.argmax(different))
        kind = list(KINDS)[at // (len(given.c) // len(KINDS))]
        mine, other = ours(unit, given)[at], theirs(unit, given, instruction)[at]
        row = [None if each is None else each[at].tolist() for each in vars(given).values()]
        pytest.fail(
            f"{name}, {instruction}: {different.sum()} of {len(different)}; {kind}: {mine:#x}, MMA-Sim {other:#x}, "
            f"of {row}"
        )


def length(unit: Unit) -> int:
    """Products of a case: an instruction's, or of a unit that takes them one by one, eight."""
    return unit.instruction.k if unit.instruction.k > 1 else 8


@pytest.fixture(scope="module")
def instructions() -> dict[Instruction, str]:
    """Every instruction of MMA-Sim, with its preset."""
    return {instruction: preset_of(instruction) for instruction in every_instruction()}


def test_every_instruction_has_a_preset(instructions: dict[Instruction, str]) -> None:
    assert len(instructions) == 4999
    assert {preset for preset in instructions.values() if preset not in presets()} == set()
    # And no preset is compared with an instruction that is another's, or that no list has.
    assert {name for name in COMPARED if instructions.get(counterpart(name)) != name} == set()
    assert set(instructions.values()) == set(COMPARED)


def counterpart(name: str) -> Instruction:
    found = instruction_of(load_unit(name))
    assert found is not None
    return found


@pytest.mark.slow
def test_every_shape_of_a_preset_is_its_arithmetic(instructions: dict[Instruction, str]) -> None:
    """Instructions that differ from the preset's counterpart in more than rows and columns, as in K."""
    seen = {(name, arithmetic(counterpart(name))) for name in COMPARED}
    others = 0
    for instruction, name in instructions.items():
        key = name, arithmetic(instruction)
        if key not in seen:
            others += 1
            compare(name, drawn(load_unit(name), CASES_OF_SHAPES, SEED, k_of(instruction)), instruction)
        seen.add(key)
    assert others > 20


@pytest.mark.parametrize("name", others_slow(COMPARED, COMPARED[::6]))
def test_results_are_equal(name: str) -> None:
    unit = load_unit(name)
    compare(name, drawn(unit, CASES, SEED, length(unit)))


@pytest.mark.parametrize("name", others_slow(COMPARED, [], with_every_format(COMPARED)))
def test_many_results_are_equal(name: str) -> None:
    unit = load_unit(name)
    for part in range(SOAKED // AT_ONCE):
        compare(name, drawn(unit, AT_ONCE, SEED + 1 + part, length(unit)))


def case(unit: Unit, a: list[int], b: list[int], c: int, scales: tuple[list[int], list[int]] | None = None) -> Operands:
    """One dot product; the lanes that are not given hold +0."""
    rows = []
    for fmt, codes in ((unit.operands.a, a), (unit.operands.b, b)):
        rows.append(np.array([codes + [0] * (unit.instruction.k - len(codes))], container_dtype(fmt)))
    both = (None, None) if scales is None else tuple(np.array([codes], np.uint8) for codes in scales)
    assert unit.operands.addend is not None
    return Operands(rows[0], rows[1], np.array([c], container_dtype(unit.operands.addend)), *both)


NV_SCALES = [0x7E, 0x38, 0x38, 0x38]
# For each rule a case that it decides: the operands, and what MMA-Sim 2.1.1 returns.
CASES_OF_RULES: dict[str, tuple[str, list[int], list[int], int, tuple[list[int], list[int]] | None, int]] = {
    "zero terms at -133": ("hopper-mma-bf16-f32", [0x9A00, 0x1780], [0x1A80, 0x1800], 0, None, 0x80000001),
    "zero terms at -21": ("hopper-mma-f16-f16", [0x0C00, 1], [0x0800, 1], 0, None, 0),
    "zero terms at -133, scaled": (
        "blackwell-mxf8f6f4-e2m1-f32", [7] * 7 + [4, 1], [7] * 7 + [4, 9], 0, ([0], [97]), 1,
    ),
    "cancelled sums keep an exponent": (
        "blackwell-mxf4nvf4-e2m1-f32", [7, 7], [7, 15], 0x35800000, (NV_SCALES, NV_SCALES), 0,
    ),
    "the late total is floored": (
        "cdna3-mfma-f16-f32", [0x9200, 0x0100], [0x0800, 0x0100], 0x3F800000, None, 0x3F7FFFFF,
    ),
    "a zero addend at -126": ("cdna3-mfma-bf16-f32", [0x1A00, 0x1780], [0x1A00, 0x1780], 0, None, 0),
    "-0 becomes +0": ("cdna2-mfma-f16-f32", [0x8000] * 4, [0x3C00] * 4, 0x80000000, None, 0),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES_OF_RULES)
def test_a_case_of_each_rule(rule: str) -> None:
    name, a, b, c, scales, bits = CASES_OF_RULES[rule]
    unit = load_unit(name)
    given = case(unit, a, b, c, scales)
    assert theirs(unit, given).tolist() == [bits]
    by_model = np.asarray(hwsim.dot(unit, *vars(given).values()))
    assert by_model.view(f"u{by_model.itemsize}").tolist() == [bits]
    assert ours(unit, given).tolist() == [bits]


@pytest.mark.parametrize("addend", [0x7F800000, 0xFF800000, 0x7FC00000])
def test_mma_sim_drops_an_addend_that_is_not_finite(addend: int) -> None:
    """A defect of MMA-Sim 2.1.1: far below e5m2fnuz products, an infinity or NaN counts as too small an addend."""
    unit = load_unit("cdna3-mfma-e5m2fnuz-f32")
    given = case(unit, [0x7F], [0x7F], addend)
    assert theirs(unit, given).view(np.float32).tolist() == [57344.0**2]
    (mine,) = ours(unit, given).tolist()
    assert mine == addend or (addend == 0x7FC00000 and is_nan(np.array([mine]), 32).all())


def test_the_operands_are_of_every_kind() -> None:
    """The draws have specials, zeros, subnormals and products around the exponents at which zero terms count."""
    unit = load_unit("hopper-mma-bf16-f32")
    given = drawn(unit, 12_000, SEED)
    exps = (given.a >> 7 & 0xFF).astype(int) + (given.b >> 7 & 0xFF) - 254
    least = np.where((given.a & 0x7FFF > 0) & (given.b & 0x7FFF > 0), exps, -999).max(axis=1)
    assert ((least >= -150) & (least < -133)).sum() > 300
    assert (given.c == 0).sum() > 1000
    assert is_nan(given.c.astype(np.uint32), 32).sum() > 500


@pytest.mark.parametrize("name", others_slow(FLOORED, FLOORED[::2]))
def test_a_floor_of_max_exp_shows(name: str) -> None:
    """Where a preset says it; without it some results are others. Presets that do not say it are equal as they are."""
    unit = load_unit(name)
    given = drawn(unit, 4 * CASES, SEED)
    without = ours(unit.replace({"sum.max_exp_floor": "none"}), given)
    assert (without != ours(unit, given)).any()


@pytest.mark.parametrize("name", [name for name in COMPARED if "-k4-" in name or "-k8-" in name or "-k16-" in name])
def test_a_shorter_instruction_is_another_unit(name: str) -> None:
    short, whole = load_unit(name), load_unit(re.sub(r"-k\d+-", "-", name))
    assert short.instruction.lanes < whole.instruction.lanes
    given = drawn(whole, CASES, SEED)
    assert (ours(short, given) != ours(whole, given)).any()
