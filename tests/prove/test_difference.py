"""`hwsim diff`: `same` stands on a proof alone, a difference is one of the model's, the simplest that was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import one_of_each_family, others_slow
from cosim.dut_files import variant
from documents import commands
from prove.presets_apart import BEGIN, END, FILE, PAGE, differs, pairs, row, table

import hwsim
from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.cosim.dutfile import load_dut
from hwsim.explain.beside import beside_text
from hwsim.explain.known import semantics
from hwsim.explain.mistakes.flawed import NO_FLAW
from hwsim.prove import apart, difference
from hwsim.prove.apart import CaseSearch, UnitPair
from hwsim.prove.difference import diff, same_by_bounds
from hwsim.spec import Unit, as_yaml, load_unit, presets

HOPPER, BLACKWELL, ADA = "hopper-wgmma-e4m3-f32", "blackwell-tcgen05-e4m3-f32", "ada-mma-e4m3-f32"


def unit(name: str, lanes: int, window: dict[str, Any], addend: str | None = None, chain: str = "none") -> Unit:
    """A unit of e2m1 factors, of which there are few."""
    keys = {
        "unit": name,
        "operands": {"a": "e2m1", "b": "e2m1", "addend": addend or "none"},
        "instruction": {"k": lanes, "lanes": lanes, "chain": chain},
        "sum": window,
        "result": {"format": "f32", "rounding": "rne"},
    }
    return load_unit(keys)


def aligned(bits: int, lost: str = "truncate", **more: Any) -> dict[str, Any]:
    return {"method": "aligned", "fraction_bits": bits, "lost": lost, **more}


EXACT = {"method": "exact"}


# Proofs.


def test_files_that_say_the_same_are_the_same() -> None:
    found = diff("ada-mma-f16-f32", "ampere-mma-f16-f32")
    assert (found.verdict, found.proof, found.tried) == ("same", "both files say the same arithmetic", 0)


@pytest.mark.parametrize("of", others_slow(["f32", "f16"], ["f16"]))
def test_instructions_of_other_lengths_with_the_same_groups_are_the_same_by_structure(of: str) -> None:
    pytest.importorskip("bitwuzla")
    found = diff(f"ada-mma-f16-{of}", f"turing-mma-f16-{of}")
    assert found.same and "by the same calls" in found.proof
    assert found.products == "sums of any number of products"


# Whether an addend is low is asked outside of all functions that claims are about.
ONE = [name for name in one_of_each_family(presets()) if not name.endswith("-fours")]


@pytest.mark.parametrize("name", others_slow(ONE, ONE[::6]))
def test_a_unit_is_the_same_as_itself_by_structure(name: str) -> None:
    pytest.importorskip("bitwuzla")
    from hwsim.prove.alike import same_structure

    same_structure(UnitPair(load_unit(name), load_unit(name)))


CHANGED = (HOPPER, "deepseek-v3-e4m3-f32", "cdna3-mfma-f16-f32", "sequential-e4m3-f16", "exact-e4m3-f32",
           "cdna2-mfma-bf16-f32", "volta-mma-f16-f32", "turing-mma-f16-f32", "mxfp8-e4m3-f32",
           "blackwell-mxf4nvf4-e2m1-f32")  # fmt: skip


@pytest.mark.parametrize("name", others_slow(CHANGED, []))
def test_no_proof_stands_against_a_case(name: str) -> None:
    """Of a unit and each change of a rule of it: what is proved the same is not told apart by any case."""
    pytest.importorskip("bitwuzla")
    from hwsim.prove.alike import same_structure
    from hwsim.prove.composition import Unmet

    own, told, proved = load_unit(name), 0, 0
    for semantic in semantics(own)[1:]:
        other = semantic.candidate.unit
        if semantic.candidate.flaw != NO_FLAW or other == own or other.operands != own.operands:
            continue
        pair = UnitPair(own, other)
        try:
            same_structure(pair)
            same = True
        except Unmet:
            same = False
        same |= bool(same_by_bounds(pair))
        differ = bool(CaseSearch(pair).drawn(8))
        assert not (same and differ), semantic.name
        told, proved = told + differ, proved + same
    assert told >= 5


def test_integer_sums_do_not_depend_on_groups_where_they_wrap_or_only_grow() -> None:
    assert "modulo a power of two" in diff("int8-i32", "turing-mma-int8-i32").proof
    assert "no product is negative" in diff("ampere-mma-uint8-i32-sat", "turing-mma-uint8-i32-sat").proof
    # With signs a sum may saturate in one group and come back in the next.
    found = diff("ampere-mma-int8-i32-sat", "turing-mma-int8-i32-sat")
    assert found.case is not None and sum(bool(a or b) for a, b in zip(found.case.a, found.case.b, strict=True)) == 2
    exact, long = unit("exact", 2, EXACT, "f32", "addend"), unit("long", 8, EXACT, "f32", "addend")
    assert "rounded once, at the end" in diff(exact, long).proof
    assert not CaseSearch(UnitPair(exact, long)).drawn(12)


def test_zeros_that_fill_up_count_for_the_length() -> None:
    """A lone -0 stays in a chain of one product, and becomes +0 where zeros follow it: seen at K = 1 alone."""
    chain = {"method": "sequential", "product": "fused", "format": "f32", "rounding": "rne"}
    one, two = unit("one", 1, chain, "f32", "addend"), unit("two", 2, chain, "f32", "addend")
    found = diff(one, two)
    assert found.case is not None and found.codes == (0x80000000, 0) and len(found.case.a) % 2 == 1


MUTANTS = {"constants": ("_frozen", "hopper-wgmma-e4m3-f32"), "states": ("_state", "deepseek-v3-e4m3-f32")}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_proof_by_structure_that_forgets_something_is_refuted_by_a_case(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without constants in the keys of calls, or with the first step alone, units that differ are proved the same."""
    pytest.importorskip("bitwuzla")
    from hwsim.prove import alike
    from hwsim.prove.composition import Unmet

    own = load_unit(MUTANTS[mutant][1])
    other = own.replace(lost="floor") if mutant == "constants" else own.replace(interval=64)
    pair = UnitPair(own, other)
    with pytest.raises(Unmet):
        alike.same_structure(pair)
    true = getattr(alike, MUTANTS[mutant][0])
    if mutant == "constants":
        monkeypatch.setattr(alike, "_frozen", lambda what: true(what) if alike._has_token(what) else None)
    else:
        monkeypatch.setattr(alike, "_state", lambda *carried: ("one state", true(*carried)[1]))
    assert alike.same_structure(pair) is None
    assert CaseSearch(pair).drawn(8)


def test_windows_that_lose_nothing_are_the_same_by_bounds() -> None:
    wide, floored = unit("wide", 4, aligned(30)), unit("floored", 4, aligned(40, "floor"))
    found = diff(wide, floored)
    assert found.same and found.proof.startswith("all products are multiples of 2^-2")
    assert found.products == "sums of 1 to 4 products"
    narrow = unit("narrow", 4, aligned(3))
    assert same_by_bounds(UnitPair(wide, narrow)) == ""
    assert diff(wide, narrow).verdict == "differ"


@pytest.mark.slow
def test_the_solver_shows_that_an_exact_sum_is_one_in_a_wide_window() -> None:
    pytest.importorskip("bitwuzla")
    found = diff(unit("exact", 2, EXACT), unit("window", 2, aligned(40)))
    assert found.same and found.proof == "the solver, for unknown codes of up to 2 products"


@pytest.mark.slow
def test_the_solver_refutes_and_has_the_case() -> None:
    pytest.importorskip("bitwuzla")
    from hwsim.cases.case import Case
    from hwsim.prove.alike import same_by_solver

    pair = UnitPair(unit("exact", 2, EXACT), unit("window", 2, aligned(3)))
    case = same_by_solver(pair, 60)
    assert isinstance(case, Case) and CaseSearch(pair).differing(next(apart.batches(pair.first, [case])))


def test_without_a_proof_nothing_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difference, "find_spec", lambda name: None)
    monkeypatch.setattr(CaseSearch, "directed", lambda search: [])
    found = diff("ada-mma-f16-f32", "turing-mma-f16-f32", seconds=1)
    assert found.verdict == "not decided" and not found.same
    assert found.tried > 20_000
    assert "proofs on unknown values need the extra `prove`, which is not installed" in found.notes


# Differences.


def test_why_do_hopper_and_blackwell_differ() -> None:
    found = diff(HOPPER, BLACKWELL)
    assert found.verdict == "differ" and found.case is not None
    assert (found.case.a, found.case.b, hex(found.case.c)) == ((0,), (0,), "0x3f800001")
    for name, code in zip((HOPPER, BLACKWELL), found.codes or (), strict=True):
        (result,) = hwsim.dot(name, [[0]], [[0]], [0x3F800001])
        assert int(result.view(np.uint32)) == code
    lines = beside_text(found.beside(), 400)
    assert lines[0].count(" ≠ ") == 1 and HOPPER in lines[0] and BLACKWELL in lines[0]
    (sums,) = [line for line in lines if line.strip().startswith("sum +")]
    assert "8192  growth +0" in sums and "33554436  growth +0" in sums
    narrow = beside_text(found.beside(), 100)
    assert any(line.startswith("A    sum +") for line in narrow) and any(
        line.startswith("B    sum +") for line in narrow
    )
    assert all(len(line) <= 100 for line in narrow)


def test_fewest_products_come_first() -> None:
    # A group of 32 against two of 16: they differ by what the first of two groups rounds, and so by two products.
    found = diff(HOPPER, ADA)
    assert found.case is not None
    assert sum(bool(a or b) for a, b in zip(found.case.a, found.case.b, strict=True)) == 2
    assert len(found.case.a) == 17
    # Subnormal factors that are flushed, or not: one product is enough, and no addend.
    found = diff("intel-amx-e4m3-f32", "intel-amx-e4m3-f32-subnormals")
    assert found.case is not None and found.case.c == 0 and len(found.case.a) == 1


def test_a_long_case_is_made_simple_in_seconds() -> None:
    found = diff(HOPPER, "deepseek-v3-e4m3-f32", products=(512, 1024))
    assert found.case is not None and len(found.case.a) == 512 and not any(found.case.a)
    assert found.products == "sums of 512 to 1024 products"


def test_results_of_other_formats_are_compared_as_numbers() -> None:
    other = load_unit("hopper-wgmma-e4m3-f16").replace({"operands.addend": "f32", "result.format": "f16"})
    pair = UnitPair(load_unit(HOPPER), other)
    assert not pair.by_code
    a, b = np.array([0x3F800000, 0x3F801000, 0x80000000], np.uint32), np.array([0x3C00, 0x3C01, 0], np.uint16)
    assert pair.apart(a, b).tolist() == [False, True, True]


def test_units_of_other_operands_are_named() -> None:
    with pytest.raises(InputError, match="hopper-wgmma-e4m3-f32 and hopper-wgmma-e5m2-f32 take other operands: a is"):
        diff(HOPPER, "hopper-wgmma-e5m2-f32")
    with pytest.raises(InputError, match="take other operands: scale is none, and given"):
        diff(HOPPER, "mxfp8-e4m3-f32")
    with pytest.raises(InputError, match=r"scale.a.format is e8m0, and ue4m3|scale.a.block is"):
        diff("blackwell-mxf4-e2m1-f32", "blackwell-mxf4nvf4-e2m1-f32")
    with pytest.raises(InputError, match="take no sum of 32 products in common: at most 4"):
        diff("rvbna-e4m3-f32-n4", "rvbna-e4m3-f32-n8", products=32)


# Data.


def test_a_matrix_products_differences_are_counted() -> None:
    rng = np.random.default_rng(3)
    fmt = hwsim.get_format("e4m3")
    a, b = (fmt.encode(rng.standard_normal(shape)) for shape in ((8, 256), (256, 8)))
    data = diff(HOPPER, BLACKWELL, a, b).data
    first, second = (hwsim.gemm(name, a, b).astype(float) for name in (HOPPER, BLACKWELL))
    assert data is not None and (data.results, data.differ) == (64, int((first != second).sum()))
    relative = np.abs(first - second) / np.maximum(np.abs(first), np.abs(second))
    assert data.largest_relative == relative.max()
    exponent = np.frexp(np.maximum(np.abs(first), np.abs(second)))[1] - 1
    in_ulp = np.abs(first - second) / 2.0 ** (exponent - 13)
    assert data.largest_ulp == in_ulp.max() and data.where == np.unravel_index(in_ulp.argmax(), in_ulp.shape)
    assert data.at == (first[data.where], second[data.where])


# The command.


def test_the_command_says_it_and_has_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "ada-mma-f16-f32", "ampere-mma-f16-f32"]) == 0
    assert "return the same for every input, in sums of any number of products\nproved:" in capsys.readouterr().out
    assert main(["diff", HOPPER, BLACKWELL, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["case"] == {"k": 1, "products": [], "c": "0x3f800001"} and told["verdict"] == "differ"
    for wrong in ("0", "5-3", "x"):
        assert main(["diff", HOPPER, ADA, "--products", wrong]) == 2
        assert "--products must be K, K-L or K-" in capsys.readouterr().err


def test_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    fmt, rng = hwsim.get_format("e4m3"), np.random.default_rng(1)
    for name, shape in (("A", (4, 64)), ("B", (64, 4))):
        np.save(f"{name}.npy", fmt.encode(rng.standard_normal(shape)))
    shown = [command for command in commands("hwsim") if command.where.startswith("differences.md")]
    statuses = [main(command.words[1:]) for command in shown]
    printed = capsys.readouterr().out
    assert statuses == [1, 0, 1]
    assert "of 16 results differ" in printed


@pytest.mark.slow
@pytest.mark.simulator
def test_a_design_is_proved_against_another_unit_than_its_own(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("bitwuzla")
    monkeypatch.chdir(tmp_path)
    path = variant(tmp_path, "comb")
    other = load_dut(path).unit.replace(lost="floor")
    (tmp_path / "other.yaml").write_text(as_yaml(other))
    assert main(["diff", str(path), "other.yaml", "--seconds", "60"]) == 1
    printed = capsys.readouterr().out
    assert "a case that shows it" in printed and other.name in printed
    assert main(["diff", str(path), str(path)]) == 2
    assert "one of the two must be a unit" in capsys.readouterr().err


# All pairs of presets.

ROWS: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def test_the_table_has_every_pair_of_presets_and_no_other() -> None:
    assert [(one["first"], one["second"]) for one in ROWS] == list(pairs())
    assert {one["verdict"] for one in ROWS} == {"same", "differ"}


def test_every_input_of_the_table_tells_its_units_apart() -> None:
    assert all(differs(one) for one in ROWS if one["verdict"] == "differ")
    assert sum(one["verdict"] == "differ" for one in ROWS) > 200


@pytest.mark.slow
def test_what_the_table_says_is_proved_is_proved_again() -> None:
    pytest.importorskip("bitwuzla")
    same = [one for one in ROWS if one["verdict"] == "same"]
    assert same and all(diff(one["first"], one["second"]).proof == one["proof"] for one in same)


def test_the_page_has_the_table() -> None:
    assert f"{BEGIN}\n{table(ROWS)}{END}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("pair", range(8))
def test_pairs_are_found_again(pair: int) -> None:
    """An eighth of all pairs, asked again: the same verdict, and an input that tells them apart, if any."""
    for one in ROWS[pair::8]:
        again = row(diff(one["first"], one["second"]))
        assert again["verdict"] == one["verdict"]
        assert again["verdict"] == "same" or differs(again)
