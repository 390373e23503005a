"""What is promised of an engine's registers: AXI4-Lite, what each register holds, and what writing it does.

What a port does in a cycle is claimed of all states that invariants allow, and of the values in the next cycle. Of the
writes one address and one write's data are followed, which are chosen freely.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hwsim.base.errors import InputError
from hwsim.prove.abstract import Property, always, same_truth
from hwsim.prove.circuits import Circuit
from hwsim.prove.claims import Claim
from hwsim.prove.engine.streams import Followed, add, ahead
from hwsim.prove.shown import Noted
from hwsim.prove.terms import (
    Kind,
    Term,
    as_bit,
    below,
    both,
    choose,
    constants_of,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    true,
    value,
    width,
)
from hwsim.spec.engine import Engine
from hwsim.spec.modes import modes_of
from hwsim.spec.registers import AXI_LITE, CLEAR, OKAY, RESET, SLVERR, EngineRegister, Event, registers

OVER = "any transfers of AXI4-Lite, and any of the engine's events"


class Effect(NamedTuple):
    """What a register, or several side by side, hold in the next cycle, by what there is in this one."""

    name: str
    words: str
    of: Term
    then: Term
    when: Term


def flying(control: Circuit, latency: int) -> Claim:
    """The claim that the control tells whether there is a beat in flight."""
    names = [f"valid{stage}" for stage in range(1, latency + 1)]
    if "flying" not in control.outputs or any(name not in control.states for name in names):
        raise InputError("the control must have a port flying, and registers valid1 to the last stage's")
    some = either(*(is_one(control.states[name].now) for name in names))
    return Claim("control: flying", "is high just where there is a beat in a stage", "any state", (),
                 same_truth(is_one(control.outputs["flying"]), some))  # fmt: skip


class RegistersPromises(Followed):
    """The registers: requests and responses one for one, and what each register is."""

    def __init__(self, engine: Engine, circuit: Circuit):
        super().__init__(circuit, 4)
        self.engine, self.table = engine, registers(engine)
        self.modes = len(modes_of(engine.unit))
        self.effects: list[Effect] = []
        self.soft = self.high("soft_reset")
        self.reads = both(self.high("arvalid"), self.high("arready"))
        self._requests()
        self._follow()
        self._writes()
        self._answers()
        self._counters()

    def held(self, name: str, bits: int) -> Term:
        """A register by its name, 0 where there is none: a wrong name makes claims fail. Raises InputError for one of
        other bits.
        """
        state = self.circuit.states.get(name)
        if state is not None and width(state.now) != bits:
            raise InputError(f"the register {name} must have {bits} bits")
        return value(0, bits) if state is None else state.now

    def _requests(self) -> None:
        """Claim that there is one response for each request, and when."""
        moved = {
            name: both(self.high(f"{name}valid"), self.high(f"{name}ready")) for name in ("aw", "w", "b", "ar", "r")
        }
        count = {name: self.ordinal(name, when) for name, when in moved.items()}
        done = self.ghost("done", self.bits)
        self.does = both(negated(same(count["aw"], done)), negated(same(count["w"], done)),
                         either(negated(self.high("bvalid")), self.high("bready")))  # fmt: skip
        self.ghosts.append((done, choose(self.does, add(done, self.number(1)), done), self.number(0)))
        self.count, self.done, one = count, done, self.number(1)
        for name, at, words in (("aw", "aw", "an address is taken just where none waits"),
                                ("w", "w", "data are taken just where none wait")):  # fmt: skip
            waits = ahead(count[at], done)
            self.invariants.append(always(f"{name}: ready", f"{words} for the other, or for room for a response",
                                          both(same_truth(self.high(f"{name}ready"), same(waits, self.number(0))),
                                               negated(below(one, waits)))))  # fmt: skip
        for name, came, words in (("b", done, "a write that was done"), ("r", count["ar"], "a read that was taken")):
            waits = ahead(came, count[name])
            self.invariants.append(always(f"{name}: valid", f"there is a response just where {words} has had none: as "
                                          "many as requests, none lost, none doubled",
                                          both(same_truth(self.high(f"{name}valid"), same(waits, one)),
                                               negated(below(one, waits)))))  # fmt: skip
            stands = both(self.high(f"{name}valid"), negated(self.high(f"{name}ready")))
            payload = [self.port(f"{name}resp"), *([self.port("rdata")] if name == "r" else []),
                       self.port(f"{name}valid")]  # fmt: skip
            whole = op(Kind.BV_CONCAT, *payload)
            self.effects.append(Effect(f"{name}: held", "a response stays, and what it says, until it is taken", whole,
                                       whole, stands))  # fmt: skip
        self.promises.append(always("ar: ready", "a read is taken just where no response waits",
                                    same_truth(self.high("arready"), negated(self.high("rvalid")))))  # fmt: skip

    def _follow(self) -> None:
        """Follow the address of a write, and the data of one."""

        def gone(one: object) -> Term:
            return self.does

        self.address_live, address = self.picked("address", both(self.high("awvalid"), self.high("awready")), gone,
                                                 {"address": self.port("awaddr")})  # fmt: skip
        self.data_live, data = self.picked("data", both(self.high("wvalid"), self.high("wready")), gone,
                                           {"data": self.port("wdata"), "strobe": self.port("wstrb")})  # fmt: skip
        self.address, self.data, self.strobe = (
            part(address["address"], 2, width(address["address"]) - 2),
            *data.values(),
        )
        waits = [negated(same(self.count[name], self.done)) for name in ("aw", "w")]
        self.invariants += [
            always("address", "the address of a write stays until it is done", implies(self.address_live, both(
                waits[0], same(self.held("address", width(self.address)), self.address)))),
            always("data", "its data stay, and which bytes they are", implies(self.data_live, both(
                waits[1], same(self.held("data", 32), self.data), same(self.held("strobe", 4), self.strobe)))),
        ]  # fmt: skip
        self.known = both(self.does, self.address_live, self.data_live)

    def _is(self, each: EngineRegister, address: Term) -> Term:
        return same(address, value(each.offset >> 2, width(address)))

    def _writes(self) -> None:
        """Claim what a write does, and that nothing else does so."""
        can = {each.name: self._is(each, self.address) for each in self.table.values() if each.access != "R"}
        low = is_one(part(self.strobe, 0, 1))
        bit = [both(low, is_one(part(self.data, at, 1))) for at in range(2)]
        self.zeroes = both(can["control"], bit[CLEAR])
        clears = op(Kind.BV_CONCAT, *(as_bit(both(can["error"], each)) for each in reversed(bit)))
        refused = negated(either(*can.values()))
        soft, zero = self.port("soft_reset"), value(0, 1)
        if "mode" in can:
            refused = either(refused, self._mode(can["mode"]))
        response = self.port("bresp")
        self.effects += [
            Effect("write: response", "a write is done once its address and its data are here and a response has room; "
                   "its response is OKAY, or SLVERR for what is no register, is only read, or has no such value",
                   response, choose(refused, value(SLVERR, 2), value(OKAY, 2)), self.known),
            Effect("write: soft reset", "a 1 in bit 0 of `control` resets in the next cycle", soft,
                   as_bit(both(can["control"], bit[RESET])), self.known),
            Effect("soft reset: nothing else", "without a write there is none in the next cycle", soft, zero,
                   negated(self.does)),
        ]  # fmt: skip
        self.promises += [
            Property("write: error", "ones clear bits of `error`", same(self.port("clear"), clears), self.known),
            Property("error: nothing else", "nothing else does", same(self.port("clear"), value(0, 2)),
                     negated(self.does)),
        ]  # fmt: skip

    def _mode(self, here: Term) -> Term:
        """Claim what the mode is. Returns the condition that a write of it is refused."""
        mode = self.port("mode")
        whole = op(Kind.BV_ZERO_EXTEND, mode, indices=[32 - width(mode)])
        mask = op(Kind.BV_CONCAT, *(op(Kind.BV_REPEAT, part(self.strobe, byte, 1), indices=[8])
                                    for byte in reversed(range(4))))  # fmt: skip
        new = op(Kind.BV_OR, op(Kind.BV_AND, self.data, mask), op(Kind.BV_AND, whole, op(Kind.BV_NOT, mask)))
        exists = below(new, value(self.modes, 32))
        if self.modes != 1 << width(mode):
            self.invariants.append(always("mode", "is one of the unit's modes",
                                          below(mode, value(self.modes, width(mode)))))  # fmt: skip
        self.effects += [
            Effect("write: mode", "a write changes bytes of `mode`, to a mode that there is", mode,
                   choose(both(here, exists), part(new, 0, width(mode)), mode), self.known),
            Effect("mode: nothing else", "nothing else changes it", mode, mode, negated(self.does)),
        ]  # fmt: skip
        return both(here, negated(exists))

    def _value(self, each: EngineRegister) -> Term:
        """What a read of a register returns."""
        if each.value is not None:
            return value(each.value, 32)
        if each.counts is not None:
            return part(self._count(each.name), 0, 32)
        if each.of:
            return self.held("upper", 32)
        if each.name == "control":
            return value(0, 32)
        port = self.port({"status": "busy"}.get(each.name, each.name))
        return op(Kind.BV_ZERO_EXTEND, port, indices=[32 - width(port)])

    def _answers(self) -> None:
        """Claim what reads return: of one register after another."""
        address = self.port("araddr")
        word = part(address, 2, width(address) - 2)
        answer = op(Kind.BV_CONCAT, self.port("rresp"), self.port("rdata"))
        groups: dict[str, list[EngineRegister]] = {}
        for each in self.table.values():
            kind = "constants" if each.value is not None else "upper halves" if each.of else "counters"
            groups.setdefault(kind if kind != "counters" or each.counts else each.name, []).append(each)
        for name, every in groups.items():
            then = value(0, 34)
            for each in every:
                whole = op(Kind.BV_CONCAT, value(OKAY, 2), self._value(each))
                then = choose(self._is(each, word), whole, then)
            here = either(*(self._is(each, word) for each in every))
            words = "in the next cycle there is what the table says, and OKAY"
            self.effects.append(Effect(f"read: {name}", words, answer, then, both(self.reads, here)))
        known = either(*(self._is(each, word) for each in self.table.values()))
        nothing = op(Kind.BV_CONCAT, value(SLVERR, 2), value(0, 32))
        self.effects.append(Effect("read: nothing", "of what is no register 0, and SLVERR", answer, nothing,
                                   both(self.reads, negated(known))))  # fmt: skip

    def _count(self, name: str) -> Term:
        return self.held(f"count_{name}", 64)

    def _happens(self, event: Event) -> Term:
        """The condition that something is counted in this cycle."""
        return both(negated(self.soft), *map(self.high, event.high), *(negated(self.high(name)) for name in event.low))

    def _counters(self) -> None:
        """Claim that counters count just what they count, and that an upper half is of the lower that was read."""
        address = self.port("araddr")
        word, upper = part(address, 2, width(address) - 2), self.held("upper", 32)
        kept = upper
        for each in self.table.values():
            if each.counts is None:
                continue
            count = self._count(each.name)
            more = choose(self._happens(each.counts), op(Kind.BV_ADD, count, value(1, 64)), count)
            self.effects += [
                Effect(f"{each.name}: written", "it counts, or a 1 in bit 1 of `control` makes it 0", count,
                       choose(self.zeroes, value(0, 64), more), self.known),
                Effect(each.name, f"without a write it counts just {each.words}", count, more, negated(self.does)),
            ]  # fmt: skip
            kept = choose(both(self.reads, self._is(each, word)), part(count, 32, 32), kept)
        self.effects.append(Effect("upper", "reading a counter's lower half keeps its upper, and nothing else changes "
                                   "that", upper, kept, true()))  # fmt: skip

    def outputs(self) -> Noted:
        """What is seen of the outputs of AXI4-Lite: whether one depends on an input in the same cycle."""
        inputs = {term.symbol() for term in self.circuit.inputs.values()}
        every = [self.port(name) for name, (into, _) in AXI_LITE.items() if not into]
        apart = not inputs & {term.symbol() for term in constants_of(every)}
        return Noted("registers: outputs", "those of AXI4-Lite depend on registers alone", "every output", apart)

    def claims(self, place: str, over: str = OVER) -> Iterator[Claim]:
        """Yield the claims, of the next cycle too."""
        yield from super().claims(place, over)
        machine, known = self.machine, (negated(self.reset), *(each.then for each in self.invariants))
        for each in self.effects:
            claim = same(machine.after(each.of), each.then)
            yield Claim(f"{place}: {each.name}", each.words, over, (*known, each.when), claim)
        zero = [self.port("soft_reset"), *([self.port("mode")] if "mode" in self.table else []),
                *(self._count(each.name) for each in self.table.values() if each.counts is not None)]  # fmt: skip
        after = [same(machine.after(term), value(0, width(term))) for term in zero]
        yield Claim(f"{place}: reset", "after a reset counters and the mode are 0, and no soft reset is to come", over,
                    (self.reset,), both(*after))  # fmt: skip
