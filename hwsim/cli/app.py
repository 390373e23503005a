"""The application that commands add themselves to."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import hwsim


class WholeSentences(TyperGroup):
    """The commands of a group, each with all of its first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, in lines as wide as the terminal."""
        every = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=1000)) for name, command in every if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


# Rich's markup in help texts would reflow the examples.
app = typer.Typer(
    name="hwsim",
    cls=WholeSentences,
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
    hwsim recipes mxfp8                             what a recipe of hwsim.torch computes, product by product
    hwsim study study.yaml -o study/                how many bits, which format: errors measured exactly
    hwsim rtl hopper-wgmma-e4m3-f32 -o build/       its Verilog
    hwsim synth hopper-wgmma-e4m3-f32               its gates, clock rate, area, delay and power
    hwsim converter f32 e4m3 -o build/              a converter of formats in hardware
    hwsim quantizer mxfp8-e4m3 --cosim              a block quantiser in hardware, on simulators
    hwsim export-c hopper-wgmma-e4m3-f32 -o golden/ the model in C, for harnesses
    hwsim cosim                                     model and RTL agree, on Verilator and Icarus
    hwsim cosim --dut my-dut.yaml                   your own RTL against the model
    hwsim vectors hopper-wgmma-e4m3-f32 -o v/       test vectors, and a testbench that replays them
    hwsim check v/ results.txt                      what a device answered, and what would explain it
    hwsim dut-init TOP.v                            a first DUT.yaml, for cosim --dut: your own RTL
    hwsim capture --help                            ask a real GPU what it returns
    hwsim docs dut                                  a page of the documentation; without a name, a list
    hwsim doctor                                    what hwsim can use on this machine, and how to get the rest
    hwsim verilator --lint-only my_unit.v           the Verilator that hwsim found

    \b
    Exit status: 0 all is well; 1 a mismatch; 2 bad usage or input; 3 a tool is missing; 70 a defect
    of hwsim; 130 interrupted.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
