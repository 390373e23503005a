"""Valid inputs of every kind, which are mutated: folders of files, each as a command of hwsim takes them."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yaml
from campaign.fake_jobs import Told, fakes
from campaign.fake_jobs import run as run_campaign
from cli.small_files import UNIT
from silicon.capture_samples import machine, results_file, section, written

from hwsim.cli import main
from hwsim.cosim.vectors.make import make as make_vectors
from hwsim.cosim.vectors.plan import Wanted
from hwsim.formats import formats
from hwsim.spec import as_yaml, load_unit
from hwsim.study.plan.study import load_study
from hwsim.study.results import run as run_study
from hwsim.study.task import Task, execute

CASES_BEGUN = 2500  # of several blocks, one of which is written
RECIPES = Path(__file__).parents[2] / "hwsim" / "torch" / "recipes"
DESIGNS = Path(__file__).parents[1] / "cosim" / "designs"
OWN_FORMAT = "kind: float\nexponent_bits: 4\nfraction_bits: 1\nbias: 7\ninfinities: true\nnan: [0x1F, 0x3F]\n"
UNITS = (
    "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "blackwell-mma-e4m3-f32", "int8-i32",
    "cdna3-mfma-e4m3fnuz-f32", "cdna2-mfma-bf16-f32", "hfp8-forward-e4m3-dlfloat16", "exact-e4m3-f32",
    "blackwell-mxf4nvf4-e2m1-f32", "rvbna-e4m3-f32-n8",
)  # fmt: skip
FORMATS = ("e4m3", "e5m2fnuz", "int8", "e8m0", "dlfloat16", "tf32", "ue4m3", "mxint8")
STUDIES: tuple[dict[str, Any], ...] = (
    {"units": ["hopper-wgmma-e4m3-f32"], "data": ["normal"]},
    {
        "title": "two units",
        "units": [
            {
                "unit": "hopper-wgmma-e4m3-f32",
                "grid": {"fraction_bits": [9, 13], "interval": ["none", 128]},
                "label": "x",
            },
            {"unit": "u.yaml", "scaling": ["direct", "tensor", {"rule": "tensor", "scale": 2}], "invalid": "skip"},
        ],
        "data": ["outliers:factor=100", {"a": "normal", "b": {"distribution": "uniform"}, "name": "mixed"}],
        "explained": 0,
        "confidence": 0.9,
        "seed": 5,
    },
    {"units": [{**yaml.safe_load(UNIT), "unit": "inline"}], "data": [{"tensor": "t.npy", "transpose": True}]},
)


def units(folder: Path) -> None:
    """Units of many kinds, and one with a format in a file."""
    for name in UNITS:
        _write(folder / name, "u.yaml", as_yaml(load_unit(name)))
    small(folder / "small")
    _write(folder / "own", "u.yaml", UNIT.replace("a: e5m2", "a: f.yaml"))
    _write(folder / "own", "f.yaml", OWN_FORMAT)
    for one in folder.iterdir():
        _matrices(one, np.uint8)


def engines(folder: Path) -> None:
    """Matrix engines of a preset, of a unit that is written out, and of several modes."""
    sizes = {"rows": 2, "columns": 3, "reuse": [2, 1], "ports": {"a": 64, "b": 32, "c": "none", "d": 8}, "drain": 1}
    for unit in ("mxfp8-e4m3-f32", yaml.safe_load(UNIT), "fp8-any"):
        name = unit if isinstance(unit, str) else "own"
        _write(folder / name, "e.yaml", yaml.safe_dump({"engine": "e", "unit": unit, **sizes}, sort_keys=False))


def small(folder: Path) -> None:
    """The smallest unit."""
    _write(folder, "u.yaml", UNIT)


def one(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """A single valid input."""
    return lambda folder: make(folder / "one")


def own_format(folder: Path) -> None:
    """Formats, and a unit that names the file."""
    data = {name: fmt.model_dump(mode="json", exclude_unset=True) for name, fmt in formats().items() if name in FORMATS}
    for name, keys in {**data, "own": yaml.safe_load(OWN_FORMAT)}.items():
        _write(folder / name, "f.yaml", yaml.safe_dump(keys, sort_keys=False))
        _write(folder / name, "u.yaml", UNIT.replace("a: e5m2", "a: f.yaml"))


def designs(folder: Path) -> None:
    """Designs of users, with their Verilog; and a case of one."""
    for name in ("stream", "latency", "comb", "faulty", "steps", "mac", "pulsed", "serial-mul", "sdotp"):
        at = folder / name
        shutil.copytree(DESIGNS, at)
        unit = yaml.safe_load((at / f"{name}.yaml").read_text())["unit"]
        for path in at.glob("*.yaml"):
            if path.name not in (f"{name}.yaml", unit):
                path.unlink()
        (at / f"{name}.yaml").rename(at / "dut.yaml")
        top = yaml.safe_load((at / "dut.yaml").read_text())["sources"][0]
        (at / top).rename(at / "top.v")
        (at / "dut.yaml").write_text((at / "dut.yaml").read_text().replace(top, "top.v"))


FILE_LIST = "// sources\n+incdir+.\n+define+LANES=4\n-y .\n+libext+.v\ntop.v\n"
CORE = """CAPI=2:
name: ::dot4:0
filesets:
  rtl:
    files: [top.v, dot4_core.v: {file_type: verilogSource}]
    file_type: verilogSource
targets: {default: {filesets: [rtl]}}
"""
RESOLVED = """files:
- {name: top.v, file_type: verilogSource}
- {name: dot4_core.v, file_type: verilogSource}
parameters: {LANES: {paramtype: vlogdefine, default: 4}}
"""


def listed(folder: Path) -> None:
    """A design whose sources a file list names."""
    _found_by(folder / "list", "rtl.f", "filelists: [rtl.f]", FILE_LIST)


def cores(folder: Path) -> None:
    """Designs whose sources files of FuseSoC's name."""
    _found_by(folder / "core", "rtl.core", "core: {file: rtl.core, target: default}", CORE)
    _found_by(folder / "resolved", "rtl.eda.yml", "core: rtl.eda.yml", RESOLVED)


def _found_by(at: Path, file: str, key: str, text: str) -> None:
    designs(at / "all")
    shutil.copytree(at / "all" / "comb", at, dirs_exist_ok=True)
    shutil.rmtree(at / "all")
    _write(at, file, text)
    lines = (at / "dut.yaml").read_text().splitlines()
    _write(at, "dut.yaml", "\n".join(key if line.startswith("sources:") else line for line in lines) + "\n")


def case(folder: Path) -> None:
    """A design and a case of it."""
    designs(folder)
    for other in folder.iterdir():
        if other.name != "stream":
            shutil.rmtree(other)
    _write(folder / "stream", "case.yaml", "unit: dot4\nid: x\na: [0x38, 1, 2, 3]\nb: [1, 2, 0x38, 4]\nc: 0x3f800000\n")


CAMPAIGN = """campaign: mine
title: "What runs every night"
known: known.yaml
jobs:
  ours:
    matrix:
      unit: [mxfp4-e2m1-f32, u.yaml]
      mode: all
      pipeline: [usual, {cuts: "sum", contexts: 2, register_ready: true}]
      seed: [7, 1..2]
      simulator: icarus
      exclude: [{unit: u.yaml, seed: 7}]
      include: [{unit: u.yaml, cases: 9, suites: [gemm], stuck_after: 5, coverage: false}]
    suites: [random, reset]
    tables: true
  random:
    fuzz: {seed: 3, from: 10, to: 29, cases: 100, block: 7, every: {RTL: 0, Icarus: 4, own kernel: 0}}
"""
KNOWN = "known:\n  - {job: 'ours/*', suite: GEMM*, kind: mismatch, reason: known since long, date: 2026-11-26}\n"


def campaigns(folder: Path) -> None:
    """A campaign in a file, with its known failures."""
    small(folder)
    _write(folder, "c.yaml", CAMPAIGN)
    _write(folder, "known.yaml", KNOWN)


def campaign_runs(folder: Path) -> None:
    """The folder of a campaign: two runs that ended, and one that was interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = fakes(folder, "passes", "fails", "breaks")
    for told in (Told(), Told(), Told(stop_after=1)):
        with contextlib.suppress(KeyboardInterrupt):
            run_campaign(folder, jobs, told=told, workers=0)
    shutil.rmtree(folder / "begun")


def vector_set(folder: Path) -> None:
    """A set of cases and a device's results in both forms; of its coverage only what is read, and little of that."""
    small(folder)
    _hwsim(folder, "vectors", "u.yaml", "-o", "v", "--suite", "random", "--cases", "6", "--format", "hex,text")
    manifest = yaml.safe_load((folder / "v" / "manifest.yaml").read_text())
    covered = manifest["coverage"]
    covered["missed"], covered["unreachable"], covered["bins"] = covered["missed"][:3], {}, {}
    _write(folder / "v", "manifest.yaml", yaml.safe_dump(manifest, sort_keys=False))
    expected = (folder / "v" / "expected.hex").read_text().split()
    _write(folder, "results.hex", "\n".join(expected) + "\n")
    _write(folder, "results.txt", "".join(f"{number} 0x{code}\n" for number, code in enumerate(expected)))
    shutil.rmtree(folder / "v" / "codecs")


def reported(folder: Path) -> None:
    """A report of results, one of them wrong."""
    vector_set(folder)
    path = folder / "results.hex"
    path.write_text("0001" + path.read_text()[4:])
    _hwsim(folder, "check", "v", "results.hex", "--report", "report", status=1)
    (folder / "report" / "results.json").rename(folder / "results.json")
    shutil.rmtree(folder / "report")
    shutil.rmtree(folder / "v")


def piped(folder: Path) -> None:
    """What comes back through a pipe."""
    small(folder)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        _hwsim(folder, "vectors", "u.yaml", "-o", "-", "--suite", "random", "--cases", "4")
    lines = [line if line.startswith("#") else f"{line} 3c00" for line in out.getvalue().splitlines()]
    _write(folder, "stdin", "\n".join(lines) + "\n")


def begun(folder: Path) -> None:
    """A vector set that was interrupted."""
    small(folder)

    def interrupted(done: int, planned: int, what: str) -> None:
        if done:
            raise KeyboardInterrupt

    wanted = Wanted(load_unit(folder / "u.yaml"), "random", 1, CASES_BEGUN, ("hex",), False)
    with mock.patch("hwsim.cosim.vectors.make.NOTED", 1), contextlib.suppress(KeyboardInterrupt):
        make_vectors(wanted, folder / "v", interrupted)


def exported(folder: Path) -> None:
    """The model in C of an earlier export."""
    small(folder)
    _hwsim(folder, "export-c", "u.yaml", "-o", "c")


def kit(folder: Path) -> None:
    """The program for GPUs, as it was written before."""
    folder.mkdir(parents=True)
    _hwsim(folder, "capture", "kit", "k")


def studies(folder: Path) -> None:
    """Studies in files."""
    for number, keys in enumerate(STUDIES):
        at = folder / str(number)
        small(at)
        np.save(at / "t.npy", np.linspace(-1, 1, 32 * 8, dtype=np.float32).reshape(8, 32))
        sizes = {"study": "s", "trials": 1, "rows": 2, "columns": 2, "lengths": [32]}
        _write(at, "s.yaml", yaml.safe_dump({**sizes, **keys}, sort_keys=False))


PLAN: dict[str, Any] = {
    "plan": "own", "summary": "s", "source": ["s"], "evidence": "captured", "format": "f32",
    "split": {"parts": 2, "step": 32, "order": "interleaved", "sum": "pairwise", "format": "bf16", "rounding": "rz"},
    "epilogue": [
        {"operation": "multiply", "by": ["scale_a", "scale_b"], "zero": "positive"},
        {"operation": "add", "of": ["beta", "c"], "fused": True, "rounding": "ru"},
        {"operation": "multiply-add", "by": "alpha", "of": "bias"},
        {"operation": "round", "format": "e4m3", "overflow": "saturate"},
    ],
}  # fmt: skip


def plans(folder: Path) -> None:
    """A plan with keys of every kind, and a short one."""
    for name, keys in (("whole", PLAN), ("short", {"split": {"parts": 3, "step": 128}})):
        _write(folder / name, "p.yaml", yaml.safe_dump(keys, sort_keys=False))


def profiles(folder: Path) -> None:
    """A profile of a GPU's library."""
    call = {"operation": "scaled_mm", "a": "e4m3", "b": "e4m3", "output": "bf16", "scaling": "row", "bias": "bf16"}
    row = {"call": call, "unit": "hopper-wgmma-e4m3-f32", "changes": {"fraction_bits": 9}, "step": 64,
           "epilogue": [{"operation": "add", "of": "bias"}], "shapes": {"16x16x64": 1, "16x8x128": [2, 3]}}  # fmt: skip
    keys = {"profile": "own", "summary": "s", "gpu": "g", "library": "l", "source": ["s"], "rows": [row]}
    _write(folder, "p.yaml", yaml.safe_dump(keys, sort_keys=False))


def asked(folder: Path) -> None:
    """Products of a GPU's library, as capture/plans.py writes them."""
    call = {"name": "2x2x32/0", "factors": "2x2x32/e4m3", "operation": "mm", "a": "e4m3", "b": "e4m3", "output": "f32",
            "kernels": ["gemm"]}  # fmt: skip
    facts = {"gpu": "g", "capability": "9.0", "torch": "2", "cuda": "13.0", "seed": 1, "calls": [call]}
    ones = np.full((2, 32), 0x38, np.uint8)
    arrays = {"2x2x32/e4m3/a": ones, "2x2x32/e4m3/b": ones.T, "2x2x32/0/d": np.full((2, 2), 0x42000000, np.uint32)}
    folder.mkdir(parents=True)
    np.savez(folder / "p.npz", facts=np.array(json.dumps(facts)), **arrays)


def recipes(folder: Path) -> None:
    """Recipes of models: two that ship, and one with keys of every kind."""
    for name in ("deepseek-v3", "nvfp4"):
        _write(folder / name, "r.yaml", (RECIPES / f"{name}.yaml").read_text())
    small(folder / "own")
    seen = {"rule": "tensor", "history": {"length": 4, "margin": 1, "algorithm": "max"}}
    plain = {"unit": "hopper-wgmma-e4m3-f32", "changes": {"fraction_bits": 9}, "a": seen, "b": "channel-e4m3"}
    keys = {
        "recipe": "own", "summary": "s", "source": ["s"], "output": "f16",
        "keep": {"rule": "mxfp8-e4m3", "select": "ceil"},
        "products": {"forward": plain, "input": {"unit": "u.yaml", "a": "direct", "b": "tensor"}, "weight": "none"},
        "layers": [{"name": "x*", "type": "Linear", "kind": "linear", "place": "last", "recipe": "none"}],
    }  # fmt: skip
    _write(folder / "own", "r.yaml", yaml.safe_dump(keys, sort_keys=False))


def stored_study(folder: Path) -> None:
    """A study that was run, and one that was interrupted."""
    text = (
        "study: s\ntrials: 2\nrows: 2\ncolumns: 2\nlengths: [32, 64]\nunits: [hopper-wgmma-e4m3-f32]\ndata: [normal]\n"
    )
    for name in ("ended", "begun"):
        _write(folder / name, "s.yaml", text)
    _hwsim(folder / "ended", "study", "s.yaml", "-o", "out", "--no-report", "--workers", "1")

    def interrupted(tasks: Sequence[Task], done: Callable[[Task, list[dict[str, Any]]], None]) -> None:
        done(tasks[0], execute(tasks[0]))
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        run_study(load_study(folder / "begun" / "s.yaml"), folder / "begun" / "out", interrupted)


def tensors(folder: Path) -> None:
    """Tensors in files of each kind, for a study."""
    for ending in ("npy", "npz", "safetensors"):
        at = folder / ending
        small(at)
        _save(at / f"t.{ending}", np.linspace(-1, 1, 32 * 8, dtype=np.float32).reshape(8, 32))
        study = f"study: s\ntrials: 1\nrows: 2\ncolumns: 2\nlengths: 32\nunits: [u.yaml]\ndata: ['t.{ending}']\n"
        _write(at, "s.yaml", study)


def matrices(folder: Path) -> None:
    """Codes and numbers of a product, in files of each kind."""
    for ending in ("npy", "npz", "safetensors"):
        small(folder / ending)
        _matrices(folder / ending, np.uint8, ending)
        _matrices(folder / ending, np.float32, ending)
        blocks = np.full((4, 1), 127, np.uint8)
        _save(folder / ending / f"sa.{ending}", blocks)
        _save(folder / ending / f"sb.{ending}", blocks.reshape(1, 4))


def captured(folder: Path) -> None:
    """Cases, what a GPU answered, and the same as it was imported."""
    folder.mkdir(parents=True)
    _, cases = written(folder, section(count=6))
    results_file(folder, cases, machine(cases))
    _hwsim(folder, "capture", "import", "cases.txt", "results.txt", "-o", "kept")


def library(folder: Path) -> None:
    """Matrix products of a GPU's library."""
    folder.mkdir(parents=True)
    k, call = 128, {"numbers": "normal", "a": "e4m3", "b": "e4m3", "k": 128, "kernels": ["gemm"]}
    calls = [{"call": name, **call} for name in ("fp8-fast", "fp8-blocks")]
    facts = {"gpu": "H200", "capability": "9.0", "torch": "2", "cuda": "13", "seed": 1, "calls": calls}
    ones, scales, sums = np.full((2, k), 0x38, np.uint8), np.full((1, 2), 0x3F800000), np.full((2, 2), 0x43000000)
    inputs = {"a": ones, "b": ones.T, "scale_a": scales.T.astype(np.uint32), "scale_b": scales.astype(np.uint32)}
    results = {one["call"]: sums.astype(np.uint32) for one in calls}
    arrays: dict[str, Any] = {f"e4m3-e4m3-normal-128/{name}": array for name, array in {**inputs, **results}.items()}
    np.savez(folder / "library.npz", facts=np.array(json.dumps(facts)), **arrays)


def published(folder: Path) -> None:
    """The published results of GPUs, as they are downloaded."""
    folder.mkdir(parents=True)
    k, count = 32, 3
    arrays: dict[str, np.ndarray] = {}
    for gpu in ("h100", "h200"):
        for side in "ab":
            arrays[f"{gpu}/e4m3/{side}"] = np.full((count, k), 0x38, np.uint8)
        for name in ("c_f32", "d_f32"):
            arrays[f"{gpu}/e4m3/{name}"] = np.full(count, 0x42000000 if name[0] == "d" else 0, np.uint32)
    np.savez(folder / "captured.npz", **arrays)  # type: ignore[arg-type]


def published_sparse(folder: Path) -> None:
    """A sparse product that a GPU's library returned, as its file has it."""
    folder.mkdir(parents=True)
    product, k = "sparse-e4m3-ones-2x2x64", 64
    facts = {"gpu": "H200", "torch": "2", "cuda": "13", "calls": [{"name": f"{product}/float32", "kernels": ["gemm"]}]}
    a = np.tile(np.array([0x38, 0, 0x38, 0], np.uint8), (2, k // 4))
    arrays = {f"{product}/a": a, f"{product}/b": np.full((2, k), 0x38, np.uint8)}
    arrays[f"{product}/float32/d"] = np.full((2, 2), 0x42000000, np.uint32)
    np.savez(folder / "h200_sparse.npz", facts=np.array(json.dumps(facts)), **arrays)  # type: ignore[arg-type]


def _matrices(folder: Path, kind: type[np.generic], ending: str = "npy") -> None:
    numbers = kind is np.float32
    fill = np.arange(4 * 32).reshape(4, 32)
    a = (fill / 16 - 4 if numbers else fill % 0x70).astype(kind)
    for name, array in (("x" if numbers else "a", a), ("y" if numbers else "b", np.ascontiguousarray(a.T))):
        _save(folder / f"{name}.{ending}", array)
    if not numbers:
        _save(folder / f"c.{ending}", np.zeros((4, 4), np.uint32))


def _save(path: Path, array: np.ndarray) -> None:
    if path.suffix == ".npz":
        np.savez(path, w=array)
    elif path.suffix == ".npy":
        np.save(path, array)
    else:
        from safetensors.numpy import save_file

        save_file({"w": array}, str(path))


def _write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def _hwsim(folder: Path, *words: str, status: int = 0) -> None:
    """Run a command in a folder, which must end as it should."""
    with contextlib.chdir(folder):
        found = main(words)
    if found != status:
        raise RuntimeError(f"hwsim {' '.join(words)} ended with {found}, not {status}")
