"""An engine's registers: the table, the model of every cycle, proofs, and mutants that both must notice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from conftest import at_hand
from engine.engine_mutants import OF_MODES, REGISTERS, UNSEEN, EngineMutant
from engine.engines import engine, notice
from odd_modes import ODD_MODES
from odd_units import unit

import hwsim
from hwsim.base.errors import InputError
from hwsim.cosim.engine.bulk import EngineBulk, product
from hwsim.cosim.engine.master import Manager, every_read
from hwsim.cosim.engine.record import Segment, record
from hwsim.cosim.engine.run import play
from hwsim.cosim.engine.suites import drawn, register_scripts, scripts
from hwsim.formats.yamlfile import SpecError
from hwsim.model.engine import EngineCycles
from hwsim.model.registers import RegisterCycles
from hwsim.prove.circuits import verilog_circuit
from hwsim.prove.engine.registers import RegistersPromises
from hwsim.prove.engine.run import EngineClaims
from hwsim.rtl.engine.top import engine_verilog
from hwsim.rtl.synthesis import FlowFailed
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, engine_yaml, load_engine
from hwsim.spec.registers import ADDRESS_BITS, AXI_LITE, CLEAR, CONTROL, register_rows, registers
from hwsim.tb.engine import EngineScript
from hwsim.tb.job import SuiteOutcome

CONTROLLED = engine(control="axi-lite", columns=2)
MODAL: dict[str, Any] = {"unit": ODD_MODES["modes-window"], "addends": False, "columns": 1, "rows": 1}
WITH_MODES = engine(**MODAL, control="axi-lite")
# Of which a simulation costs least; a step of A and of B is of two words.
SMALLEST: dict[str, Any] = {"columns": 1, "rows": 1, "reuse": [1, 2], "ports": {"a": 16, "b": 32, "c": 64, "d": 8}}


def test_addresses_are_words_of_their_own() -> None:
    for built in (CONTROLLED, WITH_MODES):
        offsets = [each.offset for each in registers(built).values()]
        assert len(set(offsets)) == len(offsets) and offsets == sorted(offsets)
        assert all(offset % 4 == 0 and offset < 1 << ADDRESS_BITS for offset in offsets)
    assert ("mode" in registers(WITH_MODES), "mode" in registers(CONTROLLED)) == (True, False)
    assert ("words_c" in registers(WITH_MODES), "words_c" in registers(CONTROLLED)) == (False, True)


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "engine-registers.md").read_text(encoding="utf-8")
    ports = dict.fromkeys(("a", "b", "c", "d", "scale_a", "scale_b"), 64)
    assert "\n".join(register_rows(engine("mx-any", ports=ports, control="axi-lite"))) in page


def test_registers_are_asked_for_and_change_the_digest() -> None:
    without = engine(columns=2, control="none")
    assert without.digest == engine(columns=2).digest != CONTROLLED.digest
    for built in (without, CONTROLLED):
        assert load_engine(yaml.safe_load(engine_yaml(built))) == built
    with pytest.raises(SpecError, match="control must be"):
        engine(control="apb")


def test_counters_count_what_the_ports_showed() -> None:
    """Read at the end, one after another, they are what is counted over the columns of the cycles before."""
    tiles = drawn(CONTROLLED, "usual", 4, 1)
    names = [each for each in registers(CONTROLLED).values() if each.counts is not None]
    manager = Manager(reads=(each.offset for each in names), chances={"ar": (cycle > 300 for cycle in range(1 << 20))})
    offers = {"b": iter([True, False, False] * 1000), "c": iter([False, True] * 1000)}
    script = record(CONTROLLED, "counted", [Segment(tiles, cycles=400)], offers, iter([True, False] * 1000), manager)
    valid = {name: script.offered[name] >= 0 for name in "abc"} | {"d": script.valid >= 0}
    ready = script.ready | {"d": script.take}
    answered = np.flatnonzero(script.promised["s_axil_rvalid"] == 1)
    assert len(answered) == len(names)
    for each, cycle in zip(names, answered, strict=True):
        before = np.zeros(script.cycles, bool)
        before[: cycle - 1] = ~script.reset[: cycle - 1]  # the read was taken in the cycle before
        what, _, port = each.name.partition("_")
        if port in valid:
            kinds = {"words": valid[port] & ready[port], "waits": valid[port] & ~ready[port],
                     "idles": ~valid[port] & ready[port]}  # fmt: skip
            assert script.promised["s_axil_rdata"][cycle] == (kinds[what] & before).sum(), each.name
        if each.name == "tiles":
            lasts = np.array([last for _, last in script.results])[script.valid]
            assert script.promised["s_axil_rdata"][cycle] == (valid["d"] & script.take & lasts & before).sum() == 4


def test_every_cycle_is_a_beats_or_a_wait() -> None:
    built = engine(control="axi-lite", addends=False, reuse=[1, 2], drain=1)  # fewer contexts than the latency
    control, idle = RegisterCycles(EngineCycles(built)), dict.fromkeys(AXI_LITE, 0)
    for cycle in range(2000):
        offered = {name: cycle % 7 == 0 for name in "ab" if cycle % 300 > 60 or name == "a"}
        control.tick(idle, offered, cycle % 400 > 300)
    counts = control.counts
    kinds = [counts[name] for name in ("beats", "waits_steps", "waits_sums", "waits_results")]
    assert counts["cycles"] == 2000 == sum(kinds) and min(kinds) > 10


def test_one_write_at_a_time_and_none_without_its_data() -> None:
    """By hand: an address waits for data; the counters become 0; the response stays until it is taken."""
    control = RegisterCycles(EngineCycles(CONTROLLED))
    idle = dict.fromkeys(AXI_LITE, 0)
    for _ in range(3):
        control.tick(idle | {"awvalid": 1, "awaddr": CONTROL + 1}, {}, False)
    assert not control.outputs["awready"] and control.counts["cycles"] == 3
    control.tick(idle | {"wvalid": 1, "wdata": 1 << CLEAR, "wstrb": 15}, {}, False)
    control.tick(idle, {}, False)
    for _ in range(2):
        assert (control.outputs["bvalid"], control.outputs["bresp"]) == (1, 0)
        control.tick(idle, {}, False)
    control.tick(idle | {"bready": 1, "arvalid": 1, "araddr": registers(CONTROLLED)["cycles"].offset}, {}, False)
    assert not control.outputs["bvalid"] and (control.outputs["rvalid"], control.outputs["rdata"]) == (1, 2)


def test_the_table_is_what_reads_return() -> None:
    tiles = drawn(WITH_MODES, "usual", 1, 1)
    script = record(WITH_MODES, "read", [Segment(tiles, cycles=300)], manager=Manager(reads=every_read()))
    answers = [int(script.promised["s_axil_rdata"][at]) for at in np.flatnonzero(script.promised["s_axil_rvalid"] == 1)]
    words = {each.offset: answers[each.offset // 4] for each in registers(WITH_MODES).values()}
    by_name = {each.name: words[each.offset] for each in registers(WITH_MODES).values()}
    assert by_name["id"].to_bytes(4) == b"HWSM" and by_name["modes"] == 3
    assert "".join(f"{by_name[f'hash_{word}']:08x}" for word in range(8)) == WITH_MODES.digest


def agrees(outcomes: list[SuiteOutcome]) -> None:
    assert {outcome.name: outcome.mismatches[:3] for outcome in outcomes if outcome.count} == {}


@pytest.mark.parametrize("simulator", others_slow(["icarus", "verilator"], ["icarus"]))
def test_registers_are_their_model(simulator: str, tmp_path: Path) -> None:
    with at_hand():
        outcomes = play(*suites(False), tmp_path, simulator)
    agrees(outcomes)
    assert len(outcomes) == 8 and sum(outcome.cycles for outcome in outcomes) > 5000


ALL: dict[str, dict[str, Any]] = {
    "addends": {}, "no addends": {"addends": False}, "waits": {"reuse": [1, 2]},
    "modes, one without scales": MODAL | {"columns": 2},
    "scales": {"unit": unit("blocks-in-a-beat"), "addends": False, "columns": 1,
               "ports": {"a": 32, "b": 64, "d": 32, "scale_a": 8, "scale_b": 16}},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("what", ALL)
def test_every_suite_of_an_engine_with_registers_agrees(what: str, simulator: str, tmp_path: Path) -> None:
    built = engine(**ALL[what], control="axi-lite")
    with at_hand():
        agrees(play(built, list(scripts(built, 1, small=True)), tmp_path, simulator))


@pytest.mark.slow
@pytest.mark.parametrize("change", ["", "soft_reset <= commands[0];"])
def test_registers_show_from_cxx_what_they_show_in_the_testbench(change: str, tmp_path: Path) -> None:
    text = engine_verilog(CONTROLLED)
    assert change in text
    text = text.replace(change, change.replace("[0]", "[1]"), 1) if change else text
    with at_hand():
        every = list(register_scripts(CONTROLLED, 1, small=True))
        by_testbench = play(CONTROLLED, every, tmp_path, verilog=text)
        with EngineBulk(CONTROLLED, text) as bench:
            for script, other in zip(every, by_testbench, strict=True):
                outcome, _ = bench.play(script)
                assert (outcome.count == 0) == (other.count == 0), script.name
    assert any(other.count for other in by_testbench) == bool(change)


@pytest.mark.slow
def test_a_product_has_the_mode_that_was_written() -> None:
    rng, mode = np.random.default_rng(2), 1
    unit = modes_of(WITH_MODES.unit)[mode]
    a, b = (rng.integers(0, 1 << fmt.bits, (5, 8)).astype(np.uint8) for fmt in (unit.operands.a, unit.operands.b))
    with at_hand():
        made = product(WITH_MODES, a, b.T, mode=mode)
    agrees([made.outcome])
    expected = hwsim.gemm(unit, a, b.T)
    assert made.codes is not None and np.array_equal(made.codes, expected.view(f"u{expected.dtype.itemsize}"))


def of_registers(built: Engine, text: str) -> list[str]:
    """The claims about registers of a file that are not proved."""
    promises = RegistersPromises(built, verilog_circuit(module_of(text)))
    every = [promises.outputs(), *promises.claims("registers")]
    return [claim.name for claim in every if claim.decide(60).word != "proved"]


def module_of(text: str) -> str:
    """The registers' module."""
    return text[text.index("module tiny_registers (") :].partition("endmodule")[0] + "endmodule\n"


ENGINES = {"one mode": CONTROLLED, "modes": WITH_MODES}


@pytest.mark.parametrize("what", others_slow(ENGINES, ["modes"]))
def test_registers_are_proved(what: str) -> None:
    built = ENGINES[what]
    assert of_registers(built, engine_verilog(built)) == []


def first_open(built: Engine, text: str) -> str:
    """The first claim of a file around its elements that is not proved, or what is said of one that cannot be read."""
    try:
        return next(
            (claim.name for claim in EngineClaims(built, text).around() if claim.decide(60).word != "proved"), ""
        )
    except (InputError, FlowFailed) as error:
        return f"not read: {error}"


@pytest.mark.slow
@pytest.mark.parametrize("what", ENGINES)
def test_an_engine_with_registers_is_proved_around_its_elements(what: str) -> None:
    built = ENGINES[what]
    assert first_open(built, engine_verilog(built)) == ""


def changed(built: Engine, mutant: EngineMutant) -> str:
    """An engine's Verilog with a mistake."""
    text = engine_verilog(built)
    assert mutant.old in text, mutant.what
    return text.replace(mutant.old, mutant.new, 1)


def with_mistakes(*mutants: EngineMutant) -> Mapping[str, EngineMutant]:
    return {mutant.what.replace(" ", "-"): mutant for mutant in mutants}


NOTICED, PROVEN = with_mistakes(*REGISTERS, *OF_MODES), with_mistakes(*REGISTERS, *UNSEEN, *OF_MODES)


@cache
def suites(modes: bool) -> tuple[Engine, list[EngineScript]]:
    """A small engine, and the suites of its registers."""
    built = WITH_MODES if modes else engine(control="axi-lite", **SMALLEST)
    return built, list(register_scripts(built, 1, small=True))


@pytest.mark.slow
@pytest.mark.parametrize("what", NOTICED)
def test_suites_notice_a_mistake_in_registers(what: str, tmp_path: Path) -> None:
    mutant = NOTICED[what]
    built, every = suites(mutant in OF_MODES)
    assert notice(built, every, tmp_path, changed(built, mutant)), mutant.what


@pytest.mark.slow
@pytest.mark.parametrize("what", PROVEN)
def test_no_proof_survives_a_mistake_in_registers(what: str) -> None:
    mutant = PROVEN[what]
    built = WITH_MODES if mutant in OF_MODES else CONTROLLED
    text = changed(built, mutant)
    if module_of(text) == module_of(engine_verilog(built)):
        assert first_open(built, text), mutant.what
    else:
        wrong = of_registers(built, text)
        assert wrong, mutant.what
        assert ("registers: outputs" in wrong) == ("| rready" in mutant.new)
