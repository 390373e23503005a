"""The selector in front of a sparse unit's lanes: indices choose, of b's factors, those that a's are multiplied by."""

from __future__ import annotations

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out

from hwsim.rtl.arithmetic import select
from hwsim.rtl.step import bundle
from hwsim.spec import SparseUnit


def selection_layout(unit: SparseUnit) -> StructLayout:
    """What a beat brings in the place of b: all of b's factors, and the indices of those that are kept."""
    rule, lanes, code = unit.sparsity, unit.dense.instruction.lanes, _code(unit)
    metadata = ArrayLayout(unsigned(rule.index_bits), lanes // rule.run)
    return StructLayout({"b": ArrayLayout(code, rule.whole_of(lanes)), "metadata": metadata})


def _code(unit: SparseUnit) -> unsigned:
    return unsigned(unit.dense.operands.b.container_bits)


class GroupSelect(wiring.Component):
    """Of the runs of b's factors that stand together along K, those that the indices name; the last for one beyond."""

    def __init__(self, unit: SparseUnit):
        self.rule = rule = unit.sparsity
        # In the Verilog of what is around it, names that come first in the alphabet hold for signals of two names.
        places = ArrayLayout(unsigned(rule.index_bits), rule.keep)
        taken = StructLayout({"codes": ArrayLayout(_code(unit), rule.whole), "places": places})
        chosen = StructLayout({"chosen": ArrayLayout(_code(unit), rule.kept)})
        super().__init__({"i": Out(bundle(taken, In)), "o": Out(bundle(chosen))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for lane, chosen in enumerate(self.o.chosen):
            index, number = divmod(lane, self.rule.run)
            m.d.comb += chosen.eq(select(self.i.codes[number :: self.rule.run], self.i.places[index]))
        return m


class FactorSelect(wiring.Component):
    """For each lane the factor of b that its metadata name: codes are moved, and nothing else is done to them."""

    def __init__(self, unit: SparseUnit):
        self.unit = unit
        chosen = StructLayout({"b": ArrayLayout(_code(unit), unit.dense.instruction.lanes)})
        super().__init__({"i": Out(bundle(selection_layout(unit), In)), "o": Out(bundle(chosen))})

    @property
    def purpose(self) -> str:
        rule = self.unit.sparsity
        whole = f"{rule.of} neighbours" if rule.run == 1 else f"{rule.of} runs of {rule.run} neighbours"
        return f"Of every {whole} of b along K, the {rule.keep} that the metadata name, in their order, for the lanes."

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rule = self.unit.sparsity
        for group in range(len(self.o.b) // rule.kept):
            m.submodules[f"group{group}"] = one = GroupSelect(self.unit)
            whole, kept, keep = (slice(group * n, (group + 1) * n) for n in (rule.whole, rule.kept, rule.keep))
            m.d.comb += [to.eq(code) for to, code in zip(one.i.codes, self.i.b[whole], strict=True)]
            m.d.comb += [to.eq(index) for to, index in zip(one.i.places, self.i.metadata[keep], strict=True)]
            m.d.comb += [to.eq(code) for to, code in zip(self.o.b[kept], one.o.chosen, strict=True)]
        return m
