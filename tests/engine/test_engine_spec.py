"""Engines' files: what they say, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from engine.engines import SMALL, engine

import hwsim
from hwsim.cosim.engine.packing import addend_frames, matrix_of, operand_frames, tile_words, tiles_of
from hwsim.formats.yamlfile import SpecError
from hwsim.spec.engine import engine_yaml, load_engine


def test_a_file_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "unit.yaml").write_text(yaml.safe_dump(SMALL))
    file = tmp_path / "engine.yaml"
    file.write_text(
        "engine: tiny\nunit: unit.yaml\nrows: 2\ncolumns: 3\nreuse: [2, 2]\nports: {a: 32, b: 64, c: 64, d: 32}\n"
    )
    loaded = load_engine(file)
    assert loaded == engine()
    again = load_engine(yaml.safe_load(engine_yaml(loaded)))
    assert again == loaded and again.digest == loaded.digest


def test_words_change_no_digest_and_bits_do() -> None:
    digest = engine().digest
    assert engine(summary="other words", engine="other").digest == digest
    assert engine({**SMALL, "unit": "other", "evidence": "designed", "source": ["an example"]}).digest == digest
    assert engine({**SMALL, "sum": {**SMALL["sum"], "fraction_bits": 14}}).digest != digest
    assert engine(drain=3).digest != digest and engine(reuse=[1, 4]).digest != digest


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"rows": 0}, "rows must be"),
        ({"rows": 65, "columns": 64}, "rows and columns must make at most 4096 elements, not 4160"),
        ({"reuse": [20, 20]}, "reuse must make at most 256 contexts, not 400"),
        ({"cuts": ["nowhere"]}, "cuts must be steps of small4"),
        ({"unit": "hopper-wgmma"}, "unit must be a unit: unknown unit 'hopper-wgmma'"),
        ({"ports": {"a": 12, "b": 8, "d": 8}}, "ports.a must be a multiple of 8, not 12"),
        ({"speed": 3}, "speed is not a key here"),
        ({"ports": {"a": 8, "b": 8, "d": 8, "scale_a": 8}}, "ports must have both scale_a and scale_b, or none"),
        ({"ports": {"a": 8, "b": 8, "d": 8, "scale_a": 8, "scale_b": 8}}, "ports.scale_a must be none: small4 has no"),
    ],
)
def test_what_breaks_a_rule_is_refused(keys: dict[str, Any], rule: str) -> None:
    with pytest.raises(SpecError, match=rule):
        engine(**keys)


def test_addends_need_a_unit_that_takes_them() -> None:
    without = {**SMALL, "operands": {"a": "e4m3", "b": "e4m3"}}
    with pytest.raises(SpecError, match=r"ports\.c must be none: small4 takes no addend"):
        engine(without)


def test_scales_stand_behind_codes_or_by_themselves() -> None:
    ports = {"a": 512, "b": 512, "d": 32}
    beside, apart = (engine("mxfp8-e4m3-f32", addends=False, ports=ports | more)
                     for more in ({}, {"scale_a": 16, "scale_b": 32}))  # fmt: skip
    assert beside.digest != apart.digest and load_engine(yaml.safe_load(engine_yaml(apart))) == apart
    assert [beside.sizes()[side].size for side in "ab"] == [2 * 264, 3 * 264]
    assert [(name, size.size, size.words) for name, size in apart.sizes().items()] == [
        ("a", 512, 2), ("b", 768, 3), ("scale_a", 16, 2), ("scale_b", 24, 2),
    ]  # fmt: skip
    codes, scales = np.arange(4 * 64).reshape(4, 64), np.arange(8).reshape(4, 2) + 100
    frames = operand_frames(apart, "a", codes, scales)
    # A step has two slices of two rows: rows 0 and 1, then 2 and 3; words of 16 bits are the scales of a slice.
    assert frames["scale_a"].words == [[0x6664, 0x6A68, 0x6765, 0x6B69]]
    assert [word & 0xFF for word in frames["a"].words[0]] == [0, 128, 32, 160]
    whole = operand_frames(beside, "a", codes, scales)["a"].words[0]
    assert whole[0] & (1 << 256) - 1 == frames["a"].words[0][0] & (1 << 256) - 1 and whole[0] >> 256 & 0xFF == 100


def test_utilisation_is_that_of_the_slowest() -> None:
    assert engine(ports={"a": 128, "b": 128, "d": 32}).utilisation == 1
    slow = engine(ports={"a": 8, "b": 128, "d": 32})
    assert slow.utilisation == 1 / 4 and "set by stream a" in list(slow.facts())[-1]
    assert engine(reuse=[1, 1], ports={"a": 256, "b": 256, "d": 32}).utilisation == 1 / 4  # the latency


def test_matrices_are_packed_as_the_page_says() -> None:
    """The word that holds a code, by hand; and results come back from words."""
    built = engine()
    a = np.arange(1, 1 + 4 * 8, dtype=np.uint8).reshape(4, 8)
    frame = operand_frames(built, "a", a)["a"].words
    # Steps, slices, rows, lanes: 32 bits are a row's four codes.
    assert len(frame) == 1 and frame[0][0] == 0x04030201 and frame[0][1] == 0x0C0B0A09
    assert frame[0][2] == 0x14131211 and frame[0][4] == 0x08070605
    d = np.arange(24, dtype=np.uint32).reshape(4, 6)
    words = [word for tile in tile_words(32, 32, tiles_of(built, d)[0, 0]) for word in tile]
    assert words[:6] == [0, 1, 2, 6, 7, 8] and (matrix_of(built, [words], (4, 6)) == d).all()
    assert addend_frames(built, d).words[0][0] == 1 << 32


def test_a_product_of_matrices_that_fill_no_tile_comes_back() -> None:
    built, rng = engine(), np.random.default_rng(1)
    d = rng.integers(0, 1 << 32, (7, 8), dtype=np.uint32)
    frames = [[word for tile in tile_words(32, 32, macro) for word in tile]
              for macro in tiles_of(built, d).reshape(-1, 4, 6)]  # fmt: skip
    assert (matrix_of(built, frames, (7, 8)) == d).all()
    assert hwsim.load_unit(SMALL).name == "small4"
