"""Liveness: whatever an engine has come to, something enters and leaves in a known number of cycles.

Not searched for by steps: a rank falls in every cycle in which nothing enters, and it is known how large it can be.
"""

from __future__ import annotations

from collections.abc import Iterator

from hwsim.base.errors import InputError
from hwsim.prove.circuits import Circuit
from hwsim.prove.claims import Claim
from hwsim.prove.engine.file import OF_CONTROL, OF_FEED, EngineFile
from hwsim.prove.engine.streams import DrainPromises, FeedPromises, ahead
from hwsim.prove.terms import (
    Kind,
    Term,
    all_substituted,
    below,
    both,
    choose,
    either,
    is_one,
    negated,
    op,
    same,
    substituted,
    true,
    value,
    width,
)


class Liveness:
    """Feed, control and drain, joined as the top joins them, while all streams bring words and results are taken."""

    def __init__(self, file: EngineFile, feed: FeedPromises, drain: DrainPromises):
        self.engine, self.feed, self.drain, self.control = file.engine, feed, drain, file.control
        self.latency = file.engine.pipeline.latency
        known = [each.then for each in (*feed.invariants, *drain.invariants) if not each.name.endswith(DATA)]
        self.known = tuple(known)
        self._join()

    def _join(self) -> None:
        """Put what drives each input in its place, and make the next values of all registers."""
        feed, drain, control = self.feed.circuit, self.drain.circuit, self.control
        high = {term: value(1, 1) for name, term in feed.inputs.items() if name.endswith("_tvalid")}
        high |= {drain.inputs["tready"]: value(1, 1)}
        high |= {part.inputs["rst"]: value(0, 1) for part in (feed, drain, control)}
        into = {control.inputs[name]: feed.outputs[of] for name, of in OF_FEED.items() if name in control.inputs}
        into[control.inputs["out_ready"]] = drain.outputs["ready"]
        told = dict(zip(control.outputs, all_substituted(control.outputs.values(), into), strict=True))
        back = {feed.inputs["ready"]: told["in_ready"]}
        back |= {drain.inputs[name]: told[of] for name, of in OF_CONTROL.items()}
        self.by = [into, back, high]
        nexts: dict[Term, Term] = {}
        for circuit in (feed, control, drain):
            states = [state for state in circuit.states.values() if state.next is not None]
            for state in states:
                assert state.next is not None
                nexts[state.now] = state.next
        self.nexts = dict(zip(nexts, map(self._here, nexts.values()), strict=True))
        for ghost, then, _ in (*self.feed.ghosts, *self.drain.ghosts):
            self.nexts[ghost] = self._here(then)

    def _here(self, term: Term) -> Term:
        for by in self.by:
            term = substituted(term, by)
        return term

    def _after(self, term: Term) -> Term:
        """The value in the next cycle of a function of registers."""
        return substituted(term, self.nexts)

    def _state(self, circuit: Circuit, name: str) -> Term:
        if name not in circuit.states:
            raise InputError(f"the control must have a register {name}")
        return circuit.states[name].now

    @property
    def missing(self) -> Term:
        """The most words that a stream still has to bring before the next step is whole."""
        feed, most = self.feed, self.feed.number(0)
        for name, there in feed.there:
            words = ahead(feed.number(feed.streams[name].words), feed.word_at[name])
            needed = both(negated(there), feed.fresh if name == "c" else true())
            left = choose(needed, words, feed.number(0))
            most = choose(below(most, left), left, most)
        return most

    @property
    def behind(self) -> Term:
        """How many moves of the elements it takes until the next beat's sum is known."""
        context, bits = self.feed.port("of_context"), self.latency.bit_length()
        moves = value(0, bits)
        for stage in reversed(range(1, self.latency)):
            names = (f"valid{stage}", f"flight{stage}_last", f"flight{stage}_context")
            if names[0] not in self.control.states:
                raise InputError(f"the control must have a register {names[0]}")
            valid, last = (is_one(self._state(self.control, name)) for name in names[:2])
            waits = both(valid, negated(last), same(self._state(self.control, names[2]), context))
            moves = choose(waits, value(self.latency - stage, bits), moves)
        return moves

    @property
    def full(self) -> Term:
        """How many words must leave until a tile can be taken."""
        drain = self.drain
        left = ahead(drain.number(drain.size.words), drain.word)
        return choose(same(drain.count, drain.number(drain.depth)), left, drain.number(0))

    @property
    def bound(self) -> int:
        """Cycles in which a beat enters, if streams bring words and results are taken."""
        return max(size.words for size in self.engine.sizes().values()) + self.latency * (self.engine.results.words + 1)

    def claims(self) -> Iterator[Claim]:
        """Yield the claims."""
        over = "any state that invariants allow; all streams bring words, results are taken"
        goes = self._here(self.feed.goes)
        rank = op(Kind.BV_CONCAT, self.behind, self.full)
        words, falls = self.missing, below(self._after(rank), rank)
        none = same(words, value(0, width(words)))
        stuck = (*self.known, negated(goes))
        yield Claim(
            "progress: words", "while a step is not whole, the most words that are missing get fewer; they are none "
            "just where a beat is offered", over, stuck,
            both(either(none, below(self._after(words), words)), either(negated(none), same(self._after(words), words)),
                 op(Kind.EQUAL, none, self._here(self.feed.high("valid")))),
        )  # fmt: skip
        yield Claim(
            "progress: a beat", "while a beat is offered and does not enter, its sum's beat before it moves on, or, "
            f"where it stands, there are fewer words to leave: one enters in {self.bound} cycles", over,
            (*stuck, none), falls,
        )  # fmt: skip
        latency, size = self.latency, self.engine.results
        most = both(
            below(self.behind, value(latency, width(self.behind))),
            negated(below(self.drain.number(size.words), self.full)),
            negated(below(self.feed.number(max(each.words for each in self.feed.streams.values())), words)),
        )
        yield Claim(
            "progress: bounds", f"less than {latency} moves, at most {size.words} words a move", over, self.known, most
        )
        held = negated(self._here(is_one(self.control.outputs["enable"])))
        yield Claim(
            "progress: results", "while elements stand still, fewer words must leave until they move; what is offered "
            f"of a tile gets less: a tile leaves {size.words} cycles after it is the first", over, self.known,
            both(either(negated(held), below(self._after(self.full), self.full)), self._leaves()),
        )  # fmt: skip

    def _leaves(self) -> Term:
        drain = self.drain
        after = ahead(drain.number(drain.size.words), self._after(drain.word))
        fewer = below(after, ahead(drain.number(drain.size.words), drain.word))
        gone = negated(same(self._after(drain.left), drain.left))
        return either(negated(drain.high("tvalid")), fewer, gone)


DATA = ("kept", "last", "place", "step", "open", "tile")  # invariants of what is followed
