"""Many converters of one source beside one another: one build, and one run, for every rounding of every target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from hwsim.cosim.bench import stream_ports
from hwsim.cosim.streamcases import converted
from hwsim.cosim.streams import StreamSuite, of_verilog, packed, play
from hwsim.formats import get_format
from hwsim.formats.reference import overflows
from hwsim.formats.rounding import Rounding
from hwsim.rtl import Converter
from hwsim.rtl.verilog import convert
from hwsim.spec.conversion import Conversion

CUTS = ("round",)


class SideBySide(wiring.Component):
    """Converters of one source, all with the same code, and the low bits of the same word."""

    def __init__(self, conversions: Sequence[Conversion]):
        self.conversions = conversions
        source, bits = conversions[0].source, max(one.random_bits for one in conversions)
        word = {"word": unsigned(bits)} if bits else {}
        results = {f"r{at}": unsigned(one.target.container_bits) for at, one in enumerate(conversions)}
        super().__init__(
            {
                "i": In(stream.Signature(StructLayout({"code": unsigned(source.container_bits), **word}))),
                "o": Out(stream.Signature(StructLayout(results))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for at, conversion in enumerate(self.conversions):
            m.submodules[f"c{at}"] = one = Converter(conversion, CUTS)
            m.d.comb += [
                one.i.payload.code.eq(self.i.payload.code),
                one.i.valid.eq(self.i.valid),
                one.o.ready.eq(self.o.ready),
                self.o.payload[f"r{at}"].eq(Cat(one.o.payload)),
            ]
            if conversion.random_bits:
                m.d.comb += one.i.payload.word.eq(self.i.payload.word)
            if at == 0:
                m.d.comb += [self.i.ready.eq(one.i.ready), self.o.valid.eq(one.o.valid)]
        return m


def settings(source: str, target: str) -> list[Conversion]:
    """Every rounding of a target, and every overflow and every substitute of what is missing under some of them."""
    fmt = get_format(target)
    substitutes = [*["nan"] * fmt.has_nan, *["zero"] * fmt.has_zero, "saturate"]
    found = []
    for overflow in overflows(fmt):
        for at, rounding in enumerate(Rounding):
            missing: Any = substitutes[at % len(substitutes)]
            found.append(
                Conversion(source=source, target=target, rounding=rounding, overflow=overflow.value, missing=missing)  # type: ignore[arg-type]
            )
    return found


def wrong(
    conversions: Sequence[Conversion], codes: NDArray[np.int64], words: NDArray[np.int64] | None = None
) -> list[str]:
    """The conversions that differ from the codecs, with their first wrong code, its result and the right one."""
    component = SideBySide(conversions)
    ports = stream_ports("side_by_side", component)  # type: ignore[arg-type]
    design = of_verilog("side by side", convert(component, "side_by_side"), ports, 1)
    bits = max(one.random_bits for one in conversions)
    drawn = [] if words is None else [(bits, words)]
    each = [
        converted(one, codes, words & (1 << one.random_bits) - 1 if words is not None and one.random_bits else None)
        for one in conversions
    ]
    payloads = packed((conversions[0].source.container_bits, codes), *drawn)
    results = packed(*((one.target.container_bits, found) for one, found in zip(conversions, each, strict=True)))
    (played,) = play(design, [StreamSuite("codes", payloads, results)], "verilator", 1)
    outcome = played.outcome
    assert outcome.results == len(codes)
    assert all(mismatch.kind == "result" for mismatch in outcome.mismatches)
    said: dict[str, str] = {}
    for mismatch in outcome.mismatches:
        offset = 0
        for one in conversions:
            mask = (1 << one.target.container_bits) - 1
            got, want = mismatch.got >> offset & mask, mismatch.expected >> offset & mask
            if got != want:
                said.setdefault(one.name, f"{one.name}: {int(codes[mismatch.index]):#x} gives {got:#x}, not {want:#x}")
            offset += one.target.container_bits
    assert outcome.count == 0 or said
    return list(said.values())
