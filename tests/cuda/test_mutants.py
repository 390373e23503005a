"""Mutants of the source for GPUs: the operands that it is tested with tell each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from cuda.test_host import as_codes, bits_of_window, directed, in_blocks, unit_of, with_sum
from kernels.window_cases import addend_sweep, operands
from unit_keys import E4M3_FINITE, E5M2_FINITE, FINE, exact_blocks, exact_sum, odd_unit, scaled

from hwsim.compute.cuda import Variant, gemm_on_host, host
from hwsim.compute.cuda.settings import source_of
from hwsim.formats import FloatFormat
from hwsim.spec import Unit

HOPPER, MX, AMPERE, NVFP4 = (
    "hopper-wgmma-e4m3-f32",
    "mxfp8-e4m3-f32",
    "ampere-mma-f16-f16",
    "blackwell-mxf4nvf4-e2m1-f32",
)
DEEPSEEK, SCALED, BLACKWELL = "deepseek-v3-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "blackwell-mma-e4m3-f16"
CDNA, EVEN_ODD, JAM = "cdna3-mfma-bf16-f32", "cdna3-mfma-e4m3fnuz-f32", "rvbna-e4m3-f32-n16"

FP64, MUL_ADD = "hopper-mma-f64-f64", with_sum("cdna3-mfma-f32-f32", 3, product="rounded")
BYTES = "integers-saturate"
FINE_SUMS = odd_unit("fine", (E5M2_FINITE, E4M3_FINITE), "none", exact_sum(), FINE, 2, overflow="saturate")
WIDE_PARTS = odd_unit(
    "wide-parts", "e4m3", "f32", exact_blocks(4), "f32", 8, **scaled("subgroup", ("bf16", 4), ("bf16", 8))
)


class Mutant(NamedTuple):
    unit: Unit | str
    variant: Variant
    old: str
    new: str


MUTANTS = {
    # A window in a float.
    "a bit less of the window": Mutant(HOPPER, "single", "FRACTION_BITS = 13", "FRACTION_BITS = 12"),
    "negative pairs dropped": Mutant(HOPPER, "single", "b.minus[k % SPLIT][x + j]", "0"),
    "a lane dropped": Mutant(HOPPER, "single", "k < (group + 1) * LANES", "k < (group + 1) * LANES - 1"),
    "a lane without exponent": Mutant(MX, "double", "k < (group + 1) * PAIRS", "k < (group + 1) * PAIRS - 1"),
    "addend dropped": Mutant(HOPPER, "single", "const real value = odd_one ? 0 : (real)c", "const real value = 0"),
    "addend's exponent dropped": Mutant(HOPPER, "single", "if (with_c && size)", "if (false)"),
    "specials not met": Mutant(HOPPER, "single", "if (!number) t.special", "if (false) t.special"),
    "no upper end of exponents": Mutant(HOPPER, "single", "top > HIGHEST_TOP", "false"),
    "limit not met": Mutant(CDNA, "double", "top >= LIMIT - 1", "false"),
    "sums from a binade's end": Mutant("ceil-late", "single", "MIDDLE ? 1.5 : 1.0", "1.0"),
    "negative zeros": Mutant(bits_of_window(15, "floor"), "single", "(Result::TINY_POSITIVE || x == 0)", "false"),
    "a group's place in a tile": Mutant(BLACKWELL, "double", "int k = group * LANES;", "int k = 0;"),
    "least exponents as the result's": Mutant("bits-2-subnormal", "single", "? EMIN_C : EMIN", "? EMIN : EMIN"),
    "sums to the next exponent": Mutant(AMPERE, "double", "1023 : 127) - ABOVE;", "1023 : 127) - ABOVE + 1;"),
    "to odd, by floors alone": Mutant(JAM, "double", "fma_cut(-a.plus", "fma_cut(a.plus"),
    "to odd, in single units": Mutant(JAM, "double", "FRACTION_BITS + TO_ODD", "FRACTION_BITS"),
    "results to odd, truncated": Mutant(JAM, "double", "single_of(kept) != x", "false"),
    # Groups in order.
    "groups in sequence": Mutant(BLACKWELL, "double", "ORDERED ? at", "false ? at"),
    "a partial sum goes on": Mutant(DEEPSEEK, "single", "begins = RESTART &&", "begins = false &&"),
    "promoted each group": Mutant(DEEPSEEK, "single", "(g % EVERY == EVERY - 1 || g == groups - 1)", "true"),
    "not promoted at the end": Mutant(DEEPSEEK, "single", "EVERY - 1 || g == groups - 1", "EVERY - 1"),
    "promoted towards zero": Mutant(DEEPSEEK, "single", "fesetround(FE_TONEAREST);", ""),
    "promoted with one scale": Mutant(SCALED, "single", "fma_nearest(to, with, -0.f)", "to"),
    "first scales of promotions": Mutant(SCALED, "single", "place(g - g % EVERY, 0)", "0"),
    "register flushed by none": Mutant("late-flushed", "integers", "if (FLUSHES_ADDEND &&", "if (false &&"),
    # Scales and parts.
    "first scale throughout": Mutant(MX, "double", "k / SCALE_BLOCK_A) : (u32)ONE_A", "0) : (u32)ONE_A"),
    "a scale that is NaN": Mutant(MX, "double", "if (word_kind(scale) == NOT_A_NUMBER)", "if (false)"),
    "cancelled parts skipped": Mutant(NVFP4, "integers", "total || (COUNT_CANCELLED && some)", "total != 0"),
    "one scale of parts": Mutant(NVFP4, "integers", "scale_term(t, kind, read.scale_b(first));", ""),
    "parts' scales of a alone": Mutant(NVFP4, "double", " * b.scales[p][x + j]", ""),
    "cancelled parts counted as zeros": Mutant(NVFP4, "double", "COUNT_CANCELLED ? some :", "false ? some :"),
    "a part's first lane alone": Mutant(NVFP4, "double", "(size != 0) << lane", "(size != 0)"),
    "parts' factors as subnormals": Mutant(NVFP4, "double", "<< (exp_of(w) - least)", ""),
    "parts' scales that are NaN": Mutant(NVFP4, "double", "kinds = word_kind(s)", "kinds = 0"),
    "parts' scales that are zero": Mutant(NVFP4, "double", "sig_of(s) ? some : 0", "some"),
    "parts' negative scales": Mutant("scaled-floor", "double", "word_negative(s) ? -size : size", "size"),
    # Integers.
    "jam as truncation": Mutant(JAM, "integers", "case RTO: return rest && !(kept & 1);", "case RTO: return false;"),
    "sticky forgotten": Mutant("sticky-bare", "integers", "if (sticky) c.rest |= 1;", ""),
    "odd lanes with even ones": Mutant(EVEN_ODD, "integers", "tops[i % WINDOWS] :", "tops[0] :"),
    "combined a bit less": Mutant(EVEN_ODD, "integers", "COMBINE_BITS = 24", "COMBINE_BITS = 23"),
    "late addend kept": Mutant(EVEN_ODD, "integers", "!(t.exp < high - LATE_DROP)", "true"),
    "late zeros skipped": Mutant("late-window-cut", "integers", "high != NO_EXP && LATE_ZERO", "false"),
    "late total uncut": Mutant("late-window-cut", "integers", "if (lost > 0)", "if (false)"),
    "a cut sum that is not": Mutant("cut", "integers", "if (CUT_BITS && sum.total)", "if (false)"),
    # Rounded additions.
    "products not rounded": Mutant("chain-f16-mul-add", "integers", "(sum), FUSED ? p", "(sum), true ? p"),
    "products rounded": Mutant("cdna3-mfma-f32-f32", "integers", "sum = FUSED ? fma", "sum = false ? fma"),
    "an odd product dropped": Mutant("tree-f16-7", "integers", "if (count % 2) level", "if (false) level"),
    "a tree's addend dropped": Mutant("tree-6-rd", "integers", "with_c ? added_nodes", "false ? added_nodes"),
    "late addends, flushed": Mutant("chain-late-fnuz", "integers", "? EMIN_C : REGISTER", "? -149 : REGISTER"),
    "own sums' last lane": Mutant(FP64, "double", "k < groups * LANES; ++k", "k < groups * LANES - 1; ++k"),
    "own products fused": Mutant(MUL_ADD, "single", "FUSED ? flushed(", "true ? flushed("),
    "an odd node of a tree": Mutant(with_sum("tree-4", 5), "single", "if (count % 2) level", "if (false) level"),
    "own subnormals": Mutant("tree-flush", "single", "? x * 0 : x", "? x : x"),
    "own sums of addends as they are": Mutant("tree-flush", "single", "given = flushed(given)", ""),
    # Exact sums.
    "an exact sum's low words": Mutant("exact-bf16", "integers", "top = i, sticky = below;", "top = i;"),
    "an exact sum's second word": Mutant("intel-amx-e4m3-f32", "integers", "(u64)high << 32 | next", "(u64)high << 32"),
    "carries dropped": Mutant("intel-amx-e4m3-f32", "integers", "(part < 3 || carry)", "part < 3"),
    "exact sums of one group": Mutant("exact-e4m3", "integers", "g == 0 || begins || EACH_ROUNDED", "true"),
    "parts of an exact sum, as products": Mutant("exact-blocks-group", "integers", "- (SUBGROUP ?", "- (false ?"),
    "wide parts of an exact sum": Mutant(WIDE_PARTS, "integers", "(i64)above", "0"),
    # Results in two's complement.
    "bytes without a sign": Mutant("int8-i32", "integers", "word_negative(w) ? -size : size) << lane", "size) << lane"),
    "groups' results alone": Mutant("int8-i32", "integers", "EACH_ROUNDED || ends ?", "!ends ?"),
    "wrapped": Mutant(BYTES, "integers", "if (WRAPS)", "if (true)"),
    "addends without a sign": Mutant(BYTES, "integers", "(i64)((u64)code << (64 - C_BITS)) >> (64 - C_BITS)", "code"),
    "what is below half": Mutant(BYTES, "integers", "below || half || c.rest % 2", "false"),
    "half": Mutant("long-coarse", "integers", "half = c.rest >= 2", "half = false"),
    "beyond 64 bits": Mutant(FINE_SUMS, "integers", "beyond = beyond ||", "beyond = false &&"),
    # Roundings.
    "ties away": Mutant(AMPERE, "double", "(rest == 2 && (kept & 1))", "rest == 2"),
    "overflow one early": Mutant("e4m3-nan", "single", "if (steps > (i64)T::MOST)", "if (steps >= (i64)T::MOST)"),
    "subnormals as normal": Mutant(AMPERE, "double", "T::SUBNORMALS ? larger(high, T::EMIN) : high", "high"),
    "flushed before": Mutant("flush-after", "double", "high < T::EMIN - 1 || ", "true || "),
    "sums that are not jammed": Mutant("floor-late", "single", "c.kept | (c.rest != 0)", "c.kept"),
    "infinities swapped": Mutant(
        "e5m2-infinity", "single", "(sum.kind);\n    if (!sum.total)", "(-sum.kind);\n    if (!sum.total)"
    ),
}  # fmt: skip
FEW = [name for index, name in enumerate(MUTANTS) if index % 48 == 0]


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in MUTANTS]
)
def test_a_mutant_is_told(name: str) -> None:
    mutant = MUTANTS[name]
    unit = unit_of(mutant.unit) if isinstance(mutant.unit, str) else mutant.unit
    text = source_of(unit, mutant.variant)
    assert text.count(mutant.old) == 1, f"{mutant.old} stands {text.count(mutant.old)} times"
    library = host.built(text.replace(mutant.old, mutant.new), f"mutant-{unit.name}")
    given = [product for _, product in (*operands(unit, 1), *directed(unit))]
    if isinstance(unit.operands.addend, FloatFormat):
        given.append(addend_sweep(unit, 6))
    for product in given:
        blocks = in_blocks(unit, product)
        own = as_codes(gemm_on_host(unit, *blocks, variant=mutant.variant))
        if (own != as_codes(gemm_on_host(unit, *blocks, variant=mutant.variant, library=library))).any():
            return
    pytest.fail(f"no operand tells the mutant: {name}")


def test_the_source_itself_is_not_told() -> None:
    unit = unit_of(HOPPER)
    library = host.built(source_of(unit, "single") + "\n// other bytes, the same code\n", "same")
    for _, product in operands(unit, 1):
        own = gemm_on_host(unit, *product, library=library)
        np.testing.assert_array_equal(as_codes(own), as_codes(gemm_on_host(unit, *product)))
