"""Engines of every style of reset: files, suites, products from C++, proofs, and mutants that these must notice."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from conftest import at_hand
from engine.engine_mutants import APART, PROMOTED, RESETS, SCALED, TWO_MODES, ResetMutant
from engine.engines import engine, notice
from engine.test_engine_proof import first_open
from engine.test_engine_rtl import agrees, played

import hwsim
from hwsim.cosim.engine.bulk import EngineBulk, product
from hwsim.cosim.engine.project import engine_files
from hwsim.cosim.engine.record import Segment, record
from hwsim.cosim.engine.run import play
from hwsim.cosim.engine.suites import drawn, scripts
from hwsim.formats.yamlfile import SpecError
from hwsim.model.engine import EngineCycles
from hwsim.model.registers import RegisterCycles
from hwsim.prove.engine.run import prove_engine
from hwsim.prove.run import ProofOptions
from hwsim.rtl.engine.top import engine_verilog, ports_of
from hwsim.rtl.hierarchy import PLAIN, Style
from hwsim.spec.engine import Engine, ResetStyle, engine_yaml, load_engine
from hwsim.spec.registers import AXI_LITE, CONTROL, RESET
from hwsim.tb.engine import EngineScript

STYLES: tuple[ResetStyle, ...] = get_args(ResetStyle)
OTHERS = STYLES[1:]


@cache
def controlled(reset: str) -> Engine:
    """2 x 2 elements with registers."""
    return engine(control="axi-lite", columns=2, reset=reset)


@cache
def every(reset: str) -> list[EngineScript]:
    """Its suites, in small."""
    return list(scripts(controlled(reset), 1, small=True))


def test_without_the_key_and_with_sync_an_engine_is_what_it_was() -> None:
    plain, given = engine(control="axi-lite"), engine(control="axi-lite", reset="sync")
    assert given.digest == plain.digest and Style.of_reset("sync") == PLAIN
    assert "reset:" not in engine_yaml(given) and engine_files(given, 2.0, "1") == engine_files(plain, 2.0, "1")
    assert len({controlled(reset).digest for reset in STYLES}) == 4
    with pytest.raises(SpecError, match="reset must be"):
        engine(reset="low")


@pytest.mark.parametrize("reset", others_slow(STYLES, ["async-low"]))
def test_the_key_changes_ports_registers_and_timing(reset: str) -> None:
    built = controlled(reset)
    assert load_engine(yaml.safe_load(engine_yaml(built))) == built
    text, timing = engine_verilog(built), engine_files(built, 2.0, "1")["tiny.sdc"]
    port, low = ("rst_n", True) if reset.endswith("low") else ("rst", False)
    assert {"rst", "rst_n"} & ports_of(text[text.index("module tiny (") :]).keys() == {port}
    assert (f"if (!{port})" in text, f"if ({port})" in text) == (low, not low)
    assert (f"or {'negedge' if low else 'posedge'} {port}" in text) == reset.startswith("async")
    assert (f"reset: {reset}" in text) == (reset != "sync")
    if reset == "sync":
        assert text == engine_verilog(engine(control="axi-lite", columns=2))
    assert (f"set_false_path -from [get_ports {port}]" in timing) == reset.startswith("async")
    assert (f"set_input_delay $outside -clock clk [get_ports {port}]" in timing) == reset.startswith("sync")


def test_a_reset_at_once_shows_in_its_first_cycle() -> None:
    """What is promised: nothing in a cycle of a reset at the edge, and all in one at once, but at the start."""
    for reset, at_once in (("sync-low", False), ("async-low", True)):
        built = controlled(reset)
        script = record(built, "resets", [Segment(drawn(built, "usual", 2, 1), cycles=cycles) for cycles in (10, 20)])
        in_reset = np.flatnonzero(script.reset)
        assert script.compared[~script.reset].all() and in_reset.tolist() == [0, 1, 12, 13]
        assert script.compared[in_reset].tolist() == [False, *[at_once] * 3]
        assert not script.ready["a"][11] and script.ready["a"][in_reset].all()
        assert (script.promised["s_axil_awready"][in_reset] == (1 if at_once else -1)).all()
        assert (script.valid[in_reset] == -1).all() and script.reset_port == "rst_n" and script.reset_low


@pytest.mark.parametrize(("reset", "shows"), [("sync", False), ("sync-low", False), ("async", True)])
def test_a_soft_reset_shows_at_once_or_after_its_cycle(reset: str, shows: bool) -> None:
    """By hand: A's banks are full as the reset is written; in its cycle they are so still, or empty already."""
    model = EngineCycles(controlled(reset))
    control, idle = RegisterCycles(model), dict.fromkeys(AXI_LITE, 0)
    for _ in range(8):
        control.tick(idle, {"a": False}, False)
    write = {"awvalid": 1, "awaddr": CONTROL, "wvalid": 1, "wdata": 1 << RESET, "wstrb": 15}
    control.tick(idle | write, {}, False)
    assert not model.ready["a"] and not control.soft
    control.tick(idle, {}, False)
    assert control.soft and model.ready["a"] == (not model.busy) == shows
    control.tick(idle, {"a": False}, False)  # what is transferred in that cycle is lost
    assert not control.soft and not model.busy and control.counts["words_a"] == 8


@pytest.mark.parametrize("reset", others_slow(OTHERS, []))
def test_an_engine_of_every_style_is_its_model(reset: str, tmp_path: Path) -> None:
    with at_hand():
        agrees(play(controlled(reset), every(reset), tmp_path, "verilator"))


@pytest.mark.slow
@pytest.mark.parametrize("reset", ["sync-low", "async"])
def test_products_from_cxx_have_every_style(reset: str) -> None:
    built, rng = controlled(reset), np.random.default_rng(6)
    a, b = (rng.integers(0, 256, shape, dtype=np.uint8) for shape in ((7, 12), (12, 5)))
    c = rng.integers(0, 1 << 31, (7, 5), dtype=np.uint32)
    with at_hand(), EngineBulk(built) as bench:
        made = product(built, a, b, c, bench=bench)
        outcomes = [bench.play(script)[0] for script in every(reset)]
    assert made.outcome.count == 0 and made.codes is not None
    assert np.array_equal(made.codes, hwsim.gemm(built.unit, a, b, c.view(np.float32)).view(np.uint32))
    agrees(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("reset", STYLES)
def test_an_engine_of_every_style_is_proved_whole(reset: str) -> None:
    report = prove_engine(controlled(reset), ProofOptions(60))
    assert report.proved and not report.open, report.verdict
    names = {row.name for row in report.rows}
    parts = ("feed", "control", "drain", "element", "registers")
    claims = {f"{part}: reset style: {what}" for part in parts for what in ("registers", "outputs", "reset", "when")}
    assert names & claims == (claims if reset != "sync" else set())


ODD: dict[str, dict[str, Any]] = {
    "modes": TWO_MODES | {"control": "axi-lite"}, "scales": SCALED, "streams of scales": APART, "promotion": PROMOTED,
    "one element": {"rows": 1, "columns": 1, "reuse": [1, 1], "drain": 1, "addends": False,
                    "ports": {"a": 32, "b": 16, "d": 8}},
    "queue of three": {"drain": 3, "cuts": ["decode", "multiply", "sum", "round"]},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("reset", ["sync-low", "async"])
@pytest.mark.parametrize("what", ODD)
def test_other_engines_are_proved_and_played_with_other_resets(what: str, reset: str, tmp_path: Path) -> None:
    built = engine(**ODD[what], reset=reset)
    assert first_open(built, engine_verilog(built)) == ""
    agrees(played(built, tmp_path, "icarus"))


def changed(mutant: ResetMutant) -> tuple[Engine, str]:
    """The engine, and its Verilog with a mistake."""
    built = controlled(mutant.reset)
    text = engine_verilog(built)
    place = text.index(f"module tiny_{mutant.module} (" if mutant.module else "module tiny (")
    assert mutant.old in text[place:], mutant.what
    return built, text[:place] + text[place:].replace(mutant.old, mutant.new, 1)


OF_RESETS = "full", "resets", "soft-resets", "registers-held-responses"
MUTANTS = {mutant.what.replace(" ", "-"): mutant for mutant in RESETS}


@pytest.mark.slow
@pytest.mark.parametrize("what", [what for what, mutant in MUTANTS.items() if mutant.seen])
def test_suites_notice_a_wrong_reset(what: str, tmp_path: Path) -> None:
    built, text = changed(MUTANTS[what])
    some = [each for each in every(built.reset) if each.name in OF_RESETS]
    assert notice(built, some, tmp_path, text)


@pytest.mark.slow
@pytest.mark.parametrize("what", MUTANTS)
def test_no_proof_survives_a_wrong_reset(what: str) -> None:
    assert first_open(*changed(MUTANTS[what]))


@pytest.mark.slow
@pytest.mark.parametrize("reset", OTHERS)
def test_what_mutants_change_is_proved_without_the_change(reset: str) -> None:
    built = controlled(reset)
    assert first_open(built, engine_verilog(built)) == ""
