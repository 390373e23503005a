"""Products of every kind of factors: each pair stands once, and a wrong bit of it shows."""

from collections import Counter

import pytest
from vectors.test_vectorset_parts import Wrong
from vectors.vectorset_units import products_of, unit_of

from hwsim.cases.case import term_scales
from hwsim.model.definition import Definition

# Wide factors, of which every so many-th code; whole numbers; fixed points; groups that interleave; scaled subgroups;
# a chain of additions; even and odd lanes; scales that are floats.
UNITS = [
    "volta-mma-f16-f16", "mxint8-f32", "blackwell-mxf4nvf4-e2m1-f32",
    *(pytest.param(name, marks=pytest.mark.slow) for name in (
        "ada-mma-f16-f32", "int8-i32", "blackwell-mma-e4m3-f16", "hfp8-forward-e4m3-dlfloat16",
        "cdna3-mfma-e4m3fnuz-f32", "deepseek-v3-e4m3-f32-scaled",
    )),
]  # fmt: skip

# The exponents of the least number and of the largest of results that cannot hold every product.
RANGES = {"f16": (-24, 15), "dlfloat16": (-31, 32)}


@pytest.mark.parametrize("name", UNITS)
def test_each_pair_stands_once_and_a_wrong_bit_shows(name):
    unit, right = unit_of(name), Definition(unit_of(name))
    step = {fmt: 1 << max(0, fmt.bits - 8) + fmt.padding for fmt in (unit.operands.a, unit.operands.b)}
    codes = [range(0, 1 << fmt.bits + fmt.padding, step[fmt]) for fmt in (unit.operands.a, unit.operands.b)]
    seen, at = Counter(), {}
    for case in products_of(name):
        pairs = [pair for pair in zip(case.a, case.b, strict=True) if pair != (0, 0)]
        seen.update(pairs)
        at.update(dict.fromkeys(pairs, case))
    assert {*seen, (0, 0)} == {(a, b) for a in codes[0] for b in codes[1]}
    assert set(seen.values()) == {1}
    hidden, shown = [], 0
    for number, pair in enumerate(sorted(at)[:: max(1, len(at) // 60)]):
        term = right.product(*pair)
        least, most = RANGES.get(unit.output.name, (-1000, 1000))
        # From the last bit that this product has, upwards, as far as its first.
        low = (term.sig & -term.sig).bit_length() - 1
        if not term.sig or term.exp - term.fraction_bits + low < least or term.exp + 2 > most:
            continue  # nothing of it, or not all, can be in the result
        bit = low + number % (term.sig.bit_length() - low)
        case = at[pair]
        given = case.a, case.b, case.c, *term_scales(unit, case)
        same = Wrong(unit, pair, bit).dot(*given).code == right.dot(*given).code
        shown += not same
        hidden += [pair] * same
    assert shown > 20, shown
    assert len(hidden) <= 3, hidden
