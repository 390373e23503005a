"""Any unit in C: one program that takes a unit's keys as numbers, and writes every stage of a dot product as JSON.

`export_c` writes a unit's own header. This is for WebAssembly, where a page computes whatever unit is typed into it.
The program's numbers of keys, of formats' keys and of words are those of the classes that check specifications.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, get_args

from hwsim.compute.c.text import render
from hwsim.compute.c.unit import CutMode, Mode, cut_mode, mode_of
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.spec.fields import SAYINGS
from hwsim.spec.keys import ALIGNED_LOST, term_lost
from hwsim.spec.table import SpecKey, spec_keys

WORDS = 160  # of 32 bits: sums of products of binary64 numbers take 4,300 bits
# Keys that are more than a number.
SIDES = {"scale.a": ("scale.a.format", "scale.a.length"), "scale.b": ("scale.b.format", "scale.b.length")}
KINDS = ("float", "fixed", "exponent")


@cache
def unit_keys() -> tuple[SpecKey, ...]:
    """The keys of units that say what they return, in the order of files."""
    return tuple(key for key in spec_keys() if key.path not in SAYINGS)


class AnyUnitInC:
    """The program, as its template sees it."""

    prefix = "any"
    names: Mapping[Format, str] = {}  # its templates name no format
    most_formats, most_nans, most_lanes, most_products, most_modulo = 12, 1024, 1024, 1 << 16, 1 << 16
    words, integer_bits = WORDS, 32 * WORDS

    @cached_property
    def keys(self) -> list[str]:
        """The names of its numbers, in order."""
        named: list[str] = []
        for key in unit_keys():
            named += SIDES.get(key.path, (f"{key.path}.modulo" if key.path == "instruction.order" else key.path,))
        return named

    @cached_property
    def words_of_keys(self) -> list[str]:
        """Every word that is a key's value, in order."""
        words = [str(choice) for key in unit_keys() for choice in key.choices if not isinstance(choice, bool)]
        return list(dict.fromkeys([*words, *get_args(FloatFormat.model_fields["underflow"].annotation)]))

    @cached_property
    def format_keys(self) -> list[str]:
        """The names of a format's numbers, in order."""
        named = [name for kind in (FloatFormat, FixedFormat, ExponentFormat) for name in kind.model_fields]
        return [name for name in dict.fromkeys(named) if name not in ("name", "summary", "source")]

    @cached_property
    def lost(self) -> list[tuple[str, Mode]]:
        """The rules for lost bits, and the rounding that each is of a magnitude."""
        return [(lost, mode_of(term_lost(lost))) for lost in ALIGNED_LOST]

    @cached_property
    def cuts(self) -> tuple[CutMode, ...]:
        """Every way to cut bits off."""
        return tuple(cut_mode(mode) for mode in get_args(Mode))

    @property
    def group(self) -> Any:
        """The fields of a group's sum that the templates of integers read; all else, they have of their own."""
        return _Group

    def table(self) -> dict[str, Any]:
        """The keys for whoever fills the program's arrays: with their meanings, values and defaults."""
        keys = [
            {
                "path": key.path, "of": key.of, "meaning": key.meaning, "values": key.values,
                "choices": [str(choice).lower() for choice in key.choices],
                "flag": bool(key.choices) and all(isinstance(choice, bool) for choice in key.choices),
                "default": "none" if key.default is None else key.default, "required": key.required,
                "none": "none" in key.values or (key.default is None and not key.required),
                "bounds": key.bounds, "format": key.is_format,
            }
            for key in unit_keys()
        ]  # fmt: skip
        numbers = {"keys": self.keys, "words": self.words_of_keys, "format_keys": self.format_keys, "kinds": KINDS}
        limits = {"formats": self.most_formats, "nans": self.most_nans, "lanes": self.most_lanes,
                  "products": self.most_products, "modulo": self.most_modulo}  # fmt: skip
        return {"table": keys, "numbers": numbers, "limits": limits}


class _Group:
    parts, fixed, sticky = 1, None, False


def any_unit() -> str:
    """The program's text."""
    return render("any_unit.c.jinja", AnyUnitInC())
