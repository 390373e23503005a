"""Proofs of engines: all that is claimed of some is proved, and no proof survives a change by which one is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from engine.engine_mutants import APART, MUTANTS, RULES, EngineMutant, RuleMutant
from engine.engines import engine

from hwsim.base.errors import InputError
from hwsim.explain.proof import ClaimRow, Outcome, ProofReport, write_proof_junit
from hwsim.prove.circuits import Elaborated
from hwsim.prove.claims import Decidable
from hwsim.prove.engine.run import EngineClaims, decoder_claims, prove_engine
from hwsim.prove.engine.streams import split
from hwsim.prove.readback import ReadBack
from hwsim.prove.run import ProofOptions
from hwsim.prove.terms import ask, part, same, substituted
from hwsim.rtl.engine import control, drain, element, feed, side, top
from hwsim.rtl.synthesis import FlowFailed
from hwsim.spec.engine import Engine

TINY = engine(columns=2, ports={"a": 32, "b": 64, "c": 64, "d": 32})


def of_file(built: Engine, text: str) -> Iterator[Decidable]:
    """What is claimed of the file: all but the claims of its unit, which no change of the file touches."""
    claims = EngineClaims(built, text)
    yield from claims.around()
    rtl = Elaborated(built.unit, built.pipeline)
    yield from decoder_claims(built, claims.file, rtl)
    yield from ReadBack(rtl, claims.file.element).claims()


def first_open(built: Engine, text: str) -> str:
    """The first claim of a file that is not proved, or what is said of one that cannot be read; empty if all are."""
    try:
        return next((claim.name for claim in of_file(built, text) if claim.decide(60).word != "proved"), "")
    except (InputError, FlowFailed) as error:
        return f"not read: {error}"


def test_an_engine_is_proved_whole() -> None:
    report = prove_engine(TINY, ProofOptions(20))
    assert report.proved and not report.open, report.verdict
    names = {row.name.split(":")[0] for row in report.rows}
    assert {"top", "feed", "drain", "progress", "decoders", "element", "control", "composition"} <= names
    assert [row.name for row in report.rows if row.word == "compared"] == ["whole dot products"]
    assert "2 x 2 elements of small4, 2 x 2: every word of results is the model's" in report.verdict


@pytest.mark.slow
def test_an_engine_with_streams_of_scales_is_proved_whole() -> None:
    report = prove_engine(engine(**APART), ProofOptions(60))
    assert report.proved and not report.open, report.verdict
    assert {"feed: scale_a: ready", "feed: scale_b.kept, step"} <= {row.name for row in report.rows}


def test_what_is_open_is_named_and_fails_in_junit(tmp_path: Path) -> None:
    def row(name: str, word: Outcome) -> ClaimRow:
        return ClaimRow(name=name, words="it is so", over="", solver="bitwuzla", seconds=0.5, word=word)

    rows = (row("top: parts", "proved"), row("feed: last", "refuted"), row("drain: words", "not run"))
    report = ProofReport(unit="e", title="Proof of e", version="0", command="hwsim engine e.yaml --prove", rows=rows,
                         conclusion="all is equal", failing="1 x 1 elements of u: not proved")  # fmt: skip
    assert report.verdict == "1 x 1 elements of u: not proved: 1 refuted, 1 not run: feed: last; drain: words"
    write_proof_junit(tmp_path / "proof.xml", report)
    root = ElementTree.parse(tmp_path / "proof.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("3", "1", "1")
    assert [case.get("name") for case in root.iter("testcase")] == [each.name for each in rows]


@pytest.mark.slow
def test_registers_as_words_are_the_registers() -> None:
    read = EngineClaims(TINY, top.engine_verilog(TINY)).file.feed
    whole, words = read.states["u_bank_a.bank0"], split(read, {"u_bank_a.bank0": 32})
    each = [words.states[f"u_bank_a.bank0.{at}"] for at in range(4)]
    by = {word.now: part(whole.now, 32 * at, 32) for at, word in enumerate(each)}
    pairs = [(word.next, part(whole.next, 32 * at, 32)) for at, word in enumerate(each)]
    pairs += [(words.outputs[name], term) for name, term in read.outputs.items()]
    assert all(ask(same(substituted(first, by), second)).word == "proved" for first, second in pairs)


def changed(mutant: EngineMutant) -> tuple[Engine, str]:
    """The engine, and its Verilog with a mistake."""
    built = engine(addends="c_slices" in mutant.old, reuse=[1, 1] if mutant.contexts == 1 else [2, 2])
    text = top.engine_verilog(built)
    assert mutant.old in text
    return built, text.replace(mutant.old, mutant.new, 1)


ALONE = (  # of which simulators may say nothing
    EngineMutant("registers move at falling edges", "always_ff @(posedge clk)", "always_ff @(negedge clk)"),
    EngineMutant("a result has two drivers", "  genvar i, j;", "  assign results[7:0] = 8'd0;\n  genvar i, j;"),
)  # fmt: skip
FAST = ("addends are transposed", "sums go on after the last step")


@pytest.mark.parametrize("mutant", [
    pytest.param(mutant, marks=[] if mutant.what in FAST else pytest.mark.slow, id=mutant.what.replace(" ", "-"))
    for mutant in (*MUTANTS, *ALONE)
])  # fmt: skip
def test_no_proof_survives_a_change_of_the_file(mutant: EngineMutant) -> None:
    assert first_open(*changed(mutant)), mutant.what


PARTS: dict[str, ModuleType] = {
    "feed": feed,
    "drain": drain,
    "side": side,
    "element": element,
    "control": control,
    "top": top,
}


def made_wrongly(mutant: RuleMutant, patch: pytest.MonkeyPatch) -> tuple[Engine, str]:
    """The engine, and its Verilog by code with a mistake."""
    built, module = engine(**mutant.keys), PARTS[mutant.file]
    source = inspect.getsource(module)
    assert mutant.old in source
    wrong: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(mutant.old, mutant.new), f"{mutant.file}, changed", "exec"), wrong)
    if module is top:
        return built, wrong["engine_verilog"](built)
    for name in ("Feed", "Drain", "SideDecode", "TileElement", "TileControl"):
        if name in wrong and wrong[name].__module__ == module.__name__:
            patch.setattr(top, name, wrong[name])
    return built, top.engine_verilog(built)


KEYS = [dict(keys) for number, keys in enumerate(each.keys for each in RULES)
        if keys not in [each.keys for each in RULES[:number]]]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("keys", [*KEYS, {"reuse": [1, 1]}, {"reuse": [1, 1], "addends": False}])
def test_what_mutants_change_is_proved_without_the_change(keys: dict[str, Any]) -> None:
    built = engine(**keys)
    assert first_open(built, top.engine_verilog(built)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("mutant", RULES, ids=[mutant.what.replace(" ", "-") for mutant in RULES])
def test_no_proof_survives_a_change_of_a_rule(mutant: RuleMutant, monkeypatch: pytest.MonkeyPatch) -> None:
    built, text = made_wrongly(mutant, monkeypatch)
    assert text != top.engine_verilog(built) or mutant.file != "top"
    assert first_open(built, text), mutant.what
