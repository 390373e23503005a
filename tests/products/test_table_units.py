"""Units whose factors are tables: every implementation against the model, and a wrong entry of each is caught."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from built_presets import others_slow
from c.export_library import Library
from cosim.small_runs import options, shrink

from hwsim.cases.case import dot as case_dot
from hwsim.cases.random_cases import random_cases
from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.compute.cuda import gemm_on_host, variants
from hwsim.compute.kernels import supports as kernels_have
from hwsim.compute.kernels import values
from hwsim.compute.products import dot_codes
from hwsim.cosim.run import run
from hwsim.formats import TableFormat, container_dtype, get_format
from hwsim.formats.yamlfile import SpecError
from hwsim.model import Definition, dot
from hwsim.quantize.block import BlockDequantization
from hwsim.spec import Unit, load_unit, pipeline
from hwsim.spec.conversion import Conversion

CODECS = Path(__file__).parents[2] / "vectors" / "codecs"


def unit_of(a: str, b: str, **keys: object) -> Unit:
    """An exact unit of a few lanes with these factors."""
    parts = {"instruction": {"k": 8, "lanes": 4}, "sum": {"method": "exact"},
             "result": {"format": "f32", "rounding": "rne"}}  # fmt: skip
    return load_unit({"unit": "tabled", "operands": {"a": a, "b": b, "addend": "f32"}, **parts, **keys})


WINDOW = {"method": "aligned", "fraction_bits": 13, "lost": "truncate"}
CHAIN = {"method": "sequential", "product": "fused", "format": "f32", "rounding": "rne"}
UNITS = {
    "exact": unit_of("hif8", "posit8"),
    "window": unit_of("posit8", "hif8", sum=WINDOW, result={"format": "f32", "rounding": "rz"}),
    "chain": unit_of("lns8", "e4m3", sum=CHAIN),
    "mx": unit_of("hif8", "hif8", scale={"a": {"format": "e8m0", "block": [1, 8]},
                                         "b": {"format": "e8m0", "block": [8, 1]}}, sum=WINDOW,
                  instruction={"k": 8, "lanes": 8}),
    "long": unit_of("posit16", "posit16", instruction={"k": 2, "lanes": 2}),
}  # fmt: skip


def operands(unit: Unit, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random finite codes of rows of A and columns of B, and addends."""
    random, k = np.random.default_rng(seed), 2 * unit.instruction.k
    sides = []
    for fmt in (unit.operands.a, unit.operands.b):
        codes = np.arange(1 << fmt.bits)
        sides.append(random.choice(codes[np.isfinite(fmt.decode(codes))], (rows, k)))
    return sides[0], sides[1], random.integers(0, 0x7F000000, rows)


def exactly(unit: Unit, a: list[int], b: list[int]) -> Fraction:
    """The sum of the products of codes' values."""
    x, y = (fmt.decode(codes).tolist() for fmt, codes in ((unit.operands.a, a), (unit.operands.b, b)))
    return sum((Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True)), Fraction(0))


def test_the_exact_unit_is_rounded_rationals() -> None:
    unit = UNITS["exact"]
    a, b, _ = operands(unit, 60, 1)
    got = dot(unit, a[:, :4], b[:, :4]).view(np.uint32)
    want = get_format("f32").encode([exactly(unit, x, y) for x, y in zip(a[:, :4].tolist(), b[:, :4].tolist(),
                                                                         strict=True)])  # fmt: skip
    # A sum of zero is +0, and Fractions have no other.
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1"])
def test_a_list_of_a_float_s_values_multiplies_as_the_float(name: str) -> None:
    path = str(CODECS / f"{name}.csv")
    listed, plain = unit_of(path, path), unit_of(name, name)
    random = np.random.default_rng(2)
    a, b = (random.integers(0, 1 << get_format(name).bits, (400, 8)) for _ in range(2))
    c = random.integers(0, 1 << 31, 400)
    assert np.array_equal(dot(listed, a, b, c).view(np.uint32), dot(plain, a, b, c).view(np.uint32))


def compared(unit: Unit, seed: int = 3) -> int:
    """How many results of compiled code differ from the model's, of random cases with all kinds of codes."""
    model, drawn = Definition(unit), random_cases(unit, 120, seed)
    cases = [case for case in drawn if len(case.a) == len(drawn[0].a)]
    assert len(cases) > 20 and kernels_have(unit)
    a, b, c = (np.array([getattr(case, side) for case in cases]) for side in "abc")
    scales = None
    if unit.scale is not None:
        scales = tuple(np.array([getattr(case, side) for case in cases], np.uint8) for side in ("scale_a", "scale_b"))
    codes = [side.astype(container_dtype(fmt)) for side, fmt in ((a, unit.operands.a), (b, unit.operands.b))]
    got = dot_codes(unit, *codes, c.astype(np.uint32), scales, again=True)
    return sum(int(code) != case_dot(model, case).code for code, case in zip(got, cases, strict=True))


@pytest.mark.parametrize("name", others_slow(UNITS, ["exact", "long"]))
def test_kernels_are_the_model(name: str) -> None:
    assert compared(UNITS[name]) == 0


def test_a_wrong_entry_of_the_kernels_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    unit, right, caches = UNITS["exact"], TableFormat.decode, (values.decode_table, values.factor_words)

    def wrong(fmt: TableFormat, codes: np.ndarray, dtype: type = np.float64) -> np.ndarray:
        return np.where(np.asarray(codes) == 0x21, 2.0, 1.0) * right(fmt, codes, dtype)

    for cached in (*caches, values._factor_table):
        cached.cache_clear()
    monkeypatch.setattr(TableFormat, "decode", wrong)
    try:
        assert compared(unit) > 0
    finally:
        for cached in (*caches, values._factor_table):
            cached.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exact", "window", "chain"])
def test_the_source_for_gpus_built_for_the_host_is_the_model(name: str) -> None:
    unit = UNITS[name]
    a, b, _ = operands(unit, 12, 9)
    want = dot(unit, np.repeat(a, 12, 0), np.tile(b, (12, 1))).view(np.uint32).reshape(12, 12)
    assert variants(unit)
    for variant in variants(unit):
        assert np.array_equal(gemm_on_host(unit, a, b.T, variant=variant).view(np.uint32), want), variant


@pytest.mark.parametrize("name", ["exact", "window"])
def test_c_is_the_model_and_a_wrong_entry_is_caught(name: str, tmp_path: Path) -> None:
    unit = UNITS[name]
    a, b, c = operands(unit, 200, 4)
    want = dot(unit, a, b, c).view(np.uint32).tolist()
    assert Library(unit, tmp_path / "right").dots(a, b, c) == want
    header = render(HEADER, UnitInC(unit, "0.0.0"))
    rows = re.search(r"u_\(hif8_table\)\[256\] = \{(.*?)\n\};", header, re.DOTALL)
    assert rows is not None and len(re.findall(r"\{[^}]*\}", rows[1])) == 256
    changed = rows[1].replace("{2, 9, 0, u_(NORMAL)}", "{3, 9, 0, u_(NORMAL)}", 1)
    assert changed != rows[1]
    wrong = Library(unit, tmp_path / "wrong", header=header.replace(rows[1], changed))
    assert wrong.dots(a, b, c) != want


# Hardware.


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITS)
def test_every_suite_of_a_unit_of_tables_passes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    unit = UNITS[name]
    assert run(options(tmp_path, (unit, pipeline(unit)), tables=True)).passed


def test_converters_and_quantisers_in_hardware_refuse_tables_by_name() -> None:
    for keys in ({"source": "hif8", "target": "f32"}, {"source": "f32", "target": "posit8"}):
        with pytest.raises(ValueError, match=r"(hif8|posit8), which is a table"):
            Conversion(**keys)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="element must be a float, a fixed format or a power of two, not hif8"):
        BlockDequantization(element="hif8", scale_format="e8m0", lanes=4)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="must be a float format or none, not hif8"):
        unit_of("hif8", "hif8", operands={"a": "hif8", "b": "hif8", "addend": "hif8"})
