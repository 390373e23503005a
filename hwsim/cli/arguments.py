"""What several commands take: names that the shell completes, options, and codes and numbers as people type them."""

from __future__ import annotations

import importlib.util
import re
import shlex
from enum import Enum
from fractions import Fraction
from glob import escape, glob
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwsim.base.errors import InputError, ToolMissing
from hwsim.formats.yamlfile import MOST, MOST_DIGITS

if TYPE_CHECKING:
    from hwsim.rtl import Style


FILE = "FILE.npy, FILE.npz[:NAME] or FILE.safetensors[:NAME]"  # where an array is


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
    from hwsim.formats.catalog import tables

    return _or_file([*shipped(), *tables()], incomplete)


def recipes(incomplete: str) -> list[str]:
    """Recipes, where PyTorch is installed, and files in this folder."""
    from hwsim.base.errors import ToolMissing

    try:
        from hwsim.torch.recipe import recipes as shipped
    except ToolMissing:
        return _or_file([], incomplete)
    return _or_file(list(shipped()), incomplete)


def pages() -> list[str]:
    """Pages of the documentation."""
    from hwsim.base.package import pages as shipped

    return list(shipped())


def rules() -> list[str]:
    """Rules of quantisation."""
    from hwsim.quantize import rules as shipped

    return list(shipped())


def scalings() -> list[str]:
    """The ways in which a study scales its data."""
    return ["direct", "tensor", "channel", "block", *rules()]


def distributions() -> list[str]:
    """The distributions that a study draws its data from."""
    from hwsim.study.data.sources import DISTRIBUTIONS

    return list(DISTRIBUTIONS)


def studies() -> list[str]:
    """The plans of studies that come with hwsim."""
    from hwsim.study.plan.study import plans

    return plans()


def suites() -> list[str]:
    """The suites of test vectors."""
    from hwsim.cosim.vectors.plan import PARTS, SUITES

    return [*SUITES, *PARTS]


def roundings() -> list[str]:
    """The roundings of numbers to codes."""
    from hwsim.formats import Rounding

    return [*Rounding, "stochastic"]


def overflows() -> list[str]:
    """The policies for a number that is too large."""
    from hwsim.formats import Overflow

    return list(Overflow)


def missing() -> list[str]:
    """The substitutes for a number that a format has no code for."""
    from hwsim.formats import Missing

    return list(Missing)


UnitName = Annotated[
    str, typer.Argument(metavar="UNIT", help="A unit, or the path of its YAML file.", autocompletion=units)
]
FormatName = Annotated[
    str, typer.Argument(metavar="FORMAT", help="A format's name, or the path of its YAML file.", autocompletion=formats)
]


Cuts = Annotated[
    str | None, typer.Option(help="Steps after which there is a register, with commas; `hwsim units UNIT` lists them.")
]
Contexts = Annotated[int | None, typer.Option(help="Sums that can be open at once; as many as registers unless given.")]


class ResetOption(Enum):
    """The kinds of reset: when it acts, and at which level."""

    SYNC = "sync"
    SYNC_LOW = "sync-low"
    ASYNC = "async"
    ASYNC_LOW = "async-low"


RegisterReady = Annotated[
    bool, typer.Option("--register-ready", help="A buffer at the input: no path from out_ready to in_ready.")
]
Reset = Annotated[ResetOption, typer.Option(help="At the clock's edge or at once, active high (rst) or low (rst_n).")]
ClockEnable = Annotated[
    bool, typer.Option("--clock-enable", help="A port clk_en, without which nothing happens but a reset.")
]
Package = Annotated[
    bool, typer.Option("--package", help="A package with structs, which are the types of in_payload and out_payload.")
]


def style_of(reset: ResetOption, clock_enable: bool, with_package: bool) -> Style:
    """The style in which the Verilog of a unit is written."""
    from hwsim.rtl import Style  # Amaranth takes a while

    return Style.of_reset(reset.value, clock_enable=clock_enable, package=with_package)


def split(names: str | None) -> tuple[str, ...] | None:
    """Names with commas between them; None where nothing is given."""
    return None if names is None else tuple(name.strip() for name in names.split(",") if name.strip())


def demand(extra: str, *modules: str) -> None:
    """Raise ToolMissing where a module of an extra is not installed."""
    if missing := [name for name in modules if importlib.util.find_spec(name) is None]:
        raise ToolMissing(f"{' and '.join(missing)} missing; install with: pip install 'hwsim[{extra}]'")


def again(context: typer.Context, *left_out: str, **always: Any) -> str:
    """The command that does the same: its options but those left out and those that have their defaults; --output last.

    always: values of parameters to show in any case.
    """
    words = ["hwsim", context.info_name or ""]
    for parameter in sorted(context.command.params, key=lambda parameter: parameter.name == "output"):
        name = parameter.name or ""
        value = always.get(name, context.params.get(name))
        unchanged = name not in always and value == parameter.get_default(context)
        if name in (*left_out, "as_json") or value is None or unchanged:
            continue
        shown = "-o" if "-o" in parameter.opts else max(parameter.opts, key=len)
        option = [shown] if parameter.param_type_name == "option" else []
        if isinstance(value, bool):
            words += option * value
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            words += [*option, str(item.value if isinstance(item, Enum) else item)]
    return shlex.join(words)


Number = Fraction | float

MOST_CHARACTERS = 4_000  # of a number that is typed
MAX_EXPONENT = 9999  # of a number that is typed: beyond every format, and still a small integer

_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?", re.ASCII | re.IGNORECASE)
_HEX = re.compile(r"([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?", re.ASCII | re.IGNORECASE)
_RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


def code(text: str, what: str = "a code") -> int:
    """A code: decimal, 0x..., 0o... or 0b.... Raises ValueError."""
    typed = text.strip()
    if len(typed) > MOST_CHARACTERS:
        raise InputError(f"{what} must have at most {MOST_CHARACTERS:,} digits, not {len(typed):,}")
    try:
        integer = int(typed, 0)
    except ValueError:
        integer = None
    if integer is None or "_" in typed or not typed.isascii():
        raise InputError(f"{what} must be an integer such as 56, 0x38 or 0b111000, not {typed!r}")
    if abs(integer) >= MOST:
        raise InputError(f"{what} must have at most {MOST_DIGITS:,} digits in decimal; it has more")
    return integer


def codes(text: str, what: str) -> list[int]:
    """Codes, with commas between them."""
    return [code(part, what) for part in text.split(",")]


def numbers(text: str, what: str) -> list[Number]:
    """Numbers, with commas between them."""
    return [number(part, what) for part in text.split(",")]


def number(text: str, what: str = "a value") -> Number:
    """The exact number in a text, so that it is rounded only once, to the format.

    Decimals, hexadecimal floats (0x1.8p3), fractions (1/3), nan, inf; a zero with a minus sign is -0.0.
    Raises ValueError.
    """
    typed = text.strip()
    if len(typed) > MOST_CHARACTERS:
        raise InputError(f"{what} must have at most {MOST_CHARACTERS:,} digits, not {len(typed):,}")
    if _SPECIAL.fullmatch(typed):
        return float(typed)
    exact = _exact(typed)
    if exact is None:
        raise InputError(f"{what} must be a number such as 1.5, -2e-3, 0x1.8p3, 1/3, inf or nan, not {typed!r}")
    return -0.0 if exact == 0 and typed.startswith("-") else exact


def _exact(typed: str) -> Fraction | None:
    if match := _DECIMAL.fullmatch(typed):
        _check_exponent(match[1], typed)
        return Fraction(typed)
    if _RATIO.fullmatch(typed):
        above, below = typed.split("/")
        if int(below) == 0:
            raise InputError(f"a fraction must not have the denominator 0: {typed!r}")
        return Fraction(int(above), int(below))
    match = _HEX.fullmatch(typed)
    if match is None or not (match[2] or match[3]):
        return None
    _check_exponent(match[4], typed)
    fraction = match[3] or ""
    exact = Fraction(int(match[2] + fraction, 16)) * Fraction(2) ** (int(match[4] or 0) - 4 * len(fraction))
    return -exact if match[1] == "-" else exact


def _check_exponent(exponent: str | None, typed: str) -> None:
    if exponent is not None and (
        len(exponent.lstrip("+-0")) > len(str(MAX_EXPONENT)) or abs(int(exponent)) > MAX_EXPONENT
    ):
        raise InputError(f"an exponent must be -{MAX_EXPONENT} to {MAX_EXPONENT}: {typed!r}")
