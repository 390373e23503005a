"""Whole products through engines' RTL from C++: equal to `hwsim.gemm` and to GPUs, and a wrong engine is noticed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from built_presets import others_slow
from cli.cli_run import Done
from conftest import at_hand
from engine.engines import engine
from papers import minilm
from silicon.library_products import Captured

import hwsim
from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.cosim.engine.bulk import EngineBulk, EngineProduct, product
from hwsim.cosim.engine.run import play
from hwsim.cosim.engine.suites import scripts
from hwsim.rtl.engine.top import engine_verilog
from hwsim.spec import modes_of
from hwsim.spec.engine import Engine, engine_yaml, load_engine
from hwsim.spec.profile import load_profile

EXAMPLES = Path(__file__).parents[2] / "examples" / "engines"
SMALL_HOPPER: dict[str, Any] = {
    "engine": "hopper2", "unit": "hopper-wgmma-e4m3-f32", "rows": 2, "columns": 2, "reuse": [2, 2],
    "ports": {"a": 512, "b": 512, "c": "none", "d": 64},
}  # fmt: skip


def multiplied(built: Engine, *arrays: Any, bench: EngineBulk | None = None, **named: Any) -> EngineProduct:
    with at_hand():
        made = product(built, *arrays, bench=bench, **named)
    assert made.outcome.mismatches == [] and made.outcome.count == 0
    return made


def operands(built: Engine, shape: tuple[int, int, int], mode: int = 0) -> dict[str, Any]:
    """Random codes of all that a product takes."""
    rng, unit, (m, k, n) = np.random.default_rng(3), modes_of(built.unit)[mode], shape

    def drawn(fmt: Any, *size: int) -> Any:
        return rng.integers(0, 1 << fmt.bits, size).astype(f"u{-(-fmt.container_bits // 8)}")

    given = {"a": drawn(unit.operands.a, m, k), "b": drawn(unit.operands.b, k, n)}
    if "c" in built.sizes():
        given["c"] = drawn(unit.operands.addend, m, n)
    if unit.scale is not None:
        (rows, of_a), (of_b, columns) = unit.scale.a.block, unit.scale.b.block
        given["scale_a"] = drawn(unit.scale.a.format, -(-m // rows), -(-k // of_a))
        given["scale_b"] = drawn(unit.scale.b.format, -(-k // of_b), -(-n // columns))
    return given


ENGINES = {
    "addends": engine(), "scales": engine("mxfp8-e4m3-f32", addends=False, ports={"a": 512, "b": 512, "d": 32}),
    "modes": engine("fp8-any", addends=False, ports={"a": 512, "b": 512, "d": 64}),
    "scales of several rows": engine("deepseek-v3-e4m3-f32-scaled", addends=False,
                                     ports={"a": 512, "b": 512, "d": 64}),
    "streams of scales": engine("mxfp8-e4m3-f32", addends=False,
                                ports={"a": 512, "b": 512, "d": 32, "scale_a": 8, "scale_b": 32}),
}  # fmt: skip


@pytest.mark.parametrize("what", others_slow(ENGINES, ["addends"]))
def test_a_product_through_the_rtl_is_that_of_gemm(what: str) -> None:
    built = ENGINES[what]
    mode = len(modes_of(built.unit)) - 1
    given = operands(built, (7, 384 if what != "addends" else 30, 10), mode)
    made = multiplied(built, **given, mode=mode)
    names = ("a", "b", "c", "scale_a", "scale_b")
    expected = hwsim.gemm(modes_of(built.unit)[mode], *(given.get(name) for name in names))
    assert made.codes is not None
    assert np.array_equal(made.codes, expected.view(f"u{expected.dtype.itemsize}"))
    assert made.products >= 7 * 10 * given["a"].shape[1]


def test_arrays_that_do_not_fit_are_refused() -> None:
    for what, change, words in (
        ("addends", {"b": np.zeros((4, 4), np.uint8)}, r"\(M, K\) and \(K, N\)"),
        ("addends", {"c": np.zeros((1, 1), np.uint32)}, "c must be"),
        ("scales", {"scale_a": None}, "scale_a must be given"),
        ("addends", {"scale_b": np.zeros((1, 1), np.uint8)}, "scale_b must not be given"),
        ("scales", {"scale_b": np.zeros((1, 1), np.uint8)}, r"scale_b must be \(10, 10\)"),
    ):
        with pytest.raises(InputError, match=words):
            product(ENGINES[what], **operands(ENGINES[what], (7, 320, 10)) | change)


CHANGES = {  # of an engine's Verilog, by which it is wrong
    "a column's factors": (".b_sig(b_sig[j])", ".b_sig(b_sig[0])"),
    "a bank": (".release_i(release_w)", ".release_i(goes & column)"),
    "an element": (".enable(enable),\n        .continues(continues)",
                   ".enable(enable & (i == 0)),\n        .continues(continues)"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("change", ["right", "inside an element", *CHANGES])
def test_scripts_show_from_cxx_what_they_show_in_the_testbench(change: str, tmp_path: Path) -> None:
    built = engine()
    text = engine_verilog(built)
    if change == "inside an element":
        place = text.index("module tiny_element_sum ")
        text = text[:place] + text[place:].replace(" + ", " - ", 1)
    elif change != "right":
        assert CHANGES[change][0] in text
        text = text.replace(*CHANGES[change], 1)
    with at_hand():
        every = list(scripts(built, 1, small=True))
        by_testbench = play(built, every, tmp_path, verilog=text)
        with EngineBulk(built, text) as bench:
            for script, other in zip(every, by_testbench, strict=True):
                outcome, _ = bench.play(script)
                assert (outcome.count == 0) == (other.count == 0), script.name
                assert {one.kind for one in outcome.mismatches} >= {one.kind for one in other.mismatches[:1]}
                if other.count == 0:
                    assert (outcome.cycles, outcome.results) == (other.cycles, other.results)
                else:
                    assert outcome.mismatches[0].cycle == other.mismatches[0].cycle
    assert any(other.count for other in by_testbench) == (change != "right")


def captured_through(built: Engine, silicon: Path, most: int) -> int:
    """The words of a GPU that an engine returns, of products of at most so many multiplications."""
    profile, words = load_profile("h200-cuda-13.0"), 0
    with at_hand(), EngineBulk(built) as bench:
        for label, one in Captured(silicon / "h200_cublas.npz").products():
            unit, plan, _ = profile.known(one.call, *one.shape)
            if unit.name != built.unit.name or one.call.output != "f32" or plan.split is not None:
                continue
            if np.prod(one.shape) <= most:
                assert np.array_equal(multiplied(built, one.a, one.b, bench=bench).codes, one.d), label
                words += one.d.size
    return words


@pytest.mark.slow
def test_an_engine_returns_what_a_gpus_library_returned(silicon: Path) -> None:
    assert captured_through(load_engine(SMALL_HOPPER), silicon, 1 << 18) == 256


@pytest.mark.slow
def test_64_elements_return_what_a_gpus_library_returned(silicon: Path) -> None:
    assert captured_through(load_engine(EXAMPLES / "hopper8.yaml"), silicon, 1 << 23) == 4608


@pytest.fixture
def layer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("minilm_layer", EXAMPLES / "minilm_layer.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(str(EXAMPLES.parent / "papers"))
    monkeypatch.setitem(sys.modules, spec.name, made)
    spec.loader.exec_module(made)
    return made


@pytest.mark.slow
@pytest.mark.skipif(not minilm.installed(), reason="the weights of all-MiniLM-L6-v2 are missing")
def test_a_layer_of_a_model_goes_through_an_engine(
    layer: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = yaml.safe_load((EXAMPLES / "mx8.yaml").read_text()) | {"rows": 2, "columns": 2}
    (tmp_path / "mx2.yaml").write_text(yaml.safe_dump(keys | {"engine": "mx2"}))
    with at_hand():
        status = layer.main(["--engine", str(tmp_path / "mx2.yaml"), "--columns", "4", "--sentence", "No bit is lost."])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][1:]
    assert status == 0
    assert [row[0].strip("| ") for row in rows] == list(minilm.LINEAR) and {row[3] for row in rows} == {"0"}


def test_the_command_writes_what_gemm_returns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> Done:
        return Done(main(arguments), *capsys.readouterr())

    built, given = ENGINES["addends"], operands(ENGINES["addends"], (5, 9, 4))
    (tmp_path / "e.yaml").write_text(engine_yaml(built))
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
    files = [word for name in given for word in (f"--{name}", str(tmp_path / f"{name}.npy"))]
    with at_hand():
        done = run("engine", str(tmp_path / "e.yaml"), *files, "--result", str(tmp_path / "d.npy"))
    assert done.status == 0 and "million products a second" in done.err, done.err
    expected = hwsim.gemm(built.unit, given["a"], given["b"], given["c"])
    assert np.array_equal(np.load(tmp_path / "d.npy"), expected)
    for more, words in ((files[:2], "go together"), ([*files, "--result", "x.npy", "--mode", "x"], "one mode"),
                        ([*files, "--result", "x.npy", "--cosim"], "go without")):  # fmt: skip
        refused = run("engine", str(tmp_path / "e.yaml"), *more)
        assert refused.status == 2 and words in refused.err


@pytest.mark.slow
@pytest.mark.parametrize("change", [("", ""), (".b_sig(b_sig[j])", ".b_sig(b_sig[0])")], ids=["right", "wrong"])
def test_another_engine_of_the_same_ports_can_take_its_place(
    change: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built, given = ENGINES["addends"], operands(ENGINES["addends"], (5, 9, 4))
    (tmp_path / "e.yaml").write_text(engine_yaml(built))
    inner, rest = tmp_path / "inner.sv", tmp_path / "rest.sv"
    text = engine_verilog(built).replace(*change) if change[0] else engine_verilog(built)
    place = text.index("module tiny_drain (")
    rest.write_text(text[:place])
    inner.write_text(text[place:])
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
    files = [word for name in given for word in (f"--{name}", str(tmp_path / f"{name}.npy"))]
    result = tmp_path / "d.npy"
    with at_hand():
        status = main(["engine", str(tmp_path / "e.yaml"), *files, "--dut", str(rest), "--dut", str(inner), "--result",
                       str(result)])  # fmt: skip
    printed = capsys.readouterr()
    assert (status, result.exists()) == ((1, False) if change[0] else (0, True)), printed
    assert ("d_tdata is" in printed.out) == bool(change[0])


def test_what_is_no_engine_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "e.yaml").write_text(engine_yaml(ENGINES["addends"]))
    (tmp_path / "x.sv").write_text("module other; endmodule\n")
    for more, words in ((["--cosim", "--dut", str(tmp_path / "x.sv")], "must have the module tiny"),
                        (["--cosim", "--dut", str(tmp_path / "y.sv")], "No such file"),
                        (["--dut", str(tmp_path / "x.sv")], "--dut goes with --cosim"),
                        (["--project", "-o", "-"], "--project needs a folder")):  # fmt: skip
        assert main(["engine", str(tmp_path / "e.yaml"), *more]) == 2
        assert words in capsys.readouterr().err
    assert main(["engine", str(tmp_path / "e.yaml"), "--project", "-o", str(tmp_path / "made")]) == 0
    assert {"tiny.sv", "tiny.core", "tiny.sdc", "tiny.h", "tiny.c"} <= {
        path.name for path in (tmp_path / "made").iterdir()
    }
