"""Rules of the methods, of late windows and of scales: what is wrong is named by file, line, key, rule and value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from spec.spec_examples import DLFLOAT16, HARD, UE4M3
from spec.spec_files import failure, write

from hwsim.spec import load_unit

E8M0_ROW = "{format: e8m0, block: [8, 8]}"
NO_NORMALS = "{name: e1m1, kind: float, exponent_bits: 1, fraction_bits: 1, bias: 2, infinities: true, nan: ieee}"
INTEGERS_END = """\
addend: i32}
summary: integers
instruction: {k: 8, lanes: 8}
sum: {method: exact}
result: {format: i32, rounding: rz, overflow: wrap}"""
# Hard examples, with what is replaced in them.
BROKEN_HARD = [
    (
        "cdna3",
        "k: 16, lanes: 16",
        "k: 32, lanes: 16",
        r"3: instruction.lanes must be instruction.k \(32\), because sum.",
    ),
    ("cdna3", ", combine: {fraction_bits: 24, lost: floor}", "", "4: sum.combine is missing: method even-odd needs it"),
    ("cdna3", "even-odd", "aligned", "4: sum.combine has no meaning for method aligned"),
    ("cdna3", "rne}", "rne, overflow: wrap}", "6: result.overflow must not be wrap: f32 is not a fixed format"),
    (
        "cdna3",
        "sum: {method: even-odd, fraction_bits: 24, lost: truncate, combine: {fraction_bits: 24, lost: floor}",
        "sum: {method: exact",
        "5: late.operation must be add for method exact, which has no window",
    ),
    (
        "cdna3",
        ", addend: late}\nlate: {operation: window, sum_bits: 31, addend_bits: 24, lost: floor, drop_below: 25}",
        "}",
        "4: sum.addend must be late for method even-odd, not aligned",
    ),
    (
        "cdna3",
        "addend: f32}\ninstruction: {k: 16, lanes: 16, start: zero}",
        "addend: none}\ninstruction: {k: 16, lanes: 16}",
        "3: instruction.chain must be none for method even-odd without an addend",
    ),
    ("nvfp4", "[1, 16]", "[1, 8]", r"3: scale.a.block must be a multiple of sum.subgroup.lanes \(16\) along K, not 8"),
    ("nvfp4", "[16, 1]", "[4, 1]", r"3: scale.b.block must be a multiple of sum.subgroup.lanes \(16\) along K, not 4"),
    (
        "nvfp4",
        "lanes: 64}",
        "lanes: 32, order: {modulo: 2, groups: [[0], [1]]}}",
        "4: instruction.order must be sequential, because scale.at is subgroup",
    ),
    (
        "scaled",
        "[128, 128]",
        "[64, 128]",
        r"3: scale.b.block must be a multiple of promotion.interval \(128\) along K, n",
    ),
    ("scaled", "fma", "add", "7: promotion.operation must be fma, because scale.at is promotion, not add"),
    ("hfp8", "product: fused, ", "", "4: sum.product is missing: method sequential needs it"),
    ("hfp8", ", rounding: rna}\nresult", "}\nresult", "4: sum.rounding is missing: method sequential needs it"),
    ("hfp8", "product: fused, format: dlfloat16.yaml", "product: fused", "4: sum.format is missing: method sequential"),
    (
        "hfp8",
        "fused, format: dlfloat16.yaml",
        "fused, format: e2m1",
        "4: sum.format must be a signed float format with a",
    ),
    ("hfp8", "{method", "{lost: floor, method", "4: sum.lost has no meaning for method sequential"),
    ("hfp8", "{method", "{zero: ieee, method", "4: sum.zero has no meaning for method sequential"),
    ("hfp8", "{method", "{zero_terms: count, method", "4: sum.zero_terms has no meaning for method sequential"),
    ("hfp8", "{method", "{max_exp_floor: -9, method", "4: sum.max_exp_floor has no meaning for method sequential"),
    (
        "integers",
        "overflow: wrap",
        "overflow: infinity",
        "6: result.overflow must be saturate or wrap, not infinity: i32",
    ),
    ("integers", "overflow: wrap", "overflow: wrap, nan: 1", "6: result.nan must not be a code: i32 has no NaN"),
    ("integers", "method: exact", "method: exact, product_limit: 3", "5: sum.product_limit must be none: it makes inf"),
    ("integers", "b: int8", "b: e4m3", "6: result.format must have a NaN, because e4m3 has; i32 has none"),
    (
        "integers",
        "method: exact",
        "method: aligned, fraction_bits: 9",
        "6: result.format must be a float format for met",
    ),
    (
        "integers",
        "instruction",
        f"scale: {{a: {E8M0_ROW}, b: {E8M0_ROW}}}\ninstruction",
        "7: result.format must have a NaN",
    ),
    (
        "integers",
        INTEGERS_END,
        "addend: none}\ninstruction: {k: 8, lanes: 8}\nsum: {method: exact, product_limit: 3}\n"
        "result: {format: e2m1, rounding: rz, overflow: saturate}",
        "4: sum.product_limit must be none: infinities of both signs add to NaN, and the result's format, e2m1, has n",
    ),
    (
        "hfp8",
        "result: {format: dlfloat16.yaml, rounding: rna, overflow: nan}",
        "result: {format: e2m1, rounding: rna, overflow: saturate}",
        "5: result.format must have a NaN unless sum.rounding is rz, because sums in dlfloat16 that overflow lead to",
    ),
    (
        "hfp8",
        "format: dlfloat16.yaml, rounding: rna}\nresult",
        f"format: {NO_NORMALS}, rounding: rna, flush: true}}\nresult",
        "4: sum.flush must not flush e1m1: all of its numbers but zero are subnormal",
    ),
    (
        "hfp8",
        "result: {format: dlfloat16.yaml, rounding: rna, overflow: nan}",
        f"result: {{format: {NO_NORMALS}, rounding: rna, subnormals: flush}}",
        "5: result.subnormals must not flush e1m1: all of its numbers but zero are subnormal",
    ),
    (
        "cdna3",
        "late: {operation: window, sum_bits: 31, addend_bits: 24, lost: floor, drop_below: 25}",
        f"late: {{operation: add, format: {NO_NORMALS}, rounding: rz, flush: true}}",
        "5: late.flush must not flush e1m1: all of its numbers but zero are subnormal",
    ),
    ("integers", "exact}", "exact, flush: true}", "5: sum.flush has no meaning for method exact"),
]
INTEGERS = """\
unit: integers
operands: {a: int8, b: int8, addend: i32}
summary: integers
instruction: {k: 8, lanes: 8}
sum: {method: exact}
result: {format: i32, rounding: rz, overflow: wrap}
"""
FIXED = {"int8": 7, "i32": 31}


@pytest.mark.quick(cases=12)
@pytest.mark.parametrize(("which", "old", "new", "message"), BROKEN_HARD)
def test_what_is_wrong_with_other_methods_is_named(
    tmp_path: Path, which: str, old: str, new: str, message: str
) -> None:
    write(tmp_path, UE4M3, "ue4m3.yaml")
    write(tmp_path, DLFLOAT16, "dlfloat16.yaml")
    text = INTEGERS if which == "integers" else HARD[which][0]
    assert old in text
    text = text.replace(old, new, 1)
    for name, bits in FIXED.items():
        keys = f"{{name: {name}, kind: fixed, integer_bits: {bits}, fraction_bits: 0}}"
        text = re.sub(rf": {name}\b", f": {keys}", text)
    assert re.match(f"(?:{message})", failure(tmp_path, text)), failure(tmp_path, text)


def test_a_nan_is_one_of_both_formats_that_results_can_have() -> None:
    """A group's NaN becomes that of a late addition in a narrower format."""
    e5m6 = {"name": "e5m6", "kind": "float", "exponent_bits": 5, "fraction_bits": 6, "bias": 15}
    e5m6 |= {"infinities": True, "nan": "ieee"}
    keys = {
        "unit": "narrower",
        "operands": {"a": "e2m1", "b": "e2m1", "addend": "e5m2"},
        "instruction": {"k": 1, "lanes": 1, "start": "zero"},
        "sum": {"method": "aligned", "fraction_bits": 0, "addend": "late"},
        "late": {"operation": "add", "format": "e5m2", "rounding": "rz"},
        "result": {"format": e5m6, "rounding": "rz", "nan": 0x7FF},
    }
    with pytest.raises(ValueError, match=r"result\.nan must be a NaN of e5m2, not 0x7ff"):
        load_unit(keys)


def test_an_instruction_that_does_not_chain_has_whole_blocks() -> None:
    """Where it is filled up to all its products, no K would be right."""
    scale = {"a": {"format": "e8m0", "block": [1, 1]}, "b": {"format": "e8m0", "block": [4, 1]}}
    keys = {
        "unit": "parts",
        "operands": {"a": "e2m1", "b": "e2m1"},
        "scale": scale,
        "instruction": {"k": 6, "lanes": 2, "start": "zero", "chain": "none"},
        "sum": {"method": "pairwise", "product": "fused", "format": "e5m2", "rounding": "rz"},
        "result": {"format": "e5m2", "rounding": "rz"},
    }
    with pytest.raises(ValueError, match=r"scale\.a\.block must divide instruction\.k \(6\) .* instructions take 12"):
        load_unit(keys)
    keys["instruction"] = {"k": 8, "lanes": 2, "start": "zero", "chain": "none"}
    assert load_unit(keys).instruction.k == 8
