"""A second opinion on an engine's ports: AXI4-Lite and AXI4-Stream of cocotbext-axi, which knows nothing of hwsim."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import at_hand
from engine.engines import engine

import hwsim
from hwsim.cosim.engine.packing import operand_frames, tile_words, tiles_of
from hwsim.cosim.engine.run import STUCK_AFTER, sources
from hwsim.cosim.play import command, simulate
from hwsim.rtl.engine.top import engine_style, engine_verilog
from hwsim.spec.engine import Engine
from hwsim.spec.registers import registers

BUILT = engine(control="axi-lite", addends=False, columns=2)
LOW = engine(control="axi-lite", addends=False, columns=2, reset="async-low")
STEPS = 2


def job(built: Engine) -> dict[str, Any]:
    """What the bench sends, and what is due."""
    style = engine_style(built)
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 256, shape, dtype=np.uint8) for shape in ((7, 4 * STEPS), (4 * STEPS, 6)))
    codes = hwsim.gemm(built.unit, a, b).view(np.uint32)
    widths = {name: size.width // 8 for name, size in (*built.sizes().items(), ("d", built.results))}

    def sent(name: str, words: list[int]) -> bytes:
        return b"".join(word.to_bytes(widths[name], "little") for word in words)

    frames = {"a": operand_frames(built, "a", a)["a"].words, "b": operand_frames(built, "b", b.T)["b"].words}
    # Macro columns in turn first: A's frame goes once for each of them.
    across = len(frames["b"])
    every = {"a": [frame for frame in frames["a"] for _ in range(across)], "b": frames["b"] * len(frames["a"])}
    rows = [tile_words(32, built.ports.d, tiles) for row in tiles_of(built, codes) for tiles in row]
    results = [sent("d", [word for tile in row for word in tile]) for row in rows]
    table, tiles = registers(built), len(results)
    counts = {"tiles": tiles, "beats": tiles * STEPS * built.contexts,
              **{f"words_{name}": sum(map(len, each)) for name, each in every.items()},
              "words_d": tiles * built.contexts * built.results.words}  # fmt: skip
    return {
        "bytes": widths, "frames": {name: [sent(name, frame) for frame in each] for name, each in every.items()},
        "results": results, "at": {each.name: each.offset for each in table.values()}, "digest": built.digest,
        "reset": (style.reset_name, style.reset_low),
        "refused": [(0x14, "read"), (0x14, "write"), (0x1FC, "read"), (table["rows"].offset, "write")],
        "counts": counts, "unequal": {"a": sent("a", every["a"][0]),
                                      "b": sent("b", every["b"][0][: built.sizes()["b"].words])},
    }  # fmt: skip


def verdicts(
    folder: Path, simulator: str, change: tuple[str, str] = ("", ""), built: Engine = BUILT
) -> dict[str, bool]:  # fmt: skip
    """Whether each of the bench's tests passed."""
    text = engine_verilog(built)
    assert change[0] in text
    hdl = sources(built, text.replace(*change, 1) if change[0] else text)
    (folder / "axi").write_bytes(pickle.dumps(job(built)))
    with at_hand():
        simulate(simulator, command(simulator, hdl, trace=False), hdl.top, folder, 1, STUCK_AFTER, "engine.axi_bench")
    cases = ElementTree.parse(folder / "results.xml").iter("testcase")
    return {case.get("name", ""): case.find("failure") is None and case.find("error") is None for case in cases}


@pytest.mark.slow
@pytest.mark.parametrize(("simulator", "built"), [("icarus", BUILT), ("verilator", BUILT), ("icarus", LOW)])
def test_another_teams_bus_drives_an_engine(simulator: str, built: Engine, tmp_path: Path) -> None:
    assert verdicts(tmp_path, simulator, built=built) == {"identity": True, "counters": True, "soft_reset": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "seen_by"),
    [
        (("rresp <= 2'd2;", "rresp <= 2'd0;"), "identity"),
        (("counts_words_a_both & a_tready", "counts_words_a_both"), "counters"),
        ((".rst(core_rst),\n    .a_tdata", ".rst(rst),\n    .a_tdata"), "soft_reset"),
    ],
    ids=["response", "counter", "reset"],
)
def test_it_notices_a_mistake(change: tuple[str, str], seen_by: str, tmp_path: Path) -> None:
    assert not verdicts(tmp_path, "icarus", change)[seen_by]
