"""What is fuzzed: every kind of file that hwsim reads, and the commands that read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzz import bases, oracles

Words = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A kind of file that hwsim reads.

    make: writes valid inputs, a folder each. subjects: the files of which one is mutated, as patterns. commands: of
    which one is run in the input's folder; or calls, the name of a function of Python. reads: the arguments of commands
    that it stands for, as `COMMAND NAME`. weight: how often it has its turn. dear: whether an input takes a second.
    written: what commands may write, files or folders. differs: whether exit status 1 is an answer. names: other words
    than the subject's name, one of which a message may have. hidden: programs are not found. sealed: whether digests
    are now and then made to fit. holds: what must be true of an input that was accepted or refused.
    """

    name: str
    make: Callable[[Path], None]
    subjects: tuple[str, ...]
    commands: tuple[str, ...] = ()
    calls: str = ""
    reads: tuple[str, ...] = ()
    weight: int = 4
    dear: bool = False
    written: tuple[str, ...] = ()
    differs: bool = False
    names: tuple[str, ...] = ()
    hidden: bool = False
    sealed: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    holds: Callable[[Path, Sequence[str]], list[str]] | None = None


UNIT_COMMANDS = (
    *["units u.yaml"] * 6,
    *["explain u.yaml --seed 1 --products 8"] * 3,
    "export-c u.yaml -o out",
    "vectors u.yaml -o out --suite random --cases 3 --format hex,text",
    "gemm u.yaml a.npy b.npy -o d.npy",
    "study --unit u.yaml --length 32 --dry-run",
    "capture judge missing u.yaml",
    "cosim u.yaml --sim icarus -o out",
    "dut-init missing.v --unit u.yaml -o d.yaml",
    "diff u.yaml u.yaml",
)
TENSOR = "study s.yaml -o out --no-report --workers 1"
# What a unit that was read is refused with: by its name, and by the option that does not fit it.
OF_UNITS = (", but not in ", "K, the number of products", "none of the instructions", "study study:",
            "is not implemented yet")  # fmt: skip
TARGETS = (
    Target(
        name="unit", make=bases.units, subjects=("u.yaml",), commands=UNIT_COMMANDS, weight=10, hidden=True,
        reads=("units name", "explain unit", "export-c unit", "vectors unit", "gemm unit", "study unit", "cosim units",
               "capture judge units", "dut-init unit", "diff first", "diff second"),
        written=("out", "d.npy", "d.yaml"), holds=oracles.unit,
        names=("missing", "icarus", "iverilog", "vvp", *OF_UNITS),
    ),
    Target(
        name="rtl", make=bases.units, subjects=("u.yaml",), commands=("rtl u.yaml -o out.v",), reads=("rtl unit",),
        weight=1, dear=True, written=("out.v",), names=OF_UNITS,
    ),
    Target(
        name="engine", make=bases.engines, subjects=("e.yaml",), commands=("engine e.yaml", "engine e.yaml --json"),
        reads=("engine file",), weight=2,
    ),
    Target(
        name="capture-unit", make=bases.one(bases.small), subjects=("u.yaml",), weight=1,
        commands=("capture cases u.yaml -o cases.txt --cases 1",), reads=("capture cases units",),
        written=("cases.txt",),
        names=OF_UNITS,
    ),
    Target(
        name="format", make=bases.own_format, subjects=("f.yaml",), weight=6,
        commands=("formats f.yaml", "formats f.yaml", "decode f.yaml 0 1 3", "encode f.yaml 1.5 1/3 -- -2",
        "units u.yaml"),
        reads=("formats name", "decode format", "encode format"), holds=oracles.number_format,
        names=("has no code", "codes["),
    ),
    Target(
        name="converter", make=bases.own_format, subjects=("f.yaml",), weight=1, dear=True, written=("out.v",),
        commands=("converter f.yaml e4m3 -o out.v", "converter f32 f.yaml -o out.v",
        "quantizer mxfp4-e2m1 --lanes 2 --source f.yaml -o out.v"),
        reads=("converter source", "converter targets", "quantizer source"),
        names=("overflow", "missing", "the RTL", "source"),
    ),
    Target(
        name="design", make=bases.designs, subjects=("dut.yaml",), weight=6, hidden=True,
        commands=("cosim --dut dut.yaml --sim icarus -o out", "cosim --dut dut.yaml --sim icarus --assertions -o out"),
        reads=("cosim dut",), names=("icarus", "vvp", "iverilog"),
    ),
    Target(
        name="campaign", make=bases.one(bases.campaigns), subjects=("c.yaml", "c.yaml", "c.yaml", "known.yaml"),
        commands=("campaign c.yaml --plan",), reads=("campaign file",), names=("c.yaml", "known.yaml", "u.yaml"),
    ),
    Target(
        name="campaign-runs", make=bases.one(bases.campaign_runs), commands=("campaign --show runs",),
        subjects=("summary.json", "suites.parquet", "began", "campaign"), reads=("campaign show",), names=("runs",),
    ),
    Target(
        name="verilog", make=bases.designs, subjects=("top.v", "top.v", "dot4_core.v"), hidden=True,
        commands=("dut-init top.v dot4_core.v -o d.yaml", "cosim --dut dut.yaml --sim icarus -o out"),
        reads=("dut-init source", "dut-init more"), written=("d.yaml",), names=("icarus", "vvp", "iverilog",
        "dut.yaml"),
    ),
    Target(
        name="filelist", make=bases.listed, subjects=("rtl.f",), hidden=True, written=("d.yaml",),
        commands=("dut-init -f rtl.f -I . -D X=1 -o d.yaml", "cosim --dut dut.yaml --sim icarus -o out"),
        reads=("dut-init filelist", "dut-init include"),
        names=("icarus", "vvp", "iverilog", "dut.yaml", "top.v", "dot4_core.v", "dut-init must have a source"),
    ),
    Target(
        name="core", make=bases.cores, subjects=("rtl.core", "rtl.eda.yml"), hidden=True,
        commands=("cosim --dut dut.yaml --sim icarus -o out",),
        names=("icarus", "vvp", "iverilog", "dut.yaml", "top.v", "dot4_core.v"),
    ),
    Target(
        name="case", make=bases.case, subjects=("case.yaml",), weight=1, dear=True, differs=True, written=("out",),
        commands=("cosim --dut dut.yaml --case case.yaml --sim icarus -o out",), reads=("cosim case",),
    ),
    Target(
        name="manifest", make=bases.one(bases.vector_set), subjects=("manifest.yaml",), differs=True, written=("out",),
        commands=("check v results.hex", "check v results.txt", "check v results.hex --report out"),
        reads=("check folder",), weight=6, names=("expected.hex", "operands.hex", "cases.txt", "results.hex",
        "results.txt"),
    ),
    Target(
        name="set", make=bases.one(bases.vector_set), subjects=("expected.hex", "operands.hex", "cases.txt"),
        sealed=True,
        commands=("check v results.hex", "check v results.txt"), reads=("check folder",), differs=True,
        names=("results.hex", "results.txt"),
    ),
    Target(
        name="results", make=bases.one(bases.vector_set), subjects=("results.hex", "results.txt"), differs=True,
        commands=("check v results.hex", "check v results.txt", "check v results.txt --report out"), written=("out",),
        reads=("check results",),
    ),
    Target(
        name="pipe", make=bases.one(bases.piped), subjects=("stdin",), commands=("check - -",), differs=True,
        reads=("check folder", "check results"), names=("-:", "- must be text"),
    ),
    Target(
        name="report", make=bases.one(bases.reported), subjects=("results.json",), calls="hwsim.explain:read_json",
    ),
    Target(
        name="plan", make=bases.plans, subjects=("p.yaml",), weight=6, names=("plan own", "plan plan"),
        commands=("plan show p.yaml", "plan show p.yaml --k 300"), reads=("plan show path",),
    ),
    Target(
        name="profile", make=bases.one(bases.profiles), subjects=("p.yaml",), names=("profile own", "unit"),
        commands=("plan profiles ./p.yaml", "plan profiles ./p.yaml --k 64"), reads=("plan profiles name",),
    ),
    Target(
        name="asked", make=bases.one(bases.asked), subjects=("p.npz",), written=("p.yaml",), differs=True,
        commands=("capture plans p.npz -o p.yaml --parts 1",), reads=("capture plans captured",),
    ),
    Target(name="recipe", make=bases.recipes, subjects=("r.yaml",), calls="hwsim.torch:load_recipe"),
    Target(
        name="begun", make=bases.one(bases.begun), subjects=("progress.json",), weight=1, dear=True,
        written=("v", ".v.part"),
        commands=(f"vectors u.yaml -o v --suite random --cases {bases.CASES_BEGUN} --format hex",),
        reads=("vectors output",),
    ),
    Target(
        name="export", make=bases.one(bases.exported), subjects=("*.h", "*.c", "README.md", ".hwsim-*"), weight=1,
        written=("c",), commands=("export-c u.yaml -o c",), reads=("export-c output",),
    ),
    Target(
        name="kit", make=bases.one(bases.kit), subjects=("README.md", "*.cpp"), weight=1, written=("k",),
        commands=("capture kit k",), reads=("capture kit output",),
    ),
    Target(
        name="study", make=bases.studies, subjects=("s.yaml", "s.yaml", "s.yaml", "t.npy"), weight=6,
        commands=("study s.yaml --dry-run",), reads=("study file",), holds=oracles.study, names=("study s:",),
    ),
    Target(
        name="tensor", make=bases.tensors, subjects=("t.*",), written=("out",), reads=("study data",),
        commands=(TENSOR,
        "study --unit u.yaml --data t.* --length 32 --rows 2 --columns 2 --trials 1 -o out --no-report"),
    ),
    Target(
        name="stored", make=bases.stored_study, written=("out",), reads=("study output",), commands=(TENSOR, TENSOR,
        f"{TENSOR} --overwrite"), subjects=("*.parquet", "*.parquet", "*.parquet", "study*", "identity"),
        names=("out",),
    ),
    Target(
        name="arrays", make=bases.matrices, subjects=("a.*", "b.*", "c.*", "sa.*", "sb.*", "x.*", "y.*"), weight=8,
        commands=(
            "gemm hopper-wgmma-e4m3-f32 a.* b.* --addend c.* -o d.npy",
            "gemm mxfp8-e4m3-f32 a.* b.* --scale-a sa.* --scale-b sb.* -o d.npy",
            "gemm mxfp8-e4m3-f32 x.* y.* --quantize mxfp8-e4m3 --allow-nan -o d.npy",
            "gemm hopper-wgmma-e4m3-f32 x.* y.* --quantize tensor-e4m3 -o d.npy",
            "study --a x.* --b y.* --unit hopper-wgmma-e4m3-f32 -o out",
            "diff hopper-wgmma-e4m3-f32 hopper-wgmma-e4m3-f32 --a a.* --b b.* --c c.*",
            "diff mxfp8-e4m3-f32 mxfp8-e4m3-f32 --a a.* --b b.* --scale-a sa.* --scale-b sb.*",
        ),
        reads=("gemm a", "gemm b", "gemm addend", "gemm scale_a", "gemm scale_b", "study a", "study b",
               "diff a", "diff b", "diff c", "diff scale_a", "diff scale_b"),
        written=("d.npy", "out"), holds=oracles.product,
    ),
    Target(
        name="capture", make=bases.one(bases.captured), subjects=("cases.txt", "results.txt"), written=("new",),
        commands=("capture import cases.txt results.txt -o new",), names=("cases.txt", "results.txt"),
        reads=("capture import case_file", "capture import result_file"),
    ),
    Target(
        name="capture-kept", make=bases.one(bases.captured), subjects=("manifest.yaml", "*.npz"), sealed=True,
        differs=True, written=("kept",), names=("kept",),
        commands=("capture judge kept/h200", "capture judge kept/h200", "capture import cases.txt results.txt -o kept",
                  "capture import cases.txt results.txt -o kept --replace"),
        reads=("capture judge folder", "capture import output"),
    ),
    Target(
        name="library", make=bases.one(bases.library), subjects=("library.npz",), weight=2, differs=True,
        commands=("capture gemms library.npz",), reads=("capture gemms file",),
    ),
    Target(
        name="published", make=bases.one(bases.published), subjects=("captured.npz",), weight=2, written=("out",),
        commands=("vectors hopper-wgmma-e4m3-f32 -o out --suite captured --format hex",),
        environment={"HWSIM_SILICON": "."}, names=("HWSIM_SILICON", "captured"),
    ),
    Target(
        name="published-sparse", make=bases.one(bases.published_sparse), subjects=("h200_sparse.npz",), weight=2,
        commands=("vectors hopper-wgmma-sp-e4m3-f32 -o out --suite captured --format hex",),
        environment={"HWSIM_SILICON": "."}, written=("out",), names=("HWSIM_SILICON", "captured"),
    ),
)  # fmt: skip
BY_NAME = {target.name: target for target in TARGETS}
