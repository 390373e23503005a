"""A unit's file: what is wrong in it is named by file, line, key, rule and value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from built_presets import others_slow
from spec.spec_examples import DLFLOAT16, HARD, RVBNA, UE4M3
from spec.spec_files import failure, write

import hwsim
from hwsim.formats import FloatFormat
from hwsim.rtl import supports
from hwsim.spec import as_yaml, families, load_unit, modal_presets, presets, sparse_presets
from hwsim.spec.catalog import members_of

GOOD = """\
unit: mine
summary: a unit
evidence: designed
source: [here]
operands:
  a: e4m3
  b: e5m2
  addend: f32
scale: none
instruction:
  k: 32
  lanes: 16
  order: sequential
  start: addend
  chain: addend
sum:
  method: aligned
  fraction_bits: 13
  lost: truncate
  addend: aligned
result:
  format: e8m13
  rounding: rz
  overflow: infinity
  nan: canonical
promotion:
  interval: 64
  format: f32
  operation: add
  rounding: rne
"""


def test_the_good_file_is_good(tmp_path: Path) -> None:
    unit = load_unit(write(tmp_path, GOOD))
    assert (unit.name, unit.instruction.lanes, unit.promotion_beats) == ("mine", 16, 4)


SCALE = "scale: {{a: {{format: e8m0, block: {}}}, b: {{format: e8m0, block: {}}}}}"

# What is replaced in GOOD (the whole line), by what, and the message: line, key, rule, value.
ADDITION = "{operation: add, format: f32, rounding: rne}"
BROKEN = [
    ("unit: mine", "unit: my unit", "1: unit must be of letters, digits, .*, not 'my unit'"),
    ("unit: mine", "", "1: unit is missing"),
    ("evidence: designed", "evidence: guessed", "3: evidence must be 'captured', .* or 'designed', not 'guessed'"),
    ("source: [here]", "source: here", "4: source must be .*, not 'here'"),
    ("  a: e4m3", "  a: e4m4", "6: operands.a unknown format 'e4m4': did you mean e4m3"),
    ("  a: e4m3", "  a: 43", "6: operands.a must be the name of a format.*, not 43"),
    ("  a: e4m3", "  a: e8m0", "6: operands.a must be a float or fixed format or a table, not a power of two"),
    ("  a: e4m3", "  a: no.yaml", "6: operands.a .*no.yaml: cannot be read: No such file"),
    ("  a: e4m3", "  c: e4m3", "5: operands.a is missing|6: operands.c is not a key here"),
    ("  b: e5m2", "  b: [e5m2]", "7: operands.b must be the name of a format"),
    ("  addend: f32", "  addend: mxint8", "8: operands.addend must be a float format or none, not mxint8"),
    ("  addend: f32", "  addend: f32\n  daz: 1", "9: operands.daz must be true or false, not 1"),
    (
        "  addend: f32",
        "  addend: f32\n  convert: mxint8",
        "9: operands.convert must be a float format, not mxint8",
    ),
    (
        "  addend: f32",
        "  addend: f32\n  convert: e5m2",
        "9: operands.convert must hold every e4m3, the format of a; e5m2 doesn't",
    ),
    (
        "  addend: f32",
        "  addend: f32\n  convert: e4m3",
        "9: operands.convert must hold every e5m2, the format of b; e4m3 doesn't",
    ),
    ("  addend: f32", "  addend: f32\n  convert: none", "9: operands.convert unknown format 'none'"),
    ("scale: none", "scale: e8m0", "9: scale must be .*, not 'e8m0'"),
    ("scale: none", SCALE.format("[1, 24]", "[32, 1]"), "9: scale.a.block must divide .* 16 lanes along K, not 24"),
    ("scale: none", SCALE.format("[1, 32]", "[24, 1]"), "9: scale.b.block must divide .* 16 lanes along K, not 24"),
    ("scale: none", SCALE.format("[1]", "[32, 1]"), "9: scale.a.block.1 is missing"),
    ("scale: none", SCALE.format("[1, 0]", "[32, 1]"), "9: scale.a.block.1 must be greater than .*, not 0"),
    ("scale: none", SCALE.format("[1, '32']", "[32, 1]"), "9: scale.a.block.1 must be an integer, not '32'"),
    ("scale: none", "scale: {a: {format: e8m0, block: [1, 32]}}", "9: scale.b is missing"),
    (
        "scale: none",
        SCALE.format("[1, 32]", "[32, 1]")[:-1] + ", at: subgroup}",
        "9: scale.at must not be subgroup: there is no sum.subgroup",
    ),
    ("  k: 32", "  k: 0", "11: instruction.k must be greater than or equal to 1, not 0"),
    ("  k: 32", "  k: '32'", "11: instruction.k must be an integer, not '32'"),
    ("  k: 32", "  k: true", "11: instruction.k must be an integer, not True"),
    ("  k: 32", "  k: 32.5", "11: instruction.k must be an integer, not 32.5"),
    ("  lanes: 16", "  lanes: 12", r"12: instruction.lanes must divide instruction.k \(32\), not 12"),
    ("  lanes: 16", "  lanes:", "12: instruction.lanes must be an integer, not None"),
    ("  lanes: 16", "  lane: 16", "1[02]: instruction.lanes? is (missing|not a key here)"),
    ("  order: sequential", "  order: backwards", "13: instruction.order must be sequential or {.*, not 'backwards'"),
    ("  order: sequential", "  order: {modulo: 4}", "13: instruction.order must be sequential or {"),
    (
        "  order: sequential",
        "  order: {modulo: 4, groups: [[0, 1], [2, 2]]}",
        "13: instruction.order.groups must hold each of 0 to 3 once",
    ),
    (
        "  order: sequential",
        "  order: {modulo: 4, groups: [[0], [1, 2, 3]]}",
        r"13: instruction.order.groups must make groups of instruction.lanes \(16\) products",
    ),
    (
        "  order: sequential",
        "  order: {modulo: 3, groups: [[0], [1], [2]]}",
        r"13: instruction.order.modulo must divide instruction.k \(32\), not 3",
    ),
    ("  start: addend", "  start: one", "14: instruction.start must be 'addend' or 'zero', not 'one'"),
    (
        "  start: addend",
        "  start: zero",
        r"14: instruction.start must not be zero unless sum.addend is late: nothing else adds operands.addend \(f32\)",
    ),
    ("  chain: addend", "  chain: link", "15: instruction.chain must be 'addend', not 'link'"),
    ("  method: aligned", "  method: fast", "17: sum.method must be 'aligned', .*, not 'fast'"),
    ("  method: aligned", "  method: exact", "18: sum.fraction_bits has no meaning for method exact"),
    ("  method: aligned", "  method: even-odd", "16: sum.combine is missing: method even-odd needs it"),
    ("  fraction_bits: 13", "", "16: sum.fraction_bits is missing: method aligned needs it"),
    ("  fraction_bits: 13", "  fraction_bits: -1", "18: sum.fraction_bits must be greater than .*, not -1"),
    ("  fraction_bits: 13", "  fraction_bits: 257", "18: sum.fraction_bits must be less than .*, not 257"),
    ("  fraction_bits: 13", "  fraction_bits: 13\n  rounded: end", "19: sum.rounded has no meaning for method aligned"),
    (
        "  fraction_bits: 13",
        "  fraction_bits: 13\n  product_limit: 1.5",
        "19: sum.product_limit must be an integer",
    ),
    ("  lost: truncate", "  lost: round", "19: sum.lost must be 'truncate', .*, not 'round'"),
    ("  addend: aligned", "  addend: late", "1: late is missing: sum.addend is late"),
    ("  addend: aligned", "  addend: none", "20: sum.addend must not be none: operands.addend is f32"),
    ("  addend: aligned", "  format: f32", "20: sum.format has no meaning for method aligned"),
    ("  addend: aligned", "  flush: true", "20: sum.flush has no meaning for method aligned"),
    (
        "  addend: aligned",
        "  subgroup: {lanes: 5, method: exact, exponent: scales}",
        r"20: sum.subgroup.lanes must divide instruction.lanes \(16\), not 5",
    ),
    (
        "  addend: aligned",
        "  subgroup: {lanes: 8, method: exact, exponent: scales}",
        "20: sum.subgroup.method must be aligned unless scale.at is subgroup",
    ),
    (
        "  operation: add",
        "  operation: fma",
        "29: promotion.operation must be add unless scale.at is promotion, not fma",
    ),
    ("  operation: add", "  first: a", "29: promotion.first must be scales unless promotion.operation is fma, not a"),
    ("  addend: aligned", "  addends: aligned", "20: sum.addends is not a key here"),
    ("result:", f"late: {ADDITION}\nresult:", "21: late has no meaning with sum.addend aligned"),
    ("  format: e8m13", "  format: e4m3", "24: result.overflow must not be infinity: e4m3 has none"),
    ("  format: e8m13", "  format: mxint8", "22: result.format must be a float format for method aligned, not mxint8"),
    ("  format: e8m13", "", "21: result.format is missing"),
    ("  rounding: rz", "  rounding: up", "23: result.rounding must be 'rne', .*, not 'up'"),
    ("  overflow: infinity", "  overflow: wrap", "24: result.overflow must not be wrap: e8m13 is not a fixed format"),
    ("  nan: canonical", "  nan: 0x7F800000", "25: result.nan must be a NaN of e8m13, not 0x7f800000"),
    ("  nan: canonical", "  nan: 0x7FC00001", "25: result.nan must be a NaN of e8m13, not 0x7fc00001"),
    ("  nan: canonical", "  nan: 0x1FFFFFFFF", "25: result.nan must be a code of 32 bits, not 0x1ffffffff"),
    ("  nan: canonical", "  nan: quiet", "25: result.nan must be 'canonical' or 'any', not 'quiet'"),
    ("  interval: 64", "  interval: 40", r"27: promotion.interval must be a multiple of .* \(16\), not 40"),
    ("  format: f32", "  format: f16", "28: promotion.format must hold every e8m13, the result's format"),
    ("  format: f32", "  format: mxint8", "28: promotion.format must be a signed float format with a NaN, not mxint8"),
    ("  operation: add", "  operation: sub", "29: promotion.operation must be 'add' or 'fma', not 'sub'"),
    ("  rounding: rne", "  rounding: rne\n  every: 3", "31: promotion.every is not a key here"),
    ("  rounding: rne", "  rounding: rne\nresults: 3", "31: results is not a key here"),
    ("  rounding: rne", "  rounding: rne\nunit: twice", "31: unit stands twice"),
    ("  rounding: rne", "  rounding: rne\n  rounding: rz", "31: promotion.rounding stands twice"),
    ("  rounding: rne", "  rounding: [rne", "30: not YAML: .*"),
]


@pytest.mark.parametrize(("line", "instead", "message"), BROKEN, ids=[broken[1].strip()[:40] for broken in BROKEN])
def test_what_is_wrong_is_named(tmp_path: Path, line: str, instead: str, message: str) -> None:
    lines = GOOD.splitlines()
    assert line in lines
    text = "\n".join(instead if row == line else row for row in lines)
    assert re.match(f"(?:{message})", failure(tmp_path, text)), failure(tmp_path, text)


# A unit with a late addend, and what is replaced in it.
LATE = """\
unit: mine
operands: {a: e4m3, b: e4m3, addend: f32}
instruction: {k: 32, lanes: 16, start: zero}
sum: {method: aligned, fraction_bits: 13, addend: late}
late: {operation: add, format: f32, rounding: rne}
result: {format: e8m13, rounding: rz}
"""
BROKEN_LATE = [
    (", start: zero", "", "3: instruction.start must be zero, because sum.addend is late, not addend"),
    ("start: zero", "start: addend", "3: instruction.start must be zero, because sum.addend is late, not addend"),
    ("addend: f32", "addend: none", "4: sum.addend must not be late: operands.addend is none"),
    (
        "addend: late}\nlate: {operation: add, format: f32, rounding: rne}",
        "addend: none}",
        "4: sum.addend must not be none",
    ),
    (
        "addend: f32}\ninstruction: {k: 32, lanes: 16, start: zero}\nsum: {method: aligned, fraction_bits: 13, "
        "addend: late}\nlate: {operation: add, format: f32, rounding: rne}",
        "addend: none}\ninstruction: {k: 32, lanes: 16, start: zero}\nsum: {method: aligned, fraction_bits: 13}",
        "3: instruction.start must not be zero unless instruction.chain is none: a longer K would lose what came",
    ),
    ("format: f32, ", "", "5: late.format is missing: operation add needs it"),
    (", rounding: rne", "", "5: late.rounding is missing: operation add needs it"),
    ("rounding: rne", "rounding: up", "5: late.rounding must be 'rne', .*, not 'up'"),
    ("operation: add", "operation: subtract", "5: late.operation must be 'add' or 'window', not 'subtract'"),
    ("rounding: rne", "rounding: rne, sum_bits: 31", "5: late.sum_bits has no meaning for operation add"),
    ("rounding: rne", "rounding: rne, drop_below: 25", "5: late.drop_below has no meaning for operation add"),
    ("operation: add", "operation: window", "5: late.format has no meaning for operation window"),
    (
        "{operation: add, format: f32, rounding: rne}",
        "{operation: window, sum_bits: 3}",
        "5: late.addend_bits is missing",
    ),
    (
        "{operation: add, format: f32, rounding: rne}",
        "{operation: window, sum_bits: 3, addend_bits: 3, lost: floor}",
        r"3: instruction.lanes must be instruction.k \(32\), because late.operation is window, not 16",
    ),
    (
        "{operation: add, format: f32, rounding: rne}",
        "{operation: window, sum_bits: 3, addend_bits: 3, lost: floor, flush: true}",
        "5: late.flush has no meaning for operation window",
    ),
    ("format: f32", "format: mxint8", "5: late.format must be a signed float format with a NaN, not mxint8"),
    ("format: f32", "format: e2m1", "5: late.format must be a signed float format with a NaN, not e2m1"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN_LATE)
def test_what_is_wrong_with_a_late_addend_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    unit = load_unit(write(tmp_path, LATE))
    assert (unit.output.name, unit.nan, unit.restart) == ("f32", 0x7FFFFFFF, 2)
    assert old in LATE
    assert re.match(f"(?:{message})", failure(tmp_path, LATE.replace(old, new, 1))), failure(
        tmp_path, LATE.replace(old, new, 1)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: must be a YAML mapping of keys to values"),
        ("- unit\n", "1: must be a YAML mapping"),
        ("unit: x\n", "1: operands is missing"),
        ("\t", "1: not YAML"),
    ],
)
def test_what_is_no_unit(tmp_path: Path, text: str, message: str) -> None:
    assert failure(tmp_path, text).startswith(message)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(hwsim.SpecError, match=r"gone\.yaml: cannot be read: No such file"):
        load_unit(tmp_path / "gone.yaml")
    with pytest.raises(hwsim.SpecError, match=r"cannot be read"):
        load_unit(str(tmp_path) + "/")


def test_a_family_has_its_members() -> None:
    family: dict[str, Any] = {
        "shared": {"result": {"overflow": "nan"}, "summary": "all"},
        "factors": ["e4m3", "e5m2"],
        "results": {
            "f16": {"result": {"format": "f16"}},
            "f32": {"result": {"format": "f32"}, "operands": {"addend": "f32"}},
        },
        "each": {"unit": "my-{factors}-{result}", "summary": "{factors} to {result}"},
    }
    units = {keys["unit"]: keys for keys in members_of(family)}
    assert list(units) == [
        f"my-{factors}-{result}" for factors in ("e4m3", "e4m3xe5m2", "e5m2xe4m3", "e5m2") for result in ("f16", "f32")
    ]
    assert units["my-e4m3xe5m2-f32"] == {
        "unit": "my-e4m3xe5m2-f32",
        "summary": "e4m3xe5m2 to f32",
        "operands": {"a": "e4m3", "b": "e5m2", "addend": "f32"},
        "result": {"overflow": "nan", "format": "f32"},
    }
    family["apart"] = {"my-e4m3-f16": {"evidence": "captured", "result": {"overflow": "ieee"}}}
    own = {"evidence": "captured", "result": {"overflow": "ieee", "format": "f16"}}
    with_own = {keys["unit"]: keys for keys in members_of(family)}
    assert with_own == {**units, "my-e4m3-f16": {**units["my-e4m3-f16"], **own}}
    assert family["shared"] == {"result": {"overflow": "nan"}, "summary": "all"}
    for wrong in ({"members": {}, "factors": []}, {"factors": [], "results": {}}, {"shared": {}}, {"member": {}}):
        with pytest.raises(hwsim.SpecError, match="a family has members, or factors, results and each, not"):
            list(members_of(wrong))


def test_no_name_stands_for_two_presets() -> None:
    names = [name for _, _, units in families() for name in units]
    assert sorted(names) == sorted([*presets(), *modal_presets(), *sparse_presets()])
    assert len(set(names)) == len(names) == 583
    assert len(presets()) == 403
    assert all(name == units[0] or "{" in name for name, _, units in families())


@pytest.mark.parametrize("name", others_slow(presets(), list(presets())[::9]))
def test_presets_survive_being_written(name: str, tmp_path: Path) -> None:
    unit = load_unit(name)
    text = as_yaml(unit)
    assert load_unit(write(tmp_path, text)) == unit
    assert as_yaml(load_unit(tmp_path / "unit.yaml")) == text
    assert "null" not in text
    keys = yaml.safe_load(text)
    assert keys["unit"] == name and load_unit(keys) == unit


def test_every_preset_has_a_source_and_its_own_name() -> None:
    for name in presets():
        unit = load_unit(name)
        assert unit.name == name
        assert unit.source
        assert unit.summary


def test_a_format_of_ones_own_is_found_beside_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "formats").mkdir()
    (tmp_path / "units").mkdir()
    write(tmp_path / "formats", "kind: float\nexponent_bits: 3\nfraction_bits: 4\nbias: 3\n", "e3m4.yaml")
    path = write(tmp_path / "units", GOOD.replace("  a: e4m3", "  a: ../formats/e3m4.yaml"))
    unit = load_unit(path)
    assert isinstance(unit.operands.a, FloatFormat)
    assert (unit.operands.a.name, unit.operands.a.fraction_bits) == ("e3m4", 4)
    # Its largest is (2 - 2^-4) x 2^4: no code is special.
    assert hwsim.dot(unit, [[0x7F]], [[0x3C]]).tolist() == [31.0]
    # Written out, the format stands in the unit's file, which then stands alone.
    alone = write(tmp_path, as_yaml(unit), "alone.yaml")
    assert load_unit(alone) == unit
    # A path starts at the file, wherever the caller is.
    monkeypatch.chdir(tmp_path / "formats")
    assert load_unit("../units/unit.yaml") == unit
    write(tmp_path / "formats", "kind: float\nexponent_bits: 0\nfraction_bits: 4\nbias: 3\n", "e3m4.yaml")
    with pytest.raises(hwsim.SpecError, match=r"unit\.yaml:6: operands\.a .*e3m4\.yaml:2: exponent_bits must be"):
        load_unit(path)


def test_a_format_that_is_written_out(tmp_path: Path) -> None:
    inline = "  a: {name: e3m4, kind: float, exponent_bits: 3, fraction_bits: 4, bias: 3}"
    unit = load_unit(write(tmp_path, GOOD.replace("  a: e4m3", inline)))
    assert unit.operands.a.fraction_bits == 4
    wrong = failure(tmp_path, GOOD.replace("  a: e4m3", inline.replace("exponent_bits: 3", "exponent_bits: 0")))
    assert wrong.startswith("6: operands.a.exponent_bits must be greater than")
    assert failure(tmp_path, GOOD.replace("  a: e4m3", "  a: {bits: 3}")) == (
        "6: operands.a.kind is missing; it must be float, fixed, exponent or table"
    )


@pytest.mark.parametrize("which", HARD)
def test_hard_examples_are_in_the_model_and_in_hardware(which: str, tmp_path: Path) -> None:
    text, arguments, code = HARD[which]
    write(tmp_path, UE4M3, "ue4m3.yaml")
    write(tmp_path, DLFLOAT16, "dlfloat16.yaml")
    unit = load_unit(write(tmp_path, text))
    assert load_unit(write(tmp_path, as_yaml(unit), "again.yaml")) == unit
    got = hwsim.dot(unit, *arguments)
    assert (got.view("uint32") if got.dtype == "float32" else got).tolist() == [code]
    assert supports(unit)


def test_rvbna_is_implemented(tmp_path: Path) -> None:
    unit = load_unit(write(tmp_path, RVBNA))
    assert hwsim.dot(unit, [[0x38] * 16], [[0x38] * 16]).tolist() == [16.0]
    assert hwsim.dot(unit, [[0x38]], [[0x38]]).tolist() == [1.0]
    with pytest.raises(ValueError, match=r"K, .* at most instruction.k \(16\)"):
        hwsim.dot(unit, [[0x38] * 17], [[0x38] * 17])


def test_an_unknown_unit_that_is_near_none_is_told_where_they_are_listed() -> None:
    with pytest.raises(hwsim.SpecError, match=r"^unknown unit 'zzz': `hwsim units` lists all 583$"):
        load_unit("zzz")
