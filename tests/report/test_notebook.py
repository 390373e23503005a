"""What notebooks show of units, formats, quantised arrays, explanations and errors: parts of pages not ours."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import html5lib
import numpy as np
import pytest

import hwsim
from hwsim.explain.drawing import MOST, histogram
from hwsim.formats.catalog import formats

NORMAL = np.random.default_rng(1).normal(size=(2, 40, 64)).astype(np.float32)
EXPLAINED = ([0x7E, 0xB9, 0x05], [0x3C, 0x39, 0x4D], 0x3F8CCCCD)


def shown(value: Any) -> str:
    """The text of what a notebook shows, which is whole HTML without scripts."""
    html: str = value._repr_html_()
    tree = html5lib.HTMLParser(strict=True).parseFragment(html)
    assert not tree.findall(".//{http://www.w3.org/1999/xhtml}script")
    return " ".join(" ".join(tree.itertext()).split())


def test_a_unit() -> None:
    text = shown(hwsim.load_unit("mxfp8-e4m3-f32"))
    assert text.startswith("mxfp8-e4m3-f32 MX dot product of e4m3 blocks")
    for words in ("operands a e4m3, b e4m3, addend f32", "block 1 x 32, b format e8m0", "fraction_bits 25"):
        assert words in text


def test_a_name_never_becomes_markup() -> None:
    unit = hwsim.load_unit("hopper-wgmma-e4m3-f32").model_copy(update={"summary": "<script>alert(1)</script> & more"})
    assert "<script>alert(1)</script> & more" in shown(unit)


def test_every_format() -> None:
    for name, fmt in formats().items():
        text = shown(fmt)
        assert text.startswith(name) and f"largest {fmt.largest:g} " in text
    assert "NaN 0x7f" in shown(hwsim.get_format("e4m3")) and "infinities none" in shown(hwsim.get_format("e4m3"))


@pytest.mark.parametrize("shape", [(40, 64), (2, 3, 64), (64,), (0, 64), (1, 1)])
def test_a_quantised_array(shape: tuple[int, ...]) -> None:
    quantized = hwsim.quantize(np.resize(NORMAL, shape), "tensor-e4m3")
    text = shown(quantized)
    assert f"shape {' x '.join(map(str, shape))} codes e4m3" in text
    if len(shape) > 1 and quantized.codes.size:
        assert f"{quantized.dequantize().reshape(-1, shape[-1])[0, 0]:.4g}" in text


def test_an_explanation_has_its_window_drawn_and_a_short_name() -> None:
    explained = hwsim.explain("hopper-wgmma-e4m3-f32", *EXPLAINED)
    text = shown(explained)
    assert (
        "max_exp 2⁸" in text
        and "21504" in text
        and "0x4427f800 = 671.875" in text
        and "<svg" in explained._repr_html_()
    )
    assert repr(explained).startswith("<Explained hopper-wgmma-e4m3-f32: 3 products") and len(repr(explained)) < 200
    many = hwsim.explain("hopper-wgmma-e4m3-f32", [0x38] * 512, [0x38] * 512)
    assert "12 more groups" in shown(many)
    # Units without a window are explained in words.
    assert "<svg" not in hwsim.explain("int8-i32", [1], [1])._repr_html_()


def test_an_error_has_its_histogram() -> None:
    error = hwsim.error("hopper-wgmma-e4m3-f32", NORMAL[0], NORMAL[1].T)
    text = shown(error)
    assert text.startswith("hopper-wgmma-e4m3-f32, scaling direct: 40 x 64 by 64 x 40 the product's rms is ")
    assert f"quantisation {error.quantization.snr_db:.1f} {error.quantization.largest:.3g}" in text


def test_a_histogram_counts_every_magnitude_once() -> None:
    drawn = histogram({"one": np.array([0, 1, 1.5, 2, 3.9, 4, 1e-30]), "none": np.zeros(3)})
    titles = [bar.title for bar in drawn.bars if bar.title]
    assert sum(int(title.split(": ")[1].split()[0]) for title in titles if title.startswith("one")) == 7
    assert "one: 2 from 2¹" in titles and "none: 3 0" in titles and len(titles) == 2 * (MOST + 1)
    assert histogram({}).bars == () and histogram({"empty": np.empty(0)}).width > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_in_dark(chromium: str, tmp_path: Path, scheme: str) -> None:
    image = pytest.importorskip("PIL.Image")
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(
        f"<!doctype html><meta charset=utf-8>{hwsim.explain('hopper-wgmma-e4m3-f32', *EXPLAINED)._repr_html_()}"
    )
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=900,400"]
    subprocess.run([*command, *dark, f"--screenshot={picture}", str(page)], check=True, capture_output=True)
    corner = sum(image.open(picture).convert("RGB").getpixel((60, 380 if scheme == "none" else 20)))
    assert corner > 600 if scheme == "light" else corner < 200
