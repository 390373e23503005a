"""Units of several modes that are small enough for a test: one of every method, made of presets of one mode."""

from __future__ import annotations

from typing import Any

from hwsim.spec import ModalUnit, load_unit
from hwsim.spec.fields import worded

INT8, INT4 = (
    {"name": name, "kind": "fixed", "integer_bits": bits, "fraction_bits": 0} for name, bits in (("i8", 7), ("i4", 3))
)


def modal(name: str, preset: str, modes: dict[str, Any], lanes: int = 4, **parts: Any) -> ModalUnit:
    """A preset with these modes, and with other keys of its parts."""
    data = worded(load_unit(preset).model_dump(mode="json", exclude_unset=True))
    operands = {key: value for key, value in data["operands"].items() if key not in ("a", "b")}
    data |= {"unit": name, "operands": operands, "modes": modes}
    data["instruction"] |= {"k": lanes, "lanes": lanes}
    for part, keys in parts.items():
        data[part] = {**data[part], **keys} if isinstance(keys, dict) and isinstance(data.get(part), dict) else keys
    return ModalUnit.model_validate(data)


def pair(a: Any, b: Any, **more: Any) -> dict[str, Any]:
    return {"a": a, "b": b, **more}


E8M0 = {side: {"format": "e8m0", "block": block} for side, block in (("a", [1, 2]), ("b", [8, 1]))}
ODD_MODES = {
    unit.name: unit
    for unit in (
        # Three modes: a number of two bits, one of which names none. Scales of half a beat, and of two beats.
        modal(
            "modes-window", "mxfp8-e4m3-f32",
            {
                "wide": pair("e4m3", "e5m2"),
                "bare": pair("e5m2", "e2m1", scales=False),
                "whole": pair("mxint8", "e3m2"),
            },
            scale=E8M0, sum={"fraction_bits": 11, "lost": "rne"}, result={"rounding": "rne"},
        ),
        modal(
            "modes-exact", "exact-e4m3-f32",
            {
                "e4m3": pair("e4m3", "e4m3"),
                "bare": pair("e2m3", "e4m3", scales=False),
                "whole": pair("e2m1", "mxint8"),
            },
            scale=E8M0,
        ),
        modal("modes-integers", "int8-i32", {"i8": pair(INT8, INT8), "i4": pair(INT8, INT4)}),
        modal(
            "modes-chain", "hfp8-forward-e4m3-dlfloat16",
            {"forward": pair("hfp8-e4m3", "hfp8-e4m3"), "backward": pair("hfp8-e4m3", "hfp8-e5m2")},
            lanes=2, promotion={"interval": 4},
        ),
        modal("modes-tree", "cdna2-mfma-f16-f32", {"f16": pair("f16", "f16"), "bf16": pair("f16", "bf16")}),
        modal("modes-even-odd", "cdna3-mfma-e4m3fnuz-f32", {"any": ["e4m3fnuz", "e5m2fnuz"]}),
        modal(
            "modes-counted", "hopper-wgmma-e4m3-f32", {"any": ["e4m3", "e2m3"]},
            sum={"zero_terms": "count", "zero": "ieee", "max_exp_floor": -8},
        ),
        modal(
            "modes-converted", "blackwell-mma-e4m3-f32", {"any": ["e4m3", "e5m2"]},
            instruction={"k": 8, "lanes": 4},
        ),
        modal(
            "modes-subgroups", "blackwell-mxf4nvf4-e2m1-f32",
            {"e2m1": pair("e2m1", "e2m1"), "e2m3": pair("e2m3", "e3m2")},
            scale={"a": {"format": "ue4m3", "block": [1, 2]}, "b": {"format": "ue4m3", "block": [2, 1]}},
            sum={"subgroup": {"lanes": 2, "method": "exact", "exponent": "scales"}},
        ),
        modal(
            "modes-promoted", "deepseek-v3-e4m3-f32-scaled", {"any": ["e4m3", "e5m2"]},
            scale={"a": {"format": "f32", "block": [1, 8]}, "b": {"format": "f32", "block": [8, 8]}},
            promotion={"interval": 8},
        ),
    )
}  # fmt: skip
