"""Whole matrix products: what cuBLAS returned is what hwsim returns, and other rules would show."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hwsim
from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.explain.candidate import changed
from hwsim.explain.silicon.results import LibraryProduct, read_products
from hwsim.spec import load_unit

ROOT = Path(__file__).parents[2]
STORED = ROOT / "vectors" / "silicon" / "h200" / "library.npz"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def products() -> dict[tuple[str, str], LibraryProduct]:
    return {(one.call.call, one.call.inputs): one for one in read_products(STORED).products}


def test_every_result_is_the_librarys(capsys: Captured) -> None:
    assert main(["capture", "gemms", str(STORED)]) == 0
    printed = capsys.readouterr().out
    assert "NVIDIA H200, PyTorch 2.11.0+cu130, CUDA 13.0, seed 1: 26,250 of 26,250 results are the same" in printed
    assert printed.count(" 625  625") == 42


def test_all_calls_are_there(products: dict[tuple[str, str], LibraryProduct]) -> None:
    calls = [call for call, _ in products]
    assert {call: calls.count(call) for call in calls} == {
        "fp8-fast": 15, "fp8-promoted": 15, "fp8-blocks": 6, "matmul": 6
    }  # fmt: skip


@pytest.mark.parametrize(
    ("call", "inputs", "changes", "most"),
    [
        ("fp8-promoted", "e4m3-e4m3-normal-1024", {"promotion": {"interval": 64}}, 60),
        ("fp8-promoted", "e4m3-e4m3-normal-1024", {"promotion": {"interval": 256}}, 60),
        ("fp8-promoted", "e4m3-e4m3-normal-1024", {"promotion": None}, 60),
        ("fp8-promoted", "e4m3-e4m3-steps-4096", {"promotion": {"rounding": "rz"}}, 200),
        ("fp8-blocks", "e4m3-e4m3-steps-4096", {"promotion": {"rounding": "rz"}}, 60),
        ("fp8-fast", "e4m3-e4m3-normal-1024", {"sum": {"fraction_bits": 14}}, 60),
        ("fp8-fast", "e4m3-e4m3-normal-1024", {"result": {"format": "f32"}}, 600),
        ("matmul", "bf16-bf16-normal-1024", {"sum": {"fraction_bits": 24}}, 300),
        ("matmul", "f16-f16-normal-1024", {"instruction": {"k": 8, "lanes": 8}}, 300),
    ],
)
def test_another_rule_would_show(
    products: dict[tuple[str, str], LibraryProduct], call: str, inputs: str, changes: dict[str, Any], most: int
) -> None:
    product = products[call, inputs]
    assert product.equal() == product.returned.size == 625
    assert product.equal(changed(product.call.unit, changes)) < most


def test_scaled_sums_are_added_as_deepgemm_adds_them(products: dict[tuple[str, str], LibraryProduct]) -> None:
    """The scales' product rounded to f32, then one FMA; in NumPy's arithmetic, and not otherwise."""
    product = products["fp8-blocks", "e4m3-e4m3-normal-1024"]
    assert product.scale_a is not None and product.scale_b is not None
    scale_a, scale_b = product.scale_a.view(np.float32), product.scale_b.view(np.float32)
    fma, rounded, in_turn, unrounded = (np.zeros(product.returned.shape, np.float32) for _ in range(4))
    for at in range(product.call.k // 128):
        block = slice(128 * at, 128 * at + 128)
        a, b = np.ascontiguousarray(product.a[:, block]), np.ascontiguousarray(product.b[block])
        partial = hwsim.gemm("hopper-wgmma-e4m3-f32", a, b).view(np.float32)
        left, right = scale_a[:, at : at + 1], scale_b[at : at + 1]
        # A partial sum has 14 bits and a scale 24, so that a float64 holds their product.
        exact, wide = partial.astype(np.float64), left.astype(np.float64) * right
        fma = (fma + exact * (left * right)).astype(np.float32)
        rounded = rounded + partial * (left * right)
        in_turn = in_turn + (partial * left) * right
        unrounded = (unrounded + exact * wide).astype(np.float32)
    same = [int((sums.view(np.uint32) == product.returned).sum()) for sums in (fma, rounded, in_turn, unrounded)]
    assert same[0] == 625
    assert max(same[1:]) < 500


# The program for the GPU machine, with the model in cuBLAS' place.


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("capture_gemm", ROOT / "capture" / "gemm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class StandIn:
    """PyTorch on a machine without a GPU. interval: after how many products the stand-in promotes."""

    def __init__(self, torch: Any, interval: int = 128) -> None:
        self._torch, self._interval = torch, interval
        self.profiler = SimpleNamespace(profile=self._profile, ProfilerActivity=SimpleNamespace(CUDA=None))
        self.cuda = SimpleNamespace(synchronize=lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def ones(self, shape: Any, device: str) -> Any:
        assert device == "cuda"
        return self._torch.ones(shape)

    def _profile(self, activities: Any) -> Any:
        class Profile:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                pass

            def key_averages(self) -> list[Any]:
                return [SimpleNamespace(key=key) for key in ("some_gemm", "cudaLaunch")]

        return Profile()

    def _scaled_mm(
        self, a: Any, b: Any, scale_a: Any, scale_b: Any, out_dtype: Any, use_fast_accum: bool = False
    ) -> Any:
        if a.dtype == self._torch.float8_e5m2 == b.dtype:
            raise RuntimeError("not this pair")
        unit = load_unit("hopper-wgmma-e4m3-f32")
        scales: dict[str, Any] = {}
        if scale_a.ndim:
            assert (scale_a.stride(0), scale_b.stride(0)) == (1, 1)
            unit = load_unit("deepseek-v3-e4m3-f32-scaled")
            scales = {"scale_a": scale_a.contiguous().numpy(), "scale_b": scale_b.contiguous().numpy()}
        elif not use_fast_accum:
            unit = changed(load_unit("deepseek-v3-e4m3-f32"), {"promotion": {"interval": self._interval}})
        names = {self._torch.float8_e4m3fn: "e4m3", self._torch.float8_e5m2: "e5m2"}
        unit = changed(unit, {"operands": {"a": names[a.dtype], "b": names[b.dtype]}})
        codes = [side.contiguous().view(self._torch.uint8).numpy() for side in (a, b)]
        return self._torch.tensor(hwsim.gemm(unit, *codes, **scales).view(np.float32))

    def mm(self, a: Any, b: Any, out_dtype: Any = None) -> Any:
        torch = self._torch
        name = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "tf32"}[a.dtype]
        assert (out_dtype is None) == (name == "tf32")
        container = torch.int32 if name == "tf32" else torch.int16
        codes = [side.contiguous().view(container).numpy() for side in (a, b)]
        codes = [side.view(f"u{side.dtype.itemsize}") for side in codes]
        return torch.tensor(hwsim.gemm(f"hopper-wgmma-{name}-f32", *codes).view(np.float32))


def rehearsed(path: Path, monkeypatch: pytest.MonkeyPatch, interval: int = 128) -> Path:
    """What the program writes with the stand-in: small products."""
    torch = pytest.importorskip("torch")
    module = program()
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    monkeypatch.setattr(module, "SIZE", 256)
    monkeypatch.setattr(module, "MIDDLE", 256)
    monkeypatch.setattr(module, "FP8", [("e4m3", "e4m3", 512), ("e5m2", "e5m2", 256), ("e5m2", "e4m3", 256)])
    made = module.Products(StandIn(torch, interval), np, 1)
    made.compute()
    facts = {"gpu": "stand-in", "capability": "9.0", "torch": "0", "cuda": "0", "seed": 1, "calls": made.calls}
    np.savez(path, facts=np.array(json.dumps(facts)), **made.arrays)
    return path


def test_the_program_writes_what_the_command_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path = rehearsed(tmp_path / "library.npz", monkeypatch)
    assert "fp8-fast e5m2-e5m2-normal-256: left out: not this pair" in capsys.readouterr().err
    library = read_products(path)
    # Every 41st of 256 rows and columns; e5m2 times e5m2 is left out.
    assert {one.returned.shape for one in library.products} == {(7, 7)}
    assert len(library.products) == 3 * 3 + 3 * 2 + 3 * 2
    assert all(one.call.kernels == ["some_gemm"] for one in library.products)
    assert all(one.equal() == 49 for one in library.products)


def test_a_library_that_promotes_otherwise_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path = rehearsed(tmp_path / "library.npz", monkeypatch, interval=64)
    assert main(["capture", "gemms", str(path)]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if " x " in line]
    assert {row[0] for row in rows if row[-1] != row[-2]} == {"fp8-promoted"}


def test_without_a_gpu_the_program_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gemm.py", "library.npz"])
    with pytest.raises(SystemExit, match="3"):
        program().main()
    assert capsys.readouterr().err == "error: PyTorch finds no GPU\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"capability": "8.9"},
            "of compute capability 8.9; which units its library's kernels are made of is known for",
        ),
        ({"gpu": None}, "its facts are not what capture/gemm.py writes: gpu must be text, not None"),
        (
            {"calls": [{"call": "fp4"}]},
            "its facts are not what capture/gemm.py writes: calls.0.call must be 'fp8-fast', ",
        ),
    ],
)
def test_other_files_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with np.load(STORED) as stored:
        arrays = {name: stored[name] for name in stored.files}
    facts = json.loads(str(arrays.pop("facts"))) | change
    np.savez(tmp_path / "library.npz", facts=np.array(json.dumps(facts)), **arrays)
    with pytest.raises(InputError, match=message):
        read_products(tmp_path / "library.npz")


def test_arrays_of_other_shapes_are_refused(tmp_path: Path) -> None:
    with np.load(STORED) as stored:
        arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
    name = "f16-f16-normal-1024/b"
    arrays[name] = arrays[name].T
    np.savez(tmp_path / "library.npz", **arrays)
    with pytest.raises(InputError, match=rf"library.npz: {name} must be codes \(1024, 25\), not uint16 \(25, 1024\)"):
        read_products(tmp_path / "library.npz")
