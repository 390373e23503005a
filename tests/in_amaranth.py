"""What combinational hardware says in Amaranth's simulator."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amaranth.lib.wiring import Component
from amaranth.sim import Simulator


def played(component: Component, inputs: Mapping[str, Iterable[int]], outputs: Sequence[str]) -> list[tuple[int, ...]]:
    """What the outputs are for every row of inputs; ports by their paths."""
    said: list[tuple[int, ...]] = []

    def port(path: str) -> Any:
        found: Any = component
        for name in path.split("."):
            found = getattr(found, name)
        return found

    async def bench(ctx: Any) -> None:
        to, of = [port(path) for path in inputs], [port(path) for path in outputs]
        for row in zip(*inputs.values(), strict=True):
            for one, value in zip(to, row, strict=True):
                ctx.set(one, value)
            await ctx.delay(1e-9)
            said.append(tuple(ctx.get(one) for one in of))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator = Simulator(component)
        simulator.add_testbench(bench)
        simulator.run()
    return said
