"""The claims of a stream's Verilog, and of converters: for every code, under any traffic, the model's result.

The file is read back, and nothing of it is taken for granted. A payload is followed for as many cycles as there are
registers, from any state and with any traffic behind it; in a cycle in which a result is not taken nothing moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hwsim.base.errors import InputError
from hwsim.model.conversion import convert
from hwsim.prove import circuits as read
from hwsim.prove.circuits import Circuit, Machine, connected, cycles, fixed, verilog_circuit
from hwsim.prove.claims import AnyClaim, Claim, is_each
from hwsim.prove.readback import field_places, with_payloads
from hwsim.prove.symbolic import Integer, paths
from hwsim.prove.terms import Term, both, constant, is_one, negated, part, same, simplified, substituted, value, width
from hwsim.rtl import StreamedDatapath, StreamPlan, stream_plan, stream_verilog
from hwsim.spec.conversion import Conversion

UNDRIVEN = re.compile(r"state\d+")


def with_undriven_free(circuit: Circuit) -> Circuit:
    """A circuit in which what nothing drives is an input: it may be anything, in each cycle something else."""
    free = {
        name: state.now for name, state in circuit.states.items() if state.next is None and UNDRIVEN.fullmatch(name)
    }
    states = {name: state for name, state in circuit.states.items() if name not in free}
    return replace(circuit, inputs={**circuit.inputs, **free}, states=states)


class StreamFile:
    """The Verilog of a streamed component, and a payload that enters in cycle 0."""

    def __init__(self, plan: StreamPlan, text: str | None):
        """text: the file's; None for the one that hwsim writes."""
        text = stream_verilog(StreamedDatapath(plan)) if text is None else text
        self.latency, i, o = plan.latency, plan.i, plan.o
        sizes = {"i__payload": i.size, "o__payload": o.size}
        self.circuit = with_payloads(with_undriven_free(verilog_circuit(text, "file.", undriven=True)), i, o)
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
        self.run = cycles(self.machine, self.latency + 1, lambda number: moving if number else entering)
        self.result = self.run[self.latency].of(self.circuit.outputs["o__payload"])

    def field(self, port: str, name: str, at: int = 0) -> Term:
        """A field of the payload that enters (`i`), or of the result that leaves (`o`), without the other fields."""
        return simplified(part(self.payload if port == "i" else self.result, *self.fields[f"{port}.{name}"][at]))

    def control(self) -> Iterator[Claim]:
        """Yield the claims about control, whatever the data are."""
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
        after = cycles(machine, self.latency + 1, lambda number: quiet if number else {"rst": value(1, 1)})
        yield Claim(
            "reset", "after a reset nothing leaves before something enters", self.over, (),
            both(*(negated(is_one(cycle.of(outputs["o__valid"]))) for cycle in after[1:])),
        )  # fmt: skip

    def of_steps(self, steps: Mapping[str, Circuit]) -> Mapping[str, Term]:
        """The outputs that the steps, one after another, have for the payload."""
        chain = connected(list(steps.values()))
        names = {name: name.split("__") for name in chain.inputs if name.startswith("i__")}
        entering = {name: self.field("i", field, int((*lane, "0")[0])) for name, (_, field, *lane) in names.items()}
        return fixed(chain, entering).outputs


def steps_of(plan: StreamPlan) -> dict[str, Circuit]:
    """The circuits of the steps, each by itself, in order."""
    steps = read.circuits({step.name: step for step in plan.steps()})
    return {name: read.without_undriven(circuit) for name, circuit in steps.items()}


def alike(circuit: Circuit, output: str, inputs: Sequence[str], lanes: int) -> bool:
    """True if every lane makes of its own inputs what the first makes of its; a circuit may lack some of these."""
    first = circuit.outputs[f"o__{output}__0"]
    present = [name for name in inputs if f"i__{name}__0" in circuit.inputs]
    return all(
        substituted(first, {circuit.inputs[f"i__{name}__0"]: circuit.inputs[f"i__{name}__{lane}"] for name in present})
        == circuit.outputs[f"o__{output}__{lane}"]
        for lane in range(1, lanes)
    )


def converter_claims(
    conversion: Conversion, cuts: Sequence[str] | None = None, text: str | None = None
) -> Iterator[AnyClaim]:
    """Yield the claims about a converter; as `hwsim.prove.quantizers.stream_claims`."""
    file = StreamFile(stream_plan(conversion, cuts), text)
    yield from file.control()
    source, target = conversion.source, conversion.target
    port = file.field("i", "code")
    code = part(port, source.padding, source.bits)
    known = []
    if source.padding:
        known.append(same(part(port, 0, source.padding), value(0, source.padding)))
    word = Integer.unsigned(file.field("i", "word")) if conversion.random_bits else 0
    runs = paths(lambda: convert(conversion, Integer.unsigned(code) << source.padding, word), known)
    drawn = f", each with every word of {conversion.random_bits} bits" if conversion.random_bits else ""
    yield Claim(
        "code", f"the code that leaves is the model's, of {target.name}", f"codes of {source.name}{drawn}",
        tuple(known), is_each(Integer.unsigned(file.field("o", "code")), runs), (file.payload,),
    )  # fmt: skip
