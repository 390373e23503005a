"""The application that commands add themselves to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import hwsim

# The module of each command, those first that most people need. The help shows both lists in this order.
FIRST = {
    "units": "units", "formats": "formats", "encode": "codec", "decode": "codec", "explain": "explain", "gemm": "gemm",
    "rtl": "rtl", "cosim": "cosim", "dut-init": "dut", "vectors": "vectors", "check": "check", "docs": "docs",
    "doctor": "doctor",
}  # fmt: skip
MORE = {
    "prove": "prove", "qualify": "qualify", "synth": "synth", "converter": "streams", "quantizer": "streams",
    "export-c": "export", "export-sv": "export", "study": "study", "recipes": "recipes", "capture": "capture",
    "engine": "engine", "campaign": "campaign", "fuzz": "fuzz", "plan": "plan", "diff": "diff", "warm": "warm",
    "verilator": "verilator",
}  # fmt: skip
STREAM: dict[str, tuple[str, ...]] = {
    "Hardware": ("--cuts", "--modules", "--output"),
    "Verification": ("--cosim", "--sim", "--seed", "--cases", "--report", "--prove"),
}
# Options that the help of a command shows below the others, by what they are for.
PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "cosim": {
        "Pipeline of a unit": ("--cuts", "--contexts", "--register-ready"),
        "Your own design": ("--dut", "--assertions", "--stuck-after"),
        "What is played": ("--suite", "--without", "--case"),
    },
    "prove": {
        "Pipeline of a unit": ("--cuts", "--contexts"),
        "Your own design": ("--dut", "--products"),
        "Files": ("--html", "--json", "--case", "--output"),
    },
    "engine": {
        "Cosimulation": ("--cosim", "--sim", "--seed"), "Proof": ("--prove", "--seconds", "--only", "--report"),
    },
    "qualify": {"Your own design": ("--dut", "--vectors", "--least")},
    "gemm": {
        "Quantisation": ("--scale-a", "--scale-b", "--quantize", "--quantize-b", "--allow-nan"),
        "How B and codes lie in files": ("--transposed", "--packed"),
    },
    "explain": {"A random example": ("--seed", "--products"), "Shared scales": ("--scale-a", "--scale-b")},
    "encode": {"Stochastic rounding": ("--random-bits", "--seed", "--counter")},
    "dut-init": {"Sources": ("--filelist", "--include", "--define", "--library", "--slang")},
    "study": {
        "A study without a file": (
            "--unit", "--grid", "--scaling", "--data", "--length", "--trials", "--rows", "--columns", "--seed",
            "--explained", "--skip-invalid",
        ),
        "One product": ("--a", "--b"),
        "Area and speed": ("--pareto", "--stages", "--fmax"),
        "How it runs": ("--workers", "--scheduler", "--no-report", "--dry-run", "--overwrite"),
    },
    "converter": STREAM,
    "quantizer": STREAM,
}  # fmt: skip


class Commands(TyperGroup):
    """The commands of hwsim, each with all of its first sentence, and those first that most people need."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, in lines as wide as the terminal."""
        for title, names in (("Commands", FIRST), ("More commands", MORE)):
            every = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(title):
                formatter.write_dl([(name, entry.get_short_help_str(limit=1000)) for name, entry in every if entry])


class Command(TyperCommand):
    """A command whose help shows some options below the others, as PANELS says."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        panels = PANELS.get(self.name or "", {})
        titles = {option: title for title, options in panels.items() for option in options}
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], **{title: [] for title in panels}}
        for parameter in self.get_params(ctx):
            if (row := parameter.get_help_record(ctx)) is not None:
                of = [titles[name] for name in parameter.opts if name in titles] or ["Options"]
                rows["Arguments" if parameter.param_type_name == "argument" else of[0]].append(row)
        for title, some in rows.items():
            if some:
                with formatter.section(title):
                    formatter.write_dl(some)


class Application(typer.Typer):
    """The application that commands add themselves to."""

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        """The decorator `typer.Typer.command`, for commands with panels."""
        return super().command(name, **{"cls": Command, **more})


# Rich's markup in help texts would reflow the examples.
app = Application(
    name="hwsim",
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hwsim {hwsim.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error (also HWSIM_DEBUG=1).")
    ] = False,
) -> None:
    """Bit-accurate simulation of FP8 and Microscaling (MX) dot-product units, and their RTL.

    \b
    hwsim units                                     every unit that ships with hwsim
    hwsim encode e4m3 1.3 0x1.8p3 1/3               numbers to codes
    hwsim explain hopper-wgmma-e4m3-f32             one dot product, stage by stage
    hwsim gemm int8-i32 a.npy b.npy -o d.npy        a matrix product of files
    hwsim rtl hopper-wgmma-e4m3-f32 -o build/       its Verilog
    hwsim cosim                                     model and RTL agree, on Verilator and Icarus
    hwsim cosim --dut my-dut.yaml                   your own RTL against the model; hwsim dut-init TOP.v begins it
    hwsim vectors hopper-wgmma-e4m3-f32 -o v/       test vectors, and a testbench that replays them
    hwsim check v/ results.txt                      what a device answered, and what would explain it
    hwsim docs dut                                  a page of the documentation; without a name, a list
    hwsim doctor                                    what hwsim can use on this machine, and how to get the rest

    \b
    Exit status: 0 all is well; 1 a mismatch; 2 bad usage or input; 3 a tool is missing; 70 a defect
    of hwsim; 130 interrupted.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
