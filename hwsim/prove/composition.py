"""Composition: the model's own open, step and close run on tokens, and say which functions they call, and of what.

Each function of a stage is cut: in its place a call is recorded, and what the RTL has for it, by a wiring, stands for
what it returns. Nothing may be asked of a token but by a function that is cut. What comes of a run are the *calls*:
functions of the model with their constants, of which the claims of steps show that the circuits compute them. A wrong
wiring loses claims, and makes none.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NoReturn

import hwsim.model
from hwsim.formats import unpack
from hwsim.model import definition, late, methods, rounding, scales, terms
from hwsim.model.rounding import ResultRounding, Rounded
from hwsim.model.terms import AlignedTerms
from hwsim.prove.symbolic import Truth, given_function
from hwsim.prove.terms import Term, constant, is_one

Key = tuple[Any, ...]


class Unmet(Exception):
    """Raised where the model does what no claim is about."""


class Token:
    """The stand-in for what a call returned. key: what it is in the RTL."""

    def __init__(self, *key: Any):
        self.key: Key = key

    def asked(self, what: str) -> NoReturn:
        """Raise Unmet: only a function that is cut may ask this of a token."""
        raise Unmet(f"{what} of ({self}) is asked outside of any function that a claim is about")

    def __getattr__(self, name: str) -> NoReturn:
        self.asked(name)

    def __eq__(self, other: object) -> bool:
        return self is other or self.asked("equality")

    def __bool__(self) -> bool:
        self.asked("truth")

    def _asked(self, *_: object) -> NoReturn:
        self.asked("a number")

    __int__ = __index__ = __abs__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _asked
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __xor__ = __rxor__ = __and__ = __rand__ = _asked
    __or__ = __ror__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _asked
    __hash__ = None  # type: ignore[assignment]
    __iter__ = None

    def __repr__(self) -> str:
        return " ".join(map(str, self.key))


class TokenSum(Token):
    """A sum of tokens' integers, each once, and of a number: nothing but further sums may be made of it."""

    def __init__(self, parts: Sequence[Key], number: int = 0):
        super().__init__("sum", *sorted(parts, key=str))
        self.parts, self.number = tuple(parts), number

    def __add__(self, other: Any) -> TokenSum:  # type: ignore[override]
        if isinstance(other, TokenSum):
            return TokenSum((*self.parts, *other.parts), self.number + other.number)
        return TokenSum(self.parts, self.number + other) if type(other) is int else self.asked("a sum")

    __radd__ = __add__  # type: ignore[assignment]

    def __sub__(self, other: Any) -> TokenSum:  # type: ignore[override]
        return self + -other if type(other) is int else self.asked("a difference")


def integer(*key: Any) -> TokenSum:
    """The token of an integer that a call returned."""
    return TokenSum([key])


@dataclass(frozen=True)
class GivenArgument:
    """A place for a given argument among the arguments of a call. plus: the number added to it."""

    plus: int = 0

    def of(self, what: Any) -> Any:
        """The argument for a given value."""
        return what + self.plus if self.plus else what


@dataclass(frozen=True)
class GivenWindow:
    """A place for a given window's sum, by its max_exp and total, among the arguments of a call."""

    fraction_bits: int

    def of(self, what: tuple[Any, Any]) -> AlignedTerms:
        """The argument for a given max_exp and total."""
        return AlignedTerms(what[0], self.fraction_bits, (), what[1])


@dataclass(frozen=True)
class ModelCall:
    """A call of a function of the model: its arguments in order, constants or places for given ones."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, *given: Any) -> Any:
        """Return the model's result for given arguments, in the order of their places."""
        left = iter(given)
        every = [arg.of(next(left)) if isinstance(arg, GivenArgument | GivenWindow) else arg for arg in self.arguments]
        return self.function(*every)

    def __getitem__(self, name: str) -> Any:
        """A constant, by the name of the function's parameter."""
        return self.arguments[list(inspect.signature(self.function).parameters).index(name)]

    def same(self, other: ModelCall) -> bool:
        """True if another call is this one; objects of the model are compared by what they are made of."""
        return self.function is other.function and [*map(_made_of, self.arguments)] == [*map(_made_of, other.arguments)]


def _made_of(argument: Any) -> Any:
    match argument:
        case ResultRounding():
            return argument.rule, argument.hooks
        case definition.Definition():
            return argument.unit
    return argument


class Calls:
    """The calls of a unit, by the names that claims have for them. shown: those that claims are about."""

    def __init__(self, every: Mapping[str, ModelCall]):
        self.every, self.shown = every, set[str]()

    def __contains__(self, name: str) -> bool:
        return name in self.every

    def __getitem__(self, name: str) -> ModelCall:
        """A call that a claim is about. Raises Unmet for what the model does not call."""
        if name not in self.every:
            raise Unmet(f"the RTL has a step for `{name}`, which the model never calls")
        self.shown.add(name)
        return self.every[name]

    def get(self, name: str) -> ModelCall | None:
        """A call that a claim is about; None where there is none."""
        return self[name] if name in self.every else None

    @property
    def open(self) -> list[str]:
        """Calls of which no claim was made."""
        return [name for name in self.every if name not in self.shown]


def round_term(rounding: ResultRounding, term: Any, sticky: bool) -> Any:
    """The code of a sum's term."""
    return rounding.term(term, sticky).code


def window_term(window: AlignedTerms) -> Any:
    """A window's sum as a term."""
    return window.term


# The functions and methods that are cut, by their names here.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "factor": terms.factor, "product": terms.product, "scale_exponent": scales.scale_exponent,
    "unpack": unpack, "addend_term": terms.addend_term, "positive_zero": terms.positive_zero,
    "combine_specials": rounding.combine_specials, "max_exponent": terms.max_exponent, "align": terms.align,
    "any_lost": terms.any_lost, "cut_sum": methods.cut_sum, "combine": methods.combine,
    "is_low": scales.is_low, "exact_sum": rounding.exact_sum, "total_term": methods.total_term, "add": rounding.add,
    "late_window": late.late_window, "flushed_code": rounding.flushed_code, "exact_product": late.exact_product,
}  # fmt: skip
CLASSES: Mapping[str, tuple[type, str]] = {
    "scaled": (definition.Definition, "scaled"),
    "scaled part": (scales.SubgroupScales, "subgroup"),
    "part": (scales.UnscaledSums, "subgroup"),
    "round": (ResultRounding, "term"),
    "rounded_product": (late.Promoter, "rounded_product"),
}
ORIGINAL: Mapping[str, Callable[..., Any]] = {
    **FUNCTIONS,
    **{name: getattr(owner, method) for name, (owner, method) in CLASSES.items()},
    "window term": AlignedTerms.term.fget,  # type: ignore[attr-defined]
}
# What a claim runs of a call, where it is not that function itself.
RUN: Mapping[str, Callable[..., Any]] = {"round": round_term, "window term": window_term}

Handler = Callable[[str, tuple[Any, ...]], Any]


def aliases(function: Callable[..., Any]) -> Iterator[tuple[ModuleType, str]]:
    """Yield each module of the model that has a function, and the function's name there."""
    for info in pkgutil.iter_modules(hwsim.model.__path__):
        module = importlib.import_module(f"hwsim.model.{info.name}")
        yield from ((module, name) for name, what in [*vars(module).items()] if what is function)


@contextmanager
def cut(handler: Handler) -> Iterator[None]:
    """Make every function of the model that is cut call the handler, in every module that has it, under any name."""
    with ExitStack() as stack:
        for name, function in FUNCTIONS.items():
            for module, alias in aliases(function):
                stack.enter_context(given_function(module, alias, _called(handler, name)))
        for name, (owner, method) in CLASSES.items():
            stack.enter_context(given_function(owner, method, _called(handler, name)))
        stack.enter_context(given_function(AlignedTerms, "term", property(_called(handler, "window term"))))
        yield


def _called(handler: Handler, name: str) -> Callable[..., Any]:
    signature = inspect.signature(ORIGINAL[name])

    def call(*args: Any, **named: Any) -> Any:
        bound = signature.bind(*args, **named)
        bound.apply_defaults()
        return handler(name, tuple(bound.arguments.values()))

    return call


def fork(name: str) -> bool:
    """Return an unknown truth, of which both answers are followed."""
    return bool(Truth(is_one(constant(f"composition.{name}", 1))))


@cache
def _low() -> Term:
    return is_one(constant("composition.low", 1))


def addend_is_low() -> bool:
    """Return the unknown truth that a group's addend is low: one answer on a path. Both are followed."""
    return bool(Truth(_low()))


def key_of(what: Any) -> Key | None:
    """The key of an argument that is made of tokens; None for a constant."""
    match what:
        case Token():
            return what.key
        case AlignedTerms(max_exp, _, _, total):
            return None if max_exp is None else ("window", key_of(max_exp), key_of(total))
        case tuple() | list() if any(isinstance(element, Token) for element in what):
            return tuple(key_of(element) or ("constant", element) for element in what)
    return None


def argument_of(what: Any) -> Any:
    """The entry for an argument in a recorded call."""
    match what:
        case TokenSum():
            return GivenArgument(what.number)
        case AlignedTerms(max_exp, bits, _, _) if max_exp is not None:
            return GivenWindow(bits)
    return what if key_of(what) is None else GivenArgument()


@dataclass(frozen=True)
class StepCall:
    """The counterpart of a call in the RTL. key: of the result. call: the name of the claims about it; empty for none.

    Without claims the RTL has nothing for the call: its result must not be needed. sure: set for terms that are special
    together because one of them is.
    """

    key: Key
    call: str = ""
    sure: bool = False


Wiring = Callable[[str, Sequence[Key]], StepCall | None]


class Recorder:
    """A recorder of calls, which answers each with what the RTL has for it, by a wiring."""

    def __init__(self, wiring: Wiring):
        self.wiring, self.calls = wiring, dict[str, ModelCall]()

    def __call__(self, name: str, args: tuple[Any, ...]) -> Any:
        """Answer one call. A call without tokens is computed, except for addends, which may be zero."""
        of = [key for key in map(key_of, args) if key is not None]
        if looks_at_nothing(name, args) or (not of and name != "addend_term"):
            return ORIGINAL[name](*args)
        met = self.wiring(name, of)
        if met is None:
            raise Unmet(f"no step of the RTL is `{name}` of {', '.join(map(_in_words, of)) or 'zero'}")
        if met.call:
            call = ModelCall(RUN.get(name, ORIGINAL[name]), tuple(map(argument_of, args)))
            if not self.calls.setdefault(met.call, call).same(call):
                raise Unmet(f"`{met.call}` is called in two ways: {self.calls[met.call].arguments}, {call.arguments}")
        return answer(name, args, met)


def looks_at_nothing(name: str, args: tuple[Any, ...]) -> bool:
    """True if a function returns its result without a look at any term."""
    match name, args:
        case ("cut_sum", (_, None)) | ("any_lost", (_, AlignedTerms(None))):
            return True
    return False


def _in_words(key: Any) -> str:
    return " ".join(map(_in_words, key)) if isinstance(key, tuple) else str(key)


@dataclass(frozen=True)
class LateTokens:
    """The sum of a late addend's window, of tokens."""

    total: TokenSum
    unit_exp: TokenSum


def answer(name: str, args: tuple[Any, ...], met: StepCall, fork: Callable[[str], bool] = fork) -> Any:
    """The token that a call returns, for what it met. fork: an unknown truth, by its name."""
    token = Token(*met.key)
    match name:
        case "combine_specials":
            return token if met.sure or fork(_in_words(met.key)) else None
        case "is_low":
            return addend_is_low()
        case "max_exponent":
            return None if fork(_in_words(met.key)) else integer(*met.key)
        case "align":
            return integer(*met.key)
        case "cut_sum":
            return args[0]._replace(total=integer(*met.key))
        case "combine":
            both = AlignedTerms(integer(*met.key, "max_exp"), args[2], (), integer(*met.key))  # type: ignore[arg-type]
            return methods.Halves(args[0], args[1], both)
        case "exact_sum":
            return integer(*met.key), integer(*met.key, "unit")
        case "late_window":
            return LateTokens(integer(*met.key), integer(*met.key, "unit"))
        case "scaled part" | "part":
            return scales.Subgroup(0, 0, None, None, token)  # type: ignore[arg-type]
        case "round":
            return Rounded(token, None)  # type: ignore[arg-type]
    return token
