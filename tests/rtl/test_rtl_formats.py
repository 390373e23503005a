"""Decoders and multipliers on their own, every code and every pair, in Amaranth's simulator.

The table of a format holds all its codes up to 16 bits. What no table holds: tf32, e8m13, f32 and i32, whose decoders
are held against the boundary codes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats.formats_witness import ALL_P3109
from in_amaranth import played

from hwsim.cosim.tables import bench_formats, codec_table, expected_decode, product_table
from hwsim.formats import formats, get_format
from hwsim.formats.tables import boundary_codes
from hwsim.rtl import FormatBench, decode_fields, port_names, product_fields
from hwsim.spec import load_unit, presets
from hwsim.tb.job import CodeTable

# Formats that no preset has: IEEE specials, none, no subnormals, no fraction.
OWN = {
    "ieee": "kind: float\nexponent_bits: 3\nfraction_bits: 4\nbias: 3\n",
    "finite": "kind: float\nexponent_bits: 3\nfraction_bits: 2\nbias: 3\ninfinities: false\nnan: []\n",
    "powers": "kind: float\nexponent_bits: 4\nfraction_bits: 0\nbias: 7\ninfinities: false\nnan: []\n",
}


def answers(bench: FormatBench, table: CodeTable) -> np.ndarray:
    """What the ports say of every row: int64[ports, rows]."""
    said = played(bench, {"a": table.a.tolist(), "b": table.b.tolist()}, table.ports.tolist())
    return np.array(said, np.int64).T


def differences(formats: Any, pairs: Any, table: CodeTable) -> int:
    return int(np.count_nonzero((answers(FormatBench(formats, pairs), table) ^ table.expected) & table.mask))


def own(tmp_path: Path) -> list[Any]:
    loaded = []
    for name, text in OWN.items():
        (tmp_path / f"{name}.yaml").write_text(text)
        loaded.append(get_format(str(tmp_path / f"{name}.yaml")))
    return loaded


NARROW = [fmt for fmt in formats().values() if fmt.container_bits <= 8]
MIDDLE = ["f16", "bf16", "e5m6", "dlfloat16"]
WIDE = ["tf32", "e8m13", "f32", "i32"]
P3109 = list(ALL_P3109.values())


def test_every_format_has_its_test() -> None:
    narrow = {fmt.name for fmt in NARROW}
    assert len(narrow) == 21
    # What a decoder says of f64 is longer than a table's integers: tests/cosim/test_cosim_rationals.py.
    assert narrow | {*MIDDLE, *WIDE, "f64"} == set(formats())


def test_every_code_of_every_format(tmp_path: Path) -> None:
    each = [*NARROW, *own(tmp_path)]
    table = codec_table(each)
    assert len(table.a) == 256
    assert differences(each, [], table) == 0


def test_every_code_of_p3109() -> None:
    # 3 to 8 bits, signed and unsigned, with and without infinities: 27 signed and 33 unsigned splits, twice.
    assert len(P3109) == 2 * (27 + 33)
    assert differences(P3109, [], codec_table(P3109)) == 0


@pytest.mark.slow
def test_every_code_of_16_bits() -> None:
    each = [get_format(name) for name in MIDDLE]
    table = codec_table(each)
    assert len(table.a) == 65_536
    assert differences(each, [], table) == 0


@pytest.mark.parametrize("name", WIDE)
def test_the_boundary_codes_of_32_bits(name: str) -> None:
    fmt = get_format(name)
    codes = np.array(boundary_codes(fmt))
    ports, _ = port_names([fmt], ())
    none = np.zeros((1, len(codes)), np.int64)
    (said,) = answers(FormatBench([fmt], []), CodeTable(np.array(ports), codes, none[0], none, none))
    assert len(codes) > (100 if name == "i32" else 1_000)
    for code, word in zip(codes.tolist(), said.tolist(), strict=True):
        got = {}
        for field, bits in decode_fields(fmt):
            got[field], word = word & ((1 << bits) - 1), word >> bits
        expected = expected_decode(fmt, code)
        assert {field: got[field] for field in expected} == expected, hex(code)


# A factor has a sign: what else the catalogue has is refused, by name.
REFUSED = {
    "ue4m3": "unsigned factors is not implemented yet",
    "e8m0": "must be a float or fixed format or a table, not a power of two",
    "ue8m0": "must be a float or fixed format or a table, not a power of two",
    "binary8p4ue": "unsigned factors is not implemented yet",
}


@pytest.mark.parametrize("name", REFUSED)
def test_factors_that_are_refused(name: str) -> None:
    fmt: Any = get_format(name)
    with pytest.raises(ValueError, match=REFUSED[name]):
        list(product_fields(fmt, fmt))


def test_every_other_format_is_a_factor() -> None:
    def refused(fmt: Any) -> bool:
        try:
            return not list(product_fields(fmt, fmt))
        except ValueError:
            return True

    assert {name for name, fmt in formats().items() if refused(fmt)} == set(REFUSED) - {"binary8p4ue"}
    assert [fmt.name for fmt in P3109 if refused(fmt)] == [fmt.name for fmt in P3109 if not fmt.signed]


FIXED = [("int8", "mxint8"), ("mxint8", "mxint8"), ("int8", "e4m3"), ("uint8", "int8"), ("uint8", "uint8")]


@pytest.mark.slow
@pytest.mark.parametrize("pair", FIXED)
def test_every_pair_with_integers(pair: tuple[str, str]) -> None:
    factors: Any = tuple(get_format(name) for name in pair)
    table = product_table([factors])
    assert len(table.a) == 65_536
    assert differences(factors, [factors], table) == 0


SMALL = [
    ("e3m2", "e2m3"),
    ("e2m1", "e2m1"),
    ("binary6p3se", "binary4p2sf"),
    ("binary5p1se", "binary6p5se"),
    ("e2m3", "e3m2"),
    ("e2m1", "e3m2"),
]
# NaN at negative zero, no subnormals, infinities beside a list of NaNs: one pair at least of each.
BYTES = [
    ("e4m3fnuz", "e5m2fnuz"),
    ("e4m3b11fnuz", "e3m4"),
    ("hfp8-e4m3", "hfp8-e5m2"),
    ("e4m3-ieee", "e3m4-finite"),
    ("binary8p3se", "binary8p4sf"),
]


@pytest.mark.parametrize("pair", [*SMALL[:3], *(pytest.param(pair, marks=pytest.mark.slow) for pair in SMALL[3:])])
def test_every_pair_of_small_formats(pair: tuple[str, str]) -> None:
    factors: Any = tuple(get_format(name) for name in pair)
    table = product_table([factors])
    side = 1 << max(fmt.container_bits for fmt in factors)
    assert len(table.a) == side * side
    assert differences(factors, [factors], table) == 0


@pytest.mark.slow
def test_every_pair_of_bytes() -> None:
    pairs: list[Any] = [tuple(get_format(name) for name in pair) for pair in BYTES]
    table = product_table(pairs)
    assert len(table.a) == 65_536
    assert differences(pairs[0], pairs, table) == 0


def test_every_pair_of_a_users_formats(tmp_path: Path) -> None:
    _, finite, powers = own(tmp_path)
    pairs = [(finite, powers), (powers, powers), (finite, finite)]
    assert differences([finite, powers], pairs, product_table(pairs)) == 0


def test_a_wrong_table_is_caught() -> None:
    fmt = get_format("e3m2")
    table = codec_table([fmt])
    table.expected[0, 17] ^= 1 << 3
    assert differences([fmt], [], table) == 1


def test_every_answer_of_a_number_counts() -> None:
    # e3m2: 64 finite codes, each with all its fields; e8m0: 255 exponents and one NaN.
    table = codec_table([get_format("e3m2"), get_format("e8m0")])
    assert table.mask[0, :64].tolist() == [(1 << 9) - 1] * 64
    assert not table.mask[0, 64:].any()
    assert table.mask[1].tolist() == [0x1FF] * 255 + [0x100]
    assert np.count_nonzero(table.mask) == 64 + 256


def test_fields_and_ports_as_documented() -> None:
    e4m3, e5m2, e8m0 = (get_format(name) for name in ("e4m3", "e5m2", "e8m0"))
    assert list(decode_fields(e4m3)) == [("sign", 1), ("bexp", 4), ("sig", 4), ("nan", 1), ("inf", 1)]
    assert list(decode_fields(e8m0)) == [("bexp", 8), ("nan", 1)]
    assert [name for name, _ in product_fields(e4m3, e5m2)] == ["sign", "exp", "sig", "nan", "positive", "negative"]
    assert dict(product_fields(e4m3, e5m2))["sig"] == 4 + 3
    assert port_names([e4m3, e8m0], [(e4m3, e5m2)]) == (["decode0_e4m3", "decode1_e8m0"], ["product0_e4m3_e5m2"])


def test_the_tables_hold_what_units_bring() -> None:
    units = [load_unit(name) for name in presets()]
    each, pairs = bench_formats(units)
    # All of a byte, and what presets multiply, each pair both ways round; tf32 has too many codes.
    own_formats = {"int16", "e4m3-all-finite", "e5m2-all-finite"}  # of presets that write them out
    assert {fmt.name for fmt in each} == {fmt.name for fmt in NARROW} | {"f16", "bf16"} | own_formats
    factors = {tuple(sorted(fmt.name for fmt in (unit.operands.a, unit.operands.b))) for unit in units}
    wide = {fmt.name for fmt in each if fmt.container_bits > 8}
    narrow = {pair for pair in factors if set(pair) <= {fmt.name for fmt in each} - wide}
    assert {tuple(sorted(fmt.name for fmt in pair)) for pair in pairs} == narrow
    assert len(pairs) == len({(a.name, b.name) for a, b in pairs}) > len(narrow)
    alone, usual = bench_formats([])
    assert alone == NARROW
    assert len(usual) == 6
