"""mmaemu 0.1.0, an emulator of cuBLASLt 12.8's FP8 products on an H100 PCIe and an RTX 4060: the same bits.

It is compared with plans: its presets, splits, speeds, formats and results. What its authors recorded of the RTX 4060
is in test_peers_mmaemu_recorded.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import missing

import hwsim
from hwsim.spec import Unit
from hwsim.spec.plan import ProductPlan

try:
    import mmaemu
    import torch
except ImportError:
    missing("mmaemu or PyTorch is missing; install them with: pip install 'hwsim[peers]'")

DTYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
OUTPUTS = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
SEED = 20261129


class Call(NamedTuple):
    """A product as mmaemu takes it. scheme: of mmaemu's splits of K."""

    profile: str
    a: str
    b: str
    output: str
    fast: bool
    parts: int
    scheme: str
    k: int


SCHEMES = {"contiguous": ("contiguous", "sequential", 128), "serial": ("interleaved", "sequential", 64)}
SCHEMES["pairwise"] = ("interleaved", "halves", 64)


def calls() -> Iterator[Call]:
    pairs = (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e4m3", "e5m2"))
    for profile, schemes in (("hopper", ("contiguous",)), ("ada", ("serial", "pairwise"))):
        for fast in (True, False):
            for at, (a, b) in enumerate(pairs):
                for output in OUTPUTS:
                    if (a, b, output) != ("e4m3", "e4m3", "e5m2"):  # which cuBLASLt refuses
                        yield Call(profile, a, b, output, fast, 1, "none", (128, 1008, 4096)[at])
            for scheme in schemes:
                for parts, k in ((2, 1024), (3, 1536), (4, 4096), (5, 5120), (7, 7168), (6, 8128)):
                    yield Call(profile, "e4m3", "e4m3", "f32", fast, parts, scheme, k)


def plan_of(call: Call, scaled: bool = False) -> ProductPlan:
    """The plan of what cuBLASLt does. scaled: whether the result has a scale, which plans call alpha."""
    steps: list[dict[str, Any]] = [{"operation": "multiply", "by": ["scale_a", "scale_b"], "zero": "positive"}]
    if scaled:
        steps.append({"operation": "multiply", "by": "alpha"})
    if call.output != "f32":
        overflow = "saturate" if call.output in DTYPES else "infinity"
        steps.append({"operation": "round", "format": call.output, "overflow": overflow})
    if call.parts == 1:
        return ProductPlan.model_validate({"epilogue": steps})
    order, added, step = SCHEMES[call.scheme]
    split = {"parts": call.parts, "step": step, "order": order, "sum": added}
    return ProductPlan.model_validate({"split": split, "epilogue": steps})


def unit_of(call: Call) -> Unit:
    """The instruction, and where partial sums are promoted the register, every 128 products."""
    factors = call.a if call.a == call.b else f"{call.a}x{call.b}"
    unit = hwsim.load_unit(f"{'hopper-wgmma' if call.profile == 'hopper' else 'ada-mma'}-{factors}-f32")
    return unit if call.fast else unit.replace(promotion={"interval": 128, "format": "f32"})


def codes(draw: np.random.Generator, fmt: str, shape: tuple[int, int], kind: str) -> Any:
    """normal: numbers. any: finite codes. special: a few NaNs among them, and infinities where there are some."""
    if kind == "normal":
        return hwsim.get_format(fmt).encode(draw.standard_normal(shape) * 2.0 ** draw.integers(-5, 4, shape))
    words = draw.integers(0, 256, shape).astype(np.uint8)
    wide = words & 0x7F >= (0x7F if fmt == "e4m3" else 0x7C)
    rare = draw.random(shape) < 1 / (8 * shape[1])
    words[wide & ~(rare if kind == "special" else False)] = 0
    words[rare & (kind == "special")] |= 0x7C
    return words


CALLS = [call if at % 14 == 0 else pytest.param(call, marks=pytest.mark.slow) for at, call in enumerate(calls())]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: "-".join(map(str, call)))
def test_products_are_mmaemus(call: Call) -> None:
    draw, plan, unit = np.random.default_rng([SEED, *map(len, map(str, call)), call.k]), plan_of(call), unit_of(call)
    for kind in ("normal", "any", "special"):
        a, b = codes(draw, call.a, (16, call.k), kind), codes(draw, call.b, (16, call.k), kind)
        scale_a, scale_b = np.float32(draw.uniform(0.01, 3)), np.float32(draw.choice([-1, 1]) * draw.uniform(0.01, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = mmaemu.scaled_mm(
                torch.from_numpy(a).view(DTYPES[call.a]), torch.from_numpy(b).view(DTYPES[call.b]).t(),
                torch.tensor(scale_a), torch.tensor(scale_b), out_dtype=OUTPUTS[call.output],
                use_fast_accum=call.fast, profile=call.profile,
                splitk=1 if call.parts == 1 else (call.parts, call.scheme), backend="reference",
            )  # fmt: skip
        ours = hwsim.gemm(unit, a, b.T, plan=plan, scale_a=scale_a, scale_b=scale_b)
        width = ours.dtype.itemsize
        returned = theirs.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[width]).numpy().view(f"u{width}")
        differ = returned != ours.view(f"u{width}")
        assert not differ.any(), (kind, int(differ.sum()), returned[differ][:4], ours.view(f"u{width}")[differ][:4])
