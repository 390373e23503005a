"""The results of a unit's definition for unknown operands: its functions are followed once for any arguments.

A function of few numbers is followed by itself, of any such numbers, and its result is put in wherever it is called.
Its results of one shape are merged into one: the class of a term becomes a matter of conditions, so that sums of many
products have few ways through the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial, reduce
from typing import Any, Literal

from hwsim.formats import Class, Fields, Format
from hwsim.model import rounding, scales, terms
from hwsim.model.definition import Definition
from hwsim.model.rounding import ResultRounding, Rounded
from hwsim.model.terms import AlignedTerms
from hwsim.model.terms import Term as ModelTerm
from hwsim.prove.claims import exactly, holds
from hwsim.prove.composition import aliases
from hwsim.prove.lemmas import AnyTerm
from hwsim.prove.symbolic import Explorer, Integer, Path, Truth, as_integer, given, given_function, ite, made, paths
from hwsim.prove.terms import (
    Kind,
    Term,
    as_bit,
    ask,
    both,
    constant,
    either,
    false,
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
from hwsim.spec import Unit


@dataclass(frozen=True)
class Met:
    """A number that the model works out on its way.

    seen: forms in which a design may have it. condition: where a design has it, if not always. facts: what holds of it.
    of_product: whether it is a product's own. finite: that the term whose own it is is no special one. facts_alone:
    whether no other number has these facts. likely: what holds of it if a solver says so. as_sum: of a sum, the same
    without sums of some of its terms in fewer bits, of which a form does not see that they fit. cut: a form that may
    stand by itself instead of the number, where it is given; of_cut: what a form like it makes the number, and all that
    is in `seen`.
    """

    name: str
    number: Integer
    seen: tuple[Integer, ...]
    condition: Term = field(default_factory=true)
    facts: tuple[Term, ...] = ()
    of_product: bool = False
    finite: Term | None = None
    facts_alone: bool = False
    likely: tuple[Term, ...] = ()
    as_sum: Term | None = None
    cut: Integer | None = None
    of_cut: Callable[[Integer], tuple[Integer, ...]] = lambda cut: (cut,)


class MergedTerm(AnyTerm):
    """A term of any class; where the class itself is asked, each is followed."""

    __slots__ = ()

    is_nan = property(lambda self: _truth(_conditions(self)[0]))
    is_infinite = property(lambda self: _truth(_conditions(self)[1]))
    is_special = property(lambda self: _truth(_special(self)))

    @property
    def cls(self) -> Class:
        """The class, on this path."""
        if self.is_nan:
            return Class.NAN
        if self.is_infinite:
            return Class.INFINITY
        return Class.NORMAL if self.is_number else Class.ZERO


class MergedFields(Fields):
    """A decoded factor of any class; where the class itself is asked, each is followed."""

    __slots__ = ()

    @property
    def cls(self) -> Class:
        """The class, on this path."""
        *others, last = zip(CLASSES, _of_classes(self), strict=True)
        return next((cls for cls, condition in others if _truth(condition)), last[0])


CLASSES = Class.NAN, Class.INFINITY, Class.ZERO, Class.SUBNORMAL, Class.NORMAL


def _of_classes(fields: Any) -> Sequence[Term]:
    """The conditions that a decoded factor is of a class, in the order of `CLASSES`."""
    return tuple(tuple.__iter__(fields))[3]  # type: ignore[no-any-return]


def _conditions(term: Any) -> Sequence[Term]:
    """The conditions that a term is NaN, an infinity, a number other than zero."""
    return tuple(tuple.__iter__(term))[4]  # type: ignore[no-any-return]


def _special(term: Any) -> Term:
    there = [condition for condition in _conditions(term)[:2] if not condition.is_false()]
    return either(*there) if there else false()


def _truth(condition: Term) -> Any:
    return False if condition.is_false() else Truth(condition)


def _merged_term(numbers: Sequence[Any], conditions: Sequence[Term]) -> Any:
    """conditions: that it is NaN, an infinity, a number other than zero."""
    return tuple.__new__(MergedTerm, (*numbers, tuple(conditions)))


def _parts(thing: Any) -> Sequence[Any] | None:
    """The parts of a structure; None of what is none."""
    return tuple(tuple.__iter__(thing)) if isinstance(thing, tuple) else thing if isinstance(thing, list) else None


def _rebuilt(thing: Any, parts: Iterable[Any]) -> Any:
    if isinstance(thing, AnyTerm):
        *numbers, conditions = parts
        return _merged_term(numbers, conditions)
    return thing._make(parts) if hasattr(thing, "_make") else type(thing)(parts)


class _Fresh:
    """Arguments with constants in the place of all that is not known.

    by: the constants, and the terms for which they stand. known: what holds of the constants.
    """

    def __init__(self) -> None:
        self.by: list[tuple[Term, Term]] = []
        self.known: list[Term] = []

    def of(self, thing: Any) -> tuple[Any, Any]:
        """Return an argument with such constants, and a key that arguments of one form share."""
        match thing:
            case Integer():
                return self._integer(thing)
            case Truth():
                return Truth(self._condition(thing.term)), Truth
            case Class() | Enum() | int() | str() | None:
                return thing, (type(thing), thing)
        parts = _parts(thing)
        if parts is not None:
            items = [self.of(part) for part in parts]
            return _rebuilt(thing, [item for item, _ in items]), (type(thing), *(key for _, key in items))
        if hasattr(thing, "is_const"):  # a condition of a term
            return self._condition(thing), "condition"
        return thing, id(thing)

    def _condition(self, term: Term) -> Term:
        if term.is_true() or term.is_false():
            return term
        bit = constant("any.bit", 1)
        self.by.append((bit, as_bit(term)))
        return is_one(bit)

    def _integer(self, number: Integer) -> tuple[Any, Any]:
        if number.bits is not None:
            bits = constant("any.code", width(number.bits))
            self.by.append((bits, number.bits))
            return Integer.unsigned(bits), ("code", width(number.bits))
        term = constant("any.number", width(number.term))
        self.by.append((term, number.term))
        self.known.append(exactly(Integer.signed(term), number.low, number.high))
        return Integer(term, number.low, number.high), (number.low, number.high)


def _shape(result: Any) -> Any:
    """The part of a result that no term chooses."""
    match result:
        case bool() | Truth():
            return "truth"
        case int() | Integer():
            return "number"
        case ModelTerm():
            return "term"
        case Fields():
            return "fields"
        case str() | None | Enum():
            return result
    parts = _parts(result)
    return id(result) if parts is None else (type(result), *map(_shape, parts))


def _one(found: Sequence[Path[Any]]) -> Any:
    """Results of one shape as one; the last one where none of the other conditions holds."""
    last = found[-1].result
    match last:
        case bool() | Truth():
            made_of = holds(last)
            for path in reversed(found[:-1]):
                made_of = op(Kind.ITE, path.condition, holds(path.result), made_of)
            return last if len(found) == 1 else Truth(made_of)
        case int() | Integer():
            number = last
            for path in reversed(found[:-1]):
                number = _either(path.condition, path.result, number)
            return number
        case ModelTerm():
            return _one_term(found)
        case Fields():
            return _one_fields(found)
    parts = _parts(last)
    if parts is None:
        return last
    every = [_parts(path.result) or () for path in found]
    return _rebuilt(last, [_one([Path(path.condition, row[index]) for path, row in zip(found, every, strict=True)])
                           for index in range(len(parts))])  # fmt: skip


def _either(condition: Term, yes: Any, no: Any) -> Any:
    """One of two numbers, by a condition; without it where both are one term."""
    if isinstance(yes, Integer) and isinstance(no, Integer) and yes.term == no.term:
        return Integer(no.term, min(yes.low, no.low), max(yes.high, no.high))
    return no if type(yes) is int and type(no) is int and yes == no else ite(Truth(condition), yes, no)


def _one_fields(found: Sequence[Path[Any]]) -> Any:
    sign, exp, sig = (
        _one([Path(path.condition, getattr(path.result, name)) for path in found]) for name in ("sign", "exp", "sig")
    )
    conditions = (either(false(), *(path.condition for path in found if path.result.cls is cls)) for cls in CLASSES)
    return tuple.__new__(MergedFields, (sign, exp, sig, tuple(conditions)))


def _one_term(found: Sequence[Path[Any]]) -> Any:
    names = ("sign", "exp", "sig", "fraction_bits")
    numbers = [_one([Path(path.condition, getattr(path.result, name)) for path in found]) for name in names]
    conditions = [
        either(false(), *(both(path.condition, holds(getattr(path.result, name))) for path in found))
        for name in ("is_nan", "is_infinite", "is_number")
    ]
    conditions = [false() if ask(negated(condition)).word == "proved" else condition for condition in conditions]
    counts = holds(as_integer(numbers[2]) != 0)
    if ask(same(conditions[2], counts)).word == "proved":  # a number is one by its significand
        conditions[2] = counts
    return _merged_term(numbers, conditions)


@dataclass(frozen=True)
class SpecifiedCase:
    """The result's code where conditions hold together. met: the numbers on the way, in order."""

    conditions: tuple[Term, ...]
    code: Any
    met: tuple[Met, ...]

    @property
    def condition(self) -> Term:
        """The conjunction of all conditions."""
        return both(*self.conditions)


@dataclass(frozen=True)
class SymbolicOperands:
    """Codes of a dot product's operands, as containers have them: numbers, or integers that are not known.

    scale_a, scale_b: a code for each term, or empty, as `Definition.dot` takes them.
    """

    a: Sequence[Any]
    b: Sequence[Any]
    c: Any = 0
    scale_a: Sequence[Any] = ()
    scale_b: Sequence[Any] = ()


def code_of(fmt: Format, term: Term) -> Any:
    """Return a container's code from a term of the bits above its padding; a number where the term is one."""
    if term.is_value():
        return int(term.value(10)) << fmt.padding
    return Integer.unsigned(op(Kind.BV_CONCAT, term, value(0, fmt.padding)) if fmt.padding else term)


class UnrecordedDefinition(Definition):
    """The definition, without the decoded factors of its record: sums are of products."""

    def _recorded(self, decoded: Callable[[int], Fields], codes: Sequence[int]) -> tuple[Fields, ...]:
        return ()


class Specified:
    """The results of a unit's definition for operands that are not known.

    Raises NotImplementedYet for a unit that the model does not have.
    """

    def __init__(self, unit: Unit):
        self.definition = UnrecordedDefinition(unit, keep=False)
        self.kept: dict[Any, tuple[list[Path[Any]], list[Term], object]] = {}
        self.met: list[Met] = []
        self.inside = False
        self.parts: dict[int, tuple[Term, list[Term]]] = {}  # of disjunctions, by their numbers
        self.definition._factor_a, self.definition._factor_b = self._factor("a"), self._factor("b")

    def cases(self, operands: SymbolicOperands) -> list[SpecifiedCase]:
        """Return the results, each with the conditions under which it is returned; these are all that there are."""
        codes = (operands.scale_a, operands.scale_b) if operands.scale_a else ()
        return self.followed(lambda: self.definition.dot(operands.a, operands.b, operands.c, *codes).code)

    def followed(self, run: Callable[[], Any]) -> list[SpecifiedCase]:
        """Return the codes that a run of the definition returns, as `cases` does. run: of unknown operands."""

        def followed() -> tuple[Any, tuple[Met, ...], tuple[Term, ...]]:
            self.met = []
            return run(), tuple(self.met), given()

        with self._summed_up():
            found = [path.result for path in paths(followed, asked=False)]
        return [SpecifiedCase(conditions, code, met) for code, met, conditions in found]

    def nowhere(self, conditions: Sequence[Term]) -> set[int]:
        """Return the numbers of the terms that are false because a disjunction of them is."""
        numbers = set[int]()
        for condition in conditions:
            if condition.kind() == Kind.NOT and condition.children()[0].id() in self.parts:
                numbers |= {part.id() for part in self.parts[condition.children()[0].id()][1]}
        return numbers

    # Functions in the place of the model's.

    @contextmanager
    def _summed_up(self) -> Iterator[None]:
        ours: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
            (function, self._of(function))
            for function in (
                terms.positive_zero, terms.addend_term, terms.cut_magnitude, scales.scale_exponent, scales.subgroup,
                rounding.exact_sum, rounding.add,
            )
        ]  # fmt: skip
        ours += [(terms.some, self._some), (terms.greatest, self._greatest)]
        ours += [(terms.align, self._align(terms.align)), (terms.window, self._window(terms.window))]
        methods = [(UnrecordedDefinition, name) for name in ("product", "addend", "partial")]
        with ExitStack() as stack:
            for function, replacement in ours:
                for module, name in aliases(function):
                    stack.enter_context(given_function(module, name, replacement))
            for owner, name in methods:
                stack.enter_context(given_function(owner, name, self._of(getattr(owner, name))))
            total = self._total(ResultRounding.total)
            stack.enter_context(given_function(ResultRounding, "total", total))
            yield

    def _call(
        self, function: Callable[..., Any], arguments: Sequence[Any],
        known: Callable[..., Sequence[Term]] = lambda *_: (), name: object = None, code: Format | None = None,
    ) -> Any:  # fmt: skip
        """Return a function's result, followed once for any arguments of the same form; the caller asks for its shape.

        name: of functions that do the same, where it is not the function itself. code: the format of whose codes it
        returns one, if it does.
        """
        fresh = _Fresh()
        pairs = [fresh.of(one) for one in arguments]
        key = name or function, tuple(key for _, key in pairs)
        if key not in self.kept:
            of = [one for one, _ in pairs]
            self.inside, before = True, self.inside
            try:
                every = paths(lambda: function(*of), (*fresh.known, *known(*of)))
            finally:
                self.inside = before
            shapes: dict[Any, list[Path[Any]]] = {}
            for path in every:
                result = _within(path.result, (*fresh.known, path.condition), code)
                shapes.setdefault(_shape(result), []).append(Path(path.condition, result))
            joined = [Path(either(*(one.condition for one in group)), _one(group)) for group in shapes.values()]
            self.kept[key] = joined, [name for name, _ in fresh.by], arguments
        joined, names, _ = self.kept[key]
        by = dict(zip(names, (term for _, term in fresh.by), strict=True))
        for path in joined[:-1]:
            if Truth(substituted(path.condition, by)):
                return self._put_in(path.result, by)
        return self._put_in(joined[-1].result, by)

    def _put_in(self, thing: Any, by: dict[Term, Term]) -> Any:
        match thing:
            case Integer():
                return Integer(substituted(thing.term, by), thing.low, thing.high)
            case Truth():
                return Truth(substituted(thing.term, by))
        parts = _parts(thing)
        if parts is not None:
            return _rebuilt(thing, [self._put_in(part, by) for part in parts])
        return substituted(thing, by) if hasattr(thing, "is_const") else thing

    def _factor(self, side: Literal["a", "b"]) -> Callable[[Any], Any]:
        decoded = self.definition._factor_a if side == "a" else self.definition._factor_b

        def merged(code: Any) -> Any:
            """A decoded factor; its significand as bits, which are multiplied as circuits do it."""
            if not isinstance(code, Integer):
                return decoded(code)
            sign, exp, sig, conditions = tuple.__iter__(self._call(decoded, (code,), name=("factor", side)))
            if isinstance(sig, Integer) and sig.low >= 0:
                sig = Integer(sig.term, sig.low, sig.high, part(sig.term, 0, sig.high.bit_length()))
            return tuple.__new__(MergedFields, (sign, exp, sig, conditions))

        return merged

    def _of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that returns what another returns, from a memory of followed functions."""

        def summed_up(*arguments: Any) -> Any:
            if self.inside or not _asks(arguments):
                return function(*arguments)
            result = self._call(function, arguments, code=arguments[0] if function.__name__ == "add" else None)
            if function.__name__ == "product":
                self._meets_factors(*arguments[1:3])
            self._meets(function.__name__, result)
            return result

        return summed_up

    def _meets_factors(self, a: Any, b: Any) -> None:
        """Record the significands of a product's factors."""
        for fields in (self.definition.factor("a", a), self.definition.factor("b", b)):
            if isinstance(fields, MergedFields) and isinstance(fields.sig, Integer):
                finite = negated(either(*_of_classes(fields)[:2]))
                self.met.append(Met("factor.sig", fields.sig, (fields.sig,), finite, of_product=True))

    def _meets(self, name: str, found: Any) -> None:
        """Record the numbers that a call returned as ones that may be met."""
        match found:
            case MergedTerm():
                finite, of_product, number = negated(_special(found)), name == "product", _conditions(found)[2]
                for field_name, number_met, where in (("sig", found.sig, finite), ("exp", found.exp, number)):
                    if isinstance(number_met, Integer):
                        met = Met(f"{name}.{field_name}", number_met, (number_met,), where, (), of_product, finite)
                        self.met.append(met)
            case Integer():
                self.met.append(Met(name, found, (found,)))
            case tuple():
                for part in _parts(found) or ():
                    self._meets(name, part)

    def _some(self, conditions: Iterable[object]) -> Any:
        kept = [holds(condition) for condition in conditions if condition is not False]
        kept = [condition for condition in kept if not condition.is_false()]
        if not kept:
            return False
        whole = either(*kept)
        self.parts[whole.id()] = whole, kept
        return Truth(whole)

    def _greatest(self, candidates: Iterable[tuple[Any, object]]) -> Any:
        """The largest number of those that count, each compared to the largest before."""
        every = [(as_integer(number), holds(counts)) for number, counts in candidates if counts is not False]
        every = [candidate for candidate in every if not candidate[1].is_false()]
        some = either(false(), *(counts for _, counts in every))
        if not every or not Truth(some):
            return None
        low, high = min(number.low for number, _ in every), max(number.high for number, _ in every)
        largest, so_far = every[0]
        for number, counts in every[1:]:
            larger = both(counts, either(negated(so_far), holds(number > largest)))
            largest, so_far = as_integer(ite(Truth(larger), number, largest)), either(so_far, counts)
        greatest = made(largest.term, low, high)
        if self.inside or not isinstance(greatest, Integer):
            return greatest
        facts = [implies(counts, holds(greatest >= number)) for number, counts in every]
        facts.append(implies(some, either(*(both(counts, holds(greatest == number)) for number, counts in every))))
        self.met.append(Met("max_exp", greatest, (greatest,), some, tuple(facts), facts_alone=True))
        return greatest

    def _align(self, align: Callable[..., Any]) -> Callable[..., Any]:
        def summed_up(term: Any, max_exp: Any, *rule: Any) -> Any:
            if self.inside or not _asks((term, max_exp)):
                return align(term, max_exp, *rule)
            sign, exp, sig = as_integer(term.sign), as_integer(term.exp), as_integer(term.sig)

            def magnitude(sign: Any, exp: Any, sig: Any, top: Any) -> Any:
                """The magnitude of the result of `align`.

                A term of zero, which may stand above the window, leaves nothing: that is shown.
                """
                one = ModelTerm(sign, exp, sig, term.fraction_bits, Class.NORMAL)
                nothing = ModelTerm(sign, exp, 0, term.fraction_bits, Class.ZERO)
                if not sig:
                    return align(nothing, top, *rule)
                found = align(one, top, *rule)
                return -found if sign else found

            def below(sign: Any, exp: Any, sig: Any, top: Any) -> Sequence[Term]:
                return (implies(holds(sig != 0), holds(as_integer(top) >= exp)),)

            name = align, rule, term.fraction_bits
            size = self._call(magnitude, (sign, exp, sig, max_exp), below, name)
            found = ite(Truth(holds(sign != 0)), -size, size)
            if isinstance(size, Integer) and isinstance(found, Integer):
                zero = implies(holds(sig == 0), holds(size == 0)), implies(holds(sig == 0), holds(found == 0))
                self.met.append(Met("magnitude", size, (size,), facts=zero[:1]))
                forms = found, *_complements(found, sign)
                cut = forms[1] if len(forms) == 3 else None
                far = implies(holds(as_integer(max_exp) >= _nothing_from(term, *rule)), holds(found == 0))
                of_cut = partial(_of_complement, found)
                self.met.append(Met("aligned", found, forms, facts=zero[1:], likely=(far,), cut=cut, of_cut=of_cut))
            return found

        return summed_up

    def _window(self, window: Callable[..., AlignedTerms]) -> Callable[..., AlignedTerms]:
        def met(terms: Sequence[Any], fraction_bits: int, *arguments: Any) -> AlignedTerms:
            aligned = window(terms, fraction_bits, *arguments)
            total: Any = 0
            for index, term in enumerate(aligned.aligned):
                total = total + term
                if not index or self.inside or not isinstance(total, Integer):
                    continue
                bits = width(total.term)
                so_far = (as_integer(each).at(bits) for each in aligned.aligned[: index + 1])
                as_sum = reduce(partial(op, Kind.BV_ADD), so_far)
                whole = index == len(terms) - 1
                likely = _far_from_all(terms, fraction_bits, aligned, total) if whole else ()
                self.met.append(Met("total", total, (total,), likely=likely, as_sum=as_sum))
            return aligned

        return met

    def _total(self, rounds: Callable[..., Rounded]) -> Callable[..., Rounded]:
        def code(rounding_of: Any, *arguments: Any) -> Any:
            return rounds(rounding_of, *arguments).code

        def summed_up(rounding_of: Any, total: Any, unit_exp: Any, sign: Any = 0, sticky: Any = False) -> Rounded:
            if self.inside or not _asks((total, unit_exp, sign, sticky)):
                return rounds(rounding_of, total, unit_exp, sign, sticky)
            given_all = rounding_of, total, unit_exp, sign, sticky
            return Rounded(self._call(code, given_all, code=rounding_of.rule.format), None)

        return summed_up


def _within(result: Any, known: Sequence[Term], code: Format | None) -> Any:
    """Return a term with bounds on its exponent, or a code with its format's bounds where these are known.

    Any other result is returned as it is.
    """
    if code is not None and isinstance(result, Integer):
        most = (1 << code.container_bits) - 1
        inside = both(holds(Integer.signed(result.term) >= 0), holds(result <= most))
        return result.between(0, most) if ask(inside, known).word == "proved" else result
    if not isinstance(result, ModelTerm) or isinstance(result, AnyTerm) or not isinstance(result.exp, Integer):
        return result
    return result._replace(exp=result.exp.between(*Explorer(known, (), {}).bounds(result.exp)))


def _asks(arguments: Any) -> bool:
    """True if something among arguments is not known."""
    if isinstance(arguments, (Integer, Truth)):
        return True
    parts = _parts(arguments)
    if parts is None:
        return hasattr(arguments, "is_const") and not (arguments.is_true() or arguments.is_false())
    return any(map(_asks, parts))


def _complements(number: Integer, sign: Integer) -> Iterator[Integer]:
    """A term in the window, of which a negative one is complemented only; the sum adds the one that is missing.

    Its bits are those of the magnitude; or more, and then it is a two's complement.
    """
    complement = number - sign
    bits = max(number.high, -number.low).bit_length()
    whole = number - sign * (1 - (1 << bits))
    yield from (form for form in (complement, whole.between(0, (1 << bits) - 1)) if isinstance(form, Integer))


def _of_complement(number: Integer, complement: Integer) -> tuple[Integer, Integer, Integer]:
    """A number like another, and its forms, from its complement: the number is that and its top bit."""
    wide = width(complement.term) + 1  # so that a sum is seen to be one without a carry out of it
    top = Integer.unsigned(part(complement.term, wide - 2, 1))
    whole = Integer(op(Kind.BV_ADD, complement.at(wide), top.at(wide)), number.low, number.high)
    bits = max(number.high, -number.low).bit_length()
    return whole, complement, Integer.unsigned(part(complement.term, 0, bits))


def _nothing_from(term: Any, fraction_bits: int, *_: Any) -> int:
    """The least largest exponent at which nothing of a term is left in the window, if what is below is truncated."""
    sig = as_integer(term.sig)
    return int(as_integer(term.exp).high + sig.high.bit_length() + fraction_bits - term.fraction_bits)


def _far_from_all(terms: Sequence[Any], fraction_bits: int, aligned: AlignedTerms, total: Integer) -> tuple[Term, ...]:
    """The condition that a sum is as small as its farthest terms are, wherever nothing is left of all others."""
    each = [_nothing_from(term, fraction_bits) for term in terms]
    others = [least for least in each if least != max(each)]
    if not others:
        return ()
    left = [as_integer(term) for term, least in zip(aligned.aligned, each, strict=True) if least == max(each)]
    small = exactly(total, sum(term.low for term in left), sum(term.high for term in left))
    return (implies(holds(as_integer(aligned.max_exp) >= max(others)), small),)
