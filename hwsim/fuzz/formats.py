"""Formats drawn at random: shipped ones, and ones that nobody thought of."""

from __future__ import annotations

from typing import Any

from hwsim.cases.drawing import Stream
from hwsim.formats import ExponentFormat, Format, formats, get_format

Keys = dict[str, Any]

OWN = 0.35  # the share of formats that do not ship
UNWIELDY = {"f64"}  # codes of 64 bits, which have no cases
MOST_BITS = 32


class FormatDrawer:
    """Formats from a stream. narrow: of at most 8 bits."""

    def __init__(self, stream: Stream, *, narrow: bool = False):
        self.stream, self.narrow = stream, narrow
        self._shipped = [fmt for name in formats() if name not in UNWIELDY and self._fits(fmt := get_format(name))]

    def _fits(self, fmt: Format) -> bool:
        return not self.narrow or fmt.bits <= 8

    def any(self) -> Any:
        """A float, a fixed format or a power of two, as a unit's file has it."""
        if self.stream.random() >= OWN:
            return self.stream.choice(self._shipped).name
        return self.stream.choice((self.own_float, self.own_float, self.own_fixed, self.own_power))()

    def factor(self) -> Any:
        """A format of factors: floats mostly."""
        stream = self.stream
        if stream.random() < 0.15:
            return stream.choice(("mxint8", "mxint8", self.own_fixed()))
        return self.float()

    def float(self) -> Any:
        """A signed float, as factors and results have it."""
        if self.stream.random() < OWN:
            return self.own_float()
        return self.stream.choice([fmt.name for fmt in self._shipped if _is_float(fmt)])

    def register(self) -> Any:
        """A signed float with a NaN, as sums have it."""
        usual = ("f32", "f16", "bf16", "e8m13", "e5m2", "e4m3", "dlfloat16", "tf32")
        few = ("e5m2", "e4m3", "hfp8-e5m2", "e4m3fnuz")
        if self.stream.random() < OWN:
            return self.own_float(with_nan=True)
        return self.stream.choice(few if self.narrow else usual)

    def power(self) -> Any:
        """A power of two."""
        return "e8m0" if self.stream.random() < 0.6 else self.own_power()

    def own_float(self, *, with_nan: bool = False) -> Keys:
        """A float of a user's own. with_nan: one that sums can have."""
        stream = self.stream
        exponent_bits = stream.randint(1, 5 if self.narrow else 9)
        most = min(7 - exponent_bits if self.narrow else 24, MOST_BITS - 1 - exponent_bits)
        fraction_bits = stream.randint(0, max(0, min(most, stream.choice((2, 4, 8, 24)))))
        keys: Keys = {
            "name": f"own-e{exponent_bits}m{fraction_bits}", "kind": "float", "exponent_bits": exponent_bits,
            "fraction_bits": fraction_bits, "bias": (1 << exponent_bits - 1) - 1 + stream.randint(-2, 6),
        }  # fmt: skip
        bits, top = 1 + exponent_bits + fraction_bits, 1 << exponent_bits + fraction_bits
        kind = stream.choice(("ieee", "last", "zero") if with_nan else ("ieee", "last", "zero", "none", "none"))
        if kind == "ieee" and fraction_bits:
            keys |= {"nan": "ieee", "infinities": True}
        elif kind == "zero":
            keys |= {"nan": [top], "signed_zero": False, "infinities": stream.random() < 0.5}
        elif kind == "last" or with_nan:
            keys |= {"nan": [top - 1, 2 * top - 1], "infinities": stream.random() < 0.5}
        if stream.random() < 0.25:
            keys |= {"subnormals": False} | ({"underflow": "zero"} if stream.random() < 0.5 else {})
        if stream.random() < 0.2:
            keys["container"] = 8 if bits <= 8 else 16 if bits <= 16 else 32
        return keys

    def own_fixed(self) -> Keys:
        """A fixed format of a user's own."""
        integers, fraction = self.stream.randint(0, 5 if self.narrow else 12), self.stream.randint(0, 2)
        integers = max(integers, 1 if not fraction else 0)
        return _fixed(integers, fraction)

    def result_fixed(self) -> Any:
        """A fixed format that exact sums are rounded to."""
        bits = self.stream.randint(3, 24)
        return self.stream.choice(("i32", _fixed(bits, 2), self.own_fixed(), self.placed_fixed(), self.placed_fixed()))

    def placed_fixed(self) -> Keys:
        """A fixed format of up to 140 bits, whose point may stand outside of them."""
        stream = self.stream
        bits = stream.choice((stream.randint(1, 31), stream.randint(31, 66), stream.randint(66, 139)))
        fraction = stream.choice((stream.randint(-8, 12), stream.randint(-8, 12), stream.randint(-40, 150)))
        return _fixed(bits - fraction, fraction)

    def finite_float(self) -> Keys:
        """A float of a user's own with neither NaN nor infinity."""
        exponent_bits = self.stream.randint(1, 5)
        fraction_bits = self.stream.randint(1, 3)
        return {
            "name": f"finite-e{exponent_bits}m{fraction_bits}", "kind": "float", "exponent_bits": exponent_bits,
            "fraction_bits": fraction_bits, "bias": (1 << exponent_bits - 1) - 1, "nan": [], "infinities": False,
        }  # fmt: skip

    def own_power(self) -> Keys:
        """A power of two of a user's own."""
        bits = self.stream.randint(2, 7)
        keys: Keys = {
            "name": f"own-e{bits}m0", "kind": "exponent", "exponent_bits": bits,
            "bias": (1 << bits - 1) - 1 + self.stream.randint(-3, 3),
        }  # fmt: skip
        return keys | ({"nan": [(1 << bits) - 1]} if self.stream.random() < 0.5 else {})


def _fixed(integers: int, fraction: int) -> Keys:
    name = f"own-i{integers}f{fraction}".replace("-i-", "-im").replace("f-", "fm")
    return {"name": name, "kind": "fixed", "integer_bits": integers, "fraction_bits": fraction}


def _is_float(fmt: Format) -> bool:
    return not isinstance(fmt, ExponentFormat) and fmt.signed and not fmt.twos_complement
