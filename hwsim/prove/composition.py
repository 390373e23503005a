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
from types import ModuleType
from typing import Any, NoReturn

import hwsim.model
from hwsim.formats import unpack
from hwsim.model import definition, late, methods, rounding, scales, terms
from hwsim.model.rounding import ResultRounding, Rounded
from hwsim.model.terms import AlignedTerms
from hwsim.prove.symbolic import Truth, given_function
from hwsim.prove.terms import constant, is_one

Key = tuple[Any, ...]


class Unmet(Exception):
    """The model does what no claim says anything of."""


class Token:
    """What a call returned. key: what it is in the RTL."""

    def __init__(self, *key: Any):
        self.key: Key = key

    def asked(self, what: str) -> NoReturn:
        """Something is asked that only a function that is cut may ask."""
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
    """What integers of tokens add up to, each once, and a number: of these nothing but sums may be made."""

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
    """An integer that a call returned."""
    return TokenSum([key])


@dataclass(frozen=True)
class GivenArgument:
    """In the constants of a call: an argument that is given. plus: what is added to it."""

    plus: int = 0

    def of(self, what: Any) -> Any:
        """The argument, where this is given."""
        return what + self.plus if self.plus else what


@dataclass(frozen=True)
class GivenWindow:
    """In the constants of a call: a window's sum, given by its max_exp and total."""

    fraction_bits: int

    def of(self, what: tuple[Any, Any]) -> AlignedTerms:
        """The argument."""
        return AlignedTerms(what[0], self.fraction_bits, (), what[1])


@dataclass(frozen=True)
class ModelCall:
    """A function of the model as it is called: its arguments in order, constants or what is given."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, *given: Any) -> Any:
        """What the model returns of what is given, in the order of the arguments."""
        left = iter(given)
        every = [one.of(next(left)) if isinstance(one, GivenArgument | GivenWindow) else one for one in self.arguments]
        return self.function(*every)

    def __getitem__(self, name: str) -> Any:
        """A constant, by the name of the function's parameter."""
        return self.arguments[list(inspect.signature(self.function).parameters).index(name)]

    def same(self, other: ModelCall) -> bool:
        """Whether another call is this one; objects of the model count by what they are made of."""
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
    "exact_sum": rounding.exact_sum, "total_term": methods.total_term, "add": rounding.add,
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
    """Wherever a module of the model has a function, and under which name."""
    for found in pkgutil.iter_modules(hwsim.model.__path__):
        module = importlib.import_module(f"hwsim.model.{found.name}")
        yield from ((module, name) for name, what in [*vars(module).items()] if what is function)


@contextmanager
def cut(handler: Handler) -> Iterator[None]:
    """Every function of the model that is cut calls this, wherever a module has it, under whatever name."""
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
    """Both answers are followed."""
    return bool(Truth(is_one(constant(f"composition.{name}", 1))))


def key_of(what: Any) -> Key | None:
    """What an argument is of tokens; None of a constant."""
    match what:
        case Token():
            return what.key
        case AlignedTerms(max_exp, _, _, total):
            return None if max_exp is None else ("window", key_of(max_exp), key_of(total))
        case tuple() | list() if any(isinstance(one, Token) for one in what):
            return tuple(key_of(one) or ("constant", one) for one in what)
    return None


def argument_of(what: Any) -> Any:
    """What stands for an argument in a call."""
    match what:
        case TokenSum():
            return GivenArgument(what.number)
        case AlignedTerms(max_exp, bits, _, _) if max_exp is not None:
            return GivenWindow(bits)
    return what if key_of(what) is None else GivenArgument()


@dataclass(frozen=True)
class StepCall:
    """What the RTL has for a call. key: of what it returns. call: the name of the claims about it; empty for none.

    Without claims the RTL has nothing for it: what is returned must not be needed. sure: of terms that are special
    together because one of them is.
    """

    key: Key
    call: str = ""
    sure: bool = False


Wiring = Callable[[str, Sequence[Key]], StepCall | None]


class Recorder:
    """Records calls, and answers each by what the wiring says that the RTL has for it."""

    def __init__(self, wiring: Wiring):
        self.wiring, self.calls = wiring, dict[str, ModelCall]()

    def __call__(self, name: str, args: tuple[Any, ...]) -> Any:
        """The answer to one call. What no token goes into is worked out; but for addends, which may be zero."""
        of = [key for key in map(key_of, args) if key is not None]
        if _looks_at_nothing(name, args) or (not of and name != "addend_term"):
            return ORIGINAL[name](*args)
        met = self.wiring(name, of)
        if met is None:
            raise Unmet(f"no step of the RTL is `{name}` of {', '.join(map(_in_words, of)) or 'zero'}")
        if met.call:
            call = ModelCall(RUN.get(name, ORIGINAL[name]), tuple(map(argument_of, args)))
            if not self.calls.setdefault(met.call, call).same(call):
                raise Unmet(f"`{met.call}` is called in two ways: {self.calls[met.call].arguments}, {call.arguments}")
        return _answer(name, args, met)


def _looks_at_nothing(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a function returns what it does without a look at any term."""
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


def _answer(name: str, args: tuple[Any, ...], met: StepCall) -> Any:
    """What stands for what a call returns."""
    made = Token(*met.key)
    match name:
        case "combine_specials":
            return made if met.sure or fork(_in_words(met.key)) else None
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
            return scales.Subgroup(0, 0, None, None, made)  # type: ignore[arg-type]
        case "round":
            return Rounded(made, None)  # type: ignore[arg-type]
    return made
