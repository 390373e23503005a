"""The source for GPUs, as ROCm's compiler takes it, where that is installed. No GPU of AMD's has run it.

hwsim sends tensors of ROCm to the host. To be fast there the source needs more than this: its multiply-adds in a
directed rounding are calls of functions of ROCm's library, not instructions under another rounding mode.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cuda.test_host import unit_of

from hwsim.compute.cuda import Variant
from hwsim.compute.cuda.settings import source_of

ARCHITECTURE, SHARED = "gfx90a", 64 * 1024  # of an MI200, and the bytes that a block may have there
# HIP's header calls CUDA's functions by their names, those that round otherwise only if asked to.
BEFORE = "#define OCML_BASIC_ROUNDED_OPERATIONS\n#include <hip/hip_runtime.h>\n#define __CUDACC__ 1\n"
BITCODE = sorted(Path("/usr/lib").glob("*/amdgcn/bitcode"))
WHOLE = [("hopper-wgmma-e4m3-f32", "single"), ("mxfp8-e4m3-f32", "double"), ("cdna3-mfma-e4m3fnuz-f32", "integers")]


@pytest.mark.slow
@pytest.mark.skipif(
    not (BITCODE and shutil.which("clang-15")), reason="ROCm's compiler is not installed (Debian: hipcc)"
)
@pytest.mark.parametrize(("name", "variant"), WHOLE)
def test_rocm_compiles_the_source(name: str, variant: Variant, tmp_path: Path) -> None:
    (tmp_path / "product.hip").write_text(BEFORE + source_of(unit_of(name), variant, SHARED))
    command = [
        "clang-15", "-x", "hip", f"--offload-arch={ARCHITECTURE}", "--cuda-device-only", "-O3", "-ffp-contract=off",
        "--rocm-path=/usr", f"--rocm-device-lib-path={BITCODE[0]}", "-S", "-o", "product.s", "product.hip",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assembly = (tmp_path / "product.s").read_text()
    assert ".amdhsa_kernel multiply" in assembly
