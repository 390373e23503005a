"""The steps of the RTL that the calls of the model's group are, for each method, and the runs that show it.

A wiring says what the claims about a call are about: which terms, in which order, with which largest exponent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.model.definition import ZERO, Definition, GroupOperands
from hwsim.model.methods import AddendToCome, ExactSoFar, ResultCode
from hwsim.prove.composition import (
    Key,
    ModelCall,
    Recorder,
    StepCall,
    Token,
    Unmet,
    Wiring,
    addend_is_low,
    cut,
    key_of,
)
from hwsim.prove.symbolic import Truth, paths
from hwsim.prove.terms import constant, is_one
from hwsim.spec import EvenOddSum, ExactSum, LateInWindow, PairwiseSum, RoundedSum, Unit
from hwsim.spec.sums import ExactSubgroup

LOW = ("low",)
ADDEND, LATE, SPECIAL, TOTAL, CODE = ("addend",), ("late addend",), ("special",), ("total",), ("code",)
UNUSED = StepCall(("nothing in the RTL",))


def front(name: str, of: Sequence[Key]) -> StepCall | None:
    """The wiring of what stands before a sum, in every unit."""
    match name, of:
        case "factor", [(("a" | "b") as side, lane)]:
            return StepCall(("factor", side, lane), f"factor {side}")
        case "product", [("factor", "a", lane), ("factor", "b", partner)] if lane == partner:
            return StepCall(("multiplied", lane), "product")
        case "scale_exponent", [("scale a", lane), ("scale b", partner)] if lane == partner:
            return StepCall(("scale", lane), "scales")
        case "scaled", [("multiplied", lane)]:
            return StepCall(("product", lane), "scaled")
        case "scaled", [("multiplied", lane), ("scale", partner)] if lane == partner:
            return StepCall(("product", lane), "scaled")
        case "unpack", [(("scale a" | "scale b") as side, lane)]:
            return StepCall(("decoded", side, lane), side)
        case "positive_zero", [("c",)]:
            return StepCall(("entered",), "positive zero")
    return None


def addends(name: str, of: Sequence[Key]) -> StepCall | None:
    """The wiring of what a group starts from: c, the result before, or zero."""
    match name, of:
        case "addend_term", [(("c" | "entered" | "x") as source,)]:
            return StepCall(ADDEND, f"addend {source}")
        case "addend_term", []:
            return StepCall(ADDEND, "addend zero")
    return None


def parts_of(unit: Unit) -> tuple[Wiring, list[Key], list[Key]]:
    """The wiring of the terms that are summed, and these in order: products, or the sums of parts of them.

    Last those beside a low addend, of smaller parts; empty where an addend has no say in that.
    """
    products: list[Key] = [("product", lane) for lane in range(unit.instruction.lanes)]
    rule = unit.subgroup
    if not isinstance(rule, ExactSubgroup):
        return lambda name, of: None, products, []
    kinds = [("part", rule.lanes), *([("low part", rule.least_lanes)] if rule.asks_addend else [])]
    decoded = [[("decoded", f"scale {side}", lane) for lane in range(len(products))] for side in "ab"]

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        match name, list(of):
            case "is_low", [every, *scales, last] if last == ADDEND:
                return StepCall(LOW, "low") if [every, *scales] == [*map(tuple, [products, *decoded])] else None
            case "is_low", every if every == [*map(tuple, [products, *decoded])]:
                return StepCall(LOW, "low of none")
            case "part" | "scaled part", [part, *scales]:
                (kind, length), first = kinds[rule.asks_addend and addend_is_low()], products.index(part[0])
                own = [side[first] for side in decoded]
                if part == tuple(products[first : first + length]) and first % length == 0 and scales in ([], own):
                    return StepCall((kind, first // length), "part")
        return None

    terms: list[list[Key]] = [[(kind, at) for at in range(len(products) // length)] for kind, length in kinds]
    return wiring, terms[0], terms[1] if rule.asks_addend else []


def added(terms: Sequence[Key], top: int | None = None) -> Key:
    """The sum of aligned terms. top: of how many terms the exponent is that they are aligned to."""
    of = () if top is None else (top,)
    return ("sum", *sorted((("aligned", *term, *of) for term in terms), key=str))


def windowed(terms: Sequence[Key], groups: Sequence[tuple[Key, ...]], skips: bool = False) -> Wiring:
    """The wiring of one window, of the terms with an addend or without, as groups may have them.

    skips: whether an addend has no part in the largest exponent.
    """
    highest = {every: tuple(terms) if skips else every for every in groups}  # the terms that have one, by those summed
    tops = {("sum", ("max_exp", len(of))): len(of) for of in highest.values()}
    windows = {("window", ("sum", ("max_exp", len(of))), added(every, len(of))): every for every, of in highest.items()}

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        match name, of:
            case "combine_specials", [every] if every in groups:
                return StepCall(SPECIAL, "special")
            case "max_exponent", [every] if every in highest.values():
                return StepCall(("max_exp", len(every)), "max_exp")
            case "align", [term, exp] if exp in tops and term in (*terms, ADDEND):
                return StepCall(("aligned", *term, tops[exp]), "align")
            case "cut_sum", [window] if window in windows:
                return StepCall(("cut", window[2]), "cut")
            case "any_lost", [every, window] if windows.get(window) == every:
                return StepCall(("lost",), "any_lost")
            case "total_term", [("sum", ("cut", total)), exp, every] if windows.get(("window", exp, total)) == every:
                return StepCall(TOTAL, "total")
            case "total_term", [total, exp, every] if windows.get(("window", exp, total)) == every:
                return StepCall(TOTAL, "total")
            case "total_term", [every] if every in groups:
                return StepCall(TOTAL, "total of nothing")
        return None

    return wiring


def by_addend(low: Wiring, other: Wiring) -> Wiring:
    """The wiring of a window where the addend is low, and of another where it is not."""
    return lambda name, of: (low if addend_is_low() else other)(name, of)


def halved(terms: Sequence[Key]) -> Wiring:
    """The wiring of two windows, of even and of odd lanes, and of one of both sums."""
    halves = tuple(terms[0::2]), tuple(terms[1::2])
    windows: list[Key] = [("window", ("sum", ("max_exp", index)), added(half)) for index, half in enumerate(halves)]

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        match name, list(of):
            case "combine_specials", [every] if every == tuple(terms):
                return StepCall(SPECIAL, "special")
            case "max_exponent", [every] if every in halves:
                return StepCall(("max_exp", halves.index(every)), "max_exp")
            case "align", [term, ("sum", ("max_exp", (0 | 1) as half))] if term in halves[half]:
                return StepCall(("aligned", *term), "align")
            case "combine", sums if sums == windows:
                return StepCall(("both",), "combine")
            case "combine", [window] if window in windows:
                return StepCall(("both",), f"combine {'even' if window == windows[0] else 'odd'}")
            case "total_term", [("sum", ("both",)), ("sum", ("both", "max_exp")), every] if every == tuple(terms):
                return StepCall(TOTAL, "total")
            case "total_term", [every] if every == tuple(terms):
                return StepCall(TOTAL, "total of nothing")
        return None

    return wiring


def exactly(groups: Sequence[tuple[Key, ...]]) -> Wiring:
    """The wiring of an exact sum of terms and of what a group starts from."""

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        match name, of:
            case "combine_specials", [every] if every in groups:
                return StepCall(SPECIAL, "special")
            case "exact_sum", [every] if every in groups:
                return StepCall(("exact", every), "exact sum")
            case "total_term", [("sum", ("exact", summed)), ("sum", ("exact", counted, "unit")), every] if (
                summed == counted == every
            ):
                return StepCall(TOTAL, "total")
        return None

    return wiring


def rounds(name: str, of: Sequence[Key]) -> StepCall | None:
    """The wiring of the result of a sum in a window, or of an exact one."""
    match name, of:
        case "round", [term] if term == TOTAL:
            return StepCall(CODE, "round")
        case "round", [term, ("lost",)] if term == TOTAL:
            return StepCall(CODE, "round sticky")
        case "round", [term] if term == SPECIAL:
            return StepCall(CODE, "round special")
    return None


@dataclass(frozen=True)
class Level:
    """An addition of rounded sums: the names of its operands and of its sum, and of what kind it is."""

    x: str
    y: str
    sum: str
    kind: str


def additions(terms: Sequence[Key], fused: bool, levels: Sequence[Level], chains: int) -> Wiring:
    """The wiring of rounded additions, as the levels of the RTL have them.

    There the addend, or a zero, is the state `sum`, and the +0 that each chain begins with a state of its own.
    """

    def term(code: Key) -> Key:
        return code if fused and code in terms else ("term", code)

    state: dict[str, Key] = {f"product{place}": one if fused else ("rounded", *one) for place, one in enumerate(terms)}
    state |= {f"chain{chain}": ("zero",) for chain in range(chains)}
    state["sum"] = ("start",)
    by_operands: dict[tuple[Key, Key], StepCall] = {}
    for place, one in enumerate(levels):
        met = StepCall(("added", place), f"add {one.kind}")
        by_operands[term(state[one.x]), term(state[one.y])] = met
        root, start, state[one.sum] = state[one.x], state[one.y], met.key
    codes = [*state.values(), *(met.key for met in by_operands.values()), ("start",), ("root",)]

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        match name, of:
            case "combine_specials", [_]:
                return UNUSED  # each addition has its own
            case "addend_term", [] if chains:
                return StepCall(term(("zero",)), "chain zero")
            case "addend_term", [code] if code in codes:
                return StepCall(term(code), "sum term")
            case "add", [(one,)] if one in (ADDEND, term(("zero",))):
                return StepCall(("start",), "round addend")
            case "add", [(one,)] if one in terms and not fused:
                return StepCall(("rounded", *one), "round product")
            case "add", [(one,)] if one == term(root) and start == ("start",):
                return StepCall(("root",), "round root")
            case "add", [(x, y)]:
                return by_operands.get((x, y))
            case "round", [one] if one in (term(state["sum"]), ("term", ("root",))):
                return StepCall(CODE, "round")
        return None

    return wiring


def late_window(inner: Wiring, groups: Sequence[tuple[Key, ...]]) -> Wiring:
    """The wiring of an addend in a window of its own with the group's sum. inner: of that sum."""

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        match name, of:
            case "addend_term", [(("c" | "entered" | "x") as source,)]:
                return StepCall(LATE, f"addend {source}")
            case "addend_term", []:
                return StepCall(ADDEND, "addend zero")
            case "combine_specials", [term] if term == (LATE,):
                return StepCall(("late special",), "late special")
            case "combine_specials", [every] if every == (SPECIAL, LATE):
                return StepCall(("late special",), "late special", sure=True)
            case "window term", [("window", _, None)]:
                return UNUSED  # of a group that is special
            case "window term", [("window", _, _)]:
                return StepCall(("window term", *of), "window term")
            case "late_window", [("window term", _), term] if term == LATE:
                return StepCall(("late",), "late")
            case "late_window", [term] if term == LATE:
                return StepCall(("late",), "late of nothing")
            case "total_term", [("sum", ("late",)), ("sum", ("late", "unit")), every] if every[:-1] in groups and (
                every[-1] == LATE
            ):
                return StepCall(("late total",), "late total")
            case "total_term", [*_, every] if every in groups:
                return UNUSED  # the group's own result
            case "round", [term] if term in (SPECIAL, UNUSED.key):
                return UNUSED
            case "round", [("late total",)]:
                return StepCall(CODE, "round")
            case "round", [("late special",)]:
                return StepCall(CODE, "round special")
        return inner(name, of)

    return wiring


def joined(*wirings: Wiring) -> Wiring:
    """The wiring that returns the first that some wirings have for a call."""

    def wiring(name: str, of: Sequence[Key]) -> StepCall | None:
        return next((met for part in wirings if (met := part(name, of)) is not None), None)

    return wiring


def groups_of(unit: Unit, terms: Sequence[Key]) -> list[tuple[Key, ...]]:
    """What groups may sum: the terms and an addend, and the terms alone where there may be none."""
    alone = unit.operands.addend is None or isinstance(unit.sum, EvenOddSum)
    return [(*terms, ADDEND), *([tuple(terms)] if alone else [])]


def wiring_of(unit: Unit, levels: Sequence[Level] = ()) -> Wiring:
    """The wiring of a unit's groups. levels: of rounded additions, as the RTL has them."""
    parts, terms, low = parts_of(unit)
    groups = groups_of(unit, terms)
    match unit.sum:
        case RoundedSum() as rule:
            chains = (rule.chains or 0) if isinstance(rule, PairwiseSum) else 0
            return joined(additions(terms, rule.product == "fused", levels, chains), front, parts, addends)
        case ExactSum():
            method = exactly([tuple(terms), (*terms, ADDEND), (*terms, ("so far",))])
        case EvenOddSum():
            method = halved(terms)
        case _:
            method = windowed(terms, groups)
            if isinstance(unit.subgroup, ExactSubgroup) and low:
                skips = unit.subgroup.low_addend == "skip"
                method = by_addend(windowed(low, groups_of(unit, low), skips), method)
    if isinstance(unit.late, LateInWindow):
        return joined(late_window(joined(method, parts, front), groups))
    return joined(method, rounds, parts, front, addends)


@dataclass(frozen=True)
class Composed:
    """The calls of the model's steps, run on tokens. group: of groups. paths: how many ways through were followed."""

    group: Mapping[str, ModelCall]
    paths: int


def composed(unit: Unit, levels: tuple[Level, ...] = ()) -> Composed:
    """Run the model's open, step and close on tokens: from c, and from any group before.

    Raises Unmet where they do what no step of the RTL does.
    """
    recorder, count = Recorder(wiring_of(unit, levels)), 0
    last = Truth(is_one(constant("composition.last", 1)))
    with cut(recorder):
        model = Definition(unit, keep=False)
        lanes = operands(unit)

        def closed(carried: Any) -> Any:
            after = model.step(carried, lanes, last).carried  # type: ignore[arg-type]
            left = _next(after)
            if key_of(model.close(after)) != CODE:
                raise Unmet(f"the model closes with {model.close(after)}")
            return left

        def group(start: Any) -> Any:
            summed, after = model._group(lanes, start, model._addend_of(start))
            if key_of(summed.code) != CODE:
                raise Unmet(f"a group's code is {summed.code}")
            return _next(after)

        alone = model._promoter is not None or (model._late is not None and not _in_window(unit))
        run = group if alone else closed
        first = paths(lambda: run(ZERO if alone else model.open(Token("c"))))  # type: ignore[arg-type]
        starts = dict(path.result for path in first)
        for start in starts.values():
            again = paths(lambda start=start: run(start))  # type: ignore[misc]
            count += len(again)
            if left := {key for key, _ in (path.result for path in again)} - starts.keys():
                raise Unmet(f"later groups leave {left}, and the first {list(starts)}")
    return Composed(recorder.calls, count + len(first))


def operands(unit: Unit) -> GroupOperands:
    """A group's operands as tokens."""
    lanes = range(unit.instruction.lanes)
    a, b, scale_a, scale_b = (tuple(Token(side, lane) for lane in lanes) for side in ("a", "b", "scale a", "scale b"))
    scaled = unit.scale is not None
    return GroupOperands(a, b, scale_a if scaled else (), scale_b if scaled else (), 0, len(lanes))  # type: ignore[arg-type]


def _in_window(unit: Unit) -> bool:
    return isinstance(unit.late, LateInWindow)


def _next(after: Any) -> tuple[str, Any]:
    """The kind of state that a group leaves, as the RTL carries it, and any such state for the next group to begin.

    Raises Unmet for anything else than the group's own code or sum.
    """
    match after:
        case ResultCode(code) if key_of(code) == CODE:
            return "a code", ResultCode(Token("x"))  # type: ignore[arg-type]
        case ExactSoFar(term, code) if key_of(term) in (TOTAL, SPECIAL) and key_of(code) == CODE:
            return "a sum", ExactSoFar(Token("so far"), Token("x"))  # type: ignore[arg-type]
        case AddendToCome(code, fmt, start, 0) if key_of(code) == CODE and start == ZERO:
            return f"a {fmt.name}", AddendToCome(Token("x"), fmt, ZERO)  # type: ignore[arg-type]
    raise Unmet(f"a group leaves {after}")
