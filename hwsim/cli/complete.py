"""Names that the shell completes, listed when it asks; and the arguments that several commands take them for."""

from __future__ import annotations

from glob import escape, glob
from typing import Annotated

import typer


def _or_file(names: list[str], begun: str) -> list[str]:
    """Names, and YAML files: the shell itself lists files only where there is no name."""
    return [*names, *sorted(path for end in ("yaml", "yml") for path in glob(f"{escape(begun)}*.{end}"))]


def units(incomplete: str) -> list[str]:
    """Presets, their modes once a name is followed by a colon, and files in this folder."""
    from hwsim.spec import ModalUnit, load_specified, modal_presets, presets

    name, colon, _ = incomplete.partition(":")
    if colon and name in modal_presets():
        unit = load_specified(name)
        return [f"{name}:{mode}" for mode in unit.modes] if isinstance(unit, ModalUnit) else []
    return _or_file([*presets(), *modal_presets()], incomplete)


def formats(incomplete: str) -> list[str]:
    """Formats, and files in this folder."""
    from hwsim.formats import formats as shipped

    return _or_file(list(shipped()), incomplete)


def recipes(incomplete: str) -> list[str]:
    """Recipes, where PyTorch is installed, and files in this folder."""
    from hwsim.errors import ToolMissing

    try:
        from hwsim.torch.recipe import recipes as shipped
    except ToolMissing:
        return _or_file([], incomplete)
    return _or_file(list(shipped()), incomplete)


def pages() -> list[str]:
    """Pages of the documentation."""
    from hwsim.pages import pages as shipped

    return list(shipped())


def rules() -> list[str]:
    """Rules of quantisation."""
    from hwsim.quantize import rules as shipped

    return list(shipped())


def scalings() -> list[str]:
    """How a study scales its data."""
    return ["direct", "tensor", "channel", "block", *rules()]


def distributions() -> list[str]:
    """What a study draws its data from."""
    from hwsim.study.data.sources import DISTRIBUTIONS

    return list(DISTRIBUTIONS)


def studies() -> list[str]:
    """The studies that come with hwsim."""
    from hwsim.study.presets import PRESETS
    from hwsim.training.pages import NAMES

    return [*PRESETS, *NAMES]


def suites() -> list[str]:
    """The suites of test vectors."""
    from hwsim.cosim.vectors.plan import PARTS, SUITES

    return [*SUITES, *PARTS]


def roundings() -> list[str]:
    """The roundings of numbers to codes."""
    from hwsim.formats import Rounding

    return [*Rounding, "stochastic"]


def overflows() -> list[str]:
    """What may become of a number that is too large."""
    from hwsim.formats import Overflow

    return list(Overflow)


def missing() -> list[str]:
    """What may become of a number that a format has no code for."""
    from hwsim.formats import Missing

    return list(Missing)


UnitName = Annotated[
    str, typer.Argument(metavar="UNIT", help="A unit, or the path of its YAML file.", autocompletion=units)
]
FormatName = Annotated[
    str, typer.Argument(metavar="FORMAT", help="A format's name, or the path of its YAML file.", autocompletion=formats)
]
