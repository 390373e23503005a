"""Mistakes in the model and in what the RTL is made with, of small units of every method: none leaves a unit proved."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from prove.step_mutants import Patch, on

from hwsim.formats import Class
from hwsim.model import late, methods, rounding, scales, terms
from hwsim.model.definition import ZERO, Definition, Stepped
from hwsim.model.methods import AddendToCome, FirstAddend, PromotedRegister, ResultCode
from hwsim.model.terms import Term
from hwsim.prove import composition
from hwsim.rtl import accumulate, rounded
from hwsim.rtl.exact import ExactRanges
from hwsim.rtl.numbers import ProductRanges
from hwsim.rtl.terms import WindowRanges

TINY = "operands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 4, lanes: 2}\n"
WINDOW = "sum: {method: aligned, fraction_bits: 3, lost: truncate}\n"
F16 = "result: {format: f16, rounding: rne}\n"
E8M0 = "scale: {a: {format: e8m0, block: [1, 2]}, b: {format: e8m0, block: [2, 1]}, at: product}\n"
UNITS = {
    "window": f"{TINY}{WINDOW}{F16}",
    "special": "operands: {a: e5m2, b: e5m2, addend: f16}\ninstruction: {k: 4, lanes: 2}\n" + WINDOW + F16,
    "wide": "operands: {a: e2m1, b: e2m1, addend: e4m3}\ninstruction: {k: 4, lanes: 4}\n" + WINDOW
    + "result: {format: e4m3, rounding: rne, overflow: nan}",
    "scaled": "operands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 4, lanes: 4}\n" + WINDOW + E8M0 + F16,
    "sticky": f"{TINY}sum: {{method: aligned, fraction_bits: 3, lost: sticky}}\n{F16}",
    "counted": f"{TINY}sum: {{method: aligned, fraction_bits: 3, lost: floor, zero_terms: count, zero: ieee}}\n{F16}",
    "floored": f"{TINY}sum: {{method: aligned, fraction_bits: 3, lost: truncate, max_exp_floor: -3}}\n{F16}",
    "cut": f"{TINY}sum: {{method: aligned, fraction_bits: 5, lost: truncate, cut: {{bits: 2, lost: floor}}}}\n{F16}",
    "positive": "operands: {a: e2m1, b: e2m1, addend: f16, zeros: positive}\ninstruction: {k: 4, lanes: 2}\n"
    + f"sum: {{method: aligned, fraction_bits: 3, lost: truncate, zero: ieee}}\n{F16}",
    "daz": "operands: {a: e2m1, b: e2m1, addend: f16, daz: true}\ninstruction: {k: 4, lanes: 2}\n" + WINDOW + F16,
    "halves": "operands: {a: e2m1, b: e2m1}\ninstruction: {k: 4, lanes: 4, chain: none}\n"
    + "sum: {method: even-odd, fraction_bits: 3, lost: truncate, combine: {fraction_bits: 4, lost: floor}}\n" + F16,
    "chain": f"{TINY}sum: {{method: sequential, product: fused, format: e5m2, rounding: ru, flush: true, "
    "tininess: after, overflow: saturate}\nresult: {format: e5m2, rounding: ru}",
    "tree": "operands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 4, lanes: 4}\n"
    "sum: {method: pairwise, product: rounded, format: e5m2, rounding: rz}\nresult: {format: e5m2, rounding: rz}",
    "exact": f"{TINY}sum: {{method: exact, rounded: end}}\n{F16}",
    "promoted": f"{TINY}{WINDOW}result: {{format: e5m2, rounding: rne}}\n"
    "promotion: {interval: 4, format: f16, rounding: rz}",
    "late": "operands: {a: e2m1, b: e2m1, addend: e5m2}\ninstruction: {k: 4, lanes: 2, start: zero}\n"
    "sum: {method: aligned, fraction_bits: 3, lost: truncate, addend: late}\nresult: {format: e5m2, rounding: rne}\n"
    "late: {operation: add, format: e5m2, rounding: ru, flush: true, tininess: before}",
    "late window": "operands: {a: e5m2, b: e5m2, addend: f16}\ninstruction: {k: 2, lanes: 2, start: zero}\n"
    "sum: {method: aligned, fraction_bits: 3, lost: truncate, addend: late}\n" + F16
    + "late: {operation: window, sum_bits: 4, addend_bits: 5, lost: truncate, drop_below: 4}",
    "parts": "operands: {a: e2m1, b: e2m1, addend: f16}\ninstruction: {k: 4, lanes: 4}\n"
    "scale: {a: {format: e4m3, block: [1, 2]}, b: {format: e4m3, block: [2, 1]}, at: subgroup}\n"
    "sum: {method: aligned, fraction_bits: 8, lost: truncate, subgroup: {method: exact, lanes: 2}}\n" + F16,
}  # fmt: skip


class Mutant(NamedTuple):
    """A mistake, tried on a unit."""

    unit: str
    mutate: Callable[[Patch], None]


def everywhere(name: str, made: Callable[..., Callable[..., Any]]) -> Callable[[Patch], None]:
    """A function of the model as it would be with other source. made: of the function that it is."""

    def patched(patch: Patch) -> None:
        real = composition.FUNCTIONS[name]
        other = wraps(real)(made(real))
        for module, alias in [*composition.aliases(real)]:
            patch.setattr(module, alias, other)
        for table in (composition.FUNCTIONS, composition.ORIGINAL):
            patch.setitem(table, name, other)  # type: ignore[arg-type]

    return patched


def method(owner: type, name: str, made: Callable[..., Callable[..., Any]]) -> Callable[[Patch], None]:
    """A method of the model as it would be with other source."""

    def patched(patch: Patch) -> None:
        real = getattr(owner, name)
        other = wraps(real)(made(real))
        patch.setattr(owner, name, other)
        for cut, (cut_owner, cut_name) in composition.CLASSES.items():
            if (cut_owner, cut_name) == (owner, name):
                patch.setitem(composition.ORIGINAL, cut, other)  # type: ignore[arg-type]

    return patched


def _infinite(sign: int, like: Term) -> Term:
    return Term(sign, 0, 0, like.fraction_bits, Class.INFINITY)


def _other_class(real: Any, was: Class, now: Class) -> Any:
    def other(*arguments: Any) -> Any:
        found = real(*arguments)
        return found._replace(cls=now) if found.cls is was else found

    return other


def _both_infinite(real: Any) -> Any:
    def combined(every: Any) -> Any:
        found = real(every)
        return _infinite(0, every[0]) if terms.some(one.is_infinite for one in every) else found

    return combined


def _late_shift(real: Any) -> Any:
    def aligned(term: Any, max_exp: Any, bits: Any, lost: Any) -> Any:
        return real(term, max_exp - 1 if max_exp - term.exp == 4 else max_exp, bits, lost)

    return aligned


def _ends_early(real: Any) -> Any:
    def step(self: Any, before: Any, lanes: Any, last: bool) -> Any:
        return real(self, before, lanes, True)

    return step


def _ends_late(real: Any) -> Any:
    def step(self: Any, before: Any, lanes: Any, last: bool) -> Any:
        return real(self, before, lanes, False)

    return step


def _old_addend(real: Any) -> Any:
    def step(self: Any, carried: Any, lanes: Any, last: bool = False) -> Any:
        found = real(self, carried, lanes, last)
        return found if last or not isinstance(carried, FirstAddend) else found._replace(carried=carried)

    return step


def _keeps_partial(real: Any) -> Any:
    def step(self: Any, before: Any, lanes: Any, last: bool) -> Any:
        found = real(self, before, lanes, last)
        if found.addition is None:
            return found
        return Stepped(PromotedRegister(found.carried.register, before.partial), found.group, found.addition)

    return step


def _not_added(real: Any) -> Any:
    def step(self: Any, before: Any, lanes: Any, last: bool) -> Any:
        found = real(self, before, lanes, last)
        return found._replace(carried=AddendToCome(before.addend, before.format, ZERO)) if found.addition else found

    return step


def _begun_again(real: Any) -> Any:
    def group(self: Any, lanes: Any, start: Any, addend: Any) -> Any:
        return real(self, lanes, start, addend)[0], ResultCode(0)

    return group


def _backwards(real: Any) -> Any:
    return lambda self, products, addend: real(self, tuple(reversed(products)), addend)


def _without_last(real: Any) -> Any:
    return lambda self, products, addend: real(self, products[:-1], addend)


def _sum_of(change: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """A method's sum of other terms, or of another addend. change: of the terms and the addend."""

    def made(real: Any) -> Any:
        def summed(self: Any, every: Any, addend: Any, special: Any) -> Any:
            return real(self, *change(every, addend), special)

        return summed

    return made


class Rotated:
    """Operands of another lane."""

    @staticmethod
    def of(side: str) -> Callable[..., Callable[..., Any]]:
        """The codes of one side, each in the next lane."""

        def made(real: Any) -> Any:
            def multiply(self: Any, lanes: Any) -> Any:
                codes = getattr(lanes, side)
                return real(self, lanes._replace(**{side: (*codes[1:], codes[0])}))

            return multiply

        return made


MODEL: dict[str, Mutant] = {
    # Stage functions.
    "subnormal factors are not zero": Mutant(
        "daz", everywhere("factor", lambda real: lambda fmt, to, daz, zeros, code: real(fmt, to, False, zeros, code))
    ),
    "zeros of factors keep their sign": Mutant(
        "counted",
        everywhere("factor", lambda real: lambda fmt, to, daz, zeros, code: real(fmt, to, daz, "positive", code)),
    ),
    "an infinite factor is NaN": Mutant(
        "special", everywhere("factor", lambda real: _other_class(real, Class.INFINITY, Class.NAN))
    ),
    "signs of a product or-ed": Mutant(
        "window",
        everywhere(
            "product", lambda real: lambda a, b, bits, scale=0: real(a, b, bits, scale)._replace(sign=a.sign | b.sign)
        ),
    ),
    "infinity times zero is infinite": Mutant(
        "special",
        everywhere(
            "product",
            lambda real: (
                lambda a, b, bits, scale=0: (
                    _infinite(a.sign ^ b.sign, Term(0, 0, 0, bits, Class.ZERO))
                    if Class.INFINITY in (a.cls, b.cls) and Class.NAN not in (a.cls, b.cls)
                    else real(a, b, bits, scale)
                )
            ),
        ),
    ),
    "a product has a fraction bit less": Mutant(
        "window", everywhere("product", lambda real: lambda a, b, bits, scale=0: real(a, b, bits - 1, scale))
    ),
    "1.5 times 1.5 is 2": Mutant(
        "window",
        everywhere(
            "product",
            lambda real: (
                lambda a, b, bits, scale=0: (
                    real(a, b, bits, scale)._replace(sig=8) if a.sig == 3 and b.sig == 3 else real(a, b, bits, scale)
                )
            ),
        ),
    ),
    "a NaN scale is 1": Mutant(
        "scaled",
        method(
            Definition, "scaled", lambda real: lambda self, term, exp: term if exp is None else real(self, term, exp)
        ),
    ),
    "scales count twice": Mutant(
        "scaled",
        method(
            Definition,
            "scaled",
            lambda real: lambda self, term, exp: real(self, term, None if exp is None else exp + exp),
        ),
    ),
    "scales do not count": Mutant("scaled", method(Definition, "scaled", lambda real: lambda self, term, exp: term)),
    "NaN of the second scale is a number": Mutant(
        "scaled",
        everywhere("scale_exponent", lambda real: lambda a, x, b, y: None if a.is_nan(x) else x - a.bias + y - b.bias),
    ),
    "a scale's bias is one more": Mutant(
        "scaled",
        everywhere(
            "scale_exponent", lambda real: lambda a, x, b, y: None if (found := real(a, x, b, y)) is None else found - 1
        ),
    ),
    "the scale of the next lane": Mutant("scaled", method(Definition, "multiply", Rotated.of("scale_a"))),
    "factors of the next lane": Mutant("window", method(Definition, "multiply", Rotated.of("b"))),
    "an infinite addend is NaN": Mutant(
        "special", everywhere("addend_term", lambda real: _other_class(real, Class.INFINITY, Class.NAN))
    ),
    "a subnormal addend is zero": Mutant(
        "window",
        everywhere(
            "addend_term",
            lambda real: (
                lambda fmt, code: (
                    found._replace(sig=0, cls=Class.ZERO)
                    if (found := real(fmt, code)).sig < 1 << fmt.fraction_bits
                    else found
                )
            ),
        ),
    ),
    "an addend of -0 stays": Mutant(
        "positive", everywhere("positive_zero", lambda real: lambda fmt, code, flush: code)
    ),
    "infinities of both signs are infinite": Mutant("special", everywhere("combine_specials", _both_infinite)),
    "the last term may be special": Mutant(
        "special",
        everywhere("combine_specials", lambda real: lambda every: real(every[:-1] if len(every) > 1 else every)),
    ),
    "an infinity is always positive": Mutant(
        "special",
        everywhere(
            "combine_specials",
            lambda real: lambda every: None if (found := real(every)) is None else found._replace(sign=0),
        ),
    ),
    "the last term never has the largest exponent": Mutant(
        "window", everywhere("max_exponent", lambda real: lambda every, *rules: real(every[:-1], *rules))
    ),
    "1.0 times 1.0 has no exponent": Mutant(
        "wide",
        everywhere(
            "max_exponent",
            lambda real: (
                lambda every, *rules: real([one for one in every if (one.sig, one.fraction_bits) != (4, 2)], *rules)
            ),
        ),
    ),
    "the least max_exp is ignored": Mutant(
        "floored", everywhere("max_exponent", lambda real: lambda every, zeros="skip", floor=None: real(every, zeros))
    ),
    "zeros do not count": Mutant(
        "counted",
        everywhere("max_exponent", lambda real: lambda every, zeros="skip", floor=None: real(every, "skip", floor)),
    ),
    "zeros count": Mutant(
        "window",
        everywhere("max_exponent", lambda real: lambda every, zeros="skip", floor=None: real(every, "count", floor)),
    ),
    "max_exp is one more": Mutant(
        "window",
        everywhere("max_exponent", lambda real: lambda *rules: None if (found := real(*rules)) is None else found + 1),
    ),
    "four places down is three": Mutant("window", everywhere("align", _late_shift)),
    "terms are floored": Mutant(
        "window", everywhere("align", lambda real: lambda term, top, bits, lost: real(term, top, bits, "floor"))
    ),
    "a window has a bit more": Mutant(
        "window", everywhere("align", lambda real: lambda term, top, bits, lost: real(term, top, bits + 1, lost))
    ),
    "the last term loses nothing": Mutant(
        "sticky", everywhere("any_lost", lambda real: lambda every, aligned: real(every[:-1], aligned))
    ),
    "nothing is ever lost": Mutant("sticky", everywhere("any_lost", lambda real: lambda every, aligned: False)),
    "a sum of zero is negative": Mutant(
        "window",
        everywhere(
            "total_term",
            lambda real: (
                lambda total, *rest: (
                    found._replace(sign=1) if (found := real(total, *rest)).cls is Class.ZERO else found
                )
            ),
        ),
    ),
    "every sum of zero is +0": Mutant(
        "counted",
        everywhere(
            "total_term", lambda real: lambda total, exp, every, zero, *rest: real(total, exp, every, "positive", *rest)
        ),
    ),
    "a large sum is one less": Mutant(
        "window",
        everywhere("total_term", lambda real: lambda total, *rest: real(total - 1 if total > 40 else total, *rest)),
    ),
    "one place more is cut": Mutant(
        "cut",
        everywhere(
            "cut_sum",
            lambda real: (
                lambda aligned, rule: real(
                    aligned, None if rule is None else rule.model_copy(update={"bits": rule.bits + 1})
                )
            ),
        ),
    ),
    "the even half counts twice": Mutant(
        "halves", everywhere("combine", lambda real: lambda even, odd, bits, lost: real(even, even, bits, lost))
    ),
    "both halves keep a bit less": Mutant(
        "halves", everywhere("combine", lambda real: lambda even, odd, bits, lost: real(even, odd, bits - 1, lost))
    ),
    "an exact sum leaves the last term out": Mutant(
        "exact", everywhere("exact_sum", lambda real: lambda every: real(every[:-1] if len(every) > 1 else every))
    ),
    "an exact sum's unit is one less": Mutant(
        "exact", everywhere("exact_sum", lambda real: lambda every: ((found := real(every))[0], found[1] - 1))
    ),
    "additions judge what they return": Mutant(
        "chain",
        everywhere(
            "add",
            lambda real: (
                lambda fmt, every, how, flush=None, *rest: real(
                    fmt, every, how, None if flush is None else "result", *rest
                )
            ),
        ),
    ),
    "additions round to nearest": Mutant(
        "chain", everywhere("add", lambda real: lambda fmt, every, how, *rest: real(fmt, every, "rne", *rest))
    ),
    "additions overflow as IEEE 754 has it": Mutant(
        "chain",
        everywhere(
            "add",
            lambda real: (
                lambda fmt, every, how, flush=None, over="ieee", hooks=None: real(fmt, every, how, flush, "ieee", hooks)
            ),
        ),
    ),
    "a sum of equal terms is zero": Mutant(
        "tree",
        everywhere(
            "add",
            lambda real: (
                lambda fmt, every, *rest: (
                    0
                    if len(every) == 2 and every[0].exp == every[1].exp and every[0].sig == every[1].sig
                    else real(fmt, every, *rest)
                )
            ),
        ),
    ),
    "a late addend is dropped a place early": Mutant(
        "late window",
        everywhere(
            "late_window",
            lambda real: (
                lambda total, addend, rule, *rest: real(
                    total, addend, rule.model_copy(update={"drop_below": rule.drop_below - 1}), *rest
                )
            ),
        ),
    ),
    "a late addend is never dropped": Mutant(
        "late window",
        everywhere(
            "late_window",
            lambda real: (
                lambda total, addend, rule, *rest: real(
                    total, addend, rule.model_copy(update={"drop_below": None}), *rest
                )
            ),
        ),
    ),
    "subnormal addends are not flushed": Mutant(
        "late", everywhere("flushed_code", lambda real: lambda fmt, code: code)
    ),
    "a result's infinity is positive": Mutant(
        "special",
        method(rounding.ResultRounding, "special", lambda real: lambda self, term: real(self, term._replace(sign=0))),
    ),
    "a tie is rounded up": Mutant(
        "wide",
        on(rounding, "round_magnitude", lambda sig, shift, sign, how: terms.round_magnitude(sig, shift, sign, "rna")),
    ),
    # How they are put together.
    "four terms sum to one more": Mutant(
        "wide",
        on(
            methods,
            "window",
            lambda every, *rules: (found := terms.window(every, *rules))._replace(
                total=found.total + (sum(one.cls is Class.NORMAL for one in every) > 3)
            ),
        ),
    ),
    "the last term is left out": Mutant(
        "window", method(methods.Aligned, "sum", _sum_of(lambda every, addend: (every[:-1], addend)))
    ),
    "the addend is left out": Mutant(
        "window", method(methods.Aligned, "sum", _sum_of(lambda every, addend: (every, None)))
    ),
    "the addend counts twice": Mutant(
        "window", method(methods.Aligned, "sum", _sum_of(lambda every, addend: ((*every, addend), addend)))
    ),
    "the first term counts twice": Mutant(
        "window", method(methods.Aligned, "sum", _sum_of(lambda every, addend: ((every[0], *every[:-1]), addend)))
    ),
    "special terms are summed": Mutant(
        "special",
        method(
            methods.Aligned, "sum", lambda real: lambda self, every, addend, special: real(self, every, addend, None)
        ),
    ),
    "halves are of neighbours": Mutant(
        "halves",
        method(
            methods.EvenOdd, "sum", _sum_of(lambda every, addend: ((every[0], every[2], every[1], every[3]), addend))
        ),
    ),
    "a chain runs backwards": Mutant("chain", method(methods.Sequential, "additions", _backwards)),
    "a chain ends early": Mutant("chain", method(methods.Sequential, "additions", _without_last)),
    "a tree runs backwards": Mutant("tree", method(methods.Pairwise, "additions", _backwards)),
    "a tree without an addend": Mutant(
        "tree",
        method(methods.Pairwise, "additions", lambda real: lambda self, products, addend: real(self, products, None)),
    ),
    "products are not rounded": Mutant("tree", on(methods.RoundedAdditions, "fused", property(lambda self: True))),
    "an exact sum goes on as its code": Mutant(
        "exact", method(methods.Exact, "carried", lambda real: lambda self, summed, code: ResultCode(code))
    ),
    "the addend does not come in": Mutant(
        "wide", method(Definition, "open", lambda real: lambda self, c: FirstAddend(0))
    ),
    "-0 comes in": Mutant("positive", method(Definition, "_input", lambda real: lambda self, c: c)),
    "the next group has the old addend": Mutant("window", method(Definition, "step", _old_addend)),
    "every group starts from zero": Mutant("window", method(Definition, "_group", _begun_again)),
    "the result is what came in": Mutant(
        "window", method(Definition, "close", lambda real: lambda self, carried: real(self, carried) ^ 1)
    ),
    "the register starts at zero": Mutant("promoted", method(late.Promoter, "start", lambda real: lambda self, c: 0)),
    "a tail is not promoted": Mutant("promoted", method(Definition, "_step_promoted", _ends_late)),
    "every group is promoted": Mutant("promoted", method(Definition, "_step_promoted", _ends_early)),
    "a partial sum is promoted twice": Mutant("promoted", method(Definition, "_step_promoted", _keeps_partial)),
    "a promotion adds the partial sum twice": Mutant(
        "promoted",
        method(
            late.Promoter,
            "promote",
            lambda real: lambda self, register, partial, scales=None: real(self, partial, partial, scales),
        ),
    ),
    "a late addend is added to every group": Mutant("late", method(Definition, "_step_late", _ends_early)),
    "a late addend is not added": Mutant("late", method(Definition, "_step_late", _not_added)),
    "a late sum is rounded otherwise": Mutant(
        "late", on(late, "add", lambda fmt, every, how, flush=None: rounding.add(fmt, every, "rd", flush))
    ),
    "a late infinity is not seen": Mutant("late window", on(late, "combine_specials", lambda every: None)),
    "a part has a lane of the next": Mutant(
        "parts",
        method(
            scales.SubgroupScales,
            "subgroups",
            lambda real: lambda self, products, a, b: real(self, (*products[1:], products[0]), a, b),
        ),
    ),
    "a part has the next scale": Mutant(
        "parts",
        method(
            scales.SubgroupScales,
            "subgroups",
            lambda real: lambda self, products, a, b: real(self, products, (*a[2:], *a[:2]), b),
        ),
    ),
    "a part's second scale does not count": Mutant(
        "parts",
        method(
            scales.SubgroupScales,
            "subgroup",
            lambda real: lambda self, products, a, b, bits: real(self, products, a, a, bits),
        ),
    ),
}


class RoundsToZero(rounded.FloatAdder):
    """An adder that rounds to zero, whatever it is asked."""

    def __init__(self, fmt: Any, how: Any, *rest: Any):
        super().__init__(fmt, "rz", *rest)


class NeverFlushes(rounded.FloatAdder):
    """An adder that keeps subnormal results."""

    def __init__(self, fmt: Any, how: Any, x: Any, y: Any, flush: Any, *rest: Any):
        super().__init__(fmt, how, x, y, None, *rest)


class JudgesResults(rounded.FloatAdder):
    """An adder that flushes what it returns, not what it rounds."""

    def __init__(self, fmt: Any, how: Any, x: Any, y: Any, flush: Any, *rest: Any):
        super().__init__(fmt, how, x, y, "result", *rest)


class OverflowsAsIeee(rounded.FloatAdder):
    """An adder whose overflow is that of IEEE 754."""

    def __init__(self, fmt: Any, how: Any, x: Any, y: Any, flush: Any, *rest: Any):
        super().__init__(fmt, how, x, y, flush)


def made_with(**changes: object) -> Callable[[Patch], None]:
    """An `Accumulation` some of whose parameters are others."""
    real = accumulate.Accumulation.__init__

    def init(self: Any, *arguments: Any) -> None:
        real(self, *arguments)
        self.__dict__ |= changes

    return on(accumulate.Accumulation, "__init__", init)


RTL: dict[str, Mutant] = {
    "every addition rounds to zero": Mutant("chain", on(rounded, "FloatAdder", RoundsToZero)),
    "no addition flushes": Mutant("chain", on(rounded, "FloatAdder", NeverFlushes)),
    "additions flush what they return": Mutant("chain", on(rounded, "FloatAdder", JudgesResults)),
    "additions do not saturate": Mutant("chain", on(rounded, "FloatAdder", OverflowsAsIeee)),
    "promoted after every group": Mutant("promoted", on(accumulate.Accumulation, "groups", property(lambda self: 1))),
    "a late addition rounds to nearest": Mutant("late", made_with(rounding="rne")),
    "a late addition keeps subnormals": Mutant("late", made_with(flush=False)),
    "a late addition judges what it returns": Mutant("late", made_with(flushes="result")),
    "one scale for all blocks": Mutant("scaled", on(ProductRanges, "scale_blocks", property(lambda self: (1, 1)))),
    "no sticky bit": Mutant("sticky", on(WindowRanges, "sticky", property(lambda self: False))),
    "room for one group": Mutant("exact", on(ExactRanges, "groups_bits", property(lambda self: 1))),
}
MUTANTS = {f"model: {name}": one for name, one in MODEL.items()} | {f"RTL: {name}": one for name, one in RTL.items()}
