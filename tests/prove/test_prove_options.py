"""The file that options write: register by register what the plain file is, and mistakes in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from built_presets import others_slow
from odd_units import unit
from prove.step_mutants import Patch

from hwsim.base.errors import InputError
from hwsim.prove import styles
from hwsim.prove.styles import style_claims
from hwsim.rtl import verilog
from hwsim.rtl.hierarchy import PLAIN, Style
from hwsim.spec import Unit, load_unit, pipeline

ASYNC_LOW = Style(reset="async", reset_low=True)
ENABLED = Style(clock_enable=True)
EVERY = Style(reset="async", reset_low=True, clock_enable=True, package=True)
STYLES = {
    "sync-low": Style(reset_low=True), "async": Style(reset="async"), "async-low": ASYNC_LOW, "clk_en": ENABLED,
    "package": Style(package=True), "all": EVERY,
}  # fmt: skip


def words(one: Unit, style: Style, buffered: bool = False) -> dict[str, str]:
    """What comes of each claim."""
    built = pipeline(one, register_ready=buffered)
    return {claim.name: claim.decide(60).word for claim in style_claims(one, built, style)}


@pytest.mark.parametrize("buffered", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("style", others_slow(STYLES, ["all"]))
def test_the_file_is_the_plain_one(style: str, buffered: bool) -> None:
    for name in ("tiny", "tiny-promoted"):
        found = words(unit(name), STYLES[style], buffered)
        assert set(found.values()) == {"proved"}, found
        assert ("options: buffer" in found) is buffered
        assert ("options: clk_en" in found) is STYLES[style].clock_enable


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hopper-wgmma-e4m3-f32", "deepseek-v3-e4m3-f32-scaled", "cdna3-mfma-bf16-f32"])
def test_the_file_of_a_preset_is_the_plain_one(name: str) -> None:
    assert set(words(load_unit(name), EVERY, buffered=True).values()) == {"proved"}


def test_without_options_nothing_is_claimed() -> None:
    assert words(unit("tiny"), PLAIN) == {}


def once(pattern: str, other: str) -> Callable[[str], str]:
    """A text with another one in the place of the first of a pattern."""

    def changed(text: str) -> str:
        found, count = re.subn(pattern, other, text, count=1)
        assert count == 1
        return found

    return changed


# What is wrong in the file, its options, whether it has a buffer, and the claim that says so.
MISTAKES: dict[str, tuple[Callable[[str], str], Style, bool, str]] = {
    "a reset that is active high": (
        once(r"if \(!rst_n\)", "if (rst_n)"), Style(reset_low=True), False, "options: registers",
    ),
    "a register without the enable": (once(r"if \(clk_en\)", "if (1'b1)"), ENABLED, False, "options: clk_en"),
    "an enable that is active low": (once(r"if \(clk_en\)", "if (!clk_en)"), ENABLED, False, "options: clk_en"),
    "a reset that waits for the edge": (
        once(r"@\(posedge clk or posedge rst\)", "@(posedge clk)"), Style(reset="async"), False, "options: when",
    ),
    "a buffer's reset that waits for the edge": (
        once(r"@\(posedge clk or posedge rst\)( begin\s+if \(rst\) begin\s+full )", r"@(posedge clk)\1"),
        Style(reset="async"), True, "options: when",
    ),
    "a register that no reset sets": (
        once(r"valid1 <= 1'b0;\n", "valid1 <= valid1;\n"), Style(reset_low=True), False, "options: reset",
    ),
    "a struct's fields in another order": (
        once(r"    logic last;\n    logic first;\n", "    logic first;\n    logic last;\n"), Style(package=True), False,
        "options: registers",
    ),
    "a buffer that is always ready": (
        once(r"assign (\w*ready) = ~full;", r"assign \1 = 1'b1;"), PLAIN, True, "options: buffer",
    ),
    "a buffer that takes what comes while it is full": (
        once(r"if \(entering_ready\)", "if (1'b1)"), PLAIN, True, "options: buffer",
    ),
    "a buffer that passes by what it holds": (once(r"full \? kept", "~full ? kept"), PLAIN, True, "options: registers"),
    "a buffer that never empties": (once(r"full <= .*;", "full <= 1'b1;"), PLAIN, True, "options: buffer"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", others_slow(MISTAKES, [*MISTAKES][:1]))
def test_a_wrong_file_is_refuted(mistake: str, monkeypatch: Patch) -> None:
    change, style, buffered, claim = MISTAKES[mistake]

    def written(one: Any, built: Any, *rest: Any) -> str:
        text = verilog(one, built, *rest)
        return change(text) if built.register_ready or rest not in ((), (PLAIN,)) else text

    monkeypatch.setattr(styles, "verilog", written)
    assert words(unit("tiny"), style, buffered)[claim] == "refuted"


def test_a_file_without_a_register_is_none(monkeypatch: Patch) -> None:
    monkeypatch.setattr(styles, "verilog", lambda one, built, *rest: (
        verilog(one, built, *rest).replace("valid1", "valid_1") if rest else verilog(one, built)
    ))  # fmt: skip
    with pytest.raises(InputError, match="must have a register valid1"):
        words(unit("tiny"), Style(reset_low=True))
