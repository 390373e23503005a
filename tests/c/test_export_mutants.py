"""The comparison must catch a wrong header: each mutant is one mistake in its text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from built_presets import others_slow
from c.export_library import C99, Library
from c.export_stages import differences
from c.export_suites import plain, results, suites
from model.model_units import Case, cases, run
from odd_units import unit

from hwsim.compute.c import HEADER, UnitInC, render

HOPPER, DEEPSEEK, MX = "hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32", "mxfp8-e4m3-f32"
E5M2 = "hopper-wgmma-e5m2-f32"
EXACT, CHAIN, LATE, CDNA3 = "exact-e4m3-f32", "sequential-e4m3-f16", "blackwell-mma-e4m3-f32", "cdna3-mfma-e4m3fnuz-f32"
DOWN = "promoted-rd"


class Mutant(NamedTuple):
    """Text in the place of other text that stands in a unit's header."""

    unit: str
    right: str
    wrong: str


MUTANTS = {
    "one bit less of window": Mutant(HOPPER, "u_(FRACTION_BITS) = 13,", "u_(FRACTION_BITS) = 12,"),
    "one bit more of window": Mutant(HOPPER, "u_(FRACTION_BITS) = 13,", "u_(FRACTION_BITS) = 14,"),
    "floor for truncate": Mutant(
        HOPPER,
        "const u_(int) kept = (u_(int))(all >> shift);",
        "const u_(int) kept = (u_(int))((all >> shift) + (sign & ((all >> shift) << shift != all)));",
    ),
    "dropped lane": Mutant(
        HOPPER, "++lane) {\n        const u_(fields)", "lane += 1 + (lane == 5)) {\n        const u_(fields)"
    ),
    "dropped lane of the sum": Mutant(
        HOPPER, "for (int i = 0; i < u_(LANES); ++i) {", "for (int i = 1; i < u_(LANES); ++i) {"
    ),
    "dropped addend": Mutant(HOPPER, "u_(accumulate)(&s->total, s->aligned[u_(LANES)]);", ""),
    "addend out of the maximum": Mutant(HOPPER, "addend->exp > max_exp)", "addend->exp > max_exp && 0)"),
    "shift off by one": Mutant(
        HOPPER, "down < u_(SHIFT_MOST) ? down :", "down < u_(SHIFT_MOST) ? down + (down == 9) :"
    ),
    "zeroed result": Mutant(HOPPER, "s->result = s->stages.rounded.code;", "s->result = 0;"),
    "nearest for towards zero": Mutant(HOPPER, "unit_exp, u_(RZ),", "unit_exp, u_(RNE),"),
    "normalised subnormals": Mutant(HOPPER, "(int32_t)(bexp + !normal) - 7", "(int32_t)bexp - 7"),
    "no NaN": Mutant(HOPPER, "magnitude > 0x7Eu", "magnitude > 0x7Fu"),
    "another NaN": Mutant(HOPPER, "u_(GROUP_NAN) = 0x7FFFFFFFu", "u_(GROUP_NAN) = 0x7FC00000u"),
    "infinities that do not cancel": Mutant(E5M2, "(seen & u_(SEEN_PLUS) && seen & u_(SEEN_MINUS))", "0"),
    "zero times infinity": Mutant(E5M2, " | (infinite & zero);", ";"),
    "infinity without its sign": Mutant(E5M2, "s->special_sign = seen == u_(SEEN_MINUS);", "s->special_sign = 0;"),
    "inward for outward": Mutant("ieee-rd", "u_(RD): return !sign;", "u_(RD): return sign;"),
    "outward for inward": Mutant("ieee-rz", "u_(RZ): return 1;", "u_(RZ): return 0;"),
    "to odd outward": Mutant("ieee-jam", "return f->infinity && !(f->infinity & 1);", "return 0;"),
    "infinities that saturate": Mutant(
        "propagates", "return infinite && f->infinity ? endless : most;", "return most;"
    ),
    "infinities that are finite": Mutant("ieee-rz", "return !infinite && ", "return "),
    "sums that overflow to infinity": Mutant(
        "chain-rd", "high.exp, rounding, overflow, 0, flush)", "high.exp, rounding, u_(TO_INFINITY), 0, flush)"
    ),
    "a sticky bit of the addend alone": Mutant(
        "sticky-short",
        "s->sticky |= (uint8_t)u_(loses)(u_(uint_of)(s->products.sig[i])",
        "s->sticky &= (uint8_t)u_(loses)(u_(uint_of)(s->products.sig[i])",
    ),
    "a sticky bit of products alone": Mutant(
        "sticky-short",
        "s->sticky |= (uint8_t)u_(loses)(u_(uint_of)(addend.sig)",
        "s->sticky &= (uint8_t)u_(loses)(u_(uint_of)(addend.sig)",
    ),
    "a sticky bit as the last place": Mutant("sticky-short", "top = top << up | 1;", "top |= 1; unit_exp += up;"),
    "a sum that loses a place less": Mutant(
        "cut", "u_(magnitude)(s->total), 2, 0, 0), 2)", "u_(magnitude)(s->total), 1, 0, 0), 1)"
    ),
    "another NaN of an overflow": Mutant("own-nan", "r.code = u_(GROUP_NAN);", ";"),
    "no tail": Mutant(HOPPER, "(k + 31) / 32", "k / 32 + (k < 32)"),
    "promotion a group early": Mutant(DEEPSEEK, "s->groups % 4 == 0", "s->groups % 4 == 3"),
    "no promotion at the end": Mutant(DEEPSEEK, "if (s->groups % 4)", "if (0)"),
    "promotion cut off": Mutant(DEEPSEEK, "u_(RNE), u_(IEEE), u_(KEEP));", "u_(RZ), u_(IEEE), u_(KEEP));"),
    "one scale": Mutant(MX, "x.exp + y.exp + v.exp + w.exp", "x.exp + y.exp + v.exp"),
    "scales a block late": Mutant(MX, "scale_a[i / 32]", "scale_a[(i + 1) / 32 - (i + 1 == k)]"),
    "carry lost between words": Mutant(
        EXACT, "i < u_(WORDS) && (i < word + 3 || carry != sign)", "i < u_(WORDS) && i < word + 3"
    ),
    "exact sum begun again at a group": Mutant(EXACT, "s->total = addend.total;", "s->total = u_(int_zero)();"),
    "products rounded another way": Mutant(CHAIN, "&s->products, lane), u_(RNE),", "&s->products, lane), u_(RNA),"),
    "jam lost": Mutant(DOWN, "low.sig = distance > 62 ? 1 :", "low.sig = distance > 62 ? 0 :"),
    "groups in another order": Mutant(LATE, "{{0, 1}, {2, 3}}", "{{2, 3}, {0, 1}}"),
    "late addend before the sum": Mutant(LATE, "s->groups % 2 == 0", "s->groups % 2 == 1"),
    "odd lanes among the even": Mutant(
        CDNA3, "lane = first; lane < u_(LANES); lane += 2", "lane = 0; lane < u_(LANES); lane += 2"
    ),
    "a total that is not cut": Mutant("late-window-total", "if (below > 0) {", "if (below > 99) {"),
    "an addend of zero skipped": Mutant("late-window-cut", "addend.cls == u_(ZERO) && addend.exp", "0 && addend.exp"),
    "cancelled sums skipped": Mutant("subgroups-cancelled", "cls = !any ||", "cls = u_(is_zero)(total) ||"),
    "a pair's window": Mutant("pairs-floor", " 3, u_(RTO)", " 4, u_(RTO)"),
    "zeros in a pair's maximum": Mutant("pairs", "top = live ? top : largest;", "top = largest;"),
    "pairs that cancel": Mutant("pairs-floor", "cls = any ? ", "cls = !u_(is_zero)(total) ? "),
    "a block's last bit": Mutant(
        "tree-blocks", "t.fraction_bits = u_(PART_BITS);", "t.fraction_bits = u_(PART_BITS) + 1;"
    ),
    "a wide block's place": Mutant(
        "chain-blocks", "- u_(PART_BITS) - u_(UNIT_EXP)", "- u_(PART_BITS) - u_(UNIT_EXP) + 1"
    ),
    "a wide block's sign": Mutant("chain-blocks", "t.total = u_(negative)(t.total);", ";"),
    "infinite wide blocks": Mutant("chain-blocks", "if (!numbers || zeros)", "if (zeros)"),
    "zeros of wide blocks": Mutant("chain-blocks", "if (!numbers || zeros)", "if (!numbers)"),
    "a block's scale": Mutant("exact-blocks", "(int16_t)(x.exp + y.exp)", "(int16_t)(x.exp + x.exp)"),
    "a factor of -0": Mutant("window-positive", "        x.sign = 0;\n", ""),
    "an addend of -0": Mutant("exact-positive", "            c = 0;\n", "            c = c;\n"),
    "dropped addend too soon": Mutant(CDNA3, "w->max_exp - 25", "w->max_exp - 20"),
}
# What random operands are not likely to be.
DIRECTED = {
    EXACT: [Case([0x81] + [0] * 31 + [0x7E] + [0] * 31, [0x01] + [0] * 31 + [0x7E] + [0] * 31, 0, [1, 250], [1, 250])],
    "late-window-cut": [Case([1] * 3, [1] * 3, 0, [], [])],
    "subgroups-cancelled": [Case([2, 2] + [0] * 6, [2, 10] + [0] * 6, 4, [0x38, 0x38], [147])],
    "exact-positive": [Case([0] * 3, [0] * 3, 0x8000, [], [])],
    "chain-blocks": [Case([0x80] * 4, [1] * 4, 0x8000, [127, 127], [127])],
    DOWN: [Case([0x81] + [0] * 4, [0x01] + [0] * 4, 0x5D800000, [], [])],  # 2^60 - 2^-18, rounded down
}


def build(mutant: Mutant, folder: Path) -> Library:
    """The header with its mistake."""
    right = render(HEADER, UnitInC(unit(mutant.unit), "0.0.0"))
    assert right.count(mutant.right) == 1, "the mutant changes something, and one thing"
    flags = ("-O0", *C99, "-Wno-error")
    return Library(unit(mutant.unit), folder, flags=flags, header=right.replace(mutant.right, mutant.wrong))


@cache
def played(name: str) -> tuple[list[Case], list[int]]:
    """Cases of a unit, those of the suites that are made for it, and the model's results."""
    given = [*cases(name, 70, seed=5), *DIRECTED.get(name, [])]
    if name in (HOPPER, E5M2):
        given += [case for _, some in suites(unit(name), 60, 6) for case in plain(some)]
    return given, run(name, given)


@pytest.mark.parametrize("name", others_slow(MUTANTS, [*MUTANTS][::4]))
def test_a_mutant_is_caught(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    given, want = played(mutant.unit)
    assert results(build(mutant, tmp_path), given) != want, f"no result of {len(given)} tells"


def test_a_mutant_of_a_stage_alone_is_caught(tmp_path: Path) -> None:
    # A term that is left out of the record, though the result is right.
    library = build(Mutant(HOPPER, "++s->groups;", "++s->groups;\n    s->stages.aligned[3] = 0;"), tmp_path)
    given = list(cases(HOPPER, 14, seed=5))
    assert any(differences(library, case) for case in given)
    rows = [library.dots([case.a], [case.b], [case.c])[0] for case in given]
    assert rows == run(HOPPER, given)
