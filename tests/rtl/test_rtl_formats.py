"""Decoders and multipliers on their own, every code and every pair, in Amaranth's simulator."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from hwsim.cosim.tables import Table, bench_formats, codec_table, product_table
from hwsim.formats import get_format
from hwsim.rtl import FormatBench, decode_fields, port_names, product_fields
from hwsim.spec import load_unit, presets

# Formats that no preset has: IEEE specials, none, no subnormals, no fraction.
OWN = {
    "ieee": "kind: float\nexponent_bits: 3\nfraction_bits: 4\nbias: 3\n",
    "finite": "kind: float\nexponent_bits: 3\nfraction_bits: 2\nbias: 3\ninfinities: false\nnan: []\n",
    "powers": "kind: float\nexponent_bits: 4\nfraction_bits: 0\nbias: 7\ninfinities: false\nnan: []\n",
}


def answers(bench: FormatBench, table: Table) -> np.ndarray:
    """What the ports say of every row: int64[ports, rows]."""
    said: list[list[int]] = []

    async def play(ctx: Any) -> None:
        for a, b in zip(table.a.tolist(), table.b.tolist(), strict=True):
            ctx.set(bench.a, a)
            ctx.set(bench.b, b)
            await ctx.delay(1e-9)
            said.append([ctx.get(getattr(bench, port)) for port in table.ports])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator = Simulator(bench)
        simulator.add_testbench(play)
        simulator.run()
    return np.array(said, np.int64).T


def differences(formats: Any, pairs: Any, table: Table) -> int:
    return int(np.count_nonzero((answers(FormatBench(formats, pairs), table) ^ table.expected) & table.mask))


def own(tmp_path: Path) -> list[Any]:
    loaded = []
    for name, text in OWN.items():
        (tmp_path / f"{name}.yaml").write_text(text)
        loaded.append(get_format(str(tmp_path / f"{name}.yaml")))
    return loaded


def test_every_code_of_every_format(tmp_path: Path) -> None:
    formats = [*(get_format(name) for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "e8m0")), *own(tmp_path)]
    table = codec_table(formats)
    assert len(table.a) == 256
    assert differences(formats, [], table) == 0


@pytest.mark.parametrize("pair", [("e3m2", "e2m3"), ("e2m1", "e2m1"), ("e2m3", "e3m2")])
def test_every_pair_of_small_formats(pair: tuple[str, str]) -> None:
    formats = [get_format(name) for name in pair]
    table = product_table([(formats[0], formats[1])])
    side = 1 << max(fmt.container_bits for fmt in formats)
    assert len(table.a) == side * side
    assert differences(formats, [tuple(formats)], table) == 0


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
    assert table.planned == 64 + 256


def test_fields_and_ports_as_documented() -> None:
    e4m3, e5m2, e8m0 = (get_format(name) for name in ("e4m3", "e5m2", "e8m0"))
    assert list(decode_fields(e4m3)) == [("sign", 1), ("bexp", 4), ("sig", 4), ("nan", 1), ("inf", 1)]
    assert list(decode_fields(e8m0)) == [("bexp", 8), ("nan", 1)]
    assert [name for name, _ in product_fields(e4m3, e5m2)] == ["sign", "exp", "sig", "nan", "positive", "negative"]
    assert dict(product_fields(e4m3, e5m2))["sig"] == 4 + 3
    assert port_names([e4m3, e8m0], [(e4m3, e5m2)]) == (["decode0_e4m3", "decode1_e8m0"], ["product0_e4m3_e5m2"])


def test_the_tables_hold_what_units_bring() -> None:
    units = [load_unit(name) for name in presets()]
    formats, pairs = bench_formats(units)
    # tf32 has too many codes; e5m2 x e4m3 comes from a preset alone.
    usual = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "e8m0", "f16", "bf16"}
    assert {fmt.name for fmt in formats} == usual | {"e4m3fnuz", "e5m2fnuz", "hfp8-e4m3", "hfp8-e5m2"}
    assert len(pairs) == 14
