"""NVIDIA's integer instructions: kernels, and PyTorch where it has the factors, against exact sums of 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from built_presets import others_slow
from numpy.typing import NDArray

import hwsim
from hwsim.spec import Unit, load_unit
from hwsim.spec.catalog import matching

NAMES = [name for name in matching("*int*-i32*") if name != "int8-i32"]
LOW, HIGH = -(1 << 31), (1 << 31) - 1
Ints = NDArray[np.int64]


def drawn(unit: Unit, rows: int, terms: int, columns: int) -> tuple[Ints, Ints, Ints]:
    """Codes of a and b, a third of them the ends of their formats; c, near the ends of 32 bits where it matters."""
    rng = np.random.default_rng(list(unit.name.encode()))
    a, b = (
        np.where(
            rng.random(shape) < 0.3,
            rng.choice([fmt.max_code, (1 << fmt.bits) >> 1]),
            rng.integers(0, 1 << fmt.bits, shape),
        )
        for fmt, shape in ((unit.operands.a, (rows, terms)), (unit.operands.b, (terms, columns)))
    )
    c = rng.integers(LOW, HIGH, (rows, columns), endpoint=True)
    c[0], c[1], c[2], c[3] = HIGH, LOW, HIGH - rng.integers(0, 1 << 16), LOW + rng.integers(0, 1 << 16)
    return a, b, c


def saturates(unit: Unit) -> bool:
    """True if each instruction's sum is limited, and does not wrap."""
    return unit.name.endswith("-sat") or "vpdpbusds" in unit.name


def witness(unit: Unit, a: Ints, b: Ints, c: Ints) -> Ints:
    """The sums of whole instructions, one after another, by the names of the formats alone."""

    def numbers(codes: Ints, name: str) -> Ints:
        bits = int(name[-1])
        return codes if name.startswith("u") else codes - ((codes >> bits - 1) << bits)

    x, y, total = numbers(a, unit.operands.a.name), numbers(b, unit.operands.b.name), c
    for first in range(0, a.shape[1], unit.instruction.k):
        group = slice(first, first + unit.instruction.k)
        total = total + x[:, group] @ y[group]
        total = np.clip(total, LOW, HIGH) if saturates(unit) else (total - LOW) % (1 << 32) + LOW
    return total


@pytest.mark.parametrize("name", others_slow(NAMES, NAMES[::5]))
def test_sums_are_those_of_64_bits(name: str) -> None:
    unit = load_unit(name)
    operands = drawn(unit, 12, 3 * unit.instruction.k + 5, 17)
    wanted = witness(unit, *operands)
    assert (np.abs(wanted - operands[2]) > 1 << 31).any() != saturates(unit)  # some wrap, or none may
    assert np.array_equal(hwsim.gemm(unit, *operands).view(np.int32), wanted)


def test_saturation_is_once_an_instruction() -> None:
    # c at the upper end: the first instruction stays there, the second takes 1 off; wrapped, both are added.
    a, b = np.full((1, 64), 1), np.full((64, 1), 255)
    b[:32], b[32:], a[:, 33:] = 255, 255, 0
    a[:, 32] = 0x80
    limited = hwsim.gemm("ampere-mma-int8xuint8-i32-sat", a, b, [[HIGH]]).view(np.int32).item()
    assert limited == HIGH - 128 * 255
    assert hwsim.gemm("ampere-mma-int8xuint8-i32", a, b, [[HIGH]]).view(np.int32).item() == (
        (HIGH + 32 * 255 - 128 * 255 - LOW) % (1 << 32) + LOW
    )


def test_torch_returns_the_same() -> None:
    torch = pytest.importorskip("torch")
    unit = load_unit("hopper-wgmma-int8-i32")
    a, b, _ = drawn(unit, 24, 128, 16)
    product = torch.from_numpy(a.astype(np.uint8)).view(torch.int8).to(torch.int32) @ torch.from_numpy(
        b.astype(np.uint8)
    ).view(torch.int8).to(torch.int32)
    assert np.array_equal(hwsim.gemm(unit, a, b).view(np.int32), product.numpy())


def test_results_and_addends_have_signs() -> None:
    for part, key in (("result", "format"), ("operands", "addend")):
        with pytest.raises(hwsim.SpecError, match=rf"{part}\.{key} must have a sign; uint8 has none"):
            load_unit("int8-i32").replace({f"{part}.{key}": "uint8"})
