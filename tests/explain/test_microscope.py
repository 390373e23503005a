"""The microscope in a browser against `hwsim explain --json`, to the last field; its page, its links, its mutants."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
import subprocess
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import yaml
from browsing import browse, opened
from built_presets import others_slow
from conftest import at_hand
from explain.report_samples import good, report
from microscope_browser import (
    UnitCases,
    answered,
    as_hex,
    difference,
    differences,
    in_browser,
    operands_of,
    preset_cases,
    record,
)
from phone import phone
from representatives import with_every_format

import hwsim
from hwsim.base.errors import ToolMissing
from hwsim.cli import main
from hwsim.cli.arguments import number
from hwsim.compute.c import any as any_c
from hwsim.compute.c import wasm
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.explain import microscope, write_html, write_reports
from hwsim.explain.microscope import case, page
from hwsim.explain.stages import value_text
from hwsim.formats import formats
from hwsim.spec import Unit, load_unit
from hwsim.spec.catalog import _families, as_yaml, members_of

FAMILIES = {names[0]: names for names in ([keys["unit"] for keys in members_of(family)] for family in _families())}
OF_EVERY_FAMILY = 5_000


@pytest.fixture(scope="module", autouse=True)
def _program() -> None:
    with at_hand():
        wasm.program()


def drawn(seed: int, numbers: range, count: int) -> Iterator[UnitCases]:
    """Random units, as the text of their files."""
    for number_ in numbers:
        unit = drawn_unit(seed, number_).unit
        yield UnitCases(unit, as_yaml(unit), operands_of(unit, count, seed))


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_preset_is_computed_as_explain_has_it(chromium: str, tmp_path: Path, every: int) -> None:
    names = microscope._presets()[::every]
    cases = [preset_cases(name, unit, operands_of(unit, 3, 2)) for name in names for unit in [load_unit(name)]]
    compared, wrong = differences(chromium, tmp_path / "page", cases)
    assert compared == 3 * len(names) > 900 // every
    assert wrong == []


@pytest.mark.parametrize(("units", "each"), others_slow([(120, 3), (1000, 5)], [(120, 3)]))
def test_files_of_drawn_units_are_computed_as_explain_has_them(
    chromium: str, tmp_path: Path, units: int, each: int
) -> None:
    for first in range(0, units, 200):
        part = range(first, min(first + 200, units))
        compared, wrong = differences(chromium, tmp_path / "page", drawn(11, part, each))
        assert (compared, wrong) == (len(part) * each, [])


@pytest.mark.parametrize("family", others_slow(FAMILIES, [], with_every_format(FAMILIES)))
def test_thousands_of_cases_of_every_family(family: str, chromium: str, tmp_path: Path) -> None:
    names = FAMILIES[family]
    each, step = -(-OF_EVERY_FAMILY // len(names)), max(1, 1000 // len(names))
    every = {name: operands_of(load_unit(name), each, 7) for name in names}
    compared = 0
    for first in range(0, each, step):
        part = [preset_cases(name, load_unit(name), every[name][first : first + step]) for name in names]
        count, wrong = differences(chromium, tmp_path / "page", part)
        assert wrong == []
        compared += count
    assert compared >= OF_EVERY_FAMILY


MUTANTS = {
    "a window is floored where it truncates": ("case W_truncate: return any_RZ;", "case W_truncate: return any_RD;"),
    "results are truncated to nearest": ("case W_rz: return any_RZ;", "case W_rz: return any_RNE;"),
    "a bit less of window": ("w.bits = bits;\n    w.total", "w.bits = --bits;\n    w.total"),
    "a NaN of a group is the format's": ("own != NONE ? (uint64_t)own : made", "own == 0 ? (uint64_t)own : made"),
    "subnormal factors have an exponent less": (
        "plain(sign, m->emin, any_uint_of(mag", "plain(sign, m->emin - 1, any_uint_of(mag"),
    "the last of the odd lanes is lost": (
        "lanes_here.count = (all.count + !odd) / 2", "lanes_here.count = (all.count - odd) / 2"),
    "a promotion is late by a group": ("s->groups >= KEY(promotion_interval)", "s->groups > KEY(promotion_interval)"),
    "a late addend is never dropped": ("dropped = KEY(late_drop_below)", "dropped = 0 && KEY(late_drop_below)"),
    "scales of products are left out": ("scale_exp[lane] = v.exp + w.exp;", "scale_exp[lane] = v.exp;"),
    "subnormal results are never flushed": ("if (flush == NONE)\n        return 0;", "return 0;"),
    "an inexact result is exact": ("r.inexact = rest != 0;", "r.inexact = rest > 1;"),
}  # fmt: skip


# For each program, how many of its records are other than the first program's.
COMPARED = """
const records = async (program) => {
  await stages.load({ ...data, program });
  return given.cases.map(([text, cases]) => {
    const keys = typeof text === "string" ? unitKeys.readYaml(text) : data.presets[text.preset];
    const unit = unitKeys.checked(data, keys);
    return cases.map((operands) => {
      const codes = Object.entries(operands).map(([name, x]) => [name, Array.isArray(x) ? x.map(BigInt) : BigInt(x)]);
      return JSON.stringify(stages.explained(data, unit, Object.fromEntries(codes)));
    });
  }).flat();
};
const right = await records(data.program), counts = [];
for (const program of given.programs) {
  const wrong = await records(program);
  counts.push(wrong.filter((each, i) => each !== right[i]).length);
}
return counts;
"""


@pytest.mark.slow
def test_mistakes_in_the_program_are_seen(chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, programs, names = any_c.any_unit(), list[str](), [*MUTANTS]
    for old, new in (("", ""), *(MUTANTS[name] for name in names)):
        assert not old or right.count(old) == 1, old
        wrong = right.replace(old, new) if old else right
        monkeypatch.setattr(wasm, "any_unit", lambda wrong=wrong: wrong)
        programs.append(base64.b64encode(wasm.build()).decode())
    units = [preset_cases(name, unit, operands_of(unit, 8, 3)) for name in FAMILIES for unit in [load_unit(name)]]
    cases = [[given, as_hex(operands)] for _, given, operands in [*units, *drawn(3, range(100), 3)]]
    same, *counts = answered(chromium, tmp_path / "page", COMPARED, {"programs": programs, "cases": cases})
    assert same == 0
    assert [name for name, count in zip(names, counts, strict=True) if not count] == []


def test_the_program_is_c_without_warnings(tmp_path: Path) -> None:
    (tmp_path / "unit.c").write_text(any_c.any_unit(), encoding="utf-8")
    for flags in (["-std=c99"], ["-std=c11"]):
        subprocess.run(
            ["gcc", *flags, "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", "unit.c", "-o", "unit.o"],
            cwd=tmp_path, check=True,
        )  # fmt: skip


ENCODE = """
const keys = { unit: "x", operands: { a: "e4m3", b: "e4m3" }, instruction: { k: 1, lanes: 1 },
               sum: { method: "aligned", fraction_bits: 10 }, result: { format: "f32", rounding: "rne" } };
return given.map(([name, texts]) => {
  const unit = unitKeys.checked(data, keys), get = unit.get;
  const fmt = { name, ...data.kinds[data.formats[name].kind].defaults, ...data.formats[name] };
  unit.get = (path) => (path === "operands.a" ? fmt : get(path));
  return texts.map((text) => {
    try {
      const code = stages.encoded(data, unit, fmt, text, "a");
      return [`0x${code.toString(16)}`, stages.decoded(data, unit, fmt, code).value];
    } catch (error) {
      if (!(error instanceof unitKeys.Wrong)) throw error;
      return "none";
    }
  });
});
"""
NUMBERS = [
    "0", "-0", "1", "-1", "1/3", "-2/7", "0.1", "448", "464", "464.0000000000000000000000001", "480", "1e40", "-1e40",
    "1e-50", "-1e-50", "inf", "-inf", "nan", "0x1.8p3", "-0x1p-14", "0x1p-149", "0x1p-150", "0x1.000001p-150", "65504",
    "65520", "7.5", "6", "5", "0.75", "1.75", "3.5e38", "2e-45", "0.49999999999999999999", "1e300", "1e-320", "-1e308",
    *(f"{x}e{exp}" for exp in range(-12, 13, 3) for x in (1.37, -2.718281828, 9.99999)),
    *(f"{sign}{above}/{below}" for sign in ("", "-") for above in (1, 7, 97, 1023) for below in (2, 3, 8, 10, 1024)),
]  # fmt: skip


def test_numbers_become_codes_as_encode_makes_them(chromium: str, tmp_path: Path) -> None:
    got = answered(chromium, tmp_path / "page", ENCODE, [[name, NUMBERS] for name in formats()])
    for (name, fmt), codes in zip(formats().items(), got, strict=True):
        for text, there in zip(NUMBERS, codes, strict=True):
            given = np.empty(1, dtype=object)
            given[0] = number(text)
            try:
                code = int(fmt.encode(given)[0])
            except ValueError:
                assert there == "none", (name, text)
            else:
                assert there == [hex(code), value_text(fmt, code)], (name, text)


YAML = [
    "a: {b: [1, 0x1F, -3], c: 'it''s', d: \"x: y # z\"}\n# remark\ne:\n- one\n- two words\n",
    "a:\n  b: long text\n    that goes on\n  c: none\nd: [a,\n  b, {c: d}]\n",
    "---\na: >-\n  folded\n  text\nb: true\nc: ~\nd: 0b101\ne: http://x/y#z\n",
    '{"a": {"b": [1, 2]}, "c": null, "d": "e"}',
    "a:\n  - b: 1\n    c: 2\n  - b: 3\nd: []\n",
]


def test_yaml_is_read_as_pyyaml_reads_it(chromium: str, tmp_path: Path) -> None:
    texts = [*YAML, *(as_yaml(load_unit(name)) for name in microscope._presets())]
    got = answered(chromium, tmp_path / "page", "return given.map(unitKeys.readYaml);", texts)
    for text, there in zip(texts, got, strict=True):
        assert there == yaml.safe_load(text), text


BROKEN = {
    "operands.adend is not a key here: did you mean operands.addend": ("addend: f32", "adend: f32"),
    "unknown format e4m4: did you mean e4m3": ("a: e4m3", "a: e4m4"),
    "sum.fraction_bits must be 0 to 256, not 300": ("fraction_bits: 10", "fraction_bits: 300"),
    "sum.lost must be truncate, floor": ("lost: floor", "lost: flor"),
    "sum.fraction_bits is missing": ("fraction_bits: 10, ", ""),
    "instruction.lanes must divide instruction.k (4), not 3": ("lanes: 4", "lanes: 3"),
    "sum.product has no meaning for method aligned": ("lost: floor", "lost: floor, product: fused"),
    "result.rounding is missing": (", rounding: rne", ""),
    "line 4: instruction stands twice": ("sum:", "instruction:"),
    "promotion.interval must be a multiple": ("\nresult", "\npromotion: {interval: 6, format: f32}\nresult"),
    "scale.a.format must be a power of two": (
        "\nresult", "\nscale: {a: {format: e4m3, block: [1, 4]}, b: {format: e8m0, block: [4, 1]}}\nresult"),
    "operands.a: ./own.yaml is a file": ("a: e4m3", "a: ./own.yaml"),
    "a unit of several modes": ("unit: x", "unit: x\nmodes: {}"),
}  # fmt: skip
FILE = """\
unit: x
operands: {a: e4m3, b: e4m3, addend: f32}
instruction: {k: 4, lanes: 4}
sum: {method: aligned, fraction_bits: 10, lost: floor}
result: {format: f32, rounding: rne}
"""


REFUSED = """
return given.map((text) => {
  try {
    unitKeys.checked(data, unitKeys.readYaml(text));
    return "";
  } catch (error) {
    return error.message;
  }
});
"""


def test_keys_that_break_a_rule_are_refused_by_name(chromium: str, tmp_path: Path) -> None:
    texts = [FILE, *(FILE.replace(old, new) for old, new in BROKEN.values())]
    assert len({*texts}) == len(texts)
    first, *told = answered(chromium, tmp_path / "page", REFUSED, texts)
    assert first == ""
    for words, there in zip(BROKEN, told, strict=True):
        assert words in there


# ---- The page. ----

CASE = {"a": [0x7E, 0xB9, 0x05], "b": [0x3C, 0x39, 0x4D], "c": 0x3F8CCCCD}  # of docs/arithmetic.md


def shown(chromium: str, folder: Path, behind: str, text: str | None = None, *options: str) -> str:
    """What a reader sees of the page, without its data."""
    folder.mkdir(exist_ok=True)
    (folder / "microscope.html").write_text(text or page(), encoding="utf-8")
    dom, log = browse(
        chromium,
        folder / "microscope.html",
        "--dump-dom",
        "--virtual-time-budget=10000000",
        *options,
        query=f"#{behind}",
    )
    assert "CONSOLE" not in log, log
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL)))


def test_a_link_holds_the_case(chromium: str, tmp_path: Path) -> None:
    unit = load_unit("hopper-wgmma-e4m3-f32")
    told = shown(chromium, tmp_path / "page", case(unit, {**CASE, "got": 0x4427F000}))
    result = hwsim.explain(unit, **CASE)
    assert f"{result.value:g}" in told and "0x4427f800 e8m13" in told
    assert "what the design returned" in told and "0x4427f000" in told
    assert str(result.total) in told.replace("−", "-")
    assert "--a 0x7e,0xb9,0x5 --b 0x3c,0x39,0x4d --c 0x3f8ccccd" in told


def test_a_page_of_its_own_opens_on_its_case(chromium: str, tmp_path: Path) -> None:
    unit = Unit.model_validate(yaml.safe_load(FILE))
    assert f"{hwsim.explain(unit, **CASE).code:#010x} f32" in shown(
        chromium, tmp_path / "page", "", page(case(unit, CASE))
    )


PARTED: dict[str, dict[str, dict[str, Any]]] = {
    "window": {"sum": {"fraction_bits": 9}},
    "rounding": {"result": {"format": "bf16"}},
    "sum": {"sum": {"method": "exact"}},
    "decode": {"operands": {"a": "e5m2"}},
}


@pytest.mark.parametrize("stage", others_slow(PARTED, ["sum"]))
def test_two_units_part_at_a_stage(stage: str, chromium: str, tmp_path: Path) -> None:
    one = yaml.safe_load(FILE)
    two = json.loads(json.dumps(one))
    for part, keys in PARTED[stage].items():
        two[part] |= keys
    if stage == "sum":
        two["sum"] = {"method": "exact"}
    both = f"u={quote(json.dumps(one))}&v={quote(json.dumps(two))}"
    told = shown(chromium, tmp_path / "page", f"{both}&a=448,0.40625,3.5&b=1.5,1.125,0.01&c=0.1&as=values")
    assert f"They part in group 0: {stage}" in told
    same = f"u={quote(json.dumps(one))}&v={quote(json.dumps(one))}"
    assert "They agree in every stage" in shown(chromium, tmp_path / "page", f"{same}&a=1,2&b=3,4&as=values")


LAYOUT = """
const fits = document.documentElement.scrollWidth <= innerWidth;
const controls = [...document.querySelectorAll("input, textarea, select, button")];
const named = (each) => each.labels?.length || each.textContent.trim() || each.getAttribute("aria-label");
const unnamed = controls.filter((each) => !named(each));
const unreachable = controls.filter((each) => each.tabIndex < 0);
const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
const shown = controls.filter((each) => each.type !== "radio" && each.offsetParent);
const small = shown.filter((each) => each.getBoundingClientRect().height < 24);
return { fits, width: innerWidth, unnamed: unnamed.map((each) => each.outerHTML), unreachable: unreachable.length,
         twice: ids.filter((id, i) => ids.indexOf(id) !== i), small: small.map((each) => each.id) };
"""


@pytest.mark.parametrize("width", others_slow([500, 800, 1920], [500]))
def test_it_fits_and_everything_has_a_name(width: int, chromium: str, tmp_path: Path) -> None:
    told = answered(chromium, tmp_path / "page", LAYOUT, None, f"--window-size={width},900")
    assert told == {"fits": True, "width": width, "unnamed": [], "unreachable": 0, "twice": [], "small": []}


FINGERS = """[...document.querySelectorAll("button, select, textarea, summary, .choice label, input:not([type=radio])")]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 44).map((each) => each.outerHTML)"""
SIDEWAYS = "document.documentElement.scrollWidth - innerWidth"


def test_a_phone_by_touch(chromium: str, tmp_path: Path) -> None:
    (tmp_path / "microscope.html").write_text(page(), encoding="utf-8")
    unit, other = load_unit("hopper-wgmma-e4m3-f32"), load_unit("hopper-wgmma-e4m3-f16")
    with phone(chromium, tmp_path / "microscope.html", f"#{case(unit, CASE)}", size=(380, 800)) as held:
        assert held.run("[innerWidth, matchMedia('(pointer: coarse)').matches]") == [380, True]
        held.tap(".choice label:first-child")
        held.wait("document.getElementById('field-a').value === '448, -1.125, 0.009765625'")
        held.write_into("#field-a", "448, -1.125, 0.5")
        held.tap("#field-b")  # a field is read when it is left
        shown = hwsim.explain(unit, a=[0x7E, 0xB9, 0x30], b=CASE["b"], c=CASE["c"])
        held.wait(f"document.querySelector('.answer strong').innerText === '{shown.value}'")
        held.tap("#compare")
        held.write_into("#unit1", other.name)
        held.tap("#field-b")
        held.wait(f"document.getElementById('verdict').innerText.includes('{other.name}')")
        assert "They part in group 0" in held.run("document.getElementById('verdict').innerText")
        held.tap("summary")
        held.wait("document.getElementById('keys0').checkVisibility()")
        assert held.run(FINGERS) == []
        assert held.run(SIDEWAYS) == 0
        held.swipe(".scroll", 150)
        held.wait("document.querySelector('.scroll').scrollLeft > 100")
        held.turn(800, 380)
        held.wait("innerWidth === 800")
        assert held.run(SIDEWAYS) == 0


def test_it_asks_nothing_of_a_network_and_complains_of_nothing(chromium: str, tmp_path: Path) -> None:
    (tmp_path / "microscope.html").write_text(page(), encoding="utf-8")
    seen = opened(chromium, tmp_path / "microscope.html", "--virtual-time-budget=1000000")
    assert (seen.console, seen.asked) == ([], [])
    assert 'data-ready="yes"' in seen.dom
    assert not re.search(r"""(src|href)=["'](?!#)""", re.sub(r"<script.*?</script>", "", page(), flags=re.DOTALL))


# ---- Where it is opened from. ----


def test_explain_prints_its_record_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    unit = load_unit("hopper-wgmma-e4m3-f32")
    words = ["--a", "0x7e,0xb9,0x05", "--b", "0x3c,0x39,0x4d", "--c", "0x3f8ccccd", "--json"]
    assert main(["explain", unit.name, *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert difference(told, record(unit, CASE)) == ""
    # The numbers of docs/arithmetic.md.
    (group,) = told["groups"]
    assert (group["max_exp"], group["aligned"][:3], group["total"]) == (8, ["21504", "-40", "2"], "21501")
    assert told["result"] == {"format": "e8m13", "code": "0x4427f800", "value": "671.875"}


def test_explain_opens_a_page_on_the_case(chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: list[str] = []

    def noted(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", noted)
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own.yaml").write_text(FILE)
    words = ["--a-values", "1.5,2", "--b-values", "3,4", "--c-value", "1/3", "--open"]
    assert main(["explain", str(tmp_path / "own.yaml"), *words]) == 0
    (address,) = addresses
    text = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    # 4.5 + 8 + 1/3, the last of them floored to a multiple of 2^(3 - 10): 42/128.
    assert "12.828125" in shown(chromium, tmp_path / "page", "", text)


def test_a_report_leads_to_its_cases(chromium: str, tmp_path: Path) -> None:
    unit, told = load_unit("hopper-wgmma-e4m3-f32"), report()
    link = case(unit, {**CASE, "got": 0x4427F000})
    linked = told.changed(mismatches=(told.mismatches[0].changed(microscope=link), *told.mismatches[1:]))
    write_html(tmp_path / "report.html", linked)
    found = re.findall(r'href="(microscope\.html)#([^"]*)"', (tmp_path / "report.html").read_text())
    assert [(name, html.unescape(behind)) for name, behind in found] == [("microscope.html", link)]
    there = (tmp_path / "microscope.html").read_text(encoding="utf-8")
    assert "what the design returned" in shown(chromium, tmp_path / "page", link, there)


def test_a_report_without_a_program_has_commands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> bytes:
        raise ToolMissing("clang is missing")

    microscope._data.cache_clear()
    monkeypatch.setattr(microscope, "program", none)
    told = report()
    mismatch = told.mismatches[0].changed(microscope="u=x")
    write_html(tmp_path / "report.html", told.changed(mismatches=(mismatch, *told.mismatches[1:])))
    assert "microscope.html" not in (tmp_path / "report.html").read_text()
    assert not (tmp_path / "microscope.html").exists()
    microscope._data.cache_clear()


def test_a_later_report_without_mismatches_leaves_no_microscope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(microscope, "page", lambda: "a page")
    told = report()
    failed = told.changed(mismatches=(told.mismatches[0].changed(microscope="u=x"),))
    passed, path = good(), tmp_path / "microscope.html"
    for each, there in ((failed, True), (failed, True), (passed, False), (passed, False)):
        write_reports(tmp_path, each)
        assert path.exists() == there
    path.write_text("somebody else's")
    write_reports(tmp_path, passed)
    assert path.read_text() == "somebody else's"


def test_a_page_needs_no_compiler_where_its_program_is_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = wasm.program()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("HWSIM_CACHE", str(tmp_path))
    wasm.program.cache_clear()
    if not Path(wasm.__file__).with_name(wasm.file_name()).is_file():
        with pytest.raises(ToolMissing, match="apt-get install clang lld"):
            wasm.program()
    (tmp_path / "wasm").mkdir()
    (tmp_path / "wasm" / wasm.file_name()).write_bytes(built)
    assert wasm.program() == built
    wasm.program.cache_clear()


def test_a_case_that_does_not_fit_is_refused_and_never_cut(chromium: str, tmp_path: Path) -> None:
    keys = yaml.safe_load(FILE) | {"sum": {"method": "exact"}, "instruction": {"k": 2, "lanes": 2}}
    power = {"name": "power", "kind": "exponent", "exponent_bits": 11, "bias": 1024}
    keys["scale"] = {"a": {"format": power, "block": [1, 1]}, "b": {"format": power, "block": [1, 1]}}
    keys |= {"operands": {"a": "f64", "b": "f64"}, "result": {"format": "f64", "rounding": "rne"}}
    unit = Unit.model_validate(keys)
    small, large = {"a": [1, 0], "b": [1, 0]}, {"a": [1, 0x7FEFFFFFFFFFFFFF], "b": [1, 0x7FEFFFFFFFFFFFFF]}
    operands = [{**each, "scale_a": [0, 2047], "scale_b": [0, 2047]} for each in (small, large)]
    given = json.dumps(microscope.keys_of(unit))
    fits, wide = in_browser(chromium, tmp_path / "page", [UnitCases(unit, given, operands)])
    # From 2^-2148 * 2^-2048 to 2^2048 * 2^2046 there are more than 8,000 places.
    assert difference(fits, record(unit, operands[0])) == ""
    assert wide == {"error": "an integer has more bits than this page computes with"}
