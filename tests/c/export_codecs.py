"""Units that have formats to try, and C that calls the codecs of their headers."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from c.export_library import C99

from hwsim.compute.c import HEADER, UnitInC, render
from hwsim.formats import ExponentFormat, Format, formats, get_format, parse
from hwsim.spec import Unit

ROUNDINGS = ("rne", "rna", "rz", "ru", "rd", "rto")
OVERFLOWS = ("infinity", "nan", "saturate", "propagate", "ieee")
MISSING = ("error", "nan", "zero", "saturate")
P3109 = ("binary8p1se", "binary8p3se", "binary8p4uf", "binary5p2sf", "binary3p1se")
# Formats of our own.
OWN: dict[str, dict[str, Any]] = {
    "bare-nearby": {"exponent_bits": 4, "fraction_bits": 3, "bias": 9, "subnormals": False, "nan": [0x7F, 0xFF]},
    "bare-zero": {
        "exponent_bits": 5, "fraction_bits": 4, "bias": 12, "subnormals": False, "underflow": "zero",
        "nan": "ieee", "infinities": True,
    },
    "long": {"exponent_bits": 10, "fraction_bits": 12, "bias": 511, "nan": "ieee", "infinities": True},
    "fine": {"exponent_bits": 3, "fraction_bits": 28, "bias": 3, "nan": "ieee", "infinities": True},
    "plain": {"exponent_bits": 3, "fraction_bits": 1, "bias": 2},
    "padded": {"exponent_bits": 6, "fraction_bits": 6, "bias": 20, "nan": [0x0FFF, 0x1FFF], "container": 16},
    "power": {"kind": "exponent", "exponent_bits": 5, "bias": 15},
    "quarter": {"kind": "fixed", "integer_bits": 3, "fraction_bits": 2},
}  # fmt: skip
OWN = {name: {"kind": "float", "name": name, **keys} for name, keys in OWN.items()}
# Without a fraction and without subnormals.
POWERS = {"kind": "float", "name": "powers", "exponent_bits": 4, "fraction_bits": 0, "bias": 7, "subnormals": False}
# Lists: -0 and one infinity, without NaN; numbers far apart, in no order, twice; without negative ones.
LISTS: dict[str, list[str]] = {
    "endless": ["0", "1", "inf", "2", "-0.0", "-1.5", "-3", "-0.25"],
    "apart": ["0", "0x1p-20", "1", "nan", "-0x1p-30", "0x1p48", "-0x1.8p20", "0x1p48"],
    "positive": ["0", "5", "0.5", "1"],
}
TABLES = [
    *map(get_format, ("hif8", "posit8", "lns8", "posit6es1", "posit16")),
    *(parse({"kind": "table", "name": name, "entries": entries}) for name, entries in LISTS.items()),
]
ALL = [
    *(fmt for fmt in formats().values() if fmt.bits <= 32),
    *map(get_format, P3109),
    *map(parse, OWN.values()),
    parse(POWERS),
    *TABLES,
]


def units() -> Iterator[Unit]:
    """Units in which every format is a factor, an addend or a scale."""
    factors = [fmt for fmt in ALL if fmt in TABLES or (not isinstance(fmt, ExponentFormat) and fmt.signed)]
    rest = [fmt for fmt in ALL if fmt not in factors]
    pairs = [factors[i : i + 2] for i in range(0, len(factors), 2)]
    for index, pair in enumerate(pairs):
        scales = [rest[(2 * index + i) % len(rest)] for i in range(2)]
        yield unit(pair[0], pair[-1], *scales)


def unit(a: Format, b: Format, scale_a: Format, scale_b: Format) -> Unit:
    """A unit of four formats."""
    sides = {"a": {"format": scale_a, "block": [1, 2]}, "b": {"format": scale_b, "block": [2, 1]}}
    return Unit.model_validate({
        "unit": "codecs",
        "operands": {"a": a, "b": b, "addend": "none"},
        "scale": {**sides, "at": "subgroup"},
        "instruction": {"k": 2, "lanes": 2},
        "sum": {
            "method": "aligned", "fraction_bits": 4, "subgroup": {"lanes": 2, "method": "exact", "exponent": "scales"},
        },
        "result": {"format": "f32", "rounding": "rne"},
    })  # fmt: skip


def source(plan: UnitInC) -> str:
    """Functions of C on arrays, by the place of a format among the encoded ones."""
    name, cases = plan.prefix, range(len(plan.encoded))

    def switch(call: str) -> str:
        return "\n".join(f"        case {at}: {call.format(f'{name}_{plan.encoded[at].name}')}; break;" for at in cases)

    return f"""#include "{name}.h"

void encode(int which, const uint64_t *f64, uint64_t n, int rounding, int overflow, int missing, int64_t *out)
{{
    for (uint64_t i = 0; i < n; ++i)
        switch (which) {{
{switch("out[i] = {}_from_f64(f64[i], rounding, overflow, missing)")}
        }}
}}

void encode32(int which, const uint32_t *f32, uint64_t n, int rounding, int overflow, int missing, int64_t *out)
{{
    for (uint64_t i = 0; i < n; ++i)
        switch (which) {{
{switch("out[i] = {}_from_f32(f32[i], rounding, overflow, missing)")}
        }}
}}

/* Of each code its value as a binary64, and sign, exp, sig and class. */
void decode(int which, const uint32_t *code, uint64_t n, uint64_t *f64, int64_t *fields)
{{
    for (uint64_t i = 0; i < n; ++i) {{
        {name}_fields x = {{0, 0, 0, 0}};
        switch (which) {{
{switch("f64[i] = {0}_to_f64(code[i]), x = {0}_decode(code[i])")}
        }}
        fields[4 * i] = x.sign;
        fields[4 * i + 1] = x.exp;
        fields[4 * i + 2] = x.sig;
        fields[4 * i + 3] = x.cls;
    }}
}}
"""


class Codecs:
    """The codecs of one unit's header. wrong: text that stands in it once, and what stands there instead."""

    def __init__(self, unit: Unit, folder: Path, wrong: tuple[str, str] | None = None):
        plan = UnitInC(unit, "0.0.0")
        self.formats = [one.fmt for one in plan.encoded]
        header = render(HEADER, plan)
        if wrong is not None:
            assert header.count(wrong[0]) == 1, wrong
            header = header.replace(*wrong)
        (folder / f"{plan.prefix}.h").write_text(header)
        (folder / "codecs.c").write_text(source(plan))
        command = ["gcc", "-O1", *C99, "-shared", "-fPIC", "-o", "codecs.so", "codecs.c"]
        subprocess.run(command, cwd=folder, check=True)
        self._library = ctypes.CDLL(str(folder / "codecs.so"))

    def encode(self, fmt: Format, x: np.ndarray, rounding: str, overflow: str, missing: str) -> np.ndarray:
        """int64: the codes of float64s or float32s, -1 where there is none."""
        out = np.zeros(len(x), np.int64)
        function = self._library.encode if x.dtype == np.float64 else self._library.encode32
        how = (ROUNDINGS.index(rounding), OVERFLOWS.index(overflow), MISSING.index(missing))
        function(self.formats.index(fmt), _at(x), ctypes.c_uint64(len(x)), *how, _at(out))
        return out

    def decode(self, fmt: Format, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values, by their bits, and int64[codes, 4]: sign, exponent, significand and class."""
        codes = codes.astype(np.uint32)
        values, fields = np.zeros(len(codes), np.uint64), np.zeros((len(codes), 4), np.int64)
        self._library.decode(self.formats.index(fmt), _at(codes), ctypes.c_uint64(len(codes)), _at(values), _at(fields))
        return values, fields


def _at(array: np.ndarray) -> Any:
    return ctypes.c_void_p(array.ctypes.data)
