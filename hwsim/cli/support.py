"""Finds which implementation supports which setting, by asking it about units that have the setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

from pydantic import ValidationError

from hwsim.spec import Support, Unit, load_unit
from hwsim.spec.table import SpecKey, spec_keys

# Presets of every method, with and without scales, promotion, conversion, groups, in which settings are tried.
BASES = (
    "hopper-wgmma-e4m3-f32",
    "mxfp8-e4m3-f32",
    "deepseek-v3-e4m3-f32",
    "deepseek-v3-e4m3-f32-scaled",
    "blackwell-mma-e4m3-f32",
    "blackwell-mxf4nvf4-e2m1-f32",
    "cdna3-mfma-e4m3fnuz-f32",
    "cdna2-mfma-bf16-f32",
    "intel-amx-e5m2-f32",
    "hfp8-forward-e4m3-dlfloat16",
    "exact-e4m3-f32",
    "int8-i32",
    "rvbna-e4m3-f32-n8",
)
# Parts that no preset has.
PARTS = {"sum.subgroup": {"lanes": 2, "method": "aligned", "fraction_bits": 6}, "sum.cut": {"bits": 2}}
# Values for keys whose values are no words to choose from.
EXAMPLES: dict[str, Any] = {
    "operands.convert": "f16",
    "instruction.order": {"modulo": 4, "groups": [[0, 1], [2, 3]]},
    "sum.max_exp_floor": -100,
    "sum.product_limit": 60,
    "late.drop_below": 20,
    "late.total_bits": 20,
}
Supports = Callable[[Unit], Support]


def implementations() -> dict[str, Supports]:
    """The `supports` function of every implementation, by the implementation's name for users."""
    from hwsim import rtl
    from hwsim.cases.case import draws
    from hwsim.compute import c, kernels
    from hwsim.model import clock

    return {
        "the clock": clock.supports,
        "compiled code": kernels.supports,
        "hwsim rtl and hwsim cosim": rtl.supports,
        "hwsim export-c": c.supports,
        "hwsim vectors": draws,
    }


def refusals(unit: Unit) -> Iterator[tuple[str, Support]]:
    """The answers of the implementations that do not support a unit."""
    for name, supports in implementations().items():
        support = supports(unit)
        if not support:
            yield name, support


def with_value(unit: Unit, path: str, value: Any) -> Unit | None:
    """A unit with another value of a key; None where that breaks a rule."""
    data = deepcopy(unit.model_dump(mode="json", exclude_unset=True))
    *sections, key = path.split(".")
    part = data
    for section in sections:
        if not isinstance(part.get(section), dict):
            return None
        part = part[section]
    part[key] = value
    try:
        return Unit.model_validate(data)
    except ValidationError:
        return None


def value_at(unit: Unit, path: str) -> Any:
    """The value of a key; None where the unit has no such part or key."""
    value: Any = unit
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


@cache
def examples(path: str, choice: str | bool | None) -> tuple[Unit, ...]:
    """Units that have a setting. choice: the key's value; None for any value other than its default."""
    value = EXAMPLES.get(path) if choice is None else choice
    units = [load_unit(name) for name in BASES]
    units += [units[0].replace({part: keys}) for part, keys in PARTS.items()]
    having = [unit for unit in units if value_at(unit, path) == value]
    changed = [with_value(unit, path, value) for unit in units]
    return (*having, *(unit for unit in changed if unit is not None))


def settings() -> Iterator[tuple[SpecKey, str, tuple[Unit, ...]]]:
    """Every setting of every key: the key, the setting in words, and units that have it, if any is known."""
    for key in spec_keys():
        if not key.choices and key.path not in EXAMPLES:
            yield key, ", ".join(key.values), ()
            continue
        for word in key.values if key.choices else key.values[:1]:
            choice = {"true": True, "false": False}.get(word, word)
            yield key, word, examples(key.path, choice if choice in key.choices else None)


def key_rows() -> Iterator[tuple[str, str, str]]:
    """Path, meaning and values of every key. **Bold**: in the model; with an asterisk: in the model, not in the RTL."""
    from hwsim import model, rtl

    marked: dict[str, list[str]] = {}
    keys = {}
    for key, word, units in settings():
        in_model, in_rtl = (any(supports(unit) for unit in units) for supports in (model.supports, rtl.supports))
        text = f"**{word}**" if in_model else word
        keys[key.path] = key
        marked.setdefault(key.path, []).append(text + ("\\*" if in_model and not in_rtl else ""))
    for path, words in marked.items():
        key = keys[path]
        rest = [] if key.choices or path not in EXAMPLES else key.values[1:]
        of = f" Of {' and '.join(key.of)}." if key.of else ""
        default = "" if key.default in (None, "", ()) else f" (default {str(key.default).lower()})"
        yield path, f"{key.meaning}{of}", ", ".join([*words, *rest]) + default


def key_table() -> str:
    """The table of keys in Markdown."""
    lines = ["| key | meaning | values |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| `{path}` | {meaning} | {values} |" for path, meaning, values in key_rows())])


def model_only() -> str:
    """A line with the settings of aligned sums and of all units that the model has and the RTL lacks."""
    from hwsim import model, rtl

    lacking: dict[str, list[str]] = {}
    for key, word, units in settings():
        of_every_unit = key.path.count(".") == 1 and not key.path.startswith("late.")
        if of_every_unit and (not key.of or "aligned" in key.of):
            in_rtl = any(rtl.supports(unit) for unit in units)
            if not in_rtl and any(model.supports(unit) for unit in units):
                lacking.setdefault(key.path, []).extend([word] if key.choices else [])
    return ", ".join(f"`{path}: {', '.join(words)}`" if words else f"`{path}`" for path, words in lacking.items())
