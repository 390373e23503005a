"""Faults in the RTL's selector, and the plays that catch them."""

from __future__ import annotations

from cosim.mutants import Mutant

from hwsim.rtl import dot_unit, selector

ANY, SELECTIONS, BEYOND = "random cases", "selections", "an index beyond"
GROUPS, GROUP = selector.FactorSelect.elaborate, selector.GroupSelect.elaborate
LATCHED = """(
    kept := self._per_context("kept_metadata", 2),
    kept.store(m, self.i.valid & self.i.ready & self.i.payload.first, self.i.payload.context,
               self.beats.payload[field][number]),
    signal.eq(self.beats.payload[field][number] if field == "b" else Mux(
        self.i.payload.first, self.beats.payload[field][number], kept.of(self.i.payload.context))),
)[2]"""
# Of 2:4, but for the last of all.
MUTANTS = [
    Mutant("the first factors are taken", "", (ANY, SELECTIONS), GROUPS, "to.eq(index)", "to.eq(0)"),
    Mutant("the bits of an index are swapped", "", (ANY, SELECTIONS), GROUPS, "to.eq(index)", "to.eq(index[::-1])"),
    Mutant("the low bit of an index is dropped", "", (ANY, SELECTIONS), GROUPS, "to.eq(index)", "to.eq(index & 2)"),
    Mutant("the indices of a group are swapped", "", (ANY, SELECTIONS), GROUPS,
           "zip(one.i.places, ", "zip(one.i.places[::-1], "),
    Mutant("the factors of a group are swapped", "", (ANY, SELECTIONS), GROUPS,
           "zip(self.o.b[kept], ", "zip(self.o.b[kept][::-1], "),
    Mutant("lanes are off by one", "", (ANY, SELECTIONS), GROUPS,
           "zip(self.o.b[kept], ", "zip([*self.o.b[1:], self.o.b[0]][kept], "),
    Mutant("a group has another's factors", "", (ANY, SELECTIONS), GROUPS,
           "zip(one.i.codes, self.i.b[whole], ",
           "zip(one.i.codes, self.i.b[:rule.whole] if group == 1 else self.i.b[whole], "),
    Mutant("a group has another's metadata", "", (ANY, SELECTIONS), GROUPS,
           "zip(one.i.places, self.i.metadata[keep], ", "zip(one.i.places, self.i.metadata[-rule.keep:], "),
    Mutant("factors count from the other end", "", (ANY, SELECTIONS), GROUP,
           "[number :: self.rule.run]", "[number :: self.rule.run][::-1]"),
    Mutant("indices are or-ed with the first", "", (ANY, SELECTIONS), GROUP,
           "self.i.places[index])", "self.i.places[index] | (self.i.places[0] if index else 0))"),
    Mutant("an index that is there twice is taken for the next", "", (SELECTIONS,), GROUP,
           "self.i.places[index])", "self.i.places[index] + (self.i.places[0] == self.i.places[1] if index else 0))"),
    Mutant("the metadata of the first beat hold", "", (ANY,), dot_unit.DotUnit._selected,
           "signal.eq(self.beats.payload[field][number])", LATCHED),
]  # fmt: skip
OF_PAIRS = Mutant("a pair is its first factor twice", "", (ANY, SELECTIONS), GROUP, "[number ::", "[0 ::")
OF_THREE = Mutant("any index will do", "", (BEYOND,), dot_unit.DotUnit._misuse, "index < of", "1")
