"""The capture program as it is built for a GPU, and `capture/run`, which builds and runs it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from patience import LIMIT, wait_until
from silicon.capture_program import (
    GEFORCE,
    GOOD,
    HOPPER,
    SHARED,
    SOURCE,
    TCGEN05,
    WARNINGS,
    Section,
    after_head,
    capture,
    case_file,
    environment,
    words,
)


def gpu_build(nvcc: str, *arguments: str | Path) -> None:
    # An nvcc from a package has its libraries in lib, and looks in lib64.
    flags = ["-std=c++17", "-O2", "-Werror", "all-warnings", "-Xptxas", "-Werror", "-Xcompiler", ",".join(WARNINGS)]
    command = [nvcc, *flags, f"-L{Path(nvcc).parent.parent / 'lib'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.fixture(scope="session")
def gpu_program(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for a Hopper GPU; beside it, the PTX."""
    folder = tmp_path_factory.mktemp("gpu")
    sources = [SOURCE / f"{name}.cpp" for name in SHARED]
    target = ["-gencode", "arch=compute_90a,code=sm_90a", "--keep", "--keep-dir", str(folder)]
    gpu_build(nvcc, *target, *sources, SOURCE / "device.cu", "-o", folder / "program")
    return folder / "program"


def ptx_of(name: str) -> str:
    """The PTX instruction that a name stands for."""
    family, shape, d, a, b, *scaled = name.split(".")
    if family == "wgmma":
        return f"wgmma.mma_async.sync.aligned.{shape}.{d}.{a}.{b} "
    if family == "mma" and not {a, b} <= {"e4m3", "e5m2", "f16", "bf16", "tf32"} and not scaled:
        return f"mma.sync.aligned.{shape}.row.col.kind::f8f6f4.{d}.{a}.{b}.{d} "
    if scaled:
        kind, blocks, scale = scaled
        scaling = f"kind::{kind}.block_scale.scale_vec::{blocks.upper()}"
        return f"mma.sync.aligned.{shape}.row.col.{scaling}.{d}.{a}.{b}.{d}.{scale} "
    return f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d} "


def tensor_of(name: str) -> str:
    """The kind of tcgen05.mma that a name stands for, which several share."""
    one = words(name)
    kinds = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "u8": "i8"}
    scaling = f".block_scale.scale_vec::{one.blocks}X" if one.blocks else ""
    return f"tcgen05.mma.cta_group::1.kind::{one.kind or kinds.get(one.a, 'f8f6f4')}{scaling} "


TENSOR_KERNELS = sorted({tensor_of(name) for name in TCGEN05})


def kernels_of(ptx: str) -> list[str]:
    return re.split(r"^\.visible \.entry |^\.weak \.entry |^\.entry ", ptx, flags=re.MULTILINE)[1:]


@pytest.mark.slow
def test_every_instruction_is_in_the_program_for_hopper(gpu_program: Path) -> None:
    ptx = (gpu_program.parent / "device.ptx").read_text()
    assert re.search(r"^\.target sm_90a$", ptx, re.MULTILINE)
    # One kernel for each instruction, and its instruction alone; those that a Hopper GPU lacks trap.
    kernels = kernels_of(ptx)
    found = [re.findall(r"\b(?:wgmma\.mma_async|mma)\.sync\.\S+ |tcgen05\S+ ", kernel) for kernel in kernels]
    lacking = len(GEFORCE) + len(TENSOR_KERNELS)
    assert sorted(found) == sorted([[ptx_of(name)] for name in HOPPER] + [[]] * lacking)
    assert sum("trap;" in kernel for kernel in kernels) == lacking
    for kernel in kernels:
        if "wgmma" in kernel:
            order = ("fence.proxy.async", "bar.sync", "wgmma.fence", "wgmma.mma_async", "wgmma.commit", "wgmma.wait")
            at = [kernel.index(word) for word in order]
            assert at == sorted(at)


@pytest.mark.slow
def test_other_architectures_get_what_they_have(nvcc: str, tmp_path: Path) -> None:
    targets = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in (80, 89, "100a", "103a", "120a")]
    gpu_build(nvcc, *targets, "--keep", "--keep-dir", tmp_path, "-c", SOURCE / "device.cu", "-o", tmp_path / "device.o")
    scaled = tuple(GEFORCE)
    lacks = {80: ("wgmma.", "mma.m16n8k32.", *scaled), 89: ("wgmma.", *scaled), "120a": ("wgmma.",)}
    lacks |= dict.fromkeys(("100a", "103a"), lacks[89])
    integers = [kind for kind in TENSOR_KERNELS if kind.endswith("::i8 ")]
    absent = {"100a": [], "103a": integers}
    for number, lacking in lacks.items():
        (path,) = tmp_path.glob(f"*compute_{number}.ptx")
        ptx, missing = path.read_text(), absent.get(str(number), TENSOR_KERNELS)
        for name in (*HOPPER, *GEFORCE):
            assert (ptx_of(name) in ptx) == (not name.startswith(lacking)), (number, name)
        assert [kind for kind in TENSOR_KERNELS if ptx.count(kind) != 1] == missing
        # What it lacks traps, should it be asked for.
        traps = sum(name.startswith(lacking) for name in (*HOPPER, *GEFORCE)) + len(missing)
        kernels = kernels_of(ptx)
        assert sum("trap;" in kernel for kernel in kernels) == traps
        for kernel in kernels:
            if "tcgen05.mma" in kernel:
                order = ["alloc", "st", "wait::st", "mma", "commit", "ld", "wait::ld", "dealloc"]
                at = [kernel.index(f"tcgen05.{word}.") for word in order]
                assert at == sorted(at)
                assert ("tcgen05.cp.cta_group::1.32x128b.warpx4" in kernel) == ("block_scale" in kernel)
    # The selectors of the scales are what the registers are filled for.
    (path,) = tmp_path.glob("*compute_120a.ptx")
    ptx = path.read_text()
    assert set(re.findall(r"\{(\d), (\d)\}, %r\d+, \{(\d), (\d)\};", ptx)) == {("0", "0", "0", "0")}


@pytest.mark.slow
def test_without_a_gpu_the_program_says_which_call_failed(gpu_program: Path, tmp_path: Path) -> None:
    cases = case_file(tmp_path / "cases", GOOD)
    done = capture(gpu_program, cases, tmp_path / "results", CUDA_VISIBLE_DEVICES="-1")
    assert done.returncode == 3
    assert re.fullmatch(r"error: .*device\.cu:\d+: cudaGetDeviceCount\(.*\): cudaError\w+: .+\n", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["cases"]


# capture/run.


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The only folder in PATH: a few plain tools."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("sh", "cat", "head", "mktemp", "rm", "cp", "touch"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def tool(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def run(tools: Path, *arguments: str | Path, **others: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": str(tools), "CUDA_HOME": str(tools), "TMPDIR": str(tools.parent / "tmp")}
    (tools.parent / "tmp").mkdir(exist_ok=True)
    command = [str(SOURCE / "run"), *map(str, arguments)]
    done = subprocess.run(command, env={**base, **others}, capture_output=True, text=True, timeout=LIMIT)
    assert not list((tools.parent / "tmp").iterdir()), "what was built is left behind"
    return done


H200 = "echo '9.0, 580.159.04, NVIDIA H200'"


@pytest.mark.parametrize(
    ("nvcc_script", "smi_script", "message"),
    [
        (None, H200, "no nvcc: not in PATH nor in {tools}/bin, and NVCC is not set"),
        ("exit 0", None, "no GPU: there is no nvidia-smi"),
        ("exit 0", "echo 'No devices were found'; exit 6", "no GPU: nvidia-smi says 'No devices were found'"),
        ("exit 0", "exit 9", "no GPU: nvidia-smi says ''"),
        ("exit 0", "echo '7.0, 580.1, V100'", "the GPU has compute capability 7.0; 8.0 or later is needed"),
        ("exit 1", H200, "{tools}/nvcc could not build the program for sm_90a"),
    ],
)
def test_run_says_what_is_missing(
    nvcc_script: str | None, smi_script: str | None, message: str, tools: Path, tmp_path: Path
) -> None:
    for name, script in (("nvcc", nvcc_script), ("nvidia-smi", smi_script)):
        if script is not None:
            tool(tools, name, script)
    cases = case_file(tmp_path / "cases", GOOD)
    done = run(tools, cases, tmp_path / "results")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"error: {message.format(tools=tools)}\n")
    assert not (tmp_path / "results").exists()


def test_run_names_an_nvcc_that_is_not_there(tools: Path, tmp_path: Path) -> None:
    tool(tools, "nvcc", "exit 0")
    done = run(tools, case_file(tmp_path / "cases", GOOD), tmp_path / "results", NVCC="/absent/nvcc")
    assert (done.returncode, done.stderr) == (3, "error: no nvcc: NVCC is /absent/nvcc, which is not there\n")


def test_run_names_a_case_file_that_is_not_there(tools: Path, tmp_path: Path) -> None:
    done = run(tools, tmp_path / "cases", tmp_path / "results")
    assert (done.returncode, done.stderr) == (2, f"error: {tmp_path}/cases: no such file, or it cannot be read\n")


@pytest.mark.parametrize(("capability", "target"), [("9.0", "90a"), ("8.9", "89"), ("12.0", "120a")])
@pytest.mark.parametrize("status", [0, 1])
def test_run_builds_for_the_gpu_and_runs(
    capability: str, target: str, status: int, tools: Path, tmp_path: Path
) -> None:
    smi = f'echo "$@" >{tmp_path}/asked; echo "{capability}, 580.159.04, NVIDIA, Inc."; echo "8.0, 1.0, another"'
    tool(tools, "nvidia-smi", smi)
    program = tool(tmp_path, "program", f'echo "$1 $HWSIM_DRIVER $CUDA_DEVICE_ORDER" >"$2"; exit {status}')
    compiler = f'echo "$@" >{tmp_path}/built; while [ "$1" != -o ]; do shift; done; cp {program} "$2"'
    tool(tools, "nvcc", compiler)
    cases = case_file(tmp_path / "cases", GOOD)
    done = run(tools, cases, tmp_path / "results", CUDA_VISIBLE_DEVICES="3,4")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    assert (tmp_path / "results").read_text() == f"{cases} 580.159.04 PCI_BUS_ID\n"
    assert (tmp_path / "asked").read_text().startswith("-i 3 --query-gpu=")
    built = (tmp_path / "built").read_text().split()
    assert built[built.index("-gencode") + 1] == f"arch=compute_{target},code=sm_{target}"
    # All that the build needs is in the one folder.
    assert {Path(word).parent for word in built if word.endswith((".cpp", ".cu"))} == {SOURCE}


@pytest.mark.slow
def test_run_rehearses_with_a_stand_in(
    compiler: str, sections: dict[str, Section], tools: Path, tmp_path: Path
) -> None:
    one = sections["mma.m16n8k8.f32.f16.f16"]
    cases = case_file(tmp_path / "cases", one.lines)
    path = f"{tools}:{os.environ['PATH']}"
    done = run(
        tools,
        "--standin",
        cases,
        tmp_path / "results",
        **{**environment(), "PATH": path, "TMPDIR": str(tools.parent / "tmp")},
    )
    assert done.returncode == 0, done.stderr
    assert after_head(tmp_path / "results") == [*one.results, "end"]


def test_run_ends_when_it_is_told_to(tools: Path, tmp_path: Path) -> None:
    tool(tools, "nvidia-smi", H200)
    tool(tools, "sleep", f"exec {shutil.which('sleep')} 700")
    program = tool(tmp_path, "program", f"touch {tmp_path}/started; exec sleep")
    tool(tools, "nvcc", f'while [ "$1" != -o ]; do shift; done; cp {program} "$2"')
    cases = case_file(tmp_path / "cases", GOOD)
    (tmp_path / "tmp").mkdir()
    base = {"PATH": str(tools), "CUDA_HOME": str(tools), "TMPDIR": str(tmp_path / "tmp")}
    with (
        subprocess.Popen([SOURCE / "run", cases, tmp_path / "results"], env=base) as running,
        contextlib.ExitStack() as watchdog,
    ):
        watchdog.callback(running.kill)
        wait_until(lambda: (tmp_path / "started").exists() or running.poll() is not None)
        assert running.poll() is None
        running.terminate()
        assert running.wait(LIMIT) == 128 + signal.SIGTERM
    assert not list((tmp_path / "tmp").iterdir())
