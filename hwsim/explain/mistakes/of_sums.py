"""The mistakes of a sum: alignment, addition, rounding, and the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from hwsim.explain.mistakes import finishing, summing
from hwsim.explain.mistakes.flaw import Both, InMultipliers, LastPlaceRule
from hwsim.explain.mistakes.mistake import Mistake
from hwsim.formats import FixedFormat
from hwsim.spec import AlignedSum, ExactSum, RoundedSum, Unit

RULE_WORDS: dict[LastPlaceRule, tuple[str, str]] = {
    "rne": ("ties to even", "to nearest, ties to even"),
    "rna": ("ties away from zero", "to nearest, ties away from zero"),
    "ties-odd": ("ties to odd", "to nearest, ties to odd"),
    "ties-up": ("ties up", "to nearest, ties towards plus infinity, as adding half does in two's complement"),
    "ties-down": ("ties towards zero", "to nearest, ties towards zero"),
    "rz": ("truncated", "towards zero"),
    "rto": ("to odd", "to odd: a lost 1 sets the last place"),
    "ru": ("up", "towards plus infinity"),
    "rd": ("down", "towards minus infinity"),
}
WIDTHS = 12  # of a sum, of which one is a design's


def _alignment(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.sum, ExactSum):
        return
    for bits in (5, 4, 3, 6, 2, 7):
        text = f"the distance by which a term is shifted is taken modulo {1 << bits}"
        yield Mistake(f"shift distance modulo {1 << bits}", text, summing.DistanceWraps(bits))
    for bit in range(6):
        text = f"the stage of the shifter for {1 << bit} places does nothing"
        yield Mistake(f"shift by {1 << bit} left out", text, summing.DistanceBit(bit))
    for most in (*range(7, 33), 63):
        text = f"a term is never shifted by more than {most} places"
        yield Mistake(f"shift distance at most {most}", text, summing.DistanceLimited(most))
    for by, words in ((1, "one too many"), (-1, "one too few")):
        text = f"a term that is shifted at all is shifted by {words} places"
        yield Mistake(f"shift distance {words}", text, summing.DistanceOff(by))


def _maxima(unit: Unit) -> Iterator[Mistake]:
    if not isinstance(unit.sum, AlignedSum):
        return
    if unit.operands.addend is not None:
        text = "the addend takes part in max_exp, and is left out of the sum"
        yield Mistake("addend left out of the sum", text, summing.TermLeftOut(None))
    for lane in range(unit.instruction.lanes if unit.subgroup is None else 0):
        text = f"the product of lane {lane} takes part in max_exp, and is left out of the sum"
        yield Mistake(f"lane {lane} left out of the sum", text, summing.TermLeftOut(lane))
    yield Mistake("max_exp of zeros", "products of zero take part in max_exp", summing.ZerosCount())
    mistakes: tuple[summing.MaximumMistake, ...] = ("of the first lane alone", "of exponents without their signs")
    if unit.operands.addend is not None:
        mistakes = ("without the addend", "of the addend and the first lane", *mistakes)
    for mistake in mistakes:
        text = f"max_exp is taken {mistake}"
        yield Mistake(f"max_exp {mistake}", text, summing.MaximumWrong(mistake))
        lost = summing.MaximumWrong(mistake, vanishing=True)
        yield Mistake(f"max_exp {mistake}, larger terms lost", f"{text}, and terms above it are lost", lost)


def _additions(unit: Unit) -> Iterator[Mistake]:
    """What adders of two numbers lose."""
    if not isinstance(unit.sum, RoundedSum):
        return
    precision = unit.sum.format.fraction_bits + 1
    for extra in (0, 1, 2, 3, 4, 5, 6, 8, precision, precision + 1, precision + 2):
        kept = "no bits" if not extra else "one bit" if extra == 1 else f"{extra} bits"
        text = f"of the smaller term of an addition {kept} below the larger one's last place are kept"
        below = f"{extra} bits below the last place"
        short = {0: "no guard bits in additions", 1: "a guard bit and nothing below it in additions"}
        name = short.get(extra, f"{below} and no sticky bit in additions")
        yield Mistake(name, f"{text}, and no sticky bit", summing.OperandCut(extra, "truncate"))
        floored = summing.OperandCut(extra, "floor")
        yield Mistake(f"{below}, floored, in additions", f"{text}, and the rest is floored", floored)
        if extra <= 2:
            apart = summing.OperandCut(extra, "truncate", subtractions=True)
            few = {0: "no guard bits in subtractions", 1: "a guard bit and nothing below it in subtractions"}
            words = f"where signs differ, {text}, and no sticky bit"
            yield Mistake(few.get(extra, f"{below} and no sticky bit in subtractions"), words, apart)
        name, text = f"{below} and the sticky bit in additions", f"{text}, and a lost 1 sets the last of them"
        yield Mistake(name, text, summing.OperandCut(extra, "jam"))


def _carries(unit: Unit) -> Iterator[Mistake]:
    text = "the magnitude of a negative sum is its ones' complement, without the 1 that is added"
    fixed = isinstance(unit.sum, ExactSum) and unit.scale is None
    last = sum(fmt.quantum_exp for fmt in unit.operands.multiplied) if fixed else None
    yield Mistake("ones' complement of a negative sum", text, summing.NoCarryOfNegation(last))
    text += "; where that is 0, the sum has its magnitude, as what normalises 0 may give"
    yield Mistake(
        "ones' complement of a negative sum, but never zero", text, summing.NoCarryOfNegation(last, vanishes=False)
    )
    for which, word in ((False, ""), (True, " that comes last")):
        text = f"infinities of both signs make an infinity, the one{word or ' that comes first'}"
        yield Mistake(f"opposite infinities give infinity{word}", text, summing.OppositeInfinities(which))
    if last is not None:
        widest = _widest_sum(unit)
        for bits in range(max(2, widest - 12), widest + 1):
            text = f"the sum keeps {bits} bits above 2^{last}, two's complement, and loses those above"
            yield Mistake(f"sum modulo 2^{bits}", text, summing.SumWraps(bits, last))
    if isinstance(unit.sum, AlignedSum):
        low = unit.sum.fraction_bits + 1
        for bits in range(low, low + 9):
            text = f"the sum keeps {bits} bits, two's complement, and loses those above"
            yield Mistake(f"sum modulo 2^{bits}", text, summing.SumWraps(bits))


def _normalization(unit: Unit) -> Iterator[Mistake]:
    """What becomes of the exponent where a sum of some width, which is no float yet, is normalised."""
    if isinstance(unit.output, FixedFormat):
        return
    last: int | None = None
    if isinstance(unit.sum, AlignedSum):
        low = unit.sum.fraction_bits
    elif isinstance(unit.sum, ExactSum) and unit.scale is None:
        low, last = _widest_sum(unit) - WIDTHS, sum(fmt.quantum_exp for fmt in unit.operands.multiplied)
    else:
        return
    for top in range(low, low + WIDTHS):
        text = "its exponent grows by the places that it is shifted, instead of being smaller by them"
        words = f"a sum is normalised to a leading 1 {top} places above its last, and {text}"
        name = f"distance of normalisation added, from place {top}"
        yield Mistake(name, words, summing.NormalizedUpwards(top, last))
        yield Mistake(
            f"{name}, in two's complement", f"{words}; of a negative sum the first 0 leads",
            summing.NormalizedUpwards(top, last, complement=True),
        )  # fmt: skip


def _widest_sum(unit: Unit) -> int:
    """Bits of an exact sum of a group's products, with some more for those of several groups and the addend."""
    quantum = sum(fmt.quantum_exp for fmt in unit.operands.multiplied)
    return sum(fmt.emax + 1 for fmt in unit.operands.multiplied) - quantum + unit.instruction.lanes.bit_length() + 4


def _roundings(unit: Unit) -> Iterator[Mistake]:
    own = unit.sum.rounding if isinstance(unit.sum, RoundedSum) else unit.result.rounding
    for rule, (name, text) in RULE_WORDS.items():
        if rule != own:
            yield Mistake(f"rounded {name}", f"results are rounded {text}", finishing.RoundedOtherwise(rule))
    for rule, (name, text) in RULE_WORDS.items():
        if rule != own:
            words = f"results below the least normal number are rounded {text}"
            yield Mistake(f"subnormal results rounded {name}", words, finishing.TinyRoundedOtherwise(rule))
    for rule, (name, text) in RULE_WORDS.items():
        if rule != own and rule in ("rz", "rd", "ru", "ties-down", "rna"):
            words = f"negative results are rounded {text}"
            yield Mistake(f"negative results rounded {name}", words, finishing.NegativeRoundedOtherwise(rule))


def _sticky(unit: Unit) -> Iterator[Mistake]:
    for bits in (1, 0, 2, 3, 4, 6, 8, 12, 16):
        seen = "no bits" if not bits else "one bit" if bits == 1 else f"{bits} bits"
        names = {0: "guard bit missing in the rounding", 1: "sticky bit missing in the rounding"}
        name = names.get(bits, f"sticky bit of {bits - 1} places alone in the rounding")
        yield Mistake(name, f"rounding sees {seen} below the last place", finishing.StickySees(bits))
    yield Mistake(
        "guard bit taken for zero", "rounding takes the bit below the last place for 0", finishing.GuardDropped()
    )
    text = "where rounding carries out of the significand, the exponent stays"
    yield Mistake("carry of the rounding lost", text, finishing.CarryLost())
    text = "where rounding would carry out of the significand, the result is the largest of its binade"
    yield Mistake("carry of the rounding left out", text, finishing.CarryKept())


def _overflow(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.output, FixedFormat):
        text = "a result that is too large "
        yield Mistake("overflow wraps", f"{text}keeps its low bits", finishing.FixedWraps())
        yield Mistake("overflow saturates", f"{text}becomes the largest", finishing.FixedSaturates(symmetric=False))
        symmetric = finishing.FixedSaturates(symmetric=True)
        yield Mistake(
            "overflow saturates without the least number", f"{text}becomes the largest of its sign", symmetric
        )
        return
    large = "a result that is too large"
    words: dict[finishing.OverflowMistake, tuple[str, str]] = {
        "exponent wraps": ("overflow wraps the exponent", f"{large} has an exponent without its top bit"),
        "zero": ("overflow taken for underflow", f"{large} becomes zero"),
        "largest number": ("overflow gives the largest", f"{large} becomes the largest number"),
        "infinity code": ("overflow gives the top exponent", f"{large} gets the top exponent and no fraction"),
        "all ones": ("overflow gives all ones", f"{large} gets a code of ones"),
    }  # fmt: skip
    for mistake in get_args(finishing.OverflowMistake):
        yield Mistake(*words[mistake], finishing.OverflowWrong(mistake))


def _underflow(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.output, FixedFormat):
        return
    below = "a result below the least normal number"
    words: dict[finishing.UnderflowMistake, tuple[str, str]] = {
        "zero of its sign": ("subnormal results flushed", f"{below} becomes a zero of its sign"),
        "+0": ("subnormal results flushed to +0", f"{below} becomes +0"),
        "exponent wraps": ("underflow wraps the exponent", f"the exponent of {below} wraps"),
        "infinity": ("underflow taken for overflow", f"{below} becomes infinite"),
        "least number": ("underflow gives the least", f"{below} becomes the least normal number"),
    }
    for mistake, (name, text) in words.items():
        yield Mistake(name, text, finishing.UnderflowWrong(mistake))
    for by, word in ((1, "half"), (-1, "twice")):
        text = f"{below} is shifted by {abs(by)} place too {'many' if by > 0 else 'few'}"
        yield Mistake(f"subnormal results at {word} their value", text, finishing.TinyShifted(by))
    text = "a result that is not zero and rounds to it "
    yield Mistake("sign of an underflowed zero dropped", f"{text}becomes +0", finishing.VanishedSign(negative=False))
    yield Mistake("sign of an underflowed zero kept", f"{text}keeps its sign", finishing.VanishedSignKept())
    yield Mistake("underflowed zero always negative", f"{text}becomes -0", finishing.VanishedSign(negative=True))


def _zeros(unit: Unit) -> Iterator[Mistake]:
    if isinstance(unit.output, FixedFormat) or not unit.output.signed_zero:
        return
    zero = "a sum of exactly zero"
    words: dict[summing.ZeroSignMistake, tuple[str, str]] = {
        "+": ("zero sum always +0", f"{zero} is +0"),
        "-": ("cancelled sum gives -0", "a sum of terms that cancel is -0"),
        "first term": ("zero sum with the sign of its first term", f"{zero} has the sign of its first term"),
        "last term": ("zero sum with the sign of its last term", f"{zero} has the sign of its last term"),
        "and": ("zero sum negative where all terms are", f"{zero} is -0 where all terms are negative"),
        "or": ("zero sum negative where a term is", f"{zero} is -0 where a term is negative"),
    }  # fmt: skip
    for mistake, (name, text) in words.items():
        yield Mistake(name, text, summing.ZeroSignWrong(mistake))
    text = "a result that is a zero is +0, whatever led to it"
    yield Mistake("zero results always +0", text, finishing.ZerosPositive())


def _of_multipliers(unit: Unit) -> Iterator[Mistake]:
    """What is wrong with the rounding of products, where these are rounded: in multipliers alone, and everywhere."""
    if not isinstance(unit.sum, RoundedSum) or unit.sum.product != "rounded":
        return
    for part in (_roundings, _sticky, _overflow, _underflow):
        for name, text, flaw in part(unit):
            alone = InMultipliers(flaw)
            yield Mistake(f"{name}, of products alone", f"of products alone: {text}", alone)
            yield Mistake(f"{name}, of products too", f"of products and sums: {text}", Both(flaw, alone))


OF_SUMS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _alignment, _maxima, _additions, _carries, _normalization, _roundings, _sticky, _overflow, _underflow, _zeros,
    _of_multipliers,
)  # fmt: skip
