"""`hwsim warm`."""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
import typer

from hwsim.base.files import cache_folder
from hwsim.base.text import counted
from hwsim.cases.drawing import Stream, normals
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import note, say
from hwsim.cli.progress import Progress
from hwsim.spec import ModalUnit, Unit, dense_of, load_any, matching, presets


@app.command()
def warm(
    units: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[UNIT]...",
            help="Units, paths of YAML files, or patterns of names with * and ?; every preset unless given.",
            autocompletion=complete.units,
        ),
    ] = None,
) -> None:
    """Compile what products and errors of units take, and keep it: the first then compile nothing.

    \b
    hwsim warm hopper-wgmma-e4m3-f32 my-unit.yaml
    hwsim warm 'blackwell-*'
    HWSIM_CACHE=/opt/hwsim hwsim warm               for a container, or for all machines of a farm with one processor

    What is compiled is kept by the content of hwsim's code, for this kind of processor, in the folder that HWSIM_CACHE
    names. Another kind compiles its own.
    """
    from hwsim.compute.products import LONG, WARM
    from hwsim.compute.products import warm as warm_unit
    from hwsim.formats import loops  # noqa: F401 (arrays of any size go through them where they are there)
    from hwsim.study.product_error import error

    names = [name for text in units or presets() for name in (matching(text) if set(text) & set("*?") else [text])]
    loaded = [unit for name in dict.fromkeys(names) for unit in _computed(dense_of(load_any(name)))]
    numbers, begun = normals(Stream(1, "warm"), (WARM, LONG)).astype(np.float32), time.monotonic()
    with Progress("compiling", len(loaded)) as bar:
        for done, unit in enumerate(loaded):
            bar.update(done, len(loaded), unit.name)
            if not warm_unit(unit):
                note(f"{unit.name}: no compiled code holds it, the model computes it")
                continue
            error(unit, numbers, numbers.T)
    say(f"{counted(len(loaded), 'unit')} in {time.monotonic() - begun:,.0f} s; kept in {cache_folder()}")


def _computed(specified: Unit | ModalUnit) -> list[Unit]:
    """The units that products are of: of one of several modes, each mode."""
    return [*map(specified.mode, specified.modes)] if isinstance(specified, ModalUnit) else [specified]
