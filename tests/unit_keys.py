"""A unit's keys in a line, as in its file: `odd` writes them, with what the other functions here give its parts."""

from __future__ import annotations

from typing import Any

from hwsim.spec import Unit

Mapping = dict[str, Any]

DL = "dlfloat16"


def _float(name: str, exponent_bits: int, fraction_bits: int, bias: int, **more: Any) -> Mapping:
    sizes = {"exponent_bits": exponent_bits, "fraction_bits": fraction_bits, "bias": bias}
    return {"name": name, "kind": "float", **sizes, **more}


def _integers(name: str, integer_bits: int, fraction_bits: int = 0) -> Mapping:
    return {"name": name, "kind": "fixed", "integer_bits": integer_bits, "fraction_bits": fraction_bits}


# Formats that hwsim does not ship: DLFloat16 without the rule that what rounds to nothing is zero; six exponent bits,
# so that exponents of 8 bits would not tell a product from one that an addend swamps; integers.
NEARBY = _float("bare-nearby", 6, 9, 31, subnormals=False, nan=[0x7FFF, 0xFFFF])
E6M2 = _float("e6m2", 6, 2, 31, infinities=True, nan="ieee")
E6M9 = _float("e6m9", 6, 9, 31, infinities=True, nan="ieee")
INT8, INT16, I32, I12 = _integers("int8", 7), _integers("int16", 15), _integers("i32", 31), _integers("i12", 7, 4)
# E4M3 and E5M2 without infinity and NaN, and what their exact sums are rounded to: all bits of a sum of 32 products;
# bits that stand above and below the point alone.
E4M3_FINITE, E5M2_FINITE = _float("e4m3-finite", 4, 3, 7), _float("e5m2-finite", 5, 2, 15)
FIXED43, FIXED73, FIXED100 = _integers("fixed43", 24, 18), _integers("fixed73", 40, 32), _integers("fixed100", 15, 84)
COARSE, FINE = _integers("coarse", 23, -5), _integers("fine", -6, 40)

# Pairs of products, summed exactly.
BLOCKS = {"lanes": 2, "method": "exact"}


def odd(
    factors: str | tuple[Any, Any], addend: Any, rule: Mapping, result: Any, lanes: int = 4, **more: Any
) -> Mapping:
    """A unit's keys. factors: one format, or two. rule: `sum`. more: keys of any part, or top-level ones."""

    def taken(*keys: str) -> Mapping:
        return {key: more.pop(key) for key in keys if key in more}

    a, b = (factors, factors) if isinstance(factors, str) else factors
    top = taken("scale", "promotion", "late")
    return {
        "unit": "odd",
        "operands": {"a": a, "b": b, "addend": addend, **taken("convert", "daz", "zeros")},
        "instruction": {"k": more.pop("k", lanes), "lanes": lanes, **taken("chain", "order", "start")},
        "sum": rule | ({"addend": "late"} if "late" in top else {}),
        "result": {"format": result, "rounding": "rne", **more},
        **top,
    }


def odd_unit(name: str, *arguments: Any, **more: Any) -> Unit:
    """A unit of a test's own, with the arguments of `odd`."""
    return Unit.model_validate({**odd(*arguments, **more), "unit": name})


def window(bits: int, lost: str = "truncate", **more: Any) -> Mapping:
    """`sum` of one window."""
    return {"method": "aligned", "fraction_bits": bits, "lost": lost, **more}


def subgroups(lanes: int, bits: int, lost: str = "truncate", **more: Any) -> Mapping:
    """`sum` of a window of exact sums of so many products, each scaled."""
    rule = {"lanes": lanes, "method": "exact", "exponent": "scales"}
    rule |= {key: more.pop(key) for key in ("cancelled", "low_addend", "low_lanes") if key in more}
    return window(bits, lost, subgroup=rule, **more)


def own_windows(
    lanes: int, own: int, bits: int, lost: str = "truncate", inner: str = "truncate", **more: Any
) -> Mapping:
    """`sum` of a window of sums of so many products, each in a window of its own with `own` bits. inner: its `lost`."""
    rule = {"lanes": lanes, "method": "aligned", "fraction_bits": own, "lost": inner}
    rule |= {"cancelled": more.pop("cancelled")} if "cancelled" in more else {}
    return window(bits, lost, subgroup=rule, **more)


def exact_blocks(lanes: int, **more: Any) -> Mapping:
    """`sum` of exact sums of so many products, each scaled, without an error."""
    return exact_sum(subgroup={"lanes": lanes, "method": "exact"}, **more)


def chained(method: str, fmt: Any, rounding: str = "rne", product: str = "fused", **more: Any) -> Mapping:
    """`sum` of a chain or a tree."""
    return {"method": method, "product": product, "format": fmt, "rounding": rounding, **more}


def exact_sum(**more: Any) -> Mapping:
    """`sum` without loss."""
    return {"method": "exact", **more}


def even_odd(**more: Any) -> Mapping:
    """`sum` of two windows of 7 bits, in one of 5."""
    return {"method": "even-odd", "fraction_bits": 7, "combine": {"fraction_bits": 5, "lost": "floor"}, **more}


def scaled(at: str, a: tuple[Any, int], b: tuple[Any, int]) -> Mapping:
    """`scale`: a format and a block's length for each side."""
    sides = {"a": {"format": a[0], "block": [1, a[1]]}, "b": {"format": b[0], "block": [b[1], 1]}}
    return {"scale": {**sides, "at": at}}


def mx(block_a: int, block_b: int) -> Mapping:
    """E8M0 scales of blocks of such lengths, at products."""
    return scaled("product", ("e8m0", block_a), ("e8m0", block_b))


def promoted(interval: int, fmt: Any, rounding: str = "rne", operation: str = "add", first: str = "") -> Mapping:
    """`promotion`."""
    keys = {"interval": interval, "format": fmt, "operation": operation, "rounding": rounding}
    return {"promotion": keys | ({"first": first} if first else {})}


def late(fmt: Any, rounding: str, **more: Any) -> Mapping:
    """An addend that is added late, and the start from zero that goes with it."""
    return {"start": "zero", "late": {"operation": "add", "format": fmt, "rounding": rounding, **more}}


def windowed(sum_bits: int, addend_bits: int, lost: str, **more: Any) -> Mapping:
    """A late addend in a window."""
    keys = {"operation": "window", "sum_bits": sum_bits, "addend_bits": addend_bits, "lost": lost, **more}
    return {"start": "zero", "late": keys}


def order(modulo: int, *groups: list[int]) -> Mapping:
    """Which products form a group."""
    return {"modulo": modulo, "groups": list(groups)}
