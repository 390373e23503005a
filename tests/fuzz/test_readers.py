"""No reader is forgotten: every argument that may be a file is fuzzed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest
import typer
from fuzz.targets import TARGETS, Target
from typer.models import OptionInfo

import hwsim.cli.commands
from hwsim.cli.app import app

# Arguments that are words, and name no file.
WORDS = {
    "campaign scheduler",
    "capture cases instruction", "converter cuts", "converter missing", "converter overflow", "converter rounding",
    "cosim cuts", "decode codes", "diff products", "docs name", "engine mode", "engine only",
    "dut-init define", "dut-init slang", "dut-init top", "encode missing", "encode overflow",
    "encode rounding", "encode values", "explain a", "explain a_values", "explain b", "explain b_values", "explain c",
    "explain c_value", "explain metadata", "explain numbers", "explain scale_a", "explain scale_b", "gemm packed",
    "gemm quantize", "gemm quantize_b",
    "prove cuts", "prove only", "quantizer change", "quantizer cuts", "quantizer rules",
    "qualify cuts", "qualify mutants", "recipes name", "rtl cuts",
    "study fmax",
    "study grid", "study length", "study preset", "study scaling", "study scheduler", "study stages", "synth cuts",
    "vectors formats",
    "vectors suite",
}  # fmt: skip
# Arguments that are written, and whose files are not read before.
WRITTEN = {
    "capture cases output", "check report", "converter output", "converter report", "cosim output", "dut-init output",
    "capture plans output", "engine output", "engine report",
    "engine result", "explain output", "fuzz output",
    "gemm output", "plan fit output", "prove case", "prove html", "prove output", "prove report", "qualify report",
    "quantizer output", "quantizer report", "rtl output", "synth report",
}  # fmt: skip
PASSED_ON = {"verilator arguments"}
# Read as `rtl unit` is: Yosys, as WebAssembly, does not start in the memory that fuzzing leaves a command.
# A library is read as other sources are. A campaign's folder is read as `campaign show` is, but runs jobs, which takes
# processes. An export to SystemVerilog reads and writes what one to C does. `warm` reads what `explain` does. A plan
# is read as `plan show` reads it, and the arrays of a product by a plan as `gemm` reads those of one without; an
# engine's as `diff` reads its own, and metadata as any array. A simulator alone reads another engine's Verilog.
AS_ANOTHER = {
    "plan fit unit", "plan fit a", "plan fit b", "plan fit d",
    "plan fit result", "plan fit scale_a", "plan fit scale_b", "plan fit bias", "plan fit c", "gemm plan",
    "gemm bias", "explain plan", "engine a", "engine b", "engine c", "engine scale_a", "engine scale_b",
    "engine dut", "diff metadata", "gemm metadata",
    "dut-init library", "synth names", "prove unit", "prove dut", "qualify unit", "qualify dut", "qualify vectors",
    "fuzz again", "campaign output", "export-sv unit", "export-sv output", "warm units",
}  # fmt: skip


class Argument(NamedTuple):
    """An argument of a command. words: how it is typed, empty for one that is known by its place. kind: its type."""

    words: tuple[str, ...]
    kind: type


def arguments() -> dict[str, Argument]:
    """Every argument of every command that may be a file: words and paths, and lists of them."""
    found = {}
    for path, command in commands(app):
        for name, hint in get_type_hints(command, include_extras=True).items():
            kinds = {str, Path} & set(parts(hint))
            if kinds:
                info = hint.__metadata__[0]
                option = isinstance(info, OptionInfo)
                said = tuple(one for one in info.param_decls or () if one.startswith("-"))
                typed = said or (f"--{name.replace('_', '-')}",)
                found[f"{path} {name.rstrip('_')}"] = Argument(typed if option else (), kinds.pop())
    return found


def commands(application: typer.Typer, path: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every command's words and function."""
    for one in application.registered_commands:
        assert one.callback is not None
        name = one.name or one.callback.__name__.rstrip("_").replace("_", "-")
        yield f"{path}{name}", one.callback
    for group in application.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{path}{group.typer_instance.info.name} ")


def parts(hint: Any) -> Iterator[Any]:
    """A type, and those that it is made of."""
    yield hint
    for inner in get_args(hint):
        if isinstance(inner, type) or get_origin(inner) is not None:
            yield from parts(inner)


@pytest.mark.quick
def test_every_argument_that_may_be_a_file_is_fuzzed_or_said_to_be_none() -> None:
    assert hwsim.cli.commands  # adds the commands
    fuzzed = {argument for target in TARGETS for argument in target.reads}
    assert set(arguments()) == fuzzed | WORDS | WRITTEN | PASSED_ON | AS_ANOTHER
    assert not fuzzed & (WORDS | WRITTEN | PASSED_ON | AS_ANOTHER)


def test_a_new_argument_would_be_missed() -> None:
    # The check must be able to fail: words, paths and lists of either are among the arguments, also of a new command.
    application = typer.Typer()

    @application.command("read-more")
    def read_more(
        first: Annotated[list[Path] | None, typer.Argument()] = None,
        second: Annotated[str, typer.Option("--second", "-s")] = "",
        third: Annotated[int, typer.Option()] = 1,
    ) -> None: ...

    assert [path for path, _ in commands(application)] == ["read-more"]
    assert {one.kind for one in arguments().values()} == {str, Path}
    assert {"gemm a", "dut-init more", "capture import case_file", "cosim units"} <= set(arguments())
    hints = get_type_hints(read_more, include_extras=True)
    assert [name for name, hint in hints.items() if {str, Path} & set(parts(hint))] == ["first", "second"]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_target_runs_the_commands_that_it_stands_for(target: Target) -> None:
    assert bool(target.commands) != bool(target.calls)
    known = arguments()
    for name in target.reads:
        command, _, _ = name.rpartition(" ")
        lines = [line.split() for line in target.commands if line.startswith(f"{command} ")]
        assert lines, name
        typed = known[name].words
        assert not typed or any(set(typed) & set(line) for line in lines), name
