"""The proof of a matrix engine, by composition: what is claimed of each of its parts, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from hwsim.base.errors import InputError
from hwsim.base.text import counted
from hwsim.explain.proof import ProofReport
from hwsim.prove.circuits import Circuit, Elaborated
from hwsim.prove.claims import Claim, Decidable
from hwsim.prove.engine.file import EngineFile, equal
from hwsim.prove.engine.liveness import Liveness
from hwsim.prove.engine.registers import RegistersPromises, flying
from hwsim.prove.engine.streams import DrainPromises, FeedPromises
from hwsim.prove.readback import ReadBack
from hwsim.prove.run import TRUSTED, ProofOptions, UnitClaims
from hwsim.prove.shown import Noted
from hwsim.prove.terms import Kind, Term, both, op, part, substituted, value, width
from hwsim.rtl.engine.top import engine_verilog
from hwsim.spec.engine import Engine

CONCLUSION = (
    "every word of results is the model's, in order, for all operands, any frames and any traffic: unit, decoders, "
    "elements, feed, drain, liveness, of the file read back"
)
BY_WORDS = (
    "that proved parts make a proved engine: what is claimed of one freely chosen word, tile, context or beat holds of "
    "each; elements of one module that are driven alike do alike",
    "after a reset",
)
OF_MODE = "of the port `mode`: it is one of the unit's modes"  # which registers are proved to say
OF_REGISTERS = "; its registers do what their table says of all transfers of AXI4-Lite"


class ElementClaims(UnitClaims):
    """The claims about one element behind decoders and control: of its unit, and that it does what the unit does."""

    def __init__(self, engine: Engine, circuit: Circuit):
        super().__init__(engine.unit, engine.pipeline)
        self.circuit = circuit

    @cached_property
    def file(self) -> ReadBack:
        """The element, read back."""
        return ReadBack(self.rtl, self.circuit)

    def all(self) -> Iterator[Decidable]:
        """Yield all claims."""
        yield from self.steps()
        yield from self.control
        for claim in self.file.claims():
            yield replace(claim, name=claim.name.replace("file:", "element:"))
        yield self.played


class EngineClaims:
    """The claims about an engine's file. text: other Verilog than the one that hwsim writes.

    Raises NotImplementedYet for a unit that the RTL does not have, or that no proof covers.
    """

    def __init__(self, engine: Engine, text: str | None = None):
        self.engine = engine
        self.text = engine_verilog(engine) if text is None else text

    def all(self) -> Iterator[Decidable]:
        """Yield all claims: of the top, the streams, liveness, decoders, and of each element with its unit."""
        try:
            yield from self.around()
        except InputError as error:
            yield _unread(error)
        yield from self.inside()

    @cached_property
    def file(self) -> EngineFile:
        """The file, read back."""
        return EngineFile.read(self.engine, self.text)

    def around(self) -> Iterator[Decidable]:
        """Yield the claims of what stands around elements: wires, feed, drain, and that nothing stands still."""
        engine, file = self.engine, self.file
        yield from file.claims()
        for restyled in file.restyled.values():
            yield from restyled.claims()
        feed, drain = FeedPromises(engine, file.feed), DrainPromises(engine, file.drain)
        words = ", ".join(f"{name}: {counted(size.words, 'word')}" for name, size in engine.sizes().items())
        yield from feed.claims("feed", f"any words and traffic; {words} a step")
        yield from drain.claims("drain", f"any results and traffic; {counted(engine.drain, 'tile')}")
        yield from Liveness(file, feed, drain).claims()
        if file.registers is not None:
            yield flying(file.control, engine.pipeline.latency)
            promises = RegistersPromises(engine, file.registers)
            yield promises.outputs()
            yield from promises.claims("registers")

    def inside(self) -> Iterator[Decidable]:
        """Yield the claims of an element: decoders, unit, and both with the tile's control."""
        try:
            element = ElementClaims(self.engine, self.file.element)
            yield from decoder_claims(self.engine, self.file, element.rtl)
            yield from element.all()
        except InputError as error:
            yield _unread(error)


def _unread(error: InputError) -> Noted:
    return Noted("file: read back", f"the file could not be read as this engine: {error}", "", False)


def decoder_claims(engine: Engine, file: EngineFile, rtl: Elaborated) -> Iterator[Claim]:
    """Yield the claims that decoders of rows and columns return what the unit's step of decoding does."""
    decode, sides = rtl.datapath["decode"], {"a": file.row, "b": file.column}
    codes = {side: _driven(decode, side, circuit.inputs["codes"]) for side, circuit in sides.items()}
    by = {decode.inputs[name]: term for each in codes.values() for name, term in each.items()}
    if "i__mode" in decode.inputs:
        by |= {
            circuit.inputs["mode"]: decode.inputs["i__mode"] for circuit in sides.values() if "mode" in circuit.inputs
        }

    def made(circuit: Circuit, name: str) -> Term | None:
        """What a decoder hands on of the slice that enters, behind its register if it has one."""
        term = circuit.outputs.get(name)
        for state in circuit.states.values():
            if term is not None and state.now == term and state.next is not None:
                term = substituted(state.next, {circuit.inputs["enable"]: value(1, 1)})
        return None if term is None else substituted(term, by)

    for (side, circuit), kind in zip(sides.items(), ("rows", "columns"), strict=True):
        same_bits = []
        for name, term in decode.outputs.items():
            if found := re.fullmatch(rf"o__({side}|scale_{side})__(\d+)__(\w+)", name):
                bits, index = width(term), int(found[2])
                whole = made(circuit, f"{found[1]}_{found[3]}")
                same_bits.append(
                    equal(None if whole is None else part(whole, index * bits, bits), substituted(term, by))
                )
        yield Claim(f"decoders: {kind}", "what each lane, and each scale by itself, is handed on as is what the unit's "
                    "step of decoding makes of its code", f"every code; {counted(len(same_bits), 'field')}", (),
                    both(*same_bits))  # fmt: skip
    exponents = {name: term for name, term in decode.outputs.items() if name.startswith("o__scale_exp__")}
    if not exponents:
        return
    lanes, claimed = engine.unit.instruction.lanes, []
    scales = [made(circuit, f"scale_{side}") for side, circuit in sides.items()]
    for name, term in exponents.items():
        lane = int(name.rpartition("__")[2])
        both_sides = [_of_lane(whole, lane, lanes, side, codes[side], width(term))
                      for whole, side in zip(scales, sides, strict=True)]  # fmt: skip
        total = None if any(each is None for each in both_sides) else op(Kind.BV_ADD, *both_sides)
        claimed.append(equal(total, substituted(term, by)))
    yield Claim("decoders: scales", "the exponents of a lane's scales, of its row and of its column, add up to what "
                "the unit's step of decoding makes of both", f"every code; {counted(len(claimed), 'lane')}", (),
                both(*claimed))  # fmt: skip


def _driven(decode: Circuit, side: str, codes: Term) -> dict[str, Term]:
    """What of a slice each operand of the unit's step of decoding is: codes, lane 0 lowest, and above them scales."""
    found, low = dict[str, Term](), 0
    for stem in (f"i__{side}__", f"i__scale_{side}__"):
        index = 0
        while (name := f"{stem}{index}") in decode.inputs:
            bits = width(decode.inputs[name])
            found[name] = part(codes, low, bits)
            low, index = low + bits, index + 1
    return found


def _of_lane(whole: Term | None, lane: int, lanes: int, side: str, codes: Mapping[str, Any], bits: int) -> Term | None:
    """The exponent field of a lane's scale, as a number of so many bits."""
    blocks = sum(name.startswith(f"i__scale_{side}__") for name in codes)
    if whole is None or not blocks or width(whole) % blocks:
        return None
    size = width(whole) // blocks
    return op(Kind.BV_ZERO_EXTEND, part(whole, lane // (lanes // blocks) * size, size), indices=[bits - size])


def prove_engine(
    engine: Engine, asked: ProofOptions | None = None, command: str = "", text: str | None = None
) -> ProofReport:
    """Decide every claim of an engine's Verilog. command: one that asks the same again. text: as of `EngineClaims`."""
    asked = asked or ProofOptions()
    asked.at("Amaranth and Yosys make circuits of the engine's parts")
    report, _ = asked.decided(engine.name, engine.pipeline.cuts, EngineClaims(engine, text).all(), command)
    elements = f"{engine.rows} x {engine.columns} elements of {engine.unit.name}, {engine.reuse[0]} x {engine.reuse[1]}"
    conclusion = f"{elements}: {CONCLUSION}" + OF_REGISTERS * (engine.control is not None)
    return report.changed(
        contexts=engine.contexts,
        conclusion=conclusion,
        failing=f"{elements}: not proved",
        trusted=(*TRUSTED, *BY_WORDS, *([OF_MODE] if engine.has_modes and engine.control is None else [])),
    )
