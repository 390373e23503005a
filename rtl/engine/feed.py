"""Streams of operands to a tile's beats: two banks a stream, of which one fills while the other is read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.rtl.arithmetic import select
from hwsim.spec.engine import Engine, StreamSizes


class Bank(wiring.Component):
    """Two banks of a stream's words: one is read, slice by slice, while the other fills.

    tready depends on registers alone. valid: a whole step stands here; last: it is its frame's last. early: a word
    ends its frame in the middle of a step. holds, where it is told: words are here.
    """

    def __init__(self, shape: StreamSizes, name: str, tells: bool = False):
        self.shape, self.name, self.tells = shape, name, tells
        super().__init__(
            {
                "tdata": In(shape.width), "tvalid": In(1), "tready": Out(1), "tlast": In(1),
                "slot": In(range(max(2, shape.slices))), "release": In(1),
                "valid": Out(1), "last": Out(1), "slice": Out(shape.size), "early": Out(1),
                **({"holds": Out(1)} if tells else {}),
            }
        )  # fmt: skip

    @property
    def purpose(self) -> str:
        words = f"{self.shape.words} word{'s' * (self.shape.words > 1)}"
        return f"Two banks of a step of {self.name}, {words} each: one is read, slice by slice, while the other fills."

    def elaborate(self, platform: object) -> Module:
        m, shape = Module(), self.shape
        words = [[Signal(shape.width, name=f"bank{bank}_{word}", reset_less=True) for word in range(shape.words)]
                 for bank in range(2)]  # fmt: skip
        full = Signal(2, name="full")
        ends = Signal(2, reset_less=True, name="ends")
        into = Signal(name="into")
        of = Signal(name="of")
        at = Signal(range(max(2, shape.words)), name="at")
        accepts = Signal(name="accepts")
        completes = Signal(name="completes")
        m.d.comb += [
            self.tready.eq(~Mux(into, full[1], full[0])),
            accepts.eq(self.tvalid & self.tready),
            completes.eq(accepts & (at == shape.words - 1)),
            self.early.eq(accepts & self.tlast & ~completes),
            self.valid.eq(Mux(of, full[1], full[0])),
            self.last.eq(Mux(of, ends[1], ends[0])),
        ]
        if self.tells:
            m.d.comb += self.holds.eq(full.any() | (at != 0))
        with m.If(accepts):
            m.d.sync += at.eq(Mux(completes, 0, at + 1))
            for bank in range(2):
                with m.If(into == bank), m.Switch(at):
                    for word, register in enumerate(words[bank]):
                        with m.Case(word):
                            m.d.sync += register.eq(self.tdata)
        for port, which, values in ((completes, into, (1, self.tlast)), (self.release, of, (0, None))):
            for bank in range(2):
                with m.If(port & (which == bank)):
                    m.d.sync += full[bank].eq(values[0])
                    if values[1] is not None:
                        m.d.sync += ends[bank].eq(values[1])
        m.d.sync += [into.eq(into ^ completes), of.eq(of ^ self.release)]
        read = Signal(shape.words * shape.width)
        m.d.comb += read.eq(Mux(of, Cat(words[1]), Cat(words[0])))
        slices = [read[slot * shape.size : (slot + 1) * shape.size] for slot in range(shape.slices)]
        m.d.comb += self.slice.eq(select(slices, self.slot))
        return m


class Feed(wiring.Component):
    """Every pair of slices of A and B once in each step, the slices of B in turn first; a context for each pair.

    A frame ends a sum; those of A and of B, and of scales with streams of their own, are as long as each other. Addends
    come a frame for all contexts of a sum.
    error: set, until reset or `clear`, bit 0 by a step that ends one of these frames and not another, after which the
    sum ends; bit 1 by a frame that ends in the middle of a step, and by addends whose frame does not end with them.
    busy: a word is here, or a sum goes on.
    """

    def __init__(self, engine: Engine, mode_bits: int):
        self.streams: Mapping[str, StreamSizes] = engine.sizes()
        self.mode_bits = mode_bits
        ports: dict[str, Any] = {}
        for name, stream in self.streams.items():
            ports |= {f"{name}_tdata": In(stream.width), f"{name}_tvalid": In(1), f"{name}_tready": Out(1),
                      f"{name}_tlast": In(1)}  # fmt: skip
        ports |= {"valid": Out(1), "ready": In(1), "first": Out(1), "last": Out(1),
                  "of_context": Out(unsigned(engine.pipeline.context_bits))}  # fmt: skip
        ports |= {name: Out(stream.size) for name, stream in self.streams.items()}
        if mode_bits:
            ports |= {"mode_in": In(mode_bits), "mode": Out(mode_bits)}
        self.controlled = engine.control is not None
        if self.controlled:
            ports |= {"clear": In(2), "busy": Out(1)}
        super().__init__(ports | {"error": Out(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = {name: Bank(stream, name.upper(), self.controlled) for name, stream in self.streams.items()}
        for name, bank in banks.items():
            m.submodules[f"bank_{name}"] = bank
            for port in ("tdata", "tvalid", "tlast"):
                m.d.comb += getattr(bank, port).eq(getattr(self, f"{name}_{port}"))
            m.d.comb += [getattr(self, f"{name}_tready").eq(bank.tready), getattr(self, name).eq(bank.slice)]
        steps = [bank for name, bank in banks.items() if name != "c"]
        rows, columns = self.streams["a"].slices, self.streams["b"].slices
        row = Signal(range(max(2, rows)), name="row")
        column = Signal(range(max(2, columns)), name="column")
        first = Signal(init=0, name="continues")  # not the first step of a sum
        goes = Signal(name="goes")
        ends = Signal(name="ends")
        last = Signal(name="last_step")
        lengths, frames = Signal(name="lengths"), Signal(name="frames")
        before: Value = self.error & ~self.clear if self.controlled else self.error
        m.d.sync += self.error.eq(before | Cat(lengths, frames))
        if self.controlled:
            m.d.comb += self.busy.eq(first | Cat(bank.holds for bank in banks.values()).any())
        m.d.comb += [
            self.valid.eq(reduce(and_, (bank.valid for bank in steps))), goes.eq(self.valid & self.ready),
            ends.eq((row == rows - 1) & (column == columns - 1)), last.eq(reduce(or_, (bank.last for bank in steps))),
            *(bank.slot.eq(column if name.endswith("b") else row) for name, bank in banks.items() if name != "c"),
            *(bank.release.eq(goes & ends) for bank in steps),
            self.first.eq(~first), self.last.eq(last), self.of_context.eq(row * columns + column),
            lengths.eq(goes & ends & reduce(or_, (steps[0].last != bank.last for bank in steps[1:]))),
            frames.eq(reduce(or_, (bank.early for bank in steps))),
        ]  # fmt: skip
        if "c" in banks:
            c = banks["c"]
            m.d.comb += [
                self.valid.eq(reduce(and_, (bank.valid for bank in steps)) & (first | c.valid)),
                c.slot.eq(self.of_context), c.release.eq(goes & ends & ~first),
                frames.eq(reduce(or_, (bank.early for bank in steps)) | c.early | (c.release & ~c.last)),
            ]  # fmt: skip
        if self.mode_bits:
            kept = Signal(self.mode_bits, name="kept_mode")
            begins = Signal(name="begins")
            m.d.comb += [begins.eq(~first & (row == 0) & (column == 0)), self.mode.eq(Mux(begins, self.mode_in, kept))]
            m.d.sync += kept.eq(self.mode)
        with m.If(goes):
            m.d.sync += column.eq(Mux(column == columns - 1, 0, column + 1))
            with m.If(column == columns - 1):
                m.d.sync += row.eq(Mux(row == rows - 1, 0, row + 1))
            with m.If(ends):
                m.d.sync += first.eq(~last)
        return m
