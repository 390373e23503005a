"""A LiteX SoC runs the driver in C with an engine: its products are those of gemm, and mistakes are noticed."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conftest import at_hand
from engine.engines import engine
from engine.test_engine_products import ENGINES

from hwsim.base.errors import ToolMissing
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine

EXAMPLES = Path(__file__).parents[2] / "examples" / "engines"
MOST = 2_000_000  # cycles of a program that goes on
TINY = engine(control="axi-lite")
OTHERS = {
    "modes": ENGINES["modes"],
    "streams of scales": ENGINES["streams of scales"],
    "another reset": engine(control="axi-lite", reset="async-low"),
    "mode as a register": engine("fp8-any", addends=False, ports={"a": 512, "b": 512, "d": 64}, control="axi-lite"),
}


@pytest.fixture
def soc(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("soc", EXAMPLES / "soc.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.delitem(sys.modules, "soc_litex", raising=False)
    monkeypatch.setitem(sys.modules, spec.name, made)
    spec.loader.exec_module(made)
    return made


def differs(soc: ModuleType, built: Engine, folder: Path, change: tuple[str, str, str] = ("", "", "")) -> str:
    """What is wrong of a system's products; empty for nothing. change: a file, a text of it, what takes its place."""
    name, old, new = change

    def changed(file: Path) -> None:
        text = file.read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    if name == "soc_litex.py":
        changed(EXAMPLES / name)
        sys.path.insert(0, str(folder))
    rng, (height, width) = np.random.default_rng(5), built.macro
    fill, more = built.unit.instruction.fill, 1 if built.unit.scale is None else 32
    last = len(modes_of(built.unit)) - 1
    products = [soc.drawn(built, (height + 1, 2 * fill + more, width + 1), rng, last),
                soc.drawn(built, (2 * height, fill, 2 * width), rng, every=8)]  # fmt: skip
    with at_hand():
        soc.write(built, products, folder)
        if name and name != "soc_litex.py":
            changed(folder / name)
        try:
            ran = soc.run(built, products, folder, MOST)
        except soc.ProgramFailed as error:
            return str(error)
    assert name or (ran[1].waits > 0 and ran[1].counted.get("waits_results", 1) > 0)
    return ", ".join(f"{one.shape}: results" for one, found in zip(products, ran, strict=True)
                     if not np.array_equal(found.codes, one.expected(built)))  # fmt: skip


@pytest.mark.slow
def test_a_core_multiplies_on_an_engine(soc: ModuleType, tmp_path: Path) -> None:
    assert differs(soc, TINY, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("what", OTHERS)
def test_a_core_multiplies_on_other_engines(soc: ModuleType, what: str, tmp_path: Path) -> None:
    assert differs(soc, OTHERS[what], tmp_path) == ""


CHANGES = {
    "parts of a word are lost": ("soc_litex.py", '_tdata": word.storage', '_tdata": word.storage[:32]'),
    "parts change places": ("soc_litex.py", 'csr_ordering="little"', 'csr_ordering="big"'),
    "a word is offered before it is whole": ("soc_litex.py", "If(offer.re", "If(offer.re | word.re"),
    "a word is not held until it is taken": ("soc_litex.py", ".Elif(taken, ", ".Else("),
    "a word that waits is not told of": ("soc_litex.py", "Cat(*waits.values()", "Cat(Signal(5)"),
    "a result is taken as it is read, too": ("soc_litex.py", "self.d_take.re", "self.d_take.re | self.d_word.we"),
    "a result stays after it was taken": ("soc_litex.py", "self.d_take.re", "self.d_take.re & ~last"),
    "data are acknowledged at once": ("soc.v", "assign dbus_ack = ", "assign dbus_ack = (dbus_cyc & dbus_stb) | "),
    "an instruction is acknowledged for data": ("soc.v", "assign ibus_ack = ", "assign ibus_ack = dbus_ack | "),
    "a part has its bytes in the other order": ("main.c", "[at + byte] << 8 * byte", "[at + byte] << 8 * (3 - byte)"),
    "counters are not cleared": ("main.c", "ENGINE(clear_counts)(&BUS);", ""),
    "the driver is another engine's": ("tiny.c", "hash[8] = { ", "hash[8] = { 1 + "),
    "the driver packs lanes in the other order": ("tiny.c", "base + lanes[lane]", "base + lanes[lane ^ 1]"),
    "the driver ends a frame a step early": ("tiny.c", "at_a.step == steps - 1", "at_a.step == steps - 2"),
    "the driver exchanges results": ("tiny.c", "bytes_d, (size_t)element *", "bytes_d, (size_t)(element ^ 1) *"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_a_wrong_system_is_noticed(soc: ModuleType, what: str, tmp_path: Path) -> None:
    assert differs(soc, TINY, tmp_path, CHANGES[what]) != ""


@pytest.mark.slow
def test_the_example_runs_as_it_is(soc: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with at_hand():
        assert soc.main(["-o", str(tmp_path), "--seed", "2"]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == ["4 x 64 x 4", "7 x 96 x 9", "8 x 32 x 8"]
    assert [row[-1] for row in rows] == ["0 of 16", "0 of 63", "0 of 64"] and int(rows[-1][-2]) > 0


def test_a_system_is_written_and_its_program_compiles(soc: ModuleType, tmp_path: Path) -> None:
    built = TINY
    with at_hand():
        soc.write(built, [soc.drawn(built, (2, 8, 3), np.random.default_rng(5))], tmp_path)
        soc.compiled(built, tmp_path)
    addresses, verilog = (tmp_path / "csr.h").read_text(), (tmp_path / "soc.v").read_text()
    for name, size in (*built.sizes().items(), ("d", built.results)):
        assert f"CSR_ENGINE_{name.upper()}_WORD_SIZE {-(-size.width // 32)}\n" in addresses
        assert re.search(rf"\.{name}_tdata\s+\(\w+\)", verilog)
    assert not re.search(r"20\d\d-\d\d-\d\d", verilog)  # a date would have each be built anew
    assert 500 < len((tmp_path / "soc_rom.init").read_text().split()) < soc.ROM_BYTES // 4


def test_what_is_missing_is_named(soc: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(soc.shutil, "which", lambda _: None)
    with pytest.raises(ToolMissing, match="apt-get install clang lld"):
        soc.compiled(TINY, tmp_path)
    monkeypatch.setattr(soc, "find_spec", lambda _: None)
    with pytest.raises(ToolMissing, match="pip install --no-deps luna-soc"):
        soc.core()
    monkeypatch.setitem(sys.modules, "soc_litex", None)
    with pytest.raises(ToolMissing, match="pip install litex"):
        soc.main(["-o", str(tmp_path)])
