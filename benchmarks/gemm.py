"""Products a second of the compiled kernels, beside what else computes matrix products, measured in one run.

    python benchmarks/gemm.py [UNIT ...] [--every] [--rounds N] [--seconds S] [--size N] [--curve]

Kernels, the C kernel and the peers take turns; the fastest of some rounds counts, because other work on a machine only
ever slows one down. Every kernel's first results are compared with the model. The C kernel is benchmarks/hopper.c,
compiled on the spot. MMA-Sim is of the extra `peers`; without it the reason is printed. --every: all presets. --size N:
a matrix product of N x N x N on all cores, with its time and memory. --curve: how the cost of hopper-wgmma-e4m3-f32
grows with M, N and K.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apytypes
import ml_dtypes
import mmasim_peer
import numpy as np
from rich.console import Console
from rich.table import Table

from hwsim.compute.gemm import gemm
from hwsim.compute.kernels import kernel_of
from hwsim.compute.kernels.tiles import ProductOperands, multiply, threads
from hwsim.compute.products import dot
from hwsim.formats import ExponentFormat, codes_of, container_dtype
from hwsim.formats.blocks import scale_shape
from hwsim.model.definition import dot as model_dot
from hwsim.spec import Unit, load_unit, presets

SEED = 1
UNITS = (
    "hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "ada-mma-e4m3-f16",
    "blackwell-tcgen05-e4m3-f32", "mxfp8-e4m3-f32", "mxfp4-e2m1-f32", "hopper-mma-f16-f32", "hopper-mma-bf16-f32",
    "hopper-mma-e4m3-f16", "ampere-mma-f16-f16", "volta-mma-f16-f32", "rvbna-e4m3-f32-n16",
    "blackwell-mxf4nvf4-e2m1-f32", "cdna3-mfma-e4m3fnuz-f32", "cdna2-mfma-f16-f32", "sequential-e4m3-f16",
    "sequential-e4m3-bf16", "hfp8-forward-e4m3-dlfloat16", "exact-e4m3-f32", "intel-amx-e4m3-f32", "int8-i32",
)  # fmt: skip
SHAPE = 256, 2048, 512  # M, K, N: operands that stay near
SMALL = 64, 256, 64  # for peers that are slower by far
LONG = 512, 8192, 512  # whose K libraries split


def _no_progress(_: int) -> None:
    """Nothing is shown."""


class Operands:
    """Random codes of a unit, and scales near 1."""

    def __init__(self, unit: Unit, shape: tuple[int, int, int]):
        m, k, n = shape
        if unit.instruction.chain is None:
            k = unit.instruction.k
        rng = np.random.default_rng(SEED)
        self.unit, self.shape, self.kernel = unit, (m, k, n), kernel_of(unit)
        self.a = self._codes(unit.operands.a, rng.normal(size=(m, k)))
        self.b = self._codes(unit.operands.b, rng.normal(size=(k, n)))
        self.scales: tuple[Any, Any] = None, None
        if unit.scale is not None:
            of_a, of_b = unit.scale.a, unit.scale.b
            shapes = scale_shape(m, k, of_a.block), scale_shape(k, n, of_b.block)
            sides = [self._scales(s.format, rng, size) for s, size in zip((of_a, of_b), shapes, strict=True)]
            self.scales = sides[0], sides[1]

    @staticmethod
    def _codes(fmt: Any, values: np.ndarray) -> np.ndarray:
        spread = 40 if fmt.kind == "fixed" else 1
        return codes_of(fmt, fmt.encode((spread * values).astype(np.float32)))

    @staticmethod
    def _scales(fmt: Any, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if isinstance(fmt, ExponentFormat):
            return rng.integers(fmt.bias - 3, fmt.bias + 4, shape).astype(np.uint8)
        return fmt.encode(rng.uniform(0.5, 2, shape).astype(np.float32))

    @property
    def products(self) -> int:
        """M * K * N."""
        m, k, n = self.shape
        return m * k * n

    def multiply(self, cores: int) -> np.ndarray:
        """The result's codes."""
        out = np.empty((self.shape[0], self.shape[2]), container_dtype(self.unit.output))
        multiply(self.kernel, ProductOperands(self.unit, self.a, self.b, None, *self.scales), out, _no_progress, cores)
        return out

    def check(self) -> None:
        """The first elements equal the model's."""
        got = self.multiply(threads())[:2, :8]
        rows, columns = np.repeat(np.arange(2), 8), np.tile(np.arange(8), 2)
        scales: list[Any] = [None, None]
        if self.unit.scale is not None:
            block_a, block_b = self.unit.scale.a.block, self.unit.scale.b.block
            scales = [self.scales[0][rows // block_a[0]], self.scales[1].T[columns // block_b[1]]]
        want = model_dot(self.unit, self.a[rows], self.b.T[columns], None, *scales)
        assert np.array_equal(want.view(got.dtype), got.reshape(-1)), self.unit.name


def c_kernel(folder: Path, work: Operands) -> Callable[[], np.ndarray]:
    """hopper.c on the same operands."""
    library = folder / "hopper.so"
    source = Path(__file__).with_name("hopper.c")
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source], check=True)
    function = ctypes.CDLL(str(library)).hopper
    m, k, n = work.shape
    d, room = np.zeros((m, n), np.float32), np.zeros(3 * (m * k + k * n), np.int16)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (work.a, work.b, d)]
    sizes = [ctypes.c_long(x) for x in (m, k, n)]

    def run() -> np.ndarray:
        function(*pointers, *sizes, ctypes.c_void_p(room.ctypes.data))
        return d

    return run


def peers() -> dict[str, tuple[Callable[[], Any], int]]:
    """Other programs that multiply matrices, and the number of products that each computes.

    Of these MMA-Sim alone is bit-exact for a tensor core; its result is compared with hwsim's.
    """
    rng = np.random.default_rng(SEED)
    m, k, n = SMALL
    a, b = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
    fp8 = a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e4m3fn)
    single = rng.normal(size=SHAPE[:2]).astype(np.float32), rng.normal(size=SHAPE[1:]).astype(np.float32)
    exact = [apytypes.APyFloatArray.from_float(x.astype(np.float64), 4, 3, 7) for x in (a, b)]

    def sequential() -> Any:
        with apytypes.APyFloatAccumulatorContext(exp_bits=5, man_bits=10):
            return exact[0] @ exact[1]

    others = _mmasim()
    return others | {
        "NumPy float32 @, no emulation": (lambda: single[0] @ single[1], SHAPE[0] * SHAPE[1] * SHAPE[2]),
        "ml_dtypes float8_e4m3fn @, in float32": (lambda: fp8[0] @ fp8[1], m * k * n),
        "apytypes @, e4m3 summed in f16": (sequential, m * k * n),
    }


def _mmasim() -> dict[str, tuple[Callable[[], Any], int]]:
    reason = mmasim_peer.missing()
    if reason:
        print(f"without MMA-Sim: {reason}")
        return {}
    work = Operands(load_unit("hopper-wgmma-e4m3-f32"), SMALL)
    run = mmasim_peer.product(work.a, work.b)
    assert np.array_equal(run().view(np.uint32), work.multiply(1)), "MMA-Sim"
    return {mmasim_peer.NAME: (run, work.products)}


def rates(tasks: dict[str, tuple[Callable[[], Any], int]], rounds: int, seconds: float) -> dict[str, float]:
    """Products a second: the best of some rounds in which all take turns."""
    best: dict[str, float] = {}
    for task, _ in tasks.values():
        task()
    for _ in range(rounds):
        for name, (task, products) in tasks.items():
            done, started = 0, time.perf_counter()
            while (spent := time.perf_counter() - started) < seconds / rounds or not done:
                begun = time.perf_counter()
                task()
                done += 1
                best[name] = max(best.get(name, 0), products / (time.perf_counter() - begun))
            del spent
    return best


def compare(names: list[str], rounds: int, seconds: float) -> None:
    cores = threads()
    works = {name: Operands(load_unit(name), SHAPE) for name in names}
    tasks: dict[str, tuple[Callable[[], Any], int]] = {}
    for name, work in works.items():
        work.check()
        tasks[f"{name}, 1"] = (lambda work=work: work.multiply(1), work.products)
        tasks[f"{name}, all"] = (lambda work=work: work.multiply(cores), work.products)
    others = peers()
    with tempfile.TemporaryDirectory() as folder:
        hopper = Operands(load_unit("hopper-wgmma-e4m3-f32"), SHAPE)
        run = c_kernel(Path(folder), hopper)
        assert np.array_equal(run().view(np.uint32), hopper.multiply(1)), "the C kernel"
        others["plain C, hopper-wgmma-e4m3-f32"] = (run, hopper.products)
        measured = rates(tasks | others, rounds, seconds)
    table = Table(title=f"billions of products a second, best of {rounds} rounds, seed {SEED}")
    table.add_column("unit or peer")
    short = {"C": "plain C, hopper-wgmma-e4m3-f32", "NumPy f32": "NumPy float32 @, no emulation"}
    short |= {"ml_dtypes": "ml_dtypes float8_e4m3fn @, in float32", "apytypes": "apytypes @, e4m3 summed in f16"}
    if mmasim_peer.NAME in others:
        short["MMA-Sim"] = mmasim_peer.NAME
    for column in ("1 thread", f"{cores} threads", *(f"/ {name}" for name in short)):
        table.add_column(column, justify="right")
    for name in works:
        single, every = measured[f"{name}, 1"], measured[f"{name}, all"]
        table.add_row(name, giga(single), giga(every), *(f"{single / measured[peer]:.3g}" for peer in short.values()))
    for name in others:
        table.add_row(name, giga(measured[name]), "", *[""] * len(short))
    Console(width=140).print(table)


def giga(rate: float) -> str:
    return f"{rate / 1e9:.3g}"


def whole(size: int) -> None:
    """One large product, its time, and the most memory that the process ever had."""
    unit = load_unit("hopper-wgmma-e4m3-f32")
    rng = np.random.default_rng(SEED)
    a, b = (rng.integers(0, 0x7F, (size, size), np.uint8) for _ in range(2))
    gemm(unit, a[:64, :512], b[:512, :64])  # loads the compiled code, which has its own size
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    d = gemm(unit, a, b)
    seconds = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    sizes = a.nbytes + b.nbytes + d.nbytes
    print(f"{size} x {size} x {size}: {seconds:.2f} s, {size**3 / seconds / 1e9:.2f} billion products a second")
    print(f"memory: {grown / 2**20:.0f} MiB more than before, of which the result {d.nbytes / 2**20:.0f} MiB; ", end="")
    print(f"with operands {(grown + a.nbytes + b.nbytes) / sizes:.2f} times operands and result")


def curve() -> None:
    """Seconds of one thread as each size doubles, the others held."""
    unit, cores = load_unit("hopper-wgmma-e4m3-f32"), 1
    table = Table(title="hopper-wgmma-e4m3-f32, 1 thread: nanoseconds a product")
    table.add_column("size")
    for axis in "MNK":
        table.add_column(f"{axis}, others 512", justify="right")
    for size in (64, 128, 256, 512, 1024, 2048, 4096):
        row = []
        for axis in range(3):
            m, n, k = (size if i == axis else 512 for i in range(3))
            work = Operands(unit, (m, k, n))
            work.multiply(cores)
            best = rates({"": (lambda work=work: work.multiply(cores), work.products)}, 3, 0.3)[""]
            row.append(f"{1e9 / best:.3f}")
        table.add_row(str(size), *row)
    Console().print(table)


def pairs(rounds: int, seconds: float) -> None:
    """`hwsim.dot`: pairs of rows, 32 products each."""
    work = Operands(load_unit("hopper-wgmma-e4m3-f32"), (100_000, 32, 1))
    b = work.a[::-1].copy()
    dot(work.unit, work.a, b)
    best = rates({"": (lambda: dot(work.unit, work.a, b), len(b))}, rounds, seconds)[""]
    print(f"hwsim.dot, 32 products: {best / 1e6:.2f} million dot products a second")


PLAN: dict[str, Any] = {
    "split": {"parts": 3, "step": 128},
    "epilogue": [
        {"operation": "multiply", "by": ["scale_a", "scale_b"]},
        {"operation": "add", "of": "bias"},
        {"operation": "round", "format": "bf16"},
    ],
}


def planned(rounds: int, seconds: float) -> None:
    """A product by a plan of three parts of K, scales, a bias and a result in BF16, beside the same product without."""
    unit, (m, k, n) = load_unit("hopper-wgmma-e4m3-f32"), LONG
    rng = np.random.default_rng(SEED)
    a, b = (rng.integers(0, 0x7F, shape).astype(np.uint8) for shape in ((m, k), (k, n)))
    beside = {"scale_a": 0.37, "scale_b": 1.9, "bias": np.ones(n, np.float32)}
    tasks: dict[str, tuple[Callable[[], Any], int]] = {
        "plain": (lambda: gemm(unit, a, b), m * k * n),
        "planned": (lambda: gemm(unit, a, b, plan=PLAN, **beside), m * k * n),
    }
    best = rates(tasks, rounds, seconds)
    print(f"by a plan, {m} x {k} x {n}: {giga(best['planned'])} billion products a second, ", end="")
    print(f"{best['planned'] / best['plain']:.3f} of the plain product's")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("units", nargs="*", default=list(UNITS))
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each kernel and peer")
    parser.add_argument("--size", type=int)
    parser.add_argument("--curve", action="store_true")
    given = parser.parse_args()
    if given.size:
        whole(given.size)
    elif given.curve:
        curve()
    else:
        compare([*presets()] if given.every else given.units, given.rounds, given.seconds)
        pairs(given.rounds, given.seconds)
        planned(given.rounds, given.seconds)


if __name__ == "__main__":
    main()
