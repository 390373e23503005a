"""Deliberate faults in the RTL, each of which the suites must catch.

A fault is an edit of the source of one function of the RTL, so that it says itself what it breaks. Only the RTL is
edited; the model is never touched.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from unit_keys import odd_unit, window

from hwsim.rtl import aligned as align
from hwsim.rtl import aligned as sums
from hwsim.rtl import arithmetic as lost
from hwsim.rtl import dot_unit, normalize, terms
from hwsim.rtl import products as decode
from hwsim.rtl import products as multiply
from hwsim.spec import Unit, load_unit

HOPPER, DEEPSEEK, MXFP8 = "hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"
FLOORED = "hopper-mma-bf16-f32"
STICKY = "sticky"
DIRECTED, RANDOM, BUSY = "dot directed", "dot random", "dot random, gaps and back-pressure"
HANDSHAKE = "handshake and reset"
LANES = 4  # enough for every fault but one


def of_lanes(name: str, lanes: int) -> Unit:
    """A preset whose instruction has so many lanes, under a name of its own: captured results are not of it."""
    if name == STICKY:
        return odd_unit(f"{name}-{lanes}-lanes", "e4m3", "f32", window(13, "sticky"), "f16", lanes)
    data = load_unit(name).model_dump(mode="json", exclude_unset=True)
    own = {"unit": f"{name}-{lanes}-lanes", "instruction": data["instruction"] | {"k": lanes, "lanes": lanes}}
    return Unit.model_validate(data | own)


@dataclass(frozen=True)
class Mutant:
    """A fault.

    function: of the RTL, whose text `old`, which stands in it once, becomes `new`. spec: instead, keys of the
    specification that the RTL is built from, with other values. caught_by: suites all of which must catch it.
    lanes: of how many the RTL is, at least.
    """

    name: str
    unit: str
    caught_by: tuple[str, ...]
    function: Any = None
    old: str = ""
    new: str = ""
    spec: tuple[tuple[str, str, Any], ...] = ()
    lanes: int = LANES

    def built_from(self, unit: Unit) -> Unit:
        """The specification that the faulty RTL is built from."""
        if not self.spec:
            return unit
        data = unit.model_dump(mode="json", exclude_unset=True)
        for part, key, value in self.spec:
            data[part][key] = value
        return Unit.model_validate(data)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """The RTL is faulty inside."""
        if self.function is None:
            yield
            return
        module = sys.modules[self.function.__module__]
        source = textwrap.dedent(inspect.getsource(self.function))
        assert source.count(self.old) == 1, f"{self.name}: {self.old!r} must stand once in {self.function.__qualname__}"
        *owners, name = self.function.__qualname__.split(".")
        owner = getattr(module, owners[0]) if owners else module
        made: dict[str, Any] = {}
        exec(compile(source.replace(self.old, self.new), f"<{self.name}>", "exec"), vars(module), made)
        holders = [owner] if owners else [m for m in _rtl_modules() if getattr(m, name, None) is self.function]
        with contextlib.ExitStack() as stack:
            for holder in holders:
                stack.enter_context(mock.patch.object(holder, name, made[name]))
            yield


def _rtl_modules() -> list[Any]:
    """Every module of the RTL: a function is known by name in those that import it."""
    return [module for name, module in sys.modules.items() if name.startswith("hwsim.rtl.")]


MUTANTS = [
    Mutant("zeroed output", HOPPER, (DIRECTED, RANDOM, BUSY), dot_unit.result_code,
           "Mux(last.o.nan, unit.nan, Cat(Const(0, unit.output.padding), last.o.code))",
           "Const(0, unit.output.container_bits)"),
    Mutant("dropped lane", HOPPER, (DIRECTED, RANDOM), align.Align.compute, "ones.eq(ones)",
           "ones.eq(0 if lane == 2 else ones)"),
    Mutant("dropped addend", HOPPER, (DIRECTED, RANDOM), align.Align.compute, "ones.eq(ones)",
           "ones.eq(0 if lane == n.lanes else ones)"),
    Mutant("floor for truncate", HOPPER, (DIRECTED, RANDOM), spec=(("sum", "lost", "floor"),)),
    Mutant("rounded up for truncate", HOPPER, (DIRECTED, RANDOM), spec=(("sum", "lost", "ceil"),)),
    Mutant("one window bit less", HOPPER, (DIRECTED, RANDOM), align.Align.compute, "ones.eq(ones)",
           "ones.eq(Cat(term.sign, ones[1:]))"),
    Mutant("one window bit more", HOPPER, (DIRECTED, RANDOM), spec=(("sum", "fraction_bits", 14),)),
    Mutant("shift off by one in a lane", HOPPER, (DIRECTED, RANDOM), align.Distance.compute,
           "shifts[lane].eq(distance)", "shifts[lane].eq(Mux(distance.all(), distance, distance + int(lane == 3)))"),
    Mutant("addend takes no part in the maximum", HOPPER, (DIRECTED, RANDOM), align.Maximum.compute, "wins = counts & ",
           "wins = Const(0) & "),
    Mutant("lost bits that the rounding does not know", STICKY, (DIRECTED, RANDOM),
           spec=(("sum", "lost", "truncate"),)),
    Mutant("a lane whose lost bits the rounding does not know", STICKY, (DIRECTED,), align.Align.compute,
           "any_lost(m, name, window, shift, drop)", "any_lost(m, name, window, shift, drop) & int(lane != 2)"),
    Mutant("an addend whose lost bits the rounding does not know", STICKY, (DIRECTED,), align.Align.compute,
           "any_lost(m, name, window, shift, drop)", "any_lost(m, name, window, shift, drop) & int(lane != n.lanes)"),
    Mutant("lost bits of the other sign alone", STICKY, (DIRECTED,), align.Align.compute,
           "any_lost(m, name, window, shift, drop)", "any_lost(m, name, window, shift, drop) & term.sign"),
    Mutant("no floor", FLOORED, (DIRECTED,), spec=(("sum", "max_exp_floor", None),)),
    Mutant("floor one higher", FLOORED, (DIRECTED,), spec=(("sum", "max_exp_floor", -132),)),
    Mutant("floor one lower", FLOORED, (DIRECTED,), spec=(("sum", "max_exp_floor", -134),)),
    Mutant("floor in place of the addend", FLOORED, (DIRECTED, RANDOM), align.Maximum._addend,
           "Mux(counts & (exp > floor), exp, floor)", "floor"),
    Mutant("zero product sets the maximum", HOPPER, (DIRECTED,), multiply.LaneProduct.elaborate,
           "Mux(zero_a | zero_b, 0, exp)", "Mux(zero_a & zero_b, 0, exp)"),
    Mutant("subnormal with the exponent of zero", HOPPER, (DIRECTED, RANDOM), decode.FloatDecode.elaborate,
           "field[0] | ~above", "field[0]"),
    # of four, the bit is there for a sum of all products at their largest with such an addend
    Mutant("sum one bit narrower", HOPPER, (DIRECTED,), sums.Sum.compute, "out.eq(total)",
           "out.eq(total[: len(out) - 1].as_signed())", lanes=8),
    Mutant("rounded for truncated result", HOPPER, (DIRECTED, RANDOM), normalize.last_place, "return last, Const(0)",
           "return last, guard"),
    Mutant("sign of zero", MXFP8, (DIRECTED,), normalize.Magnitude.compute, "sign = negative\n",
           "sign = negative | ~total.any()\n"),
    Mutant("NaN lost in one lane", HOPPER, (DIRECTED,), terms.Multiply.compute,
           "special[flag] for special in every", "special[flag] for special in every[:-1]"),
    Mutant("scale ignored", MXFP8, (DIRECTED, RANDOM), decode.scale_exponents, "eq(a + b)", "eq(a + 127)"),
    Mutant("NaN scale ignored", MXFP8, (DIRECTED,), decode.scale_exponents, "nan |= decode.nan",
           "nan |= decode.nan & 0"),
    Mutant("overflow goes on", MXFP8, (DIRECTED,), normalize.Round.compute,
           "overflow.eq(magnitude > fmt.max_magnitude)", "overflow.eq(0)"),
    Mutant("promotion one beat late", DEEPSEEK, (DIRECTED, RANDOM), spec=(("promotion", "interval", 160),)),
    Mutant("promotion one beat early", DEEPSEEK, (DIRECTED, RANDOM), spec=(("promotion", "interval", 96),)),
    Mutant("tie rounded down in the promotion", DEEPSEEK, (DIRECTED,), normalize.last_place, "guard & (sticky | last)",
           "guard & sticky"),
    Mutant("sticky bit lost in the promotion", DEEPSEEK, (DIRECTED,), lost.shifted,
           "complement(kept | guard | sticky, sign), sign", "complement(kept | guard, sign), sign"),
    Mutant("context mixed up at the output", HOPPER, (DIRECTED, RANDOM), dot_unit.DotUnit._flight,
           "self.o.payload.context.eq(beat.context)", "self.o.payload.context.eq(beat.context & ~1)"),
    Mutant("partial sum of another context", HOPPER, (RANDOM, BUSY), dot_unit.carry, "carried.of(context)",
           "carried.of(context ^ 1)"),
    Mutant("beat does not wait for its context", HOPPER, (HANDSHAKE, BUSY), dot_unit.DotUnit._ready,
           "advance & (payload.first | ~waits)", "advance"),
    Mutant("first beat waits for its context", HOPPER, (HANDSHAKE,), dot_unit.DotUnit._ready, "payload.first | ~waits",
           "~waits"),
    Mutant("result not held under back-pressure", HOPPER, (BUSY, HANDSHAKE), dot_unit.DotUnit._operands,
           "path.enable.eq(advance)", "path.enable.eq(1)"),
    Mutant("reset leaves a valid bit", HOPPER, (HANDSHAKE,), dot_unit.DotUnit._flight, 'Signal(name=f"valid{stage}")',
           'Signal(name=f"valid{stage}", reset_less=stage == 2)'),
    Mutant("reset leaves a sum open", HOPPER, (HANDSHAKE,), dot_unit.DotUnit._misuse, "Signal(self.pipeline.contexts)",
           "Signal(self.pipeline.contexts, reset_less=True)"),
    Mutant("misuse not flagged", HOPPER, (HANDSHAKE,), dot_unit.DotUnit._misuse, "self.misuse.eq(1)",
           "self.misuse.eq(0)"),
]  # fmt: skip
