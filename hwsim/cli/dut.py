"""`hwsim dut-init`: a first file for a user's own RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import note, say


@app.command("dut-init")
def dut_init(
    source: Annotated[
        Path | None, typer.Argument(metavar="[TOP.v]", help="The file with the top module; none where a list has it.")
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files that it needs.")] = None,
    filelist: Annotated[
        list[Path] | None,
        typer.Option("--filelist", "-f", metavar="FILE", help="A file list, as simulators take; again for more."),
    ] = None,
    include: Annotated[
        list[Path] | None, typer.Option("--include", "-I", help="A folder of included files; again for more.")
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("--define", "-D", metavar="NAME=VALUE", help="A define; again for more.")
    ] = None,
    library: Annotated[
        list[Path] | None,
        typer.Option("--library", "-y", help="A folder, or a file, with modules that no source has; again for more."),
    ] = None,
    slang: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION", help="What slang is told, as --single-unit; again for more."),
    ] = None,
    top: Annotated[str | None, typer.Option(help="The top module, where the files have several.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The unit that it claims to be, to guess with.", autocompletion=complete.units)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="TOP.yaml beside the source, or the list, unless given."),
    ] = None,
) -> None:
    """Read the ports of a design and write a first DUT.yaml; what is not known is marked `# ?` in it.

    \b
    hwsim dut-init rtl/dot4.v
    hwsim dut-init rtl/dot4.v rtl/adder.v --unit hopper-wgmma-e4m3-f32 -o dot4.yaml
    hwsim dut-init -f rtl/files.f --top dot4 --include rtl/include --define LANES=4
    hwsim dut-init rtl/dot4.v -y rtl/cells --slang --allow-use-before-declare
    """
    from hwsim.cosim.guess import FirstFile, first_file
    from hwsim.cosim.sources import EASING, DesignSources, defined, is_option

    beside = [*([source] if source is not None else []), *(filelist or [])]
    if not beside:
        raise InputError("dut-init must have a source or --filelist")
    target = output or beside[0].with_suffix(".yaml")
    if target.exists():
        raise InputError(f"{target} is there already; name another with --output")
    for folder in include or []:
        if not folder.is_dir():
            raise InputError(f"--include must be a folder, not {folder}")
    for place in library or []:
        if not place.exists():
            raise InputError(f"--library must be a folder or a file, not {place}")
    for option in slang or []:
        if not is_option(option):
            raise InputError(f"--slang must be {', '.join(EASING)} or a -W option of slang's, not {option}")
    sources = DesignSources(
        files=(*([source] if source is not None else []), *(more or [])),
        include=tuple(folder.resolve() for folder in include or []),
        defines=tuple(defined(text, "--define") for text in define or []),
        libraries=tuple(place.resolve() for place in library or []),
        suffixes=(),
        easing=tuple(slang or []),
    )
    text, unknown = first_file(FirstFile(sources, target.parent, tuple(filelist or []), top=top, unit=unit))
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{target} is there already; name another with --output") from None
    say(text.rstrip())
    note(f"wrote {target}; to be answered: {', '.join(unknown) if unknown else 'nothing, but read it'}")
