"""What is promised of an engine's streams: any word stands in just its beats, and any tile of results leaves once.

Beside the circuit stand ghosts, which count what the specification counts, and follow one word, or tile, that is
chosen freely. Invariants of both, by induction from a reset, give the promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hwsim.base.errors import InputError
from hwsim.prove.abstract import Property, always, caught, choose_all, same_truth
from hwsim.prove.circuits import Circuit, Machine, Register
from hwsim.prove.claims import Claim
from hwsim.prove.terms import (
    Kind,
    Term,
    all_substituted,
    as_bit,
    below,
    both,
    choose,
    constant,
    either,
    implies,
    is_one,
    negated,
    op,
    part,
    same,
    substituted,
    true,
    value,
    width,
)
from hwsim.spec.engine import Engine, StreamSizes

SHOWN = 16  # bits of a register that is shown
KEPT = "kept"


@dataclass
class Followed:
    """A circuit with ghosts beside it.

    bits: of its ghosts that count. data: of promises about data, the invariant of what registers hold of that.
    """

    circuit: Circuit
    bits: int
    ghosts: list[tuple[Term, Term, Term]] = field(default_factory=list)
    invariants: list[Property] = field(default_factory=list)
    promises: list[Property] = field(default_factory=list)
    picks: dict[str, Term] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)

    @property
    def reset(self) -> Term:
        """The condition that the reset is active."""
        return is_one(self.circuit.inputs["rst"])

    def number(self, number: int) -> Term:
        """A number as ghosts have them."""
        return value(number, self.bits)

    def register(self, name: str) -> Term:
        """A register as a number, 0 where there is none: a wrong name makes claims fail."""
        state = self.circuit.states.get(name)
        return self.number(0) if state is None else self.wide(state.now)

    def wide(self, term: Term) -> Term:
        """A term as a number. Raises InputError for one of more bits."""
        if width(term) > self.bits:
            raise InputError(f"a counter must have at most {self.bits} bits")
        added = self.bits - width(term)
        return op(Kind.BV_ZERO_EXTEND, term, indices=[added]) if added else term

    def bit(self, name: str, index: int = 0) -> Term:
        """The condition that a bit of a register is set."""
        state = self.circuit.states.get(name)
        if state is None or width(state.now) <= index:
            raise InputError(f"the file must have a register {name} of more than {index} bits")
        return is_one(part(state.now, index, 1))

    def port(self, name: str) -> Term:
        """A port. Raises InputError where there is none."""
        found = self.circuit.inputs.get(name, self.circuit.outputs.get(name))
        if found is None:
            raise InputError(f"the file must have a port {name}")
        return found

    def high(self, name: str) -> Term:
        """The condition that a port of one bit is high."""
        return is_one(self.port(name))

    def ghost(self, name: str, bits: int) -> Term:
        """A ghost register, whose values `ghosts` gets."""
        return constant(f"ghost.{name}", bits)

    def counted(self, name: str, when: Term, bound: int) -> Term:
        """A ghost that counts, from 0, modulo a bound."""
        count = self.ghost(name, self.bits)
        after = choose(same(count, self.number(bound - 1)), self.number(0), add(count, self.number(1)))
        self.ghosts.append((count, choose(when, after, count), self.number(0)))
        return count

    def ordinal(self, name: str, when: Term) -> Term:
        """A ghost that numbers what comes, from 0, modulo 2^bits: no two that are there at once have one number."""
        count = self.ghost(name, self.bits)
        self.ghosts.append((count, choose(when, add(count, self.number(1)), count), self.number(0)))
        return count

    def picked(
        self, name: str, when: Term, gone: Callable[[Mapping[str, Term]], Term], of: Mapping[str, Term]
    ) -> tuple[Term, dict[str, Term]]:
        """What is followed: one of those that come, freely chosen, until it is gone. Whether there is one, and what it
        was.
        """
        live, pick = self.ghost(f"{name}.live", 1), constant(f"{name}.pick", 1)
        self.picks[f"{name}.pick"] = pick
        takes = both(is_one(pick), when, negated(is_one(live)))
        kept = {key: self.ghost(f"{name}.{key}", width(term)) for key, term in of.items()}
        left = choose(gone(kept), value(0, 1), live)
        self.ghosts.append((live, choose(takes, value(1, 1), left), value(0, 1)))
        self.ghosts += [caught(kept[key], takes, term) for key, term in of.items()]
        return is_one(live), kept

    @property
    def machine(self) -> Machine:
        """The circuit with its ghosts."""
        after = choose_all(self.reset, self.ghosts)
        own = Machine.of(self.circuit)
        now = {**own.now, **{term.symbol(): term for term in after}}
        following = {**own.next, **{term.symbol(): then for term, then in after.items()}}
        return Machine(now, following, {**self.circuit.inputs, **self.picks})

    def claims(self, place: str, over: str) -> Iterator[Claim]:
        """Yield the claims of the invariants, by induction, and of the promises that follow."""
        machine = self.machine
        show = tuple(term for term in (*machine.inputs.values(), *machine.now.values()) if width(term) <= SHOWN)
        for each in self.invariants:
            after = machine.after(each.then)
            name = f"{place}: {each.name}"
            yield Claim(f"{name}, reset", f"after a reset: {each.words}", over, (self.reset,), after, show)
            yield Claim(f"{name}, step", f"from cycle to cycle: {each.words}", over, self._known(each), after, show)
        for each in self.promises:
            yield Claim(f"{place}: {each.name}", each.words, over, (*self._known(each), each.when), each.then, show)

    def _known(self, each: Property) -> tuple[Term, ...]:
        """The invariants that a claim assumes, without a reset: what data registers hold, of claims of data."""
        data = [known for known in self.invariants if known.name.endswith(KEPT)]
        mine = [known for known in data if each == known or self.data.get(each.name) == known.name]
        others = [known for known in self.invariants if known not in data]
        return (negated(self.reset), *(known.then for known in (*others, *mine)))


def narrow(term: Term, low: int, bits: int) -> Term:
    """Some bits of a term, as a function of such bits of what it is chosen from: solvers need not see the others."""
    cases: list[tuple[Term, Term]] = []
    while term.kind() == Kind.ITE and bits < width(term):
        condition, yes, term = term.children()
        cases.append((condition, narrow(yes, low, bits)))
    if bits == width(term):
        found = term
    elif term.kind() == Kind.BV_EXTRACT:
        found = narrow(term.children()[0], low + term.indices()[1], bits)
    elif term.kind() == Kind.BV_CONCAT:
        found = _joined(term, low, bits)
    else:
        found = part(term, low, bits)
    for condition, yes in reversed(cases):
        found = _chosen(condition, yes, found)
    return found


def _joined(term: Term, low: int, bits: int) -> Term:
    found, at = [], 0
    for child in reversed(term.children()):
        first, end = max(low, at), min(low + bits, at + width(child))
        if first < end:
            found.append(narrow(child, first - at, end - first))
        at += width(child)
    return op(Kind.BV_CONCAT, *reversed(found)) if len(found) > 1 else found[0]


def _chosen(condition: Term, yes: Term, no: Term) -> Term:
    """One of two terms, by a condition; cases that have the same one are one."""
    if yes == no:
        return yes
    if no.kind() == Kind.ITE:
        inner, first, second = no.children()
        if first == yes:
            return choose(either(condition, inner), yes, second)
        if second == yes:
            return choose(both(negated(condition), inner), first, yes)
    return choose(condition, yes, no)


def split(circuit: Circuit, sizes: Mapping[str, int]) -> Circuit:
    """A circuit with some registers as words, `name.0` the lowest. sizes: bits of a word, by a register's name."""
    states, by = dict(circuit.states), dict[Term, Term]()
    for name, bits in sizes.items():
        whole = states.get(name)
        if whole is None or whole.next is None or width(whole.now) % bits or width(whole.now) == bits:
            continue
        del states[name]
        words = [constant(f"{name}.{at}", bits) for at in range(width(whole.now) // bits)]
        by[whole.now] = op(Kind.BV_CONCAT, *reversed(words))
        for at, word in enumerate(words):
            states[f"{name}.{at}"] = Register(word, narrow(whole.next, at * bits, bits))
    for name, state in states.items():
        if state.next is not None:
            following = substituted(state.next, by)
            states[name] = replace(state, next=following if name in circuit.states else _own(following))
    outputs = dict(zip(circuit.outputs, all_substituted(circuit.outputs.values(), by), strict=True))
    return Circuit(circuit.inputs, outputs, states, circuit.wires)


def _own(term: Term) -> Term:
    """A word's next value, with words in the place of parts of whole registers."""
    match term.kind():
        case Kind.ITE:
            condition, yes, no = term.children()
            return _chosen(condition, _own(yes), _own(no))
        case Kind.BV_EXTRACT:
            high, low = term.indices()
            return narrow(term.children()[0], low, high - low + 1)
    return term


def add(first: Term, second: Term) -> Term:
    """The sum of two numbers."""
    return op(Kind.BV_ADD, first, second)


def ahead(first: Term, second: Term) -> Term:
    """How far one number is ahead of another, modulo 2^bits."""
    return op(Kind.BV_SUB, first, second)


@dataclass(frozen=True)
class FollowedWord:
    """A word of a stream that was accepted, until its step is over. word: its number in the step. step: that one's.
    data: its bits. last: its tlast.
    """

    live: Term
    word: Term
    step: Term
    data: Term
    last: Term


class FeedPromises(Followed):
    """The feed: what beats are, by what its streams brought."""

    def __init__(self, engine: Engine, circuit: Circuit):
        self.streams, (self.rows, self.columns), self.of_steps = engine.sizes(), engine.reuse, engine.step_streams
        most = max(self.rows * self.columns, *(size.words for size in self.streams.values()))
        banks = {f"u_bank_{name}.bank{at}": size.width for name, size in self.streams.items() for at in (0, 1)}
        super().__init__(split(circuit, banks), most.bit_length() + 2)
        self.there: list[tuple[str, Term]] = []  # of each stream, whether a whole step stands here
        self.word_at: dict[str, Term] = {}  # of each stream, the place of its next word in a step
        self._beats()
        self.words = {name: self._stream(name, size) for name, size in self.streams.items()}
        self._of_beats()
        if engine.control is not None:
            here = [negated(same(self.word_at[name], self.number(0))) for name in self.streams]
            self.promises.append(
                always(
                    "busy",
                    "is high just where a word is here, or a sum goes on",
                    same_truth(
                        self.high("busy"), either(*(there for _, there in self.there), *here, negated(self.fresh))
                    ),
                )
            )
        self._of_errors()
        self._sums(engine)
        if "mode" in circuit.outputs:
            self._mode()

    def _beats(self) -> None:
        """Make the ghosts that count beats, steps and sums."""
        self.goes = both(self.high("valid"), self.high("ready"))
        self.last, self.first = self.high("last"), self.high("first")
        self.column = self.counted("column", self.goes, self.columns)
        wraps = both(self.goes, same(self.column, self.number(self.columns - 1)))
        self.row = self.counted("row", wraps, self.rows)
        self.ends = both(wraps, same(self.row, self.number(self.rows - 1)))
        self.step = self.ordinal("step", self.ends)
        fresh = self.ghost("fresh", 1)
        self.ghosts.append((fresh, choose(self.ends, as_bit(self.last), fresh), value(1, 1)))
        self.fresh = is_one(fresh)
        self.sum = self.ordinal("sum", both(self.ends, self.fresh))
        self.position = add(op(Kind.BV_MUL, self.row, self.number(self.columns)), self.column)
        self.begun = negated(same(self.position, self.number(0)))
        self.invariants += [
            always("row", "the row counts", both(same(self.register("row"), self.row),
                                                 below(self.row, self.number(self.rows)))),
            always("column", "the column counts", both(same(self.register("column"), self.column),
                                                       below(self.column, self.number(self.columns)))),
            always("continues", "a step is its sum's first after one that was a sum's last, and after a reset",
                   same_truth(self.bit("continues"), negated(self.fresh))),
        ]  # fmt: skip

    def _stream(self, name: str, size: StreamSizes) -> FollowedWord:
        """Make what is said of a stream."""
        at, of, into = f"u_bank_{name}.at", self.bit(f"u_bank_{name}.of"), self.bit(f"u_bank_{name}.into")
        full, ends = ([self.bit(f"u_bank_{name}.{what}", bank) for bank in (0, 1)] for what in ("full", "ends"))
        accepts = both(self.high(f"{name}_tvalid"), self.high(f"{name}_tready"))
        self.word_at[name] = word = self.counted(f"{name}.at", accepts, size.words)
        completes = both(accepts, same(word, self.number(size.words - 1)))
        group = self.ordinal(f"{name}.group", completes)
        read, over = (self.sum, both(self.ends, self.fresh)) if name == "c" else (self.step, self.ends)
        data, tlast = self.port(f"{name}_tdata"), self.port(f"{name}_tlast")
        if width(data) != size.width or width(self.port(name)) != size.size:
            raise InputError(f"stream {name} must have words of {size.width} bits, and its beats {size.size}")
        live, kept = self.picked(
            name, accepts, lambda word: both(over, same(word["step"], read)),
            {"word": word, "step": group, "data": data, "last": tlast, "bank": as_bit(into)},
        )  # fmt: skip
        followed = FollowedWord(live, kept["word"], kept["step"], kept["data"], is_one(kept["last"]))
        self._banks(name, (full, ends), (into, of), self.register(at), (word, group, read))
        self._kept(name, size, followed, is_one(kept["bank"]), (full, ends), (into, of), (word, group, read))
        self._stands(name, size, followed, read)
        return followed

    def _banks(
        self, name: str, flags: tuple[list[Term], list[Term]], at: tuple[Term, Term], word_at: Term,
        counts: tuple[Term, Term, Term],
    ) -> None:  # fmt: skip
        """Claim how banks fill and are read, and what is ready and valid by that."""
        (full, _), (into, of), (word, group, read) = flags, at, counts
        stands = [self.number(number) for number in range(3)]
        count = choose(both(*full), stands[2], choose(either(*full), stands[1], stands[0]))
        here = either(both(negated(of), full[0]), both(of, full[1]))
        apart = both(implies(both(*full), same_truth(into, of)), implies(negated(either(*full)), same_truth(into, of)),
                     implies(both(full[0], negated(full[1])), both(negated(of), into)),
                     implies(both(full[1], negated(full[0])), both(of, negated(into))))  # fmt: skip
        waits = both(self.begun, self.fresh) if name == "c" else self.begun
        self.invariants += [
            always(f"{name}.pointers", "one bank fills, the other is read", apart),
            always(f"{name}.at", "the place of a word counts", both(
                same(word_at, word), below(word, self.number(self.streams[name].words)))),
            always(f"{name}.steps", "full banks are the steps that came and were not read",
                   same(ahead(group, read), count)),
            always(f"{name}.begun", "the bank of a step that has begun is full", implies(waits, here)),
        ]  # fmt: skip
        self.promises.append(always(
            f"{name}: ready", "a word is taken just where less than two whole steps stand here",
            same_truth(self.high(f"{name}_tready"), negated(same(ahead(group, read), stands[2]))),
        ))  # fmt: skip
        self.there.append((name, negated(same(group, read))))

    def _kept(
        self, name: str, size: StreamSizes, followed: FollowedWord, bank: Term, flags: tuple[list[Term], list[Term]],
        at: tuple[Term, Term], counts: tuple[Term, Term, Term],
    ) -> None:  # fmt: skip
        """Claim where the followed word is, until its step is over."""
        (full, ends), (into, of), (word, group, read) = flags, at, counts
        live, mine = followed.live, either(both(negated(bank), full[0]), both(bank, full[1]))
        here = [
            implies(both(live, same_truth(bank, _truth(number)), same(followed.word, self.number(place))),
                    same(self._word(name, number, place), followed.data))
            for number in (0, 1) for place in range(size.words)
        ]  # fmt: skip
        its_end = choose(bank, as_bit(ends[1]), as_bit(ends[0]))
        closing = same(followed.word, self.number(size.words - 1))
        after = choose(same_truth(of, bank), read, add(read, self.number(1)))
        self.invariants += [
            always(f"{name}.kept", "a word stays in its place of its bank", both(*here)),
            always(f"{name}.last", "its step's last word's tlast is its bank's",
                   implies(both(live, closing), same(its_end, as_bit(followed.last)))),
            always(f"{name}.place", "a word is in the bank that fills, below the place of the next, or in a full one",
                   implies(live, both(below(followed.word, self.number(size.words)),
                                      either(mine, both(same_truth(into, bank), below(followed.word, word)))))),
            always(f"{name}.step", "its step is that of its bank",
                   implies(live, same(followed.step, choose(mine, after, group)))),
        ]  # fmt: skip
        self.promises.append(Property(
            f"{name}: waits", "a word waits for its step, which is no later than the one that fills",
            below(ahead(followed.step, read), self.number(3)), live,
        ))  # fmt: skip

    def _word(self, name: str, bank: int, place: int) -> Term:
        """The register of a word of a bank."""
        size = self.streams[name]
        state = self.circuit.states.get(f"u_bank_{name}.bank{bank}" + (f".{place}" if size.words > 1 else ""))
        if state is None or width(state.now) != size.width:
            raise InputError(f"the file must have two banks of {size.words} words of stream {name}")
        return state.now

    def _stands(self, name: str, size: StreamSizes, followed: FollowedWord, read: Term) -> None:
        """Claim that a word's bits stand in the beats of its slices."""
        slot = self.position if name == "c" else self.row if name.endswith("a") else self.column
        of_step = both(self.goes, followed.live, same(followed.step, read), self.fresh if name == "c" else true())
        slices = self.port(name)
        for place in range(size.slices):
            here = []
            for word in range(place * size.size // size.width, -(-(place + 1) * size.size // size.width)):
                low = max(word * size.width, place * size.size)
                bits = min((word + 1) * size.width, (place + 1) * size.size) - low
                same_bits = same(narrow(slices, low - place * size.size, bits),
                                 part(followed.data, low - word * size.width, bits))  # fmt: skip
                here.append(implies(same(followed.word, self.number(word)), same_bits))
            self.data[f"{name}: slice {place}"] = f"{name}.{KEPT}"
            self.promises.append(Property(
                f"{name}: slice {place}", "in each beat of this slice of a word's step the word's bits stand in their "
                "places", both(*here), both(of_step, same(slot, self.number(place))),
            ))  # fmt: skip

    def _of_beats(self) -> None:
        """Claim when beats are offered, and what they say of sums."""
        needed = [term if name != "c" else either(negated(self.fresh), term) for name, term in self.there]
        every_end = both(self.goes, *map(self._closes, self.of_steps))
        ends_one = either(*(self.words[name].last for name in self.of_steps))
        self.promises += [
            always("valid", "a beat is offered just where whole steps of all streams stand here, C's for a sum's first",
                   same_truth(self.high("valid"), both(*needed))),
            Property("context", "contexts come in turn, the slices of B first",
                     same(self.wide(self.port("of_context")), self.position), self.goes),
            Property("first", "a beat is its sum's first in the step after a sum's last, and after a reset",
                     same_truth(self.first, self.fresh), self.goes),
            Property("last", "a beat is its sum's last where the last word of one of its streams' steps had tlast",
                     same_truth(self.last, ends_one), every_end),
        ]  # fmt: skip

    def _closes(self, name: str) -> Term:
        """The condition that the followed word is the last of the step that is read."""
        followed, read = self.words[name], self.sum if name == "c" else self.step
        return both(followed.live, same(followed.step, read),
                    same(followed.word, self.number(self.streams[name].words - 1)))  # fmt: skip

    def _of_errors(self) -> None:
        """Claim what `error` tells."""
        state = next((state for state in self.circuit.states.values() if state.now == self.port("error")), None)
        if state is None or state.next is None or width(state.now) != 2:
            raise InputError("error must be a register of two bits")
        before = state.now
        if "clear" in self.circuit.inputs:
            before = op(Kind.BV_AND, before, op(Kind.BV_NOT, self.port("clear")))
        was, then = ([is_one(part(term, bit, 1)) for bit in (0, 1)] for term in (before, state.next))
        early = either(*(
            both(self.high(f"{name}_tvalid"), self.high(f"{name}_tready"), self.high(f"{name}_tlast"),
                 negated(same(self.word_at[name], self.number(size.words - 1))))
            for name, size in self.streams.items()
        ))  # fmt: skip
        first, *others = (self.words[name].last for name in self.of_steps)
        apart = either(*(negated(same_truth(first, other)) for other in others))
        closing = both(self.ends, *map(self._closes, self.of_steps))
        self.promises += [
            Property("error: lengths", "bit 0 rises where a step ends one of its streams' frames and not another",
                     same_truth(then[0], either(was[0], apart)), closing),
            Property("error: stays", "bit 0 does not change within a step", same_truth(then[0], was[0]),
                     negated(self.ends)),
        ]  # fmt: skip
        if "c" not in self.words:
            self.promises.append(always("error: frames", "bit 1 rises with an end within a step",
                                        same_truth(then[1], either(was[1], early))))  # fmt: skip
            return
        ends_sum, c = both(self.ends, self.fresh), self.words["c"]
        self.promises += [
            Property("error: frames", "bit 1 rises with an end within a step",
                     same_truth(then[1], either(was[1], early)), negated(ends_sum)),
            Property("error: addends", "bit 1 rises where the addends of a sum had not the end of theirs, too",
                     same_truth(then[1], either(was[1], early, negated(c.last))), both(ends_sum, self._closes("c"))),
        ]  # fmt: skip

    def _sums(self, engine: Engine) -> None:
        """Claim the rule of a unit's callers: of any context, a beat opens its sum or continues an open one."""
        context = self.port("of_context")
        chosen = constant("feed.context", width(context))
        opened, comes = self.ghost("open", 1), both(self.goes, same(context, chosen))
        self.ghosts.append((opened, choose(comes, as_bit(negated(self.last)), opened), value(0, 1)))
        exists, is_open = below(self.wide(chosen), self.number(engine.contexts)), is_one(opened)
        self.invariants.append(always(
            "open", "a context is open after a beat that was not its sum's last",
            implies(exists, same_truth(is_open, choose(below(self.wide(chosen), self.position), negated(self.last),
                                                       negated(self.fresh)))),
        ))  # fmt: skip
        self.promises.append(Property(
            "lawful", "a beat of any context opens a sum where none is open, and continues one that is",
            both(exists, same_truth(self.first, negated(is_open))), comes,
        ))  # fmt: skip

    def _mode(self) -> None:
        """Claim that a macro tile has the mode of its first beat."""
        mode, given = self.port("mode"), self.port("mode_in")
        begins, kept = both(self.fresh, negated(self.begun)), self.ghost("mode", width(mode))
        self.ghosts.append((kept, choose(both(self.goes, begins), given, kept), value(0, width(mode))))
        register = self.circuit.states.get("kept_mode")
        if register is None:
            raise InputError("the file must have a register kept_mode")
        self.invariants.append(always("mode", "the mode of a macro tile is kept from its first beat on",
                                      implies(negated(begins), same(register.now, kept))))  # fmt: skip
        self.promises.append(Property("mode", "a beat has the mode that was there as its macro tile's first entered",
                                      same(mode, choose(begins, given, kept)), self.goes))  # fmt: skip


def _truth(number: int) -> Term:
    return same(value(number, 1), value(1, 1))


class DrainPromises(Followed):
    """The drain: every tile that enters leaves once, in order, word by word."""

    def __init__(self, engine: Engine, circuit: Circuit):
        self.depth, self.size, self.contexts = engine.drain, engine.results, engine.contexts
        super().__init__(circuit, max(self.depth, self.size.words, self.contexts).bit_length() + 2)
        self.enters = both(self.high("valid"), self.high("ready"))
        self.moves = both(self.high("tvalid"), self.high("tready"))
        self.word = self.counted("word", self.moves, self.size.words)
        self.closing = same(self.word, self.number(self.size.words - 1))
        self.came, self.left = self.ordinal("came", self.enters), self.ordinal("left", both(self.moves, self.closing))
        self.count, put, take = (self.register(name) for name in ("count", "put", "take"))
        self._queue(put, take)
        self._followed(put, take)

    def _after(self, place: Term, by: Term) -> Term:
        """The place in the queue so many behind another."""
        there = add(place, by)
        return choose(below(there, self.number(self.depth)), there, ahead(there, self.number(self.depth)))

    def _queue(self, put: Term, take: Term) -> None:
        depth, count = self.number(self.depth), self.count
        self.invariants += [
            always("count", "no more tiles wait than there are places", negated(below(depth, count))),
            always("places", "tiles stand one after another in the ring of places",
                   both(below(take, depth), below(put, depth), same(self._after(take, count), put))),
            always("tiles", "those that wait are those that came and have not left",
                   same(ahead(self.came, self.left), count)),
            always("at", "the place of a word counts", both(same(self.register("at"), self.word),
                                                            below(self.word, self.number(self.size.words)))),
        ]  # fmt: skip
        waits = ahead(self.came, self.left)
        self.promises += [
            always("ready", "a tile is taken just where less of them wait than there are places: none is lost",
                   same_truth(self.high("ready"), below(waits, self.number(self.depth)))),
            always("valid", "a word is offered just where a tile waits",
                   same_truth(self.high("tvalid"), negated(same(waits, self.number(0))))),
        ]  # fmt: skip

    def _followed(self, put: Term, take: Term) -> None:
        results, context = self.port("results"), self.port("of_context")
        if width(results) != self.size.size or width(self.port("tdata")) != self.size.width:
            raise InputError(f"the drain must take {self.size.size} bits, and give {self.size.width}")
        live, kept = self.picked(
            "tile", self.enters, lambda tile: both(self.moves, self.closing, same(tile["number"], self.left)),
            {"number": self.came, "results": results, "context": context, "place": put},
        )  # fmt: skip
        behind = ahead(kept["number"], self.left)
        self.invariants += [
            always("tile", "a tile waits in its place, behind those that came before it", implies(live, both(
                below(behind, ahead(self.came, self.left)),
                same(kept["place"], self._after(take, behind))))),
            always("kept", "its results and context stay there", both(*self._stored(live, kept))),
        ]  # fmt: skip
        head = both(live, self.high("tvalid"), same(kept["number"], self.left))
        data = self.port("tdata")
        words = []
        for word in range(self.size.words):
            bits = min(self.size.width, self.size.size - word * self.size.width)
            here = [same(narrow(data, 0, bits), part(kept["results"], word * self.size.width, bits))]
            if bits < self.size.width:
                here.append(same(part(data, bits, self.size.width - bits), value(0, self.size.width - bits)))
            words.append(implies(same(self.word, self.number(word)), both(*here)))
        self.data |= dict.fromkeys(("words", "tlast"), KEPT)
        closing = both(self.closing, same(self.wide(kept["context"]), self.number(self.contexts - 1)))
        self.promises += [
            Property("words", "the words of the first tile that waits leave one after another, zeros above its end",
                     both(*words), head),
            Property("tlast", "the last word of the last context's tile has tlast, and no other",
                     same_truth(self.high("tlast"), closing), head),
        ]  # fmt: skip

    def _stored(self, live: Term, kept: Mapping[str, Term]) -> Iterator[Term]:
        for name, stem in (("results", "tile"), ("context", "context")):
            bits = width(kept[name])
            for place in range(self.depth):
                held = self._element(stem, place, bits)
                yield implies(both(live, same(kept["place"], self.number(place))), same(held, kept[name]))

    def _element(self, stem: str, place: int, bits: int) -> Term:
        """A register of the queue, one of an array or by itself."""
        for name in (stem, f"{stem}_q", "tdata", "first", f"{stem}{place}"):
            state, one = self.circuit.states.get(name), name == f"{stem}{place}"
            if state is not None and width(state.now) == bits * (1 if one else self.depth):
                return state.now if one else part(state.now, place * bits, bits)
        raise InputError(f"the file must have registers {stem} of {bits} bits")
