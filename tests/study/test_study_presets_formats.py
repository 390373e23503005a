"""Studies of formats: what each finds in its tiny size, held to witnesses of its own, and what its page says."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from study.preset_runs import preset_run, table

from hwsim.errors import ToolMissing
from hwsim.formats import get_format
from hwsim.quantize import flexible_format, get_rule
from hwsim.runners import Rows
from hwsim.study.network.minilm import minilm
from hwsim.study.plan import Study
from hwsim.study.presets import flexible_fp8, fp8_formats, fp8_tensors, fp8_values, hfp8, hfp8_sums, mx
from hwsim.study.presets.flexible_fp8 import Split, split
from hwsim.study.presets.hfp8_sums import LongSum
from hwsim.study.presets.preset import Context, load_page
from hwsim.study.presets.rounding import by_format, by_rule, lost, saturated, signal_to_noise
from hwsim.study.presets.samples import drawn
from hwsim.study.report import markdown
from hwsim.study.report.contents import TextTable
from hwsim.study.results import Results

ROOT = Path(__file__).parents[2]
NAMES = ("fp8-formats", "hfp8", "flexible-fp8", "mx")


def test_a_seed_is_that_of_the_studies_of_a_preset_and_of_what_it_draws_itself(tmp_path: Path) -> None:
    seen: list[Study] = []

    def note(study: Study) -> Results:
        seen.append(study)
        raise LookupError

    def never(_: object) -> Rows:
        raise AssertionError("grids alone are run")

    page = load_page("mx", "tiny")
    for seed in (1, 7):
        given = Context(folder=tmp_path, size="tiny", command="", run=note, run_parts=never, seed=seed)
        with pytest.raises(LookupError):
            mx.report(given)
    assert [study.seed for study in seen] == [1, 7]
    entry = page.given["data"][page.given["drawn"][0]]
    first, again, other = (drawn(entry, 2, 32, seed=seed) for seed in (1, 1, 7))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def pairs(of: TextTable) -> dict[tuple[str, str], list[float]]:
    """The numbers of rows that two words name."""
    return {(row[0], row[1]): [float(cell) for cell in row[2:]] for row in of.rows}


def cells(of: TextTable) -> dict[str, dict[str, float]]:
    return {row[0]: {key: float(cell) for key, cell in zip(of.header[1:], row[1:], strict=True)} for row in of.rows}


@pytest.mark.parametrize("name", NAMES)
def test_a_report_names_its_paper_and_the_command_of_every_figure(name: str) -> None:
    report, _ = preset_run(name)
    assert report.name == name and report.charts and report.tables and report.sources
    for chart in report.charts:
        assert chart.command == report.command == f"hwsim study --preset {name} -o DIR"
        assert chart.name.startswith(name) and chart.caption
        assert any(math.isfinite(value) for series in chart.series for value in series.y)


# Measures


def test_the_measures_are_those_of_exact_numbers() -> None:
    numbers, rounded = [Fraction(3), Fraction(-1, 3), Fraction(0), Fraction(5, 8)], [Fraction(3), Fraction(0)] * 2
    noise = sum((x - y) ** 2 for x, y in zip(numbers, rounded, strict=True))
    exact = 10 * math.log10(sum(x * x for x in numbers) / noise)
    x, y = np.array(numbers, float), np.array(rounded, float)
    assert signal_to_noise(x, y) == pytest.approx(exact, abs=1e-12)
    assert signal_to_noise(x, x) == math.inf
    assert lost(x, y) == 2 / 3  # -1/3 and 5/8 of three numbers that are there
    assert saturated(np.array([448.0, -449, 500, 1]), get_format("e4m3")) == 0.5


# MX


def floor_scaled(block: list[float], fraction_bits: int, emax: int, emin: int, largest: float) -> list[Fraction]:
    """OCP MX 1.0, section 6.3, number by number, in fractions: of floats with subnormals."""
    scale = Fraction(2) ** (math.frexp(max(map(abs, block)))[1] - 1 - emax)
    found = []
    for x in block:
        value = Fraction(x) / scale
        exponent = max(math.frexp(float(abs(value)))[1] - 1, emin) if value else emin
        unit = Fraction(2) ** (exponent - fraction_bits)
        nearest = round(value / unit) * unit  # Python rounds fractions to even
        found.append(scale * min(max(nearest, -Fraction(largest)), Fraction(largest)))
    return found


@pytest.mark.parametrize(
    ("rule", "bits", "emax", "emin", "largest"),
    [
        ("mxfp8-e4m3", 3, 8, -6, 448), ("mxfp8-e5m2", 2, 15, -14, 57344), ("mxfp6-e2m3", 3, 2, 0, 7.5),
        ("mxfp6-e3m2", 2, 4, -2, 28), ("mxfp4-e2m1", 1, 2, 0, 6), ("mxint8", 6, 0, 0, 1.984375),
    ],
)  # fmt: skip
def test_numbers_meet_a_block_scale_as_the_specification_has_it(
    rule: str, bits: int, emax: int, emin: int, largest: float
) -> None:
    x = drawn({"distribution": "student-t", "freedom": 4}, 8, 96, seed=1)
    witness = [
        [float(v) for at in range(0, 96, 32) for v in floor_scaled(row[at : at + 32], bits, emax, emin, largest)]
        for row in x.astype(float).tolist()
    ]
    assert by_rule(x, rule).tolist() == witness
    for mutant in ({"select": "ceil"}, {"rounding": "rz"}):
        assert by_rule(x, rule, **mutant).tolist() != witness


def ordered(found: dict[str, dict[str, float]], name: str) -> bool:
    """The paper's order, and more fraction bits before fewer."""
    order = ("MXINT8", "MXFP8 E4M3", "MXFP8 E5M2", "MXFP4 E2M1")
    falls = all(found[one][name] > found[two][name] for one, two in pairwise(order))
    return falls and found["MXFP6 E2M3"][name] > found["MXFP6 E3M2"][name] > found["MXFP4 E2M1"][name]


def test_mx_formats_stand_in_the_order_of_the_paper() -> None:
    found = cells(table("mx", "Signal to quantisation noise in dB, by format"))
    assert all(ordered(found, name) for name in load_page("mx", "tiny").given["data"])
    for one, two in (("MXINT8", "MXFP8 E4M3"), ("MXFP8 E4M3", "MXFP8 E5M2"), ("MXFP6 E2M3", "MXFP6 E3M2")):
        assert not ordered(found | {one: found[two], two: found[one]}, "normal")


def test_wider_blocks_cost_formats_without_a_range_of_their_own() -> None:
    found = pairs(table("mx", "Signal to quantisation noise in dB, by block"))
    for label, falls in (("MXINT8", 8), ("MXFP6 E2M3", 4), ("MXFP4 E2M1", 2)):
        assert found[label, "outliers x 50"][0] - found[label, "outliers x 50"][-1] > falls
    for label in ("MXFP8 E4M3", "MXFP8 E5M2"):
        assert abs(found[label, "outliers x 50"][0] - found[label, "outliers x 50"][-1]) < 1


def test_a_scale_that_never_saturates_helps_e4m3_and_costs_integers_a_bit() -> None:
    found = pairs(table("mx", "Signal to quantisation noise in dB, by scale"))
    floor, ceil = (load_page("mx", "tiny").given["selects"].index(name) for name in ("floor", "ceil"))
    assert found["MXFP8 E4M3", "normal"][ceil] > found["MXFP8 E4M3", "normal"][floor] + 0.5
    assert found["MXINT8", "normal"][floor] - found["MXINT8", "normal"][ceil] == pytest.approx(6, abs=0.5)


def test_sums_of_mx_units_lose_far_less_than_quantisation_unless_the_window_is_narrow() -> None:
    found = pairs(table("mx", "Dot products"))
    for (label, _), (quantization, accumulation, total) in found.items():
        assert accumulation > quantization + (40 if "13 bits" in label else 80)
        assert total == pytest.approx(quantization, abs=0.2)
    assert all(
        found["MXFP8 E4M3, 13 bits", name][1] < found["MXFP8 E4M3, 25 bits", name][1]
        for name in ("normal", "outliers x 50")
    )


# Flexible FP8


@cache
def splits(name: str) -> Split:
    return split(load_page("flexible-fp8", "tiny").given["data"][name], 1, 4, 2048, seed=1)


def more_with_outliers(best: list[int]) -> bool:
    return best == sorted(best) and best[-1] > best[0]


def test_more_exponent_bits_win_as_tails_and_outliers_grow() -> None:
    assert [splits(name).best for name in ("uniform", "normal", "Student-t, 4 degrees")] == [1, 2, 3]
    names = ["normal", *(f"1 % outliers, x {factor}" for factor in (2, 5, 20))]
    found = [splits(name) for name in names]
    assert more_with_outliers([one.best for one in found])
    # Fraction bits taken for exponent bits are seen.
    assert not more_with_outliers([dataclasses.replace(one, decibels=one.decibels[:, ::-1]).best for one in found])


def test_the_split_with_one_exponent_bit_is_int8() -> None:
    fmt, integers = flexible_format(6), np.arange(128)
    assert (fmt.decode(integers) / fmt.decode(1)).tolist() == integers.tolist()
    one = splits("normal")
    unclipped = one.curve[0, list(flexible_fp8.PERCENT).index(100)]
    assert unclipped == pytest.approx(one.integer[0], abs=0.01)
    assert abs(one.curve[1, list(flexible_fp8.PERCENT).index(100)] - one.integer[0]) > 1  # E2M5 is not


def test_outliers_that_are_all_of_the_power_hide_what_is_lost_of_the_rest() -> None:
    assert splits("1 % outliers, x 1000").best < splits("1 % outliers, x 20").best
    assert splits("1 % outliers, x 1000").lost[0] > 0.9 > 0.1 > splits("1 % outliers, x 20").lost[0]


# HFP8


def rounded(x: Fraction, bits: int, away: bool) -> Fraction:
    """x to so many significant bits, ties to even or away from zero; no limits of the exponent."""
    if not x:
        return x
    exponent = math.frexp(float(abs(x)))[1]  # sums and terms here have fewer than 53 bits
    unit = Fraction(2) ** (exponent - bits)
    scaled = abs(x) / unit
    whole = math.floor(scaled + Fraction(1, 2)) if away else round(scaled)
    return whole * unit * (1 if x > 0 else -1)


def summed(values: list[float], chunk: int | None, bits: int, away: bool) -> Fraction:
    total, part = Fraction(0), Fraction(0)
    for at, value in enumerate(values, 1):
        part = rounded(part + Fraction(value), bits, away)
        if chunk and at % chunk == 0:
            total, part = rounded(total + part, bits, away), Fraction(0)
    return rounded(total + part, bits, away)


@pytest.mark.sample(6)
@pytest.mark.parametrize("chunk", [None, 16, 64])
@pytest.mark.parametrize(
    ("kind", "rounding", "bits"), [("dlfloat16", "rne", 10), ("dlfloat16", "rna", 10), ("f16", "rne", 11)]
)
def test_sums_in_chunks_are_those_of_fractions(kind: str, rounding: str, bits: int, chunk: int | None) -> None:
    way, fmt = LongSum(kind, rounding, chunk), get_format(kind)
    values = fmt.decode(fmt.encode(drawn(hfp8_sums.UNIFORM, 4, 512, seed=1))).tolist()
    ratios = hfp8_sums.ratios(way, (512,), 4, kind, seed=1)[:, 0]
    found = [round(float(ratio) * math.fsum(row), 9) for ratio, row in zip(ratios, values, strict=True)]
    away = rounding == "rna"
    assert found == [float(summed(row, chunk, bits, away)) for row in values]
    for mutant in ((128, bits, away), (chunk, bits + 1, away), (chunk, bits, not away)):
        assert found != [float(summed(row, *mutant)) for row in values]


def test_a_flat_sum_of_1_6_9_stalls_at_4096_and_chunks_do_not() -> None:
    found = cells(table("hfp8", "Sums"))
    for label in ("1-6-9 RNE, flat", "1-6-9 RNA, flat"):
        assert found[label]["8192"] == pytest.approx(0.5, abs=0.02)
        assert found[label]["512"] == pytest.approx(1, abs=0.01)
    assert found["1-6-9 RNE, chunks of 64"]["8192"] == pytest.approx(1, abs=0.005)
    assert 0.85 < found["FP16 RNE, flat"]["8192"] < 0.97  # a bit more: it stalls at 8192


def test_biases_are_counted_from_ieee_754_s() -> None:
    shipped = get_format("hfp8-e4m3")
    codes = np.arange(256)
    assert hfp8.forward(4).decode(codes).tolist() == shipped.decode(codes).tolist()
    assert hfp8.forward(0).decode(0x7F) == 480 == 16 * shipped.decode(0x7F)
    rows = {row[0]: row[1:] for row in table("hfp8", "The formats").rows}
    assert rows["1-4-3 bias 4"] == ("11", "30", "1.125 x 2^-11")
    assert rows["1-4-3 bias 0"] == ("7", "480", "1.125 x 2^-7")
    assert rows["1-5-2"] == ("15", "98304", "1.25 x 2^-15")


def test_a_bias_of_4_is_for_small_numbers_and_1_5_2_for_a_wide_range() -> None:
    found = {row[0]: [float(cell.split()[0]) for cell in row[1:]] for row in table("hfp8", "Signal to noise").rows}
    four, zero, wide = found["weights, deviation 0.02"]
    assert four > wide > zero
    four, zero, wide = found["activations, 1 % x 20"]
    assert zero > wide > four
    four, zero, wide = found["log-normal, sigma 2"]
    assert wide > max(four, zero)


def test_long_hfp8_dot_products_need_chunks() -> None:
    found = table("hfp8", "HFP8 dot products")
    decibels = {
        row[0]: dict(zip(found.header, (float(cell.split()[0]) for cell in ("0", *row[1:])), strict=True))
        for row in found.rows
    }
    for name in ("both signs", "drifting"):
        for rounding in ("", ", RNE"):
            chunked, flat = decibels[f"chunks of 64{rounding}"], decibels[f"flat{rounding}"]
            assert chunked[f"{name}, 512"] > flat[f"{name}, 512"] + 6
            assert chunked[f"{name}, 64"] == flat[f"{name}, 64"]


# FP8


def test_the_formats_are_those_of_the_paper_s_first_table() -> None:
    assert {row[-1] for row in table("fp8-formats", "The formats' values").rows} == {"same"}
    assert len(fp8_values.PAPER) == 8
    for mutant in ("e4m3-ieee", "e4m3b11fnuz", "e3m4-finite"):
        described = fp8_values.described(mutant)
        assert any(described[key] != e4m3 for key, (e4m3, _) in fp8_values.PAPER.items())


def test_one_bias_does_not_do_for_residual_sums() -> None:
    kinds = fp8_formats.kinds_of(fp8_formats.tensors(tiny=True, seed=1))
    scaled = {kind: np.mean(fp8_formats.by_scale(all_of).decibels) for kind, all_of in kinds.items()}
    for bias in fp8_formats.PAPER:
        for kind in ("weights", "GEMM inputs"):
            assert np.mean(fp8_formats.at_bias(kinds[kind], bias).decibels) > scaled[kind] - 0.5
        assert np.mean(fp8_formats.at_bias(kinds["residual sums"], bias).decibels) < scaled["residual sums"] - 10
    fmt = fp8_formats.with_bias(9)
    assert fmt.decode(0x7E) == 112 and by_format(np.array([[200, 0.001]], np.float32), fmt).tolist() == [
        [112, 1 / 1024]
    ]


def test_integers_are_better_for_weights_and_worse_for_inputs_with_outliers() -> None:
    row = table("fp8-formats", "E4M3 against INT8").rows[0]
    weights, integers, inputs, integer_inputs, product, integer_product = (float(cell.split()[0]) for cell in row[1:])
    assert integers > weights + 6 and integer_inputs < inputs and integer_product < product
    assert get_rule("int8-channel").element.name == "int8"


@pytest.mark.slow
def test_residual_sums_are_what_the_network_normalises() -> None:
    try:
        found, layers = fp8_tensors.trained(), minilm().layers
    except ToolMissing as error:
        missing(str(error))
    sums = found.residuals["residual sums"]
    assert len(sums) == 2 * len(layers) and len(found.weights) == 6
    for index, layer in enumerate(layers):
        attended, narrowed = sums[2 * index].astype(float), sums[2 * index + 1].astype(float)
        expected = found.activations["wider"][index]
        assert np.abs(layer.attended_norm(attended) - expected).max() < 1e-5 * np.abs(expected).max()
        assert np.abs(layer.norm(attended) - expected).max() > 0.1 * np.abs(expected).max()
        if index + 1 < len(layers):
            expected = found.activations["query"][index + 1]
            assert np.abs(layer.norm(narrowed) - expected).max() < 1e-5 * np.abs(expected).max()


# Pages


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_the_tables_of_the_quick_run(name: str) -> None:
    report = preset_run(name, "quick")[0]
    if name == "fp8-formats" and "drawn" in report.summary[0]:
        missing("the weights of all-MiniLM-L6-v2 are not installed")
    written = (ROOT / "docs" / "studies" / f"{name}.md").read_text(encoding="utf-8")
    for one in report.tables:
        assert markdown(one) in written, one.title
    for chart in report.charts:
        assert (ROOT / "docs" / "studies" / "figures" / f"{chart.name}.svg").exists()
