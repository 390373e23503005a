"""The source for GPUs, as NVRTC compiles it: for every architecture, without spills, with no rounding of its own."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest
from conftest import at_hand
from cuda.test_host import unit_of

from hwsim.compute.cuda import Variant, host
from hwsim.compute.cuda.device import MachineCode, compiled_for, nvrtc
from hwsim.compute.cuda.settings import SHARED, shape_of, source_of, variants
from hwsim.spec import presets

# Ampere, Hopper, Blackwell of data centres and of workstations, with the bytes that the tiles of a block may take.
SHARED_OF = {80: 163 * 1024, 90: 227 * 1024, 100: 227 * 1024, 120: SHARED}
HOPPER = "hopper-wgmma-e4m3-f32"
slow = pytest.mark.slow


@lru_cache(maxsize=64)
def compiled(name: str, variant: Variant, architecture: int) -> MachineCode:
    with at_hand():
        nvrtc()
    return compiled_for(source_of(unit_of(name), variant, SHARED_OF[architecture]), architecture)


def spilled(log: str) -> list[int]:
    """The bytes that each function stores and loads because it lacks registers."""
    found = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    assert found, log
    return [int(count) for pair in found for count in pair]


def loop(ptx: str, instruction: str) -> list[str]:
    """The instructions of the loop with the most of one."""
    body = max(re.split(r"\n\$?[\w$]+:[^\n]*\n", ptx), key=lambda block: block.count(instruction))
    return re.findall(r"^\s*(?:@!?%\w+ )?([a-z][\w.]+)\s[^;]*;", body, re.MULTILINE)


FLOATS = [(HOPPER, "single"), ("mxfp8-e4m3-f32", "double"), ("deepseek-v3-e4m3-f32", "single"), ("ceil-late", "single")]
FLOATS += [
    ("blackwell-mxf4nvf4-e2m1-f32", "double"),
    ("hopper-mma-f64-f64", "double"),
    ("cdna2-mfma-f16-f32", "single"),
]
FLOATS += [("rvbna-e4m3-f32-n16", "double"), ("ada-mma-e4m3-f16", "single"), ("blackwell-mma-e4m3-f32", "double")]


@pytest.mark.parametrize(
    ("name", "variant", "architecture"),
    [
        pytest.param(*of, architecture, marks=[] if (of, architecture) in ((FLOATS[0], 90), (FLOATS[1], 120)) else slow)
        for of in FLOATS
        for architecture in SHARED_OF
    ],
)
def test_floats_need_no_more_registers_than_there_are(name: str, variant: Variant, architecture: int) -> None:
    assert not any(spilled(compiled(name, variant, architecture).log))


# Numbers of a source that its code has as constants alone, and types of codes, which registers do not know.
CONSTANTS = re.compile(
    r"\b(NAN_CODE|ONE_[AB]|FRACTION_BITS|UNIT_[AB]|LEAST_[AB]|P(RODUCT|ART)_FRACTION|PADDING|MASK_[ABC]|EMIN_C"
    r"|SUBGROUP_LEAST) = -?\d+|typedef u\d+ code_\w"
)


@slow
@pytest.mark.parametrize("architecture", SHARED_OF)
def test_no_preset_needs_more_registers_than_there_are(architecture: int) -> None:
    with at_hand():
        nvrtc()
    sources: dict[str, tuple[str, str]] = {}
    for name in presets():
        source = source_of(unit_of(name), variants(unit_of(name))[0], SHARED_OF[architecture])
        sources.setdefault(CONSTANTS.sub("", source), (name, source))
    spill = [name for name, source in sources.values() if any(spilled(compiled_for(source, architecture).log))]
    assert len(sources) > 40 and not spill


@pytest.mark.parametrize("architecture", [90, pytest.param(120, marks=slow)])
@pytest.mark.parametrize(
    "name",
    ["rvbna-e4m3-f32-n16", "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-e4m3fnuz-f32", "cdna2-mfma-f16-f32",
     pytest.param("hfp8-forward-e4m3-dlfloat16", marks=slow), "intel-amx-e4m3-f32"],
)  # fmt: skip
def test_integers_spill_little(name: str, architecture: int) -> None:
    assert max(spilled(compiled(name, "integers", architecture).log)) <= 64


@pytest.mark.parametrize(
    ("name", "variant", "fma", "each"),
    [
        (HOPPER, "single", "fma.rz.f32", 3),
        ("mxfp8-e4m3-f32", "double", "fma.rz.f64", 3),
        ("rvbna-e4m3-f32-n16", "double", "fma.rm.f64", 2),
        pytest.param("ceil-late", "single", "fma.rp.f32", 1, marks=slow),
    ],
)
def test_a_product_takes_its_multiply_adds_and_little_else(name: str, variant: Variant, fma: str, each: int) -> None:
    ptx = compiled(name, variant, 90).ptx
    body = loop(ptx, fma)
    count = body.count(fma) // each
    shape = shape_of(unit_of(name), variant, SHARED_OF[90])
    assert count % (shape.rows * shape.columns) == 0 and body.count(fma) == each * count
    # Loads, a register's worth for several products, and the loop itself.
    assert len(body) < (each + 2) * count
    # Whatever rounds does so because the source says how: sums that are exact are contracted with no product.
    assert not re.search(r"fma\.rn\.f(32|64)|\.ftz|\.approx", ptx)


def test_exact_parts_take_a_quarter_of_an_instruction_a_product_and_little_else() -> None:
    body = loop(compiled("blackwell-mxf4nvf4-e2m1-f32", "double", 90).ptx, "dp4a.s32.s32")
    assert len(body) < 4 * 1.5 * body.count("dp4a.s32.s32") and body.count("dp4a.s32.s32") >= 64


def test_own_sums_take_one_multiply_add_a_product() -> None:
    body = loop(compiled("hopper-mma-f64-f64", "double", 90).ptx, "fma.rn.f64")
    assert len(body) < 1.5 * body.count("fma.rn.f64") and body.count("fma.rn.f64") >= 16


@slow
def test_promotions_alone_round_to_nearest() -> None:
    ptx = compiled("deepseek-v3-e4m3-f32", "single", 90).ptx
    shape = shape_of(unit_of("deepseek-v3-e4m3-f32"), "single", SHARED_OF[90])
    assert ptx.count("fma.rn.f32") == shape.rows * shape.columns
    assert "fma.rn.f32" not in compiled(HOPPER, "single", 90).ptx


def test_two_products_exponents_take_one_instruction() -> None:
    assert "max.s16x2" in compiled(HOPPER, "single", 90).ptx
    assert "max.s16x2" not in compiled(HOPPER, "single", 80).ptx


@pytest.mark.parametrize(
    "name",
    ["mxfp8-e4m3-f32"]
    + [
        pytest.param(name, marks=slow)
        for name in (
            HOPPER,
            "lanes-100-floor",
            "ada-mma-e4m3-f16",
            "hopper-mma-f64-f64",
            "int8-i32",
            "subgroups",
            "blackwell-mxf4nvf4-e2m1-f32",
        )
    ],
)
def test_tiles_take_the_memory_that_a_launch_asks_for(name: str) -> None:
    unit = unit_of(name)
    for variant in variants(unit):
        for shared in set(SHARED_OF.values()):
            shape = shape_of(unit, variant, shared)
            tiles = 2 * host.built(source_of(unit, variant, shared), name).tile_bytes()
            assert tiles == shape.shared_bytes <= shared


def test_an_error_in_the_source_is_said() -> None:
    with at_hand():
        nvrtc()
    with pytest.raises(RuntimeError, match="NVRTC refuses the source for sm_90"):
        compiled_for(source_of(unit_of(HOPPER), "single") + "\nundeclared();", 90)
