"""Arm's instructions as QEMU executes them, where it is at hand: a sample, its own fault, and faults that are found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from witness import arm, emulators
from witness.arm import INSTRUCTIONS, Count, Emulator, Setting

from hwsim.base.errors import ToolMissing
from hwsim.cases.drawing import Stream
from hwsim.spec import Unit, presets

SETTINGS = {f"{one.preset} {one.words}": one for one in arm.settings()}
# One of each arithmetic and layout; the others differ in formats.
ALWAYS = [
    "arm-fdot-e5m2xe4m3-f32 fdot-4-way", "arm-fmlal-e5m2xe4m3-f16 fmlalt", "arm-fmmla-e5m2xe4m3-f16 fmmla-4-way",
    "arm-fdot-e5m2xe4m3-f32 fmopa-4-way", "arm-bfmmla-bf16-f32 bfmmla", "arm-bfdot-bf16-f32 bfmopa",
]  # fmt: skip


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Emulator:
    try:
        return Emulator(tmp_path_factory.mktemp("guest"))
    except ToolMissing as error:
        pytest.skip(str(error))


def changed(setting: Setting, change: dict[str, Any]) -> Unit:
    keys = setting.unit.model_dump(mode="json", exclude_none=True)
    return Unit.model_validate(keys | {part: keys[part] | values for part, values in change.items()})


def compared(emulated: Emulator, setting: Setting, results: int) -> Count:
    count, stream = Count(), Stream(7, "sample")
    arm.compare(emulated, setting, arm.drawn(setting, 7, 0, results), stream, count)
    arm.compare(emulated, setting, arm.ends(setting, stream, results // 4), stream, count)
    assert count.results.total() > results
    return count


@pytest.mark.parametrize("name", others_slow(SETTINGS, ALWAYS))
def test_a_sample(emulated: Emulator, name: str) -> None:
    count = compared(emulated, SETTINGS[name], 6000)
    assert not count.wrong("hwsim") and not count.wrong("both"), count.differences


@pytest.mark.parametrize(("osm", "lscale"), [(True, 0), (False, 12)])
def test_fields_of_fpmr(emulated: Emulator, osm: bool, lscale: int) -> None:
    two_way = next(one for one in INSTRUCTIONS if one.name == "fdot-2-way")
    assert not compared(emulated, Setting(two_way, "e5m2", "e4m3", osm, lscale), 6000).faults


FLUSH = {"sum": {"flush": True, "tininess": "before"}, "result": {"subnormals": "flush", "tininess": "before"}}
FIELDS = {
    "RMode=RZ": (3 << 22, {"sum": {"rounding": "rz"}, "result": {"rounding": "rz", "overflow": "ieee"}}),
    "RMode=RP": (1 << 22, {"sum": {"rounding": "ru"}, "result": {"rounding": "ru", "overflow": "ieee"}}),
    "RMode=RM": (2 << 22, {"sum": {"rounding": "rd"}, "result": {"rounding": "rd", "overflow": "ieee"}}),
    "FZ=1": (1 << 24, {"operands": {"daz": True}, **FLUSH}),
}
HEED_FPCR = [name for name in SETTINGS if re.search(r"-f16-f32|-bf16-f32-ebf|bfmlal", name)]
FPCR = [(name, field) for name in HEED_FPCR for field in FIELDS]


@pytest.mark.parametrize(("name", "field"), others_slow(FPCR, FPCR[::9]))
def test_fields_of_fpcr(emulated: Emulator, name: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting, (fpcr, change) = SETTINGS[name], FIELDS[field]
    if "-f16-" in setting.preset:  # whose factors FZ leaves as they are
        change = {part: keys for part, keys in change.items() if part != "operands"}
    other = changed(setting, change)
    monkeypatch.setattr(arm, "_unit", lambda *_: other)
    instruction = setting.instruction._replace(fpcr=setting.instruction.fpcr | fpcr)
    assert not compared(emulated, setting._replace(instruction=instruction), 6000).faults


@pytest.mark.slow
def test_conversions(emulated: Emulator) -> None:
    count = Count()
    arm.conversions(emulated, Stream(7, "conversions"), count)
    assert count.converted.total() > 20_000_000 and not count.unlike.total()


# A change of each kind of unit that a sample must tell.
CHANGES = [
    ("fdot-4-way", {"result": {"rounding": "rna"}}), ("fmlalt", {"sum": {"rounded": "group", "zero": "positive"}}),
    ("fmmla-4-way", {"operands": {"daz": True}}), ("bfmmla", {"sum": {"overflow": "ieee"}}),
    ("bfmopa", {"sum": {"flush": False, "tininess": "result"}, "result": {"subnormals": "keep", "tininess": "result"}}),
    ("bfmopa", {"result": {"nan": 0x7FFFFFFF}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=str)
def test_a_sample_tells_other_units(
    emulated: Emulator, name: str, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = next(SETTINGS[one] for one in ALWAYS if one.endswith(name))
    other = changed(setting, change)
    monkeypatch.setattr(arm, "_unit", lambda *_: other)
    assert compared(emulated, setting, 3000).faults


# QEMU 11.1.3 adds exact products in 64 bits, and ORs what is lost into the last bit: twice 57344^2 and 2^-32 need 65.
# Then 57344^2 is taken away twice, and twice 2^-32 is left. Its own fault, of e5m2 times e5m2 alone.
LARGE, LEAST, NEGATIVE = 0x7B, 0x01, 0xFB
A, B, C = [LARGE, LARGE, LEAST, LARGE], [LARGE, LARGE, LEAST, NEGATIVE], 0xCF440000
EXACT, JAMMED = 0x2F800000, 0x30000000


def test_exact_rationals_decide() -> None:
    four_way = Setting(INSTRUCTIONS[0], "e5m2", "e5m2")
    assert four_way.preset == "arm-fdot-e5m2-f32" and np.uint32(C).view(np.float32) == -(57344.0**2)
    told = [arm.exactly(four_way.unit, four_way, A, B, C, ours, theirs) for ours, theirs in (
        (EXACT, JAMMED), (JAMMED, EXACT), (JAMMED, 0),
    )]  # fmt: skip
    assert [one.right for one in told] == ["hwsim", "emulator", "neither"]
    assert {one.exact for one in told} == {EXACT} and np.uint32(EXACT).view(np.float32) == 2.0**-32


def test_qemu_adds_in_64_bits(emulated: Emulator) -> None:
    a, b = (np.array([side * 4], np.uint8) for side in (A, B))
    got = emulated.run(0, a, b, np.full((1, 4), C, np.uint32).view(np.uint8)).view(np.uint32)
    # A newer one may be right.
    assert {*got.ravel().tolist()} <= {EXACT, JAMMED}


def test_every_arm_preset_has_an_instruction() -> None:
    assert {one.preset for one in SETTINGS.values()} == {name for name in presets() if name.startswith("arm-")}


def test_archives_are_those_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulators, "APT", tmp_path)
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://no/debian x main\ndeb [signed-by=/k] http://one/debian a main x\n"
    )
    (tmp_path / "sources.list.d" / "b.list").write_text("deb http://other/ubuntu b main\n")
    (tmp_path / "sources.list.d" / "c.sources").write_text(
        "Types: deb\nURIs: http://two/debian\nSuites: c\nComponents: contrib main\nSigned-By: /k2\n\n"
        "Types: deb\nURIs: http://two/debian-security\nSuites: c\nComponents: main\n"
    )
    found = [stanza.splitlines()[1:] for stanza in emulators.archives()]
    assert found == [
        ["URIs: http://one/debian", "Components: main", "Signed-By: /k"],
        ["URIs: http://two/debian", "Components: main", "Signed-By: /k2"],
    ]


def test_versions_are_compared_by_number() -> None:
    assert emulators._new_enough("11.1.3+ds-1", "11.1") and emulators._new_enough("12.0~rc1", "11.1")
    assert not emulators._new_enough("7.2.17", "11.1") and not emulators._new_enough("11.0.9+ds-1", "11.1")
