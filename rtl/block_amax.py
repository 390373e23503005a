"""The largest magnitude of a block, and whether a NaN or an infinity makes its scale a NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.formats import FloatFormat
from hwsim.quantize.block import BlockQuantization
from hwsim.quantize.rule import Rule, Special
from hwsim.spec.conversion import Conversion

from .align import tree_maximum
from .decode import FloatDecode
from .single import F32, Recode
from .step import Stage

SINGLE = 31  # bits of a magnitude in binary32


def amax_steps(lanes: int) -> tuple[str, ...]:
    """The names of the steps: of each level of the tree of comparisons, and the last, `amax`."""
    levels = max(1, (lanes - 1).bit_length())
    return ("special", *(f"amax.{level}" for level in range(1, levels)), "amax")


def flushes(rule: Rule, source: FloatFormat) -> bool:
    """Whether the rule makes a source's subnormals zeros: where they are binary32's."""
    return rule.flush and source.subnormals and source.emin == F32.emin


def amax_stages(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """From the numbers, `x`, to `amax`, 31 bits of binary32, and `dead`, whether the scale is NaN."""
    source, rule = q.float_source, q.rule
    bits = source.exponent_bits + source.fraction_bits

    def special(m: Module, i: Any, o: Any) -> None:
        nan, inf = [], []
        for lane in range(q.lanes):
            decode = FloatDecode(source)
            m.submodules[f"lane{lane}"] = decode
            code = i.x[lane]
            m.d.comb += decode.code.eq(code)
            magnitude = code[source.padding : source.padding + bits]
            if flushes(rule, source):
                magnitude = Mux(magnitude[source.fraction_bits :].any(), magnitude, 0)
            # What is left out of amax: it counts elsewhere, or not at all.
            left_out = decode.o.nan if rule.infinity is Special.AMAX else decode.o.nan | decode.o.inf
            m.d.comb += o.maxima[lane].eq(Mux(left_out, 0, magnitude))
            nan.append(decode.o.nan)
            inf.append(decode.o.inf)
        dead = Cat(*(nan if rule.nan is Special.BLOCK else []), *(inf if rule.infinity is Special.BLOCK else []))
        m.d.comb += o.dead.eq(dead.any() if len(dead) else Const(0))

    stage = Stage("special", i, {"maxima": ArrayLayout(unsigned(bits), q.lanes), "dead": 1}, special)
    yield stage
    left = q.lanes
    names = amax_steps(q.lanes)[1:]
    for name in names[:-1]:
        left = -(-left // 2)

        def level(m: Module, i: Any, o: Any) -> None:
            for at, one in enumerate(tree_maximum(m, list(i.maxima), 1)):
                m.d.comb += o.maxima[at].eq(one)

        stage = Stage(name, stage.gives, {"maxima": ArrayLayout(unsigned(bits), left)}, level)
        yield stage

    def last(m: Module, i: Any, o: Any) -> None:
        (most,) = tree_maximum(m, list(i.maxima), 1)
        m.submodules.recode = recode = Recode(Conversion(source=source, target=F32, overflow="infinity"))
        m.d.comb += recode.code.eq(Cat(Const(0, source.padding), most))
        m.d.comb += o.amax.eq(recode.result[:SINGLE])

    yield Stage(names[-1], stage.gives, {"amax": unsigned(SINGLE)}, last, drops=("maxima",))
