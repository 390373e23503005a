"""The DPI-C functions, called from SystemVerilog under Verilator, against the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from c.export_examples import exported, readme_commands, shell
from kernels.kernel_cases import draw
from verilated import environment, put_runtime

from hwsim.compute.c import UnitInC
from hwsim.cosim.tools import find_verilator
from hwsim.formats.blocks import one_code, per_term
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation
from hwsim.spec import Unit, load_unit

pytestmark = pytest.mark.simulator

# Products of a dot product: a short tail, scales in products, a promotion with scales.
UNITS = {"ada-mma-e4m3-f16": 40, "mxfp8-e4m3-f32": 64, "deepseek-v3-e4m3-f32-scaled": 256}
COUNT = 2  # dot products, of a kind each

BENCH = """module bench_{name};
  import {name}_dpi_pkg::*;
  byte unsigned a[{k}], b[{k}], longer[{k} + 1];
{scales}  int calls, wrong;

  task automatic same(longint got, longint want);
    calls++;
    if (got !== want) wrong++;
  endtask

  initial begin
    foreach (longer[i]) longer[i] = 0;
{calls}
  end
  final $display("{name}: %0d calls, %0d wrong", calls, wrong);
endmodule
"""


class Dot(NamedTuple):
    """Operands of a dot product, filled up as the unit fills it, a scale a term; and what the model makes of them."""

    a: list[int]
    b: list[int]
    c: int
    scale_a: list[int]
    scale_b: list[int]
    made: Explanation


def drawn(unit: Unit, k: int, kind: str, random: np.random.Generator) -> Dot:
    a, b = (draw(random, fmt, (k,), kind).tolist() for fmt in (unit.operands.a, unit.operands.b))
    assert unit.operands.addend is not None
    (c,) = draw(random, unit.operands.addend, (1,), kind).tolist()
    fill = [0] * (-k % unit.instruction.fill)
    scales: list[list[int]] = [[], []]
    if unit.scale is not None:
        blocked = zip(scales, (unit.scale.a, unit.scale.b), UnitInC(unit, "").scale_blocks, strict=True)
        for side, scale, length in blocked:
            blocks = draw(random, scale.format, (1, k // length), kind)
            side += [*per_term(blocks, length, k)[0].tolist(), *[one_code(scale.format)] * len(fill)]
    return Dot(a + fill, b + fill, c, *scales, definition_of(unit).dot(a + fill, b + fill, c, *scales))


def literal(values: Sequence[int], bits: int) -> str:
    """An array of SystemVerilog."""
    return "'{" + ", ".join(f"{bits}'h{value:x}" for value in values) + "}"


def vector(values: Sequence[int], bits: int) -> str:
    """A packed vector, the first in the low bits."""
    return f"{bits * len(values)}'h{sum(value << bits * index for index, value in enumerate(values)):x}"


def calls(plan: UnitInC, k: int, dot: Dot) -> Iterator[str]:
    """One dot product, its groups and its promotions, called as the package has them."""
    unit, name, lanes, made = plan.u, plan.prefix, plan.u.instruction.lanes, dot.made
    step = plan.scale_blocks[0] if unit.scale else 1
    bits = unit.scale.a.format.container_bits if unit.scale else 0
    yield f"a = {literal(dot.a[:k], 8)};"
    yield f"b = {literal(dot.b[:k], 8)};"
    for side, values in (("scale_a", dot.scale_a), ("scale_b", dot.scale_b)) if unit.scale else ():
        yield f"{side} = {literal(values[:k:step], bits)};"
    scales = ", scale_a, scale_b" if unit.scale else ""
    yield f"same({name}_dpi_dot(a, b, 32'h{dot.c:x}{scales}), 64'h{made.code:x});"
    for index, group in enumerate(made.groups):
        here = slice(index * lanes, (index + 1) * lanes)
        vectors = [vector(dot.a[here], 8), vector(dot.b[here], 8)]
        if plan.group_scales:
            vectors += [vector(side[here][::step], bits) for side in (dot.scale_a, dot.scale_b)]
        c = [f"32'h{dot.c:x}"] * plan.first_takes_c
        first = index % unit.restart == 0 if unit.restart else index == 0
        partial = "32'h0" if first else f"32'h{made.groups[index - 1].code:x}"
        arguments = ", ".join([*vectors, *c, partial, f"1'b{int(not first)}"])
        yield f"same(64'({name}_dpi_group({arguments})), 64'h{group.code:x});"
    for index, one in made.promotions.items():
        at = (index - index % (unit.promotion_beats or 1)) * lanes
        arguments = ", ".join(f"32'h{x:x}" for x in (one.register, one.partial, dot.scale_a[at], dot.scale_b[at]))
        yield f"same(64'({name}_dpi_promote({arguments})), 64'h{one.code:x});"


def bench(plan: UnitInC, k: int) -> tuple[str, str]:
    """A module that makes the calls of one unit, and what it must print at the end."""
    unit, random, kinds = plan.u, np.random.default_rng(6), ("any", "middle")
    lines = [line for at in range(COUNT) for line in calls(plan, k, drawn(unit, k, kinds[at], random))]
    scales, declared = "", ""
    if unit.scale is not None:
        scales, kind = ", scale_a, scale_b", plan.sv_types["scale_a"]
        declared = "".join(f"  {kind} {side}[{k // plan.scale_blocks[0]}];\n" for side in ("scale_a", "scale_b"))
    # Arrays of two sizes are no dot product; and the last call is there to be counted as wrong.
    lines += [f"same({plan.prefix}_dpi_dot(a, longer, 0{scales}), -1);", "same(0, 1);"]
    text = BENCH.format(name=plan.prefix, k=k, scales=declared, calls="\n".join(f"    {line}" for line in lines))
    return text, f"{plan.prefix}: {sum(line.startswith('same(') for line in lines)} calls, 1 wrong"


def test_systemverilog_gets_what_the_model_returns(verilator: None, tmp_path: Path) -> None:
    plans = [UnitInC(load_unit(name), "0.0.0") for name in UNITS]
    results = [exported(name, tmp_path) for name in UNITS]
    benches = [bench(plan, k) for plan, k in zip(plans, UNITS.values(), strict=True)]
    instances = "".join(f"  bench_{plan.prefix} {plan.prefix}();\n" for plan in plans)
    made = f"module bench;\n{instances}  example shown();\nendmodule\n"
    (tmp_path / "bench.sv").write_text("".join(text for text, _ in benches) + made)
    # The command of the last unit's README, for its example and the other units too, and for warnings.
    build, simulate = readme_commands(tmp_path)[4:]
    more = [f"{plan.prefix}_dpi{end}" for plan in plans[:-1] for end in ("_pkg.sv", ".c")]
    options = "-Wall -Wno-DECLFILENAME -Wno-MULTITOP --output-split 0 -CFLAGS -O0 --quiet"
    build = build.replace("--top-module example", f"{options} --top-module bench {' '.join(more)}", 1)
    tool = find_verilator()
    put_runtime(tmp_path / "obj_dir")
    shell(f"{build.replace('verilator', tool.program, 1)} bench.sv", tmp_path, **environment())
    said = shell(simulate.replace("Vexample", "Vbench"), tmp_path).splitlines()
    assert {line for line in said if "calls" in line} == {line for _, line in benches}
    assert f"result {results[-1]:#x}" in said
