"""The program that asks a GPU's library for products of many shapes, rehearsed, and the profile of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hwsim
from hwsim.cli import main
from hwsim.spec.profile import ProfiledCall, load_profile

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
SHAPES = "13x9x1024,8x9x256"
UNITS = {
    torch.float8_e4m3fn: "hopper-wgmma-e4m3-f32",
    torch.bfloat16: "hopper-wgmma-bf16-f32",
    torch.float16: "hopper-wgmma-f16-f32",
}


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("capture_plans", ROOT / "capture" / "plans.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class StandIn:
    """PyTorch with a library of our own in cuBLAS's place. K of 1,024 is split in three, of other shapes not.

    faulty: whether the last element of every result of bfloat16 is wrong.
    """

    def __init__(self, faulty: bool = False) -> None:
        self.faulty, self.split = faulty, False
        self.profiler = SimpleNamespace(profile=lambda activities: self, ProfilerActivity=SimpleNamespace(CUDA=None))
        self.version = SimpleNamespace(cuda="13.0")
        self.cuda = SimpleNamespace(
            is_available=lambda: True, synchronize=lambda: None, get_device_name=lambda: "a stand-in",
            get_device_capability=lambda: (9, 0),
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def key_averages(self) -> list[Any]:
        return [SimpleNamespace(key=f"nvjet{'_splitK' if self.split else ''}"), SimpleNamespace(key="memcpy")]

    def mm(self, a: Any, b: Any, out_dtype: Any = None) -> Any:
        return self._made(a, b, out_dtype or a.dtype, UNITS[a.dtype], [])

    def _scaled_mm(
        self, a: Any, b: Any, scale_a: Any, scale_b: Any, bias: Any, out_dtype: Any, use_fast_accum: bool
    ) -> Any:
        if scale_a.ndim and out_dtype == torch.float8_e4m3fn:
            raise RuntimeError("no scales of rows here\nand more")
        by: Any = ["scale_a", "scale_b"]
        steps = [{"operation": "multiply", "by": by}]
        if scale_a.ndim:
            steps = [{"operation": "multiply", "by": side} for side in reversed(by)]
        if bias is not None:
            steps.append({"operation": "add", "of": "bias"})
        unit = UNITS[a.dtype] if use_fast_accum else "deepseek-v3-e4m3-f32"
        return self._made(a, b, out_dtype, unit, steps, scale_a=scale_a, scale_b=scale_b, bias=bias)

    def _made(self, a: Any, b: Any, dtype: Any, unit: str, steps: list[Any], **numbers: Any) -> Any:
        self.split = a.shape[1] == 1024
        names = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float8_e4m3fn: "e4m3"}
        if dtype != torch.float32:
            rounded = {"operation": "round", "format": names[dtype]}
            steps = [*steps, rounded | ({"overflow": "saturate"} if dtype == torch.float8_e4m3fn else {})]
        plan = {"epilogue": steps} | ({"split": {"parts": 3, "step": 128}} if self.split else {})
        found = hwsim.gemm(unit, a, b, plan=plan, **numbers)
        words = found.view(f"i{found.dtype.itemsize}") if found.dtype.itemsize > 1 else found
        made = torch.from_numpy(np.ascontiguousarray(words)).view(dtype)
        if self.faulty and dtype == torch.bfloat16:
            made[0, 0] = -made[0, 0]
        return made


@pytest.fixture
def captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the program on a stand-in, and gives the file that it writes."""

    def run(faulty: bool = False) -> Path:
        path = tmp_path / "plans.npz"
        monkeypatch.setitem(sys.modules, "torch", StandIn(faulty))
        monkeypatch.setattr(torch.Tensor, "cuda", lambda tensor: tensor)
        monkeypatch.setattr(sys, "argv", ["plans.py", str(path), "--shapes", SHAPES, "--seed", "3"])
        program().main()
        monkeypatch.setitem(sys.modules, "torch", torch)
        return path

    return run


def test_a_profile_is_made_of_what_a_gpu_returned(
    captured: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, made = captured(), tmp_path / "my-gpu.yaml"
    told = capsys.readouterr().err
    assert "left out: no scales of rows here" in told
    assert "plans.npz: 36 products of a stand-in" in told
    assert main(["capture", "plans", str(path), "-o", str(made), "--parts", "3"]) == 0
    assert "36 of 36 products explained to the last bit" in capsys.readouterr().out
    profile = load_profile(made)
    call = ProfiledCall(operation="scaled_mm", a="e4m3", b="e4m3", output="f32", scaling="tensor")
    split = profile.known(call, 13, 9, 1024)
    assert split.plan.split is not None
    assert (split.unit.name, split.plan.split.parts, split.plan.split.step) == (UNITS[torch.float8_e4m3fn], 3, 128)
    assert profile.known(call, 8, 9, 256).plan.split is None
    assert main(["plan", "profiles", str(made)]) == 0
    assert "13x9x1024" in capsys.readouterr().out


@pytest.mark.slow
def test_what_no_plan_explains_is_named(captured: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, made = captured(faulty=True), tmp_path / "my-gpu.yaml"
    assert main(["capture", "plans", str(path), "-o", str(made), "--parts", "3"]) == 1
    told = capsys.readouterr().out
    assert "not explained: mm bf16 to bf16 of 13 x 9 x 1024" in told
    assert {row.call.output for row in load_profile(made).rows} == {"f32", "f16", "e4m3"}


def test_another_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    assert main(["capture", "plans", str(tmp_path / "other.npz"), "-o", str(tmp_path / "p.yaml")]) == 2
    assert "other.npz: holds no 'facts'" in capsys.readouterr().err


def test_shapes_are_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["plans.py", "x.npz", "--shapes", "16x24"])
    with pytest.raises(SystemExit):
        program().main()
    assert "shapes are MxNxK, with commas between them, not '16x24'" in capsys.readouterr().err
