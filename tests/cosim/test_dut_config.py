"""DUT.yaml: what is refused, and that the message says file, key and rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cosim.dut_files import design, variant

from hwsim.cosim.dutdesign import dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.formats.yamlfile import SpecError

STREAM = {"kind": "stream", "input_valid": "valid_i", "output_valid": "valid_o"}
SUMS = {"kind": "accumulate", "cycles": 1, "clear": "c"}
PORTS = {"a": "a", "b": "b", "c": "c", "result": "d"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"topp": "x"}, r"dut\.yaml:\d+: topp is not a key here"),
        ({"protocol": None, "protocl": {"kind": "combinational"}}, r"dut\.yaml:\d+: protocl is not a key here"),
        ({"top": None}, r"dut\.yaml:\d+: top is missing"),
        ({"sources": ["nowhere.v"]}, r"dut\.yaml:\d+: sources\.0 is no file: .*nowhere\.v"),
        ({"unit": "no-such-unit"}, r"unknown unit 'no-such-unit'"),
        ({"clock": None}, r"clock must be given, for protocol\.kind"),
        ({"protocol": {"kind": "combinational"}}, r"clock must not be given"),
        ({"protocol": {"kind": "latency"}}, r"protocol of kind latency needs cycles"),
        (
            {"protocol": {"kind": "latency", "cycles": -1}},
            r"protocol\.cycles must be greater than or equal to 0, not -1",
        ),
        ({"protocol": {**STREAM, "ready_latency": 1}}, r"protocol\.ready_latency needs input_ready"),
        ({"protocol": {**STREAM, "cycles": 3}}, r"protocol of kind stream has no cycles"),
        ({"protocol": {"kind": "axi"}}, r"protocol\.kind must be 'stream', .* or '\w+', not 'axi'"),
        (
            {"protocol": {"kind": "latency", "cycles": 3, "enable": {"port": "a", "active": "up"}}},
            r"active must be 'high'",
        ),
        ({"protocol": {"cycles": 3}}, r"protocol\.kind is missing; it must be 'stream'"),
        ({"protocol": {"kind": "accumulate", "cycles": 1}}, r"protocol of kind accumulate needs clear or load"),
        ({"protocol": {**SUMS, "cycles": 0}}, r"protocol\.cycles must be greater than or equal to 1, not 0"),
        ({"protocol": {**SUMS, "last": "c"}}, r"protocol of kind accumulate has no last"),
        ({"protocol": {**SUMS, "clear": {"port": "c", "when": "after"}}}, r"protocol\.clear\.when must be 'before', "),
        ({"protocol": SUMS, "ports": {**PORTS, "last": "a"}}, r"ports\.last has no meaning for protocol\.kind accum"),
        (
            {"protocol": {**SUMS, "load": "c"}, "ports": {key: PORTS[key] for key in ("a", "b", "result")}},
            r"protocol\.load needs ports\.c",
        ),
        (
            {"ports": {**PORTS, "last": {"port": "a", "at": -1}}},
            r"ports\.last\.at must be 0, or more where it comes af",
        ),
        (
            {"protocol": STREAM, "ports": {**PORTS, "first": {"port": "a", "at": 1}, "last": "b"}},
            r"ports\.first\.at must be 0, or less where it comes before; .* only for protocol\.kind latency, not 1",
        ),
        ({"clock": []}, r"clock must have at least 1"),
        ({"clock": ["clk", "clk2"]}, r"clock must name an input of dot4_latency \(clk, a, b, c\), not clk2"),
        ({"clock": ["clk", "clk"]}, r"clock drives bit 0 of clk, which something else drives too"),
        ({"clock": ["clk", {"port": "a[0]", "divide": 2}]}, r"clock\.1\.divide is not a key here"),
        ({"ports": {**PORTS, "last": {"port": "a", "at": 2}}}, r"ports\.last\.at needs protocol\.input_valid"),
        ({"protocol": {**STREAM, "kind": "tagged"}}, r"protocol of kind tagged needs tags"),
        (
            {"protocol": {**STREAM, "kind": "tagged", "tags": 4}},
            r"ports\.tag is missing: protocol\.kind tagged needs it",
        ),
        ({"protocol": {**STREAM, "kind": "tagged", "tags": 1}}, r"tags must be greater than or equal to 2, not 1"),
        (
            {"ports": {**PORTS, "result_tag": "d"}},
            r"ports\.result_tag has no meaning for protocol\.kind latency, which h",
        ),
        ({"products": 3}, r"products must be a multiple of 4, not 3"),
        ({"contexts": 2}, r"contexts above 1 needs ports\.context"),
        ({"ports": {**PORTS, "first": "clk"}}, r"ports\.first needs ports\.last"),
        ({"ports": {**PORTS, "scale_a": "a"}}, r"ports\.scale_a must not be given: dot4 has scale none"),
        (
            {"ports": {**PORTS, "a": {"port": "a", "each": "a{}"}}},
            r"ports\.a must have one of port, ports, each, pieces and constant",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        design(tmp_path, "latency", **changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"top": "other"}, "'other' is not a valid top-level module"),
        ({"parameters": {"RIGHT": 1}}, "dot4_latency has parameters WRONG, not RIGHT"),
        (
            {"protocol": {**SUMS, "clear": "no"}},
            r"protocol\.clear must name an input of dot4_latency \(clk, .*, not no",
        ),
        ({"protocol": {**SUMS, "clear": "a"}}, r"protocol\.clear must name an input of one bit, not a \(32 bits\)"),
        (
            {"protocol": {**SUMS, "clear": "a[0]", "enable": "d[0]"}},
            r"protocol\.enable must name an input of .*, not d",
        ),
        ({"protocol": {**SUMS, "clear": "a[32]"}}, r"protocol\.clear a\[32\]: a has bits 31 to 0, not 32"),
        (
            {"protocol": {**SUMS, "output_valid": "d", "clear": "a[0]"}},
            r"protocol\.output_valid must name an output of one bit, not d",
        ),
        (
            {"protocol": {"kind": "latency", "cycles": 3, "enables": ["b[0]"]}},
            r"ports\.b drives bit 0 of b, which some",
        ),
        ({"clock": "clock"}, r"dut\.yaml:\d+: clock must name an input of dot4_latency \(clk, a, b, c\), not clock"),
        ({"reset": "rst"}, r"reset\.port must name an input of dot4_latency"),
        ({"ports": {**PORTS, "a": "x"}}, r"dut\.yaml:\d+: ports\.a must name a port of dot4_latency \(.*\), not x"),
        ({"ports": {**PORTS, "a": "d"}}, r"ports\.a must be an input of dot4_latency, not d \(out\)"),
        ({"ports": {**PORTS, "a": "b"}}, r"ports\.b drives bit 0 of b, which something else drives too"),
        ({"ports": {**PORTS, "a": "a[35:0]"}}, r"ports\.a a\[35:0\]: a has bits 31 to 0, not 35"),
        (
            {"ports": {**PORTS, "a": "a[0:31]"}},
            r"ports\.a a\[0:31\]: a is declared \[31:0\]; \[0:31\] must run that way",
        ),
        ({"ports": {**PORTS, "a": "a[23:0]"}}, r"ports\.a must have 8 bits for each element \(e4m3\), not 6"),
        ({"ports": {**PORTS, "a": ["a[7:0]"]}}, r"ports\.a must name 4 ports, one for each element, not 1"),
        ({"ports": {key: PORTS[key] for key in ("a", "b", "result")}}, r"ports leave bit 0 of input c undriven"),
        ({"constants": {"a[3:0]": 16}}, r"dut\.yaml:\d+: constants\.a\[3:0\] must fit 4 bits, not 16"),
        ({"constants": {"a[3:0]": 1}}, r"constants drives bit 0 of a, which something else drives too"),
        ({"constants": {"d": 1}}, r"constants\.d must be an input of dot4_latency, not d \(out\)"),
        (
            {"ports": {**PORTS, "a": {"port": "a", "bits_at": "low"}}},
            r"ports\.a\.bits_at must not be given: lanes of 8",
        ),
        ({"ports": {**PORTS, "a": {"port": "a", "rest": "ones"}}}, r"ports\.a must not have rest without bits_at"),
        (
            {"ports": {**PORTS, "result": {"port": "d", "bits_at": "low"}}},
            r"ports\.result\.bits_at must not be given: name the bits, as in y\[21:0\]",
        ),
        (
            {"ports": {**PORTS, "a": {"port": "a", "copies": ["b"]}}},
            r"ports\.a\.copies must not be given: only a result",
        ),
        (
            {"ports": {**PORTS, "result": {"port": "d", "copies": ["d[7:0]"]}}},
            r"ports\.result\.copies\.0 must have 32 bits for each element \(e8m13\), not 8",
        ),
        ({"flags": {"tininess": "after"}}, r"flags must name a flag \(invalid, divide_by_zero, overflow, "),
        ({"flags": {"nan": "d[1:0]"}}, r"flags\.nan must have 1 bit, not 2"),
        (
            {"flags": {"inexact": "d[0]"}},
            r"dut\.yaml:\d+: flags\.inexact must not be given: IEEE 754 defines it for one rounding, and dot4 ",
        ),
        ({"ports": {**PORTS, "result": "d[21:0]"}}, r"ports\.result must have 32 bits for each element \(e8m13\)"),
    ],
)
def test_ports_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        design(tmp_path, "latency", **changes)


def test_an_error_in_the_sources_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.v").write_text("module dot4_latency;\n  wire x = ;\nendmodule\n")
    path = variant(tmp_path, "latency", sources=["bad.v"])
    with pytest.raises(ValueError, match=r"bad\.v:2: expected expression"):
        dut_design(load_dut(path))


def test_flags_beside_a_result_in_a_schedule_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"flags must not be given: protocol has the result in its schedule"):
        load_dut(variant(tmp_path, "serial-mul", flags={"invalid": "done"}))
