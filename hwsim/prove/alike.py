"""Proofs that two units return the same: by structure, and by a solver for few products.

By structure: the model's own steps of both, run on tokens, make one result of the same calls.

As in hwsim/prove/composition.py each function of a stage is cut, and what it returns is a token: that of the function,
its constants and the tokens of its arguments. Where two units' results are the same token, the same functions of the
same numbers make them. Of sums of any length the steps are followed from every state that both can be in together: in
a state any token may stand for any value, equal ones for equal values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import product
from math import lcm
from typing import Any

from hwsim.cases.case import Case, block_lengths, operand_counts, operand_formats
from hwsim.formats import Format
from hwsim.formats.blocks import one_code
from hwsim.model.definition import Definition, GroupOperands
from hwsim.model.methods import FirstAddend, ResultCode
from hwsim.model.rounding import ResultRounding
from hwsim.model.terms import AlignedTerms
from hwsim.prove.apart import UnitPair
from hwsim.prove.composition import (
    ORIGINAL,
    StepCall,
    Token,
    TokenSum,
    Unmet,
    answer,
    cut,
    integer,
    looks_at_nothing,
)
from hwsim.prove.products import is_right
from hwsim.prove.summaries import Specified, code_of
from hwsim.prove.symbolic import OutOfTime, Truth, as_integer, paths, until
from hwsim.prove.terms import Term, ask, constant, is_one
from hwsim.prove.wiring import operands
from hwsim.spec import ExactSum, Unpromised, unpromised

MOST_STATES = 4096  # of both units together, and steps from the first


_forks: dict[str, Term] = {}  # of the run that goes on


def same_fork(name: str) -> bool:
    """An unknown truth, of which both answers are followed: on one path the same wherever it is asked for."""
    return bool(Truth(is_one(_forks.setdefault(name, constant(name, 1)))))


class CodeToken(Token):
    """The token of a rounded sum's code, which may be compared to a number: both answers are followed."""

    def __eq__(self, other: object) -> bool:
        return same_fork(f"{self} is {other}") if type(other) is int else super().__eq__(other)

    __hash__ = None


class NumberedCalls:
    """The numbers of calls: two have the same if the function, its constants and its arguments are the same."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, name: str, args: tuple[Any, ...]) -> Any:
        """Answer one call: by its token, or, without tokens, by what the model returns."""
        if looks_at_nothing(name, args) or not any(map(_has_token, args)):
            return ORIGINAL[name](*args)
        if name == "scaled":  # of the definition it knows the limit of products alone
            args = args[0]._limit, *args[1:]
        key = name, *map(_frozen, args)
        token = answer(name, args, StepCall(("call", self.numbers.setdefault(key, len(self.numbers)))), same_fork)
        return CodeToken(*token.key) if name == "add" else token


def _frozen(what: Any) -> Any:
    """An argument as a key: equal ones have equal keys."""
    match what:
        case TokenSum():
            return "sum", tuple(sorted(map(str, what.parts))), what.number
        case Token():
            return "token", what.key
        case AlignedTerms(max_exp, bits, _, total):
            return "window", _frozen(max_exp), bits, _frozen(total)
        case ResultRounding():
            return "rounding", what.rule, what.hooks
        case tuple() | list():
            return type(what).__name__, *map(_frozen, what)
        case _ if isinstance(what, Definition):
            raise Unmet("a definition is an argument")
    if type(what).__module__.startswith("hwsim.model") and hasattr(what, "__dict__"):  # what late additions are made of
        return type(what).__name__, *((name, _frozen(value)) for name, value in vars(what).items())
    return what


def _has_token(what: Any) -> bool:
    return isinstance(what, Token) or (isinstance(what, (tuple, list)) and any(map(_has_token, what)))


def _renamed(what: Any, name: Callable[[Token], Token]) -> Any:
    """A state with other tokens."""
    if isinstance(what, Token):
        return name(what)
    if isinstance(what, tuple):
        parts = [_renamed(part, name) for part in what]
        return what._make(parts) if hasattr(what, "_make") else tuple(parts)
    if is_dataclass(what) and type(what).__module__.startswith("hwsim.model"):
        return replace(what, **{one.name: _renamed(getattr(what, one.name), name) for one in fields(what)})  # type: ignore[type-var]
    return what


def _state(*carried: Any) -> tuple[Any, Any]:
    """A key of what two units carry, and that with tokens for any values in the place of what was computed."""
    names: dict[Any, Token] = {}

    def name(token: Token) -> Token:
        made = integer("carried", len(names)) if isinstance(token, TokenSum) else type(token)("carried", len(names))
        return names.setdefault(_frozen(token), made)

    both = _renamed(carried, name)
    return repr(both), both


def same_structure(pair: UnitPair) -> int | None:
    """The longest sum, in products, up to which both units make every result by the same calls; None without an end.

    Raises Unmet, with the reason, where that is not seen.
    """
    numbered = NumberedCalls()
    _forks.clear()
    _same_groups(pair)
    instruction = pair.first.instruction
    whole, limit = (
        instruction.fill // instruction.lanes,
        None if pair.most is None else -(-pair.most // instruction.lanes),
    )
    with cut(numbered):
        models = [Definition(unit, keep=False) for unit in pair.units]
        c = 0 if pair.first.operands.addend is None else Token("c")
        lanes = operands(pair.first)

        def step(both: Any, last: bool) -> Any:
            return [model.step(one, lanes, last).carried for model, one in zip(models, both, strict=True)]

        def ended(both: Any) -> bool:
            first, second = (_frozen(model.close(one)) for model, one in zip(models, step(both, True), strict=True))
            return bool(first == second)

        def goes_on(both: Any) -> Any:
            return _state(*step(both, False))

        def opened() -> Any:
            return _state(*(model.open(c) for model in models))  # type: ignore[arg-type]

        level = dict(path.result for path in paths(opened, asked=False))
        seen = {(0, key) for key in level}
        groups = 0
        while level and (limit is None or groups < limit):
            groups += 1
            if len(seen) > MOST_STATES:
                raise Unmet(f"after {groups} groups further states are met")
            after: dict[str, Any] = {}
            for both in level.values():
                if groups % whole == 0 and not all(path.result for path in _followed(partial(ended, both))):
                    raise Unmet(f"results of {groups * instruction.lanes} products are made of other calls")
                after |= dict(path.result for path in _followed(partial(goes_on, both)))
            level = {key: both for key, both in after.items() if (groups % whole, key) not in seen}
            seen |= {(groups % whole, key) for key in level}
    return None if pair.most is None else pair.most


def _followed(run: Callable[[], Any]) -> Any:
    try:
        return paths(run, asked=False)
    except (AttributeError, TypeError, ValueError) as error:  # a token was asked what only a value can say
        raise Unmet(str(error)) from None


def _same_groups(pair: UnitPair) -> None:
    """Raise Unmet where groups have other products."""
    first, second = (unit.instruction for unit in pair.units)
    if (first.lanes, first.fill) != (second.lanes, second.fill):
        raise Unmet(f"groups have {first.lanes} and {second.lanes} products, and are filled up to others")
    for group in range(lcm(first.k, second.k) // first.lanes):
        if first.indices(group) != second.indices(group):
            raise Unmet(f"group {group} has other products")


# By a solver.

MOST_PRODUCTS = 8  # of a group, that the solver is asked about: of more it decides nothing in minutes


def same_by_solver(pair: UnitPair, seconds: float) -> str | Case:
    """Why two units return the same, a case on which they do not, or an empty text where neither is seen in time.

    Every code of every operand is unknown. Sums of any length are followed group by group, where both units start a
    group from the code of the one before: any such code. seconds: of the processor.
    Raises Unmet, with the reason, for units of which the solver is not asked.
    """
    end = time.thread_time() + seconds
    if pair.most is not None:
        return _decided(pair, _whole_sums(pair), end, f"the solver, for unknown codes of up to {pair.most} products")
    _same_groups(pair)
    return _decided(pair, _steps(pair), end, "the solver, for unknown codes of a group and of what it starts from")


@dataclass(frozen=True)
class _Question:
    """Two runs that must return the same. formats: of unknown operands, by name. starts: whether from an addend."""

    formats: Mapping[str, Sequence[Format]]
    run: Callable[[Definition, Mapping[str, Any]], Any]
    shows: bool  # whether what refutes it is a case


def _whole_sums(pair: UnitPair) -> Iterator[_Question]:
    """The longest sum of each number of groups of both units: shorter ones have zeros in its last lanes."""
    assert pair.most is not None
    most = pair.most - pair.most % pair.block
    lengths = range(pair.shortest, most + 1, pair.block)
    padded = {tuple(-(-k // unit.instruction.fill) for unit in pair.units): k for k in lengths}
    _few(max(padded.values()))
    for k in padded.values():
        yield _Question(_formats(pair, k), partial(_dot, pair, k), True)


def _dot(pair: UnitPair, k: int, model: Definition, codes: Mapping[str, Any]) -> Any:
    unit = model.unit
    missing = -k % unit.instruction.fill
    a, b = ([*codes[side], *[0] * missing] for side in ("a", "b"))
    scales: list[list[Any]] = []
    if unit.scale is not None:
        for side, length in zip("ab", block_lengths(unit), strict=True):
            blocks = [*codes[f"scale_{side}"], *[one_code(unit.scale.of(side).format)] * len(a)]  # type: ignore[arg-type]
            scales.append([blocks[lane // length] for lane in range(len(a))])
    scale_a, scale_b = scales or ((), ())
    return model.dot(a, b, codes["c"][0] if "c" in codes else 0, scale_a, scale_b).code


def _steps(pair: UnitPair) -> Iterator[_Question]:
    """The first group, from any addend, and a further one, from any code of a result."""
    lanes = pair.first.instruction.lanes
    _few(lanes)
    for unit in pair.units:
        if unit.promotion is not None or unit.late is not None or unit.instruction.start != "addend":
            raise Unmet(f"{unit.name} carries more than a code from group to group")
        if isinstance(unit.sum, ExactSum) and unit.sum.rounded == "end":
            raise Unmet(f"{unit.name} carries an exact sum from group to group")
    if pair.first.result.format != pair.second.result.format:
        raise Unmet("their groups' results have other formats")
    formats = _formats(pair, lanes)

    def step(start: type[FirstAddend | ResultCode], model: Definition, codes: Mapping[str, Any]) -> Any:
        scale_a, scale_b = (codes.get(name, ())[:lanes] for name in ("scale_a", "scale_b"))
        begun = model.open(codes["c"][0] if "c" in codes else 0) if start is FirstAddend else start(codes["so far"][0])
        return model.close(model.step(begun, GroupOperands(codes["a"], codes["b"], scale_a, scale_b), True).carried)

    formats = {name: of * (lanes if name.startswith("scale") else 1) for name, of in formats.items()}
    yield _Question(formats, partial(step, FirstAddend), pair.step == lanes)
    so_far = {"so far": [pair.first.result.format]}
    yield _Question(
        {**{name: of for name, of in formats.items() if name != "c"}, **so_far}, partial(step, ResultCode), False
    )


def _few(products: int) -> None:
    if products > MOST_PRODUCTS:
        raise Unmet(f"it is asked of at most {MOST_PRODUCTS} products, not {products}")


def _formats(pair: UnitPair, k: int) -> dict[str, list[Format]]:
    formats, counts = operand_formats(pair.first), operand_counts(pair.first, k)
    return {name: [fmt] * counts[name] for name, fmt in formats.items()}


def _decided(pair: UnitPair, questions: Iterator[_Question], end: float, proof: str) -> str | Case:
    rules = [unpromised(unit) for unit in pair.units]
    if not pair.by_code:
        raise Unmet("their results have other formats")
    good = Unpromised(
        *(next(filter(None, parts), None) for parts in zip(*((one.nans, one.zeros) for one in rules), strict=True))
    )
    for question in questions:
        terms = {
            f"{name}.{place}": constant(f"{name}.{place}", fmt.bits)
            for name, formats in question.formats.items()
            for place, fmt in enumerate(formats)
        }
        codes = {
            name: [code_of(fmt, terms[f"{name}.{place}"]) for place, fmt in enumerate(formats)]
            for name, formats in question.formats.items()
        }
        sides = []
        try:
            with until(end):
                for unit in pair.units:
                    specified = Specified(unit)
                    sides.append(specified.followed(partial(question.run, specified.definition, codes)))
        except OutOfTime:
            return ""
        for first, second in product(*sides):
            got = as_integer(first.code).at(pair.first.output.container_bits)
            left = end - time.thread_time()
            answer = ask(
                is_right(got, second.code, good),
                (*first.conditions, *second.conditions),
                max(left, 0.1),
                terms.values(),
            )
            if answer.word == "refuted" and question.shows and answer.model is not None:
                return _case(question, answer.model)
            if answer.word != "proved":
                return ""
    return proof


def _case(question: _Question, model: Mapping[str, int]) -> Case:
    codes = {
        name: tuple(model[f"{name}.{place}"] << fmt.padding for place, fmt in enumerate(formats))
        for name, formats in question.formats.items()
    }
    c = codes.pop("c", (0,))[0]
    return Case("solved", codes["a"], codes["b"], c, codes.get("scale_a", ()), codes.get("scale_b", ()))
