"""The presets about accumulation: what their pages claim, in small."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study.preset_runs import preset_run, table

from hwsim.spec import load_unit, presets
from hwsim.spec.fields import vary
from hwsim.study.accuracy.exact import DoubleDouble
from hwsim.study.data import draw, parse_data
from hwsim.study.presets import deepseek_2pct, generations, snr_vector_length, truncation
from hwsim.study.presets.preset import Records, load_page
from hwsim.study.report import markdown
from hwsim.study.report.declared import said

PAGES = Path(__file__).parents[2] / "docs" / "studies"
PRESETS = ("deepseek-2pct", "snr-vector-length", "silicon")
DEEPSEEK, VECTORS = load_page("deepseek-2pct", "tiny"), load_page("snr-vector-length", "tiny")


def at(points: Records, **wanted: Any) -> dict[str, Any]:
    """The single record with these values."""
    (found,) = [one for one in points if all(one[key] == value for key, value in wanted.items())]
    return found


def studied(name: str) -> Records:
    """The records of a preset's study."""
    preset = next(one for one in PRESETS if name.startswith(one))
    return preset_run(preset)[1][name]


def cells(preset: str, title: str) -> dict[tuple[str, ...], str]:
    """Cells of the table whose title begins so, by words of the row and the column's head."""
    found = table(preset, title)
    words = min(found.right)
    return {
        (*row[:words], head): cell
        for row in found.rows
        for head, cell in zip(found.header[words:], row[words:], strict=True)
    }


# deepseek-2pct


def test_promotion_takes_the_bias_of_growing_sums_away() -> None:
    found = studied("deepseek-2pct-promotion")
    for name in ("half-normal", "uniform 0 to 1"):
        flat, promoted = (at(found, data=name, interval=one)["accumulation_shrink"] for one in ("none", "64"))
        assert flat > 0.004  # 512 products: 512 * 2^-14 * 1/3 is 1 %, of which E4M3's short products lose half
        assert promoted < flat / 20


def test_a_quarter_of_the_products_loses_a_quarter() -> None:
    found = studied("deepseek-2pct-promotion")
    dense, quarter = (
        at(found, data=name, interval="none")["accumulation_shrink"] for name in ("half-normal", "ReLU x ReLU")
    )
    assert 3 < dense / quarter < 12


def test_a_bit_more_halves_the_loss() -> None:
    found = studied("deepseek-2pct-bits")
    wide, narrow = (at(found, data="uniform 0 to 1", accumulator=one)["accumulation_shrink"] for one in ("13", "12"))
    assert 1.7 < narrow / wide < 3.5


def test_zero_mean_data_have_neither_bias_nor_a_largest_error() -> None:
    found = studied("deepseek-2pct-promotion")
    point = at(found, data="normal", interval="none")
    assert abs(point["accumulation_shrink"]) < 0.0005
    assert point["accumulation_relative_max_most"] > 5 * point["accumulation_rms"]


def test_the_expected_loss_is_what_the_unit_loses() -> None:
    found = studied("deepseek-2pct-promotion")
    for name in ("half-normal", "uniform 0 to 1", "ReLU x ReLU"):
        products = truncation.sampled_products(deepseek_2pct.data(DEEPSEEK)[name], 512, 1)
        measured = at(found, data=name, interval="none")["accumulation_shrink"]
        assert truncation.expected_shrink(products, 512, 13) == pytest.approx(measured, rel=0.25)
        # Mutants: a window of another width.
        assert truncation.expected_shrink(products, 512, 12) > 1.5 * measured
        assert truncation.expected_shrink(products, 512, 14) < measured / 1.5


def test_the_expected_loss_by_hand() -> None:
    # The first 32 products of 1.25 are whole in a window of 2 bits below 2^0; at 40 its last bit is worth 8: all others
    # are swamped. With 5 bits it is worth 1 up to 64, 2 up to 128: products are cut to 1, and then swamped.
    products = np.full(64, 1.25)
    assert truncation.expected_shrink(products, 4096, 2) == pytest.approx(1 - 40 / 5120, abs=1e-3)
    assert truncation.expected_shrink(products, 4096, 5) == pytest.approx(1 - 72 / 5120, abs=1e-3)
    assert np.isnan(truncation.expected_shrink(np.array([1.0, -1.0]), 4096, 13))
    assert truncation.share_of_signs(np.array([1.0, 2.0, -1.0, 0.0])) == 0.25


def test_no_error_is_beyond_the_worst_case() -> None:
    found = {key: float(cell) for key, cell in cells("deepseek-2pct", "Bounds").items()}
    for interval in map(str, DEEPSEEK.given["intervals"]):
        for name in DEEPSEEK.given["drawn"]:
            assert 0 < found[interval, name] < found[interval, "worst case"]
        # Only what has no bias may be held to the bound for losses of mean zero.
        assert found[interval, "normal"] < found[interval, "probabilistic"] < found[interval, "worst case"]


def test_the_data_of_two_per_cent_are_named() -> None:
    assert "nearly 2 %" in preset_run("deepseek-2pct")[0].summary[1]
    shown = {
        key[0]
        for key, cell in cells("deepseek-2pct", "Largest relative").items()
        if key[1] == "none" and 1.5 <= float(cell.replace(",", "")) <= 2.2
    }
    assert (
        preset_run("deepseek-2pct")[0]
        .summary[1]
        .endswith(f": {', '.join(n for n in deepseek_2pct.data(DEEPSEEK) if n in shown) or 'none'}.")
    )


# snr-vector-length


def test_chunks_beat_the_flat_chain_by_more_the_longer() -> None:
    points = studied("snr-vector-length-tensors")
    fitting = [one for one in points if all(one[key] == VECTORS.given[key] for key in ("data", "scaling"))]
    named = [one | snr_vector_length.named(one) for one in fitting]
    gains = {chunk: snr_vector_length.gain(named, chunk) for chunk in (16, 64, 256)}
    assert gains[16][16] == 0  # one chunk
    assert gains[16][1024] > 11
    assert gains[16][1024] > gains[64][1024] + 2 > gains[256][1024] + 4


def test_a_scale_lifts_products_out_of_nothing_or_into_nan() -> None:
    found = cells("snr-vector-length", "SNR in dB by data and scale")
    assert found["deviation 0.01", "no scale", "E4M3 flat", "K = 16"] == "0.0"
    assert float(found["deviation 0.01", "scale 1/64", "E4M3 flat", "K = 16"]) > 18
    assert found["variance 0.01", "scale 1/128", "E4M3 flat", "K = 1024"] == "100 % NaN"
    assert float(found["variance 0.01", "no scale", "E4M3 flat", "K = 16"]) > 17


def test_hopper_is_at_the_error_of_quantisation() -> None:
    found = studied("snr-vector-length-tensors")
    for data in ("variance 0.01", "deviation 0.01"):
        point = at(found, entry="Hopper", interval="none", scaling="scale 1/64", data=data, length=1024)
        assert point["total_snr_db"] == pytest.approx(point["quantization_snr_db"], abs=0.1)


def test_block_scales_do_not_rescue_an_e4m3_chain() -> None:
    found = cells("snr-vector-length", "SNR in dB with scales")
    assert found["deviation 0.01", "E4M3 flat, MX blocks", "K = 128"] == "0.0"
    assert found["deviation 0.01", "E4M3 in chunks of 128, FP32 blocks", "K = 128"] == "100 % NaN"
    assert float(found["deviation 0.01", "Hopper, promoted, FP32 blocks", "K = 128"]) > 25


# silicon


def test_every_preset_of_hardware_is_in_a_group_or_has_a_stand_in() -> None:
    found = [unit.name for group in generations.groups() for member in group.members for unit in member.units]
    assert len(found) == len(set(found)) > 90
    hardware = [name for name in presets() if name.split("-")[0] in (*generations.MAKERS, "turing")]
    left = {name for name in hardware if name not in found}
    variants = {name for name in left if re.search(r"-k\d+-|-e8m0-|-addend-|-f(32-f32|64-f64)$", name)}
    mixed = {name for name in left if re.search(r"xe\dm\d-f(16|32)$", name)} - variants
    rules = {group_rule(name) for name in found}
    assert all(group_rule(name) in rules for name in left - variants)
    assert len(left - variants - mixed) == 14 and len(mixed) == 90
    assert {"volta-mma-f16-f32", "cdna3-mfma-e4m3fnuz-f32", "intel-amx-e4m3-f32", "hopper-wgmma-e4m3-f32"} <= set(found)


def group_rule(name: str) -> str:
    """What a group of a preset does, but for its factors' formats where these are eight bits or less."""
    unit = load_unit(name)
    keys = json.loads(generations.arithmetic_of(unit))
    del keys["instruction"]["k"]
    if unit.operands.a.container_bits <= 8:
        del keys["operands"]["a"], keys["operands"]["b"]
    return json.dumps(keys)


def test_equal_arithmetic_stands_together_and_other_does_not() -> None:
    group = next(one for one in generations.groups() if one.name == "f16 to f32")
    assert "ampere-mma, ada-mma" in {member.label for member in group.members}
    ampere, ada, volta = (load_unit(f"{name}-mma-f16-f32") for name in ("ampere", "ada", "volta"))
    assert generations.arithmetic_of(ampere) == generations.arithmetic_of(ada) != generations.arithmetic_of(volta)
    # Mutant: one key of the specification.
    changed = ada.model_copy(update={"sum": ada.sum.model_copy(update={"fraction_bits": 23})})
    assert generations.arithmetic_of(changed) != generations.arithmetic_of(ada)


def test_hopper_differs_from_ada_and_blackwell_equals_itself() -> None:
    chosen = next(one for one in generations.groups() if one.name == "e4m3 to f32")
    group = generations.compare(chosen, draw(parse_data("normal", Path()), 1, 0, 256, 4, 4))
    places = {member.label: i for i, member in enumerate(group.group.members)}

    def pair(one: str, other: str) -> generations.Pair:
        return group.pairs[min(places[one], places[other]), max(places[one], places[other])]

    assert pair("ada-mma", "hopper-wgmma").share > 0.2
    tcgen05 = "blackwell-tcgen05, geforce-blackwell-mma"
    assert pair("blackwell-mxf8f6f4", tcgen05) == generations.Pair(0.0, 0.0, np.inf)
    # 13 bits against 25: emulation by f16 is much nearer to the exact sum than wgmma.
    errors = {name: group.errors[i] for name, i in places.items()}
    assert errors["hopper-mma, blackwell-mma"].snr > errors["hopper-wgmma"].snr + 40
    assert cells("silicon", "Pairs, e4m3")["4 blackwell mxf8f6f4", "5 blackwell tcgen05, geforce"] == "equal"


def test_numbers_are_rounded_once_to_the_groups_format() -> None:
    group = next(one for one in generations.groups() if one.name == "e4m3 to f32")
    # 0.74 of E4M3's least number; e4m3fnuz has half of it, and would make a tie of 0.74, which goes to zero.
    numbers = np.full((2, 64), 0.74 * 2.0**-9, np.float32)
    numbers[1] = 3
    made = generations.compare(group, generations.Drawn(numbers, numbers.T))
    assert made.exact.hi.tolist() == [[64 * 2.0**-18, 64 * 3 * 2.0**-9], [64 * 3 * 2.0**-9, 576.0]]


def test_a_window_wider_than_the_result_costs_zero_mean_sums_more() -> None:
    # What is cut off towards zero once a group is cut against the sum's sign; at 23 bits nothing is left to cut.
    group = next(one for one in generations.groups() if one.name == "f16 to f32")
    ampere = load_unit("ampere-mma-f16-f32")
    units = [vary(ampere, {"fraction_bits": bits}) for bits in (23, 24, 32)]
    changed = replace(group, members=tuple(generations.EquivalentUnits((unit,)) for unit in units))
    made = generations.compare(changed, draw(parse_data("normal", Path()), 1, 0, 1024, 4, 4))
    narrow, wider, widest = (error.snr for error in made.errors)
    assert narrow > wider + 5
    assert narrow > widest + 2  # no window is wide enough: the cut to f32 remains


def test_pairs_and_errors_by_rationals() -> None:
    group = next(one for one in generations.groups() if one.name == "tf32 to f32")
    rng = np.random.Generator(np.random.Philox(3))
    numbers = [rng.integers(-999, 999, size).astype(np.float32) / 64 for size in ((3, 40), (40, 3))]
    made = generations.compare(group, generations.Drawn(*numbers))
    a, b = ([[Fraction(float(x)) for x in row] for row in side] for side in numbers)  # 10 bits: numbers of tf32
    exact = np.array([[float(sum(a[i][k] * b[k][j] for k in range(40))) for j in range(3)] for i in range(3)])
    assert np.array_equal(made.exact.hi, exact)
    x, y = (one.astype(np.float64) for one in made.returned[:2])
    assert made.pairs[0, 1].share == np.mean(x != y)
    assert made.pairs[0, 1].ulp == np.abs(x - y).max() / made.ulp
    assert made.errors[0].ulp == np.abs(x - exact).max() / made.ulp


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nearest_rounds_exact_numbers_once(dtype: Any) -> None:
    half = float(np.spacing(dtype(1))) / 2
    tiny = 2.0**-70
    hi = np.array([1 + half, 1 + half, 1 + half, 1 + 3 * half, -1 - half, 1.5])
    lo = np.array([0.0, tiny, -tiny, 0.0, -tiny, 0.0])
    wanted = [1, 1 + 2 * half, 1, 1 + 4 * half, -1 - 2 * half, 1.5]
    assert generations.nearest(DoubleDouble(hi, lo), np.dtype(dtype)).tolist() == wanted
    assert hi.astype(dtype).tolist() != wanted  # the mutant that leaves the low part out


# all


def test_numbers_are_said_with_three_digits() -> None:
    told = [said("{x:percent}", {"x": one}) for one in (0.0746, 0.000555, 12.3, float("nan"))]
    assert told == ["7.46", "0.0555", "1,230", "-"]


def test_a_word_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        said("{nothing:.1f}", {"something": 1.0})


@pytest.mark.parametrize("name", PRESETS)
def test_pages_have_the_tables_and_figures_of_their_report(name: str) -> None:
    """Titles of columns and figures; the numbers are those of the quick size."""
    report, _ = preset_run(name)
    written = (PAGES / f"{name}.md").read_text()
    assert report.name == name and report.sources and report.summary
    heads = [line for line in written.splitlines() if re.match(r"\| ?-", line)]
    assert len(heads) >= len(report.tables)
    for figure in re.findall(r"\(figures/([\w.-]+)\.svg\)", written):
        assert figure in {chart.name for chart in report.charts}
        assert (PAGES / "figures" / f"{figure}.svg").read_text().startswith("<svg")


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_pages_have_the_numbers_of_the_quick_size(name: str) -> None:
    written = (PAGES / f"{name}.md").read_text()
    for one in preset_run(name, "quick")[0].tables:
        assert markdown(one).strip() in written, one.title
