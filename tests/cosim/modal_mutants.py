"""Faults in the RTL of units of several modes, and the plays that catch them."""

from __future__ import annotations

from cosim.mutants import Mutant

from hwsim.rtl import dot_unit
from hwsim.rtl import products as decode

OWN, MIXED, STRANGE = "of one mode", "of mixed modes", "a strange mode"
LATCHED = """getattr(path.i, field).eq(payload[field] if field == "c" else (
    kept := self._per_context("kept_mode", len(payload[field])),
    kept.store(m, self.i.valid & self.i.ready & payload.first, payload.context, payload[field]),
    Mux(payload.first, payload[field], kept.of(payload.context)),
)[2])"""
MUTANTS = [
    Mutant("the mode is ignored", "", (OWN, MIXED), decode.format_chosen, "is_any_of(i.mode, numbers)", "0"),
    Mutant(
        "a lane is decoded by another mode", "", (OWN, MIXED),
        decode.decode_factors, "chosen.eq(chosen)", "chosen.eq(~chosen if lane == 1 else chosen)",
    ),
    Mutant(
        "the mode is taken at first only", "", (MIXED,),
        dot_unit.DotUnit._operands, "getattr(path.i, field).eq(payload[field])", LATCHED,
    ),
    Mutant(
        "scales count in every mode", "", (OWN, MIXED),
        decode.scale_exponents, "code if unscaled is None else Mux(unscaled, fmt.bias, code)", "code",
    ),
    Mutant(
        "bits above a narrow code count", "", (OWN, MIXED),
        decode.ModalDecode._moved, "self.code[: fmt.container_bits]", "self.code[-fmt.container_bits :]",
    ),
    Mutant(
        "exponents stay where they are", "", (OWN, MIXED),
        decode.ModalDecode._moved, "self.shape.field.bias - source.field.bias", "0",
    ),
    Mutant(
        "any mode will do", "", (STRANGE,),
        dot_unit.DotUnit._misuse, "exists &= payload.mode < len(modes)", "exists &= 1",
    ),
]  # fmt: skip
