"""What a design must show beside its results: status flags, and copies of the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hwsim.cases.case import Case, dot
from hwsim.codewords import code_array
from hwsim.cosim.dut.dutfile import Dut
from hwsim.cosim.dut.flagkeys import flagged
from hwsim.model.definition import Definition
from hwsim.model.flags import FlagName, FlagRules, flag
from hwsim.tb.job import COPY, FLAG, Beside


def beside(dut: Dut, cases: Sequence[Case], codes: Sequence[int]) -> Beside:
    """What stands beside the results of cases. codes: the results that are expected of them."""
    place = dut.file.ports.result
    copies = [copy.named for copy in place.copies] if place is not None else []
    ports = dut.file.flags
    names: list[FlagName] = [name for name, _ in flagged(ports)]
    said = said_of(dut, cases, names, ports.rules) if ports is not None else np.zeros((len(cases), 0, 2), np.uint64)
    bits = dut.unit.output.container_bits
    of_copies = np.repeat(code_array(codes, bits)[:, None], len(copies), axis=1)
    whole = np.full(of_copies.shape, (1 << bits) - 1, of_copies.dtype)
    said = said.astype(of_copies.dtype)
    return Beside(
        names=np.array([*copies, *names], str),
        kinds=np.array([COPY] * len(copies) + [FLAG] * len(names), str),
        bits=np.array([bits] * len(copies) + [1] * len(names), np.int64),
        expected=np.concatenate([of_copies, said[:, :, 0]], axis=1),
        mask=np.concatenate([whole, said[:, :, 1]], axis=1),
    )


def said_of(dut: Dut, cases: Sequence[Case], names: Sequence[FlagName], rules: FlagRules) -> np.ndarray:
    """What flags say of cases, and whether that counts: uint64[cases, flags, 2]."""
    definition = Definition(dut.unit)
    found = np.zeros((len(cases), len(names), 2), np.uint64)
    for row, case in enumerate(cases):
        explanation = dot(definition, case)
        for column, name in enumerate(names):
            said = flag(explanation, name, rules)
            found[row, column] = bool(said), said is not None
    return found
