"""What is compared and not proved, refuted claims as cases, and what reports of proofs say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from built_presets import buildable, others_slow
from odd_units import NAMED, unit
from prove.step_mutants import DEEPSEEK, Patch, on
from prove.step_mutants import MUTANTS as STEP_MUTANTS

from hwsim.cli import main
from hwsim.cosim.casefile import load_case
from hwsim.cosim.diagnose import first_difference
from hwsim.cosim.unitdesign import unit_design
from hwsim.explain.proof import ClaimRow
from hwsim.formats import Class
from hwsim.model import methods as aligned
from hwsim.model import terms as window
from hwsim.model.definition import Definition
from hwsim.model.late import Promoter
from hwsim.model.methods import FirstAddend, ResultCode
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import Claim
from hwsim.prove.example import DatapathExamples
from hwsim.prove.methods import accumulation_parameters, parameters, provable, ranges_parameters
from hwsim.prove.run import ProofOptions, UnitClaims, claims_of, prove
from hwsim.rtl import accumulate, rounded, supports
from hwsim.rtl import accumulate as promote
from hwsim.rtl import aligned as align
from hwsim.rtl.exact import ExactRanges
from hwsim.rtl.numbers import ProductRanges
from hwsim.rtl.rounded import RoundedRanges
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import ExactSum, RoundedSum, Unit, as_yaml, load_unit, pipeline, presets

PLAYED = "whole dot products"
TINY = "operands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 4, lanes: 2}\n"
WINDOW = "sum: {method: aligned, fraction_bits: 3, lost: truncate}\n"
UNITS = {
    "window": f"{TINY}{WINDOW}result: {{format: f16, rounding: rne}}",
    "wide": "operands: {a: e2m1, b: e2m1, addend: e4m3}\ninstruction: {k: 4, lanes: 4}\n" + WINDOW
    + "result: {format: e4m3, rounding: rne, overflow: nan}",
    "scaled": "operands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 4, lanes: 4}\n" + WINDOW
    + "scale: {a: {format: e8m0, block: [1, 2]}, b: {format: e8m0, block: [2, 1]}, at: product}\n"
    + "result: {format: f16, rounding: rne}",
    "sticky": f"{TINY}sum: {{method: aligned, fraction_bits: 3, lost: sticky}}\nresult: {{format: f16, rounding: rne}}",
    "chain": f"{TINY}sum: {{method: sequential, product: fused, format: e5m2, rounding: ru, flush: true, "
    "tininess: after, overflow: saturate}\nresult: {format: e5m2, rounding: ru}",
    "exact": f"{TINY}sum: {{method: exact, rounded: end}}\nresult: {{format: f16, rounding: rne}}",
    "promoted": f"{TINY}{WINDOW}result: {{format: e5m2, rounding: rne}}\n"
    "promotion: {interval: 4, format: f16, rounding: rz}",
    "late": "operands: {a: e2m1, b: e2m1, addend: e5m2}\ninstruction: {k: 4, lanes: 2, start: zero}\n"
    "sum: {method: aligned, fraction_bits: 3, lost: truncate, addend: late}\nresult: {format: e5m2, rounding: rne}\n"
    "late: {operation: add, format: e5m2, rounding: ru, flush: true, tininess: before}",
}  # fmt: skip
real_adder, real_window, real_largest = rounded.FloatAdder, window.window, window.max_exponent
real_init, real_step, real_group = accumulate.Accumulation.__init__, Definition.step, Definition._group


def claimed(name: str, tmp_path: Path) -> Iterator[ClaimRow]:
    """What comes of all that is compared of a unit."""
    path = tmp_path / "unit.yaml"
    path.write_text(f"unit: {name}\n{UNITS[name]}\n")
    one = load_unit(path)
    claims = UnitClaims(one, pipeline(one))
    for claim in (*parameters(one, claims.datapath, claims.after), claims.played):
        yield ProofOptions().decide(claim)


def made_with(**changes: object) -> Callable[..., None]:
    """An `Accumulation` some of whose parameters are others."""

    def init(self: Any, *arguments: Any) -> None:
        real_init(self, *arguments)
        self.__dict__ |= changes

    return init


def not_all_of_four(terms: Any, *rules: Any) -> Any:
    found = real_window(terms, *rules)
    return found._replace(total=found.total + (sum(term.cls is Class.NORMAL for term in terms) > 3))


def without_one_times_one(terms: Any, *rules: Any) -> Any:
    return real_largest([term for term in terms if (term.sig, term.fraction_bits) != (4, 2)], *rules)


def old_addend(self: Any, carried: Any, lanes: Any, last: bool = False) -> Any:
    found = real_step(self, carried, lanes, last)
    return found if last or not isinstance(carried, FirstAddend) else found._replace(carried=carried)


def never_last(self: Any, carried: Any, lanes: Any, last: bool = False) -> Any:
    return real_step(self, carried, lanes, False)


def begun_again(self: Any, lanes: Any, start: Any, addend: Any) -> Any:
    group, _ = real_group(self, lanes, start, addend)
    return group, ResultCode(0)


RTL: dict[str, tuple[str, str, Callable[[Patch], None]]] = {
    "every addition rounds to zero": (
        "chain", "parameter: sum and product added, rounding",
        on(rounded, "FloatAdder", lambda fmt, _, *rest: real_adder(fmt, "rz", *rest)),
    ),
    "no addition flushes": (
        "chain", "parameter: sum and product added, flush",
        on(rounded, "FloatAdder", lambda fmt, how, x, y, _, large: real_adder(fmt, how, x, y, None, large)),
    ),
    "additions judge what they return": (
        "chain", "parameter: sum and product added, flush",
        on(rounded, "FloatAdder", lambda fmt, how, x, y, _, large: real_adder(fmt, how, x, y, "result", large)),
    ),
    "additions overflow as IEEE 754 has it": (
        "chain", "parameter: sum and product added, overflow",
        on(rounded, "FloatAdder", lambda fmt, how, x, y, flush, _: real_adder(fmt, how, x, y, flush)),
    ),
    "promoted after every group": (
        "promoted", "parameter: promotion, groups", on(accumulate.Accumulation, "groups", property(lambda self: 1)),
    ),
    "a late addition rounds to nearest": (
        "late", "parameter: late.rounding", on(accumulate.Accumulation, "__init__", made_with(rounding="rne")),
    ),
    "a late addition keeps subnormals": (
        "late", "parameter: late.flush", on(accumulate.Accumulation, "__init__", made_with(flush=False)),
    ),
    "a late addition judges what it returns": (
        "late", "parameter: late.tininess", on(accumulate.Accumulation, "__init__", made_with(flushes="result")),
    ),
    "one scale for all blocks": (
        "scaled", "parameter: scales of a beat", on(ProductRanges, "scale_blocks", property(lambda self: (1, 1))),
    ),
    "no sticky bit": ("sticky", "parameter: sum.sticky", on(WindowRanges, "sticky", property(lambda self: False))),
    "room for one group": (
        "exact", "parameter: bits of groups", on(ExactRanges, "groups_bits", property(lambda self: 1)),
    ),
}  # fmt: skip
MODEL: dict[str, tuple[str, str, Callable[[Patch], None]]] = {
    "four terms sum to one more": ("wide", PLAYED, on(aligned, "window", not_all_of_four)),
    "1.0 times 1.0 has no exponent": ("wide", PLAYED, on(window, "max_exponent", without_one_times_one)),
    "the addend does not come in": ("wide", PLAYED, on(Definition, "open", lambda self, c: FirstAddend(0))),
    "the next group has the old addend": ("window", PLAYED, on(Definition, "step", old_addend)),
    "a tail is not promoted": ("promoted", PLAYED, on(Definition, "step", never_last)),
    "the register starts at zero": ("promoted", PLAYED, on(Promoter, "start", lambda self, c: 0)),
    "every group starts from zero": ("window", PLAYED, on(Definition, "_group", begun_again)),
}
MUTANTS = RTL | MODEL


@pytest.mark.parametrize("name", others_slow(UNITS, ["window"]))
def test_what_is_compared_of_a_right_unit_is_equal(name: str, tmp_path: Path) -> None:
    rows = list(claimed(name, tmp_path))
    assert {row.word for row in rows[:-1]} == {"proved"}
    assert (rows[-1].name, rows[-1].word) == (PLAYED, "compared")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", others_slow(MUTANTS, [*RTL][:5] + [*MODEL][:4]))
def test_a_mutant_of_a_parameter_or_of_the_model_is_refuted(mutant: str, monkeypatch: Patch, tmp_path: Path) -> None:
    name, broken, mutate = MUTANTS[mutant]
    mutate(monkeypatch)
    assert broken in [row.name for row in claimed(name, tmp_path) if row.word == "refuted"]


@pytest.mark.slow
def test_a_case_that_the_model_returns_otherwise_is_shown(
    monkeypatch: Patch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = tmp_path / "unit.yaml", tmp_path / "proof"
    path.write_text(f"unit: window\n{UNITS['window']}\n")
    on(Definition, "step", old_addend)(monkeypatch)
    assert main(["prove", str(path), "--only", PLAYED, "-o", str(folder)]) == 1
    assert f"{PLAYED}: a case that shows it: expected " in capsys.readouterr().out
    assert {file.name for file in folder.iterdir()} >= {"proof.html", "proof.json", "case.yaml"}


def test_the_parameters_of_every_unit_are_the_specifications() -> None:
    """Of all that is provable: the claims are of formats and rules alone, which take no circuit."""
    units = [load_unit(name) for name in presets() if buildable(name)] + [unit(name) for name in NAMED]
    for one in units:
        if not (supports(one) and provable(one)):
            continue
        found = [*ranges_parameters(_ranges(one), [one]), *accumulation_parameters(one, accumulate.accumulation(one))]
        assert not [(one.name, claim.name, claim.words) for claim in found if not claim.is_equal]


def _ranges(one: Unit) -> ProductRanges:
    match one.sum:
        case ExactSum():
            return ExactRanges(one)
        case RoundedSum():
            return RoundedRanges(one)
        case _:
            return WindowRanges(one)


real_maximum = align.bitwise_maximum
SMALL = "rvbna-e4m3-f32-n4"
# What no result shows: the sum takes the sign of a truncated term for its carry, so that floor is truncation again.
# And what takes one code of one lane beside a negative addend, of a claim that no values refute: it is not found.
HIDDEN = "floor for truncate", "an addend that a factor changes"


@pytest.mark.parametrize("mutant", others_slow(STEP_MUTANTS, ["a rounding that never goes up"]))
def test_a_refuted_claim_becomes_a_case_of_few_lanes(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, broken, mutate = STEP_MUTANTS[mutant]
    mutate(monkeypatch)
    unit = load_unit(name)
    claims = AlignedClaims(unit)
    claim = next(claim for claim in claims.claims() if claim.name == broken)
    assert claim.decide(60).word != "proved"
    found = DatapathExamples(claims).of(claim)
    if mutant in HIDDEN:
        assert found is None
        return
    assert found is not None
    assert found.expected != found.got
    assert first_difference(unit, found.case) is not None
    assert sum(code != 0 for code in found.case.a) <= 3


@pytest.mark.slow
def test_a_refuted_claim_of_a_promotion_becomes_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    on(promote, "clamp", lambda distance, bits: distance[:bits])(monkeypatch)
    unit = load_unit(DEEPSEEK)
    claims = UnitClaims(unit, pipeline(unit))
    assert claims.after is not None
    claim = next(claim for claim in claims.after.claims() if claim.name == "promotion: register aligned")
    assert claim.decide(60).word == "refuted"
    found = DatapathExamples(claims.datapath, claims.after).of(claim)
    assert found is not None
    difference = first_difference(unit, found.case)
    assert difference is not None
    assert difference.stage == "promote"


@pytest.mark.slow
def test_a_case_is_written_drawn_and_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unit, path = load_unit(SMALL), tmp_path / "case.yaml"
    built = pipeline(unit)
    with monkeypatch.context() as patch:
        on(align, "bitwise_maximum", lambda m, values, end: real_maximum(m, values[1:], end))(patch)
        report = prove(unit, built, ProofOptions(only="maximum", case=path))
    assert report.verdict.endswith("1 refuted")
    assert report.example is not None
    assert report.example.stage.startswith("maximum")
    assert report.example.explanation is not None
    assert f"--case {path}" in report.example.again
    case = load_case(path, unit_design(unit, built))
    assert first_difference(unit, case) is None  # the RTL is right again


def test_a_proof_is_written_as_a_page_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, table = tmp_path / "proof.html", tmp_path / "proof.json"
    (tmp_path / "tiny.yaml").write_text(as_yaml(unit("tiny")))
    options = ["--only", "special", "--second-opinion", "--html", str(page), "--json", str(table)]
    assert main(["prove", str(tmp_path / "tiny.yaml"), *options]) == 1  # claims that were not run are not proved
    said, data = capsys.readouterr().out, json.loads(table.read_text())
    assert data["schema"] == "hwsim-proof/1"
    words = {row["name"]: (row["word"], row["second"]) for row in data["rows"]}
    assert words["special"] == ("proved", "proved")
    assert words["sum"] == ("not run", None)
    assert "not run              sum" in said
    assert all(f">{name}<" in page.read_text() for name in words)
    assert "<script src" not in page.read_text()


def test_solvers_that_disagree_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = load_unit(SMALL)
    monkeypatch.setattr("hwsim.prove.run.second_opinion", lambda *_: "refuted")
    asked = next(claim for claim in claims_of(unit, pipeline(unit)) if isinstance(claim, Claim))
    row = ProofOptions(second=True).decide(asked)
    assert row.word == "proved"
    assert row.disputed
    assert not row.holds
