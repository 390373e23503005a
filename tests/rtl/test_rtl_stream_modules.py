"""Converters, quantisers and dequantisers as modules: names from the source, silent tools, the model's bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from built_presets import others_slow
from said_of_verilog import said_of

from hwsim.cosim.streamcases import (
    converter_design,
    converter_suites,
    dequantizer_design,
    dequantizer_suites,
    quantizer_design,
    quantizer_suites,
)
from hwsim.cosim.streams import StreamDesign, StreamSuite, play
from hwsim.formats import get_format
from hwsim.quantize import get_rule
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.rtl import BlockDequantizer, BlockQuantizer, Converter
from hwsim.rtl.converter import Conversion
from hwsim.rtl.hierarchy import modules
from hwsim.rtl.streamed import StreamedDatapath

SEED = 20261124


def block(name: str) -> BlockQuantization:
    return BlockQuantization(rule=get_rule(name), source=get_format("f32"), lanes=4, name=name)


E4M3 = Conversion(source="f32", target="e4m3")
STOCHASTIC = Conversion(source="f32", target="tf32", rounding="stochastic", random_bits=9)
POWER, DIVIDED = block("mxfp4-e2m1"), block("nvfp4")
COMPONENTS: dict[str, Callable[[], StreamedDatapath]] = {
    "converter": lambda: Converter(E4M3),
    "stochastic": lambda: Converter(STOCHASTIC),
    "quantizer": lambda: BlockQuantizer(POWER),
    "divided": lambda: BlockQuantizer(DIVIDED),
    "dequantizer": lambda: BlockDequantizer(BlockDequantization.of(POWER)),
    "scaled dequantizer": lambda: BlockDequantizer(BlockDequantization.of(DIVIDED)),
}
ALWAYS = ["converter", "quantizer"]


@pytest.mark.parametrize("name", others_slow(list(COMPONENTS), ALWAYS))
def test_few_nets_have_no_name_in_the_source(name: str) -> None:
    made = modules(COMPONENTS[name](), "top")
    assert len(made.made_up) / made.nets < 0.02, made.made_up


PLAYED: dict[str, tuple[Callable[..., StreamDesign], Callable[[], list[StreamSuite]]]] = {
    "converter": (partial(converter_design, E4M3), lambda: list(converter_suites(E4M3, SEED, 100))),
    "stochastic": (partial(converter_design, STOCHASTIC), lambda: list(converter_suites(STOCHASTIC, SEED, 100))),
    "quantizer": (partial(quantizer_design, POWER), lambda: list(quantizer_suites(POWER, SEED, 30))),
    "divided": (partial(quantizer_design, DIVIDED), lambda: list(quantizer_suites(DIVIDED, SEED, 30))),
    "dequantizer": (
        partial(dequantizer_design, BlockDequantization.of(POWER)),
        lambda: list(dequantizer_suites(BlockDequantization.of(POWER), SEED, 30)),
    ),
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(list(PLAYED), ["quantizer"]))
def test_modules_return_the_models_bits_and_tools_take_them_in_silence(
    verilator: None, icarus: None, name: str, tmp_path: Path
) -> None:
    make, suites = PLAYED[name]
    design = make(by_modules=True)
    found = re.findall(r"^module (\w+)", design.verilog, re.MULTILINE)
    assert found[0] == design.ports.top and len(set(found)) == len(found) > 3
    file = tmp_path / f"{design.ports.top}.sv"
    file.write_text(design.verilog)
    assert said_of(file) == [(0, ""), (0, "")]
    assert all(played.passed for played in play(design, suites(), "verilator", SEED))


@pytest.mark.simulator
def test_a_changed_module_of_a_quantizer_is_found(verilator: None) -> None:
    make, suites = PLAYED["quantizer"]
    design = make(by_modules=True)
    changed = re.sub(r"(\.\w+\()(\w+)\[i\]\)", r"\1\g<2>[0])", design.verilog, count=1)
    assert changed != design.verilog
    broken = replace(design, verilog=changed)
    assert not all(played.passed for played in play(broken, suites(), "verilator", SEED))
