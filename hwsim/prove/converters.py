"""The claims of a converter's Verilog: for every code, under any traffic, it returns what the model returns.

The file is read back, and nothing of it is taken for granted. A payload is followed for as many cycles as there are
registers, from any state and with any traffic behind it; in a cycle in which a result is not taken nothing moves.
"""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version

from amaranth.lib.data import StructLayout

from hwsim.base.errors import InputError
from hwsim.explain.proof import ClaimRow, ProofReport
from hwsim.model.conversion import convert
from hwsim.prove.circuits import Circuit, Machine, cycles, verilog_circuit
from hwsim.prove.claims import AnyClaim, Claim, each, holds
from hwsim.prove.readback import field_places, with_payloads
from hwsim.prove.run import CONCLUSION, TRUSTED, ProofOptions
from hwsim.prove.symbolic import Integer, Path, paths
from hwsim.prove.terms import Term, both, constant, is_one, negated, part, same, substituted, value, width
from hwsim.rtl import Converter, stream_verilog, supports_conversion
from hwsim.rtl.converter import code_layout, converted_layout
from hwsim.spec.conversion import Conversion, conversion_cuts

UNDRIVEN = re.compile(r"state\d+")


def without_undriven(circuit: Circuit) -> Circuit:
    """A circuit in which what nothing drives is an input: it may be anything, in each cycle something else."""
    free = {
        name: state.now for name, state in circuit.states.items() if state.next is None and UNDRIVEN.fullmatch(name)
    }
    states = {name: state for name, state in circuit.states.items() if name not in free}
    return replace(circuit, inputs={**circuit.inputs, **free}, states=states)


class StreamFile:
    """The Verilog of a streamed component, and a payload that enters in cycle 0."""

    def __init__(self, text: str, latency: int, i: StructLayout, o: StructLayout):
        """i, o: what the payloads are to be."""
        self.latency = latency
        sizes = {"i__payload": i.size, "o__payload": o.size}
        self.circuit = with_payloads(without_undriven(verilog_circuit(text, "file.", undriven=True)), i, o)
        self.fields = field_places(i, o)
        self.machine = Machine.of(self.circuit)
        ports = {name: width(term) for name, term in (*self.circuit.inputs.items(), *self.circuit.outputs.items())}
        ports = {name: bits for name, bits in ports.items() if not UNDRIVEN.fullmatch(name)}
        wanted = dict.fromkeys(("clk", "rst", "i__valid", "i__ready", "o__valid", "o__ready"), 1)
        if ports != sizes | wanted:
            raise InputError(f"the file must have ports for payloads of {i.size} and {o.size} bits, not {ports}")
        self.payload = constant("file.entering", sizes["i__payload"])
        self.over = f"any state and any data; {self.latency} registers"
        moving = {"rst": value(0, 1), "o__ready": value(1, 1)}
        entering = moving | {"i__payload": self.payload}
        self.run = cycles(self.machine, self.latency + 1, lambda at: moving if at else entering)
        self.result = self.run[self.latency].of(self.circuit.outputs["o__payload"])

    def field(self, port: str, name: str, at: int = 0) -> Term:
        """A field of the payload that enters (`i`), or of the result that leaves (`o`)."""
        return part(self.payload if port == "i" else self.result, *self.fields[f"{port}.{name}"][at])

    def control(self) -> Iterator[Claim]:
        """What the streams do, whatever the data are."""
        machine, inputs, outputs = self.machine, self.circuit.inputs, self.circuit.outputs
        waits = both(is_one(outputs["o__valid"]), negated(is_one(inputs["o__ready"])))
        yield Claim(
            "ready", "a payload is taken in every cycle but those in which a result waits", self.over, (),
            same(is_one(outputs["i__ready"]), negated(waits)),
        )  # fmt: skip
        stays = both(*(same(machine.next[name], machine.now[name]) for name in machine.now))
        yield Claim(
            "stands still", "a cycle in which a result is not taken changes no register", self.over,
            (waits, negated(is_one(inputs["rst"]))), stays,
        )  # fmt: skip
        ways = [
            [substituted(term, {inputs["o__ready"]: value(bit, 1)}) for term in machine.next.values()] for bit in (0, 1)
        ]
        yield Claim(
            "idle", "without a result at the output `o__ready` makes no difference", self.over,
            (negated(is_one(outputs["o__valid"])),), both(*map(same, *ways)),
        )  # fmt: skip
        valid = self.run[self.latency].of(outputs["o__valid"])
        yield Claim(
            "valid", f"{self.latency} cycles after a cycle there is a result just if a payload entered in it",
            f"{self.over}; any traffic behind it, in cycles in which the pipeline moves", (),
            same(valid, self.run[0].of(inputs["i__valid"])),
        )  # fmt: skip
        quiet = {"rst": value(0, 1), "i__valid": value(0, 1)}
        after = cycles(machine, self.latency + 1, lambda at: quiet if at else {"rst": value(1, 1)})
        yield Claim(
            "reset", "after a reset nothing leaves before something enters", self.over, (),
            both(*(negated(is_one(cycle.of(outputs["o__valid"]))) for cycle in after[1:])),
        )  # fmt: skip


def converter_claims(
    conversion: Conversion, cuts: Sequence[str] | None = None, text: str | None = None
) -> Iterator[AnyClaim]:
    """The claims about a converter. text: its file's, where it is not the one that hwsim writes.

    Raises NotImplementedYet for formats that the RTL does not have, ToolMissing, and FlowFailed with what Yosys said.
    """
    supports_conversion(conversion)
    chosen = conversion_cuts(cuts)
    written = stream_verilog(Converter(conversion, chosen)) if text is None else text
    file = StreamFile(written, len(chosen), code_layout(conversion), converted_layout(conversion))
    yield from file.control()
    source, target = conversion.source, conversion.target
    port = file.field("i", "code")
    code = part(port, source.padding, source.bits)
    known = []
    if source.padding:
        known.append(same(part(port, 0, source.padding), value(0, source.padding)))
    found = Integer.unsigned(file.field("o", "code"))
    word = Integer.unsigned(file.field("i", "word")) if conversion.random_bits else 0

    def converted() -> int:
        return convert(conversion, Integer.unsigned(code) << source.padding, word)

    right = [Path(path.condition, holds(found == path.result)) for path in paths(converted, known)]
    drawn = f", each with every word of {conversion.random_bits} bits" if conversion.random_bits else ""
    yield Claim(
        "code", f"the code that leaves is the model's, of {target.name}", f"codes of {source.name}{drawn}",
        tuple(known), each(right), (file.payload,),
    )  # fmt: skip


def prove_converter(
    conversion: Conversion, cuts: Sequence[str] | None = None, asked: ProofOptions | None = None, command: str = ""
) -> ProofReport:
    """Decide every claim about a converter. command: what asks the same again. Raises as `converter_claims`."""
    return decided(conversion.name, conversion_cuts(cuts), converter_claims(conversion, cuts), asked, command)


def decided(
    name: str, cuts: Sequence[str], claims: Iterable[AnyClaim], asked: ProofOptions | None, command: str
) -> ProofReport:
    """What was asked about a design, and answered; each claim is told when it is decided."""
    asked, begun, rows = asked or ProofOptions(), time.monotonic(), list[ClaimRow]()
    for claim in claims:
        rows.append(asked.decide(claim))
        asked.tell(rows[-1])
    return ProofReport(
        unit=name,
        title=f"Proof of {name}",
        version=version("hwsim"),
        command=command,
        cuts=tuple(cuts),
        rows=tuple(rows),
        seconds=time.monotonic() - begun,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        conclusion=CONCLUSION,
        trusted=TRUSTED,
    )
