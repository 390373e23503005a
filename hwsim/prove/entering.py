"""The code that a unit keeps of an addend which is added after a group's sum: as a term, and its claim."""

from __future__ import annotations

from hwsim.model.addition import add
from hwsim.model.definition import Definition
from hwsim.model.terms import addend_term
from hwsim.prove.addition import of_known_sign
from hwsim.prove.circuits import circuits
from hwsim.prove.claims import LateClaim
from hwsim.prove.explore import paths
from hwsim.prove.logic import Term, constant, substituted, value
from hwsim.prove.relations import each, holds
from hwsim.prove.symbolic import Integer, as_integer
from hwsim.rtl.accumulate import Accumulation, EnteringCode
from hwsim.spec import Unit
from hwsim.spec.keys import Number


def entering_claim(unit: Unit, what: Accumulation) -> LateClaim | None:
    """That what is kept of an addend is the model's. None for a unit without an addend."""
    fmt = unit.operands.addend
    if fmt is None:
        return None
    port = constant("entering.c", fmt.container_bits)
    code = Integer.unsigned(port)
    clean = (holds(code & ((1 << fmt.padding) - 1) == 0),) if fmt.padding else ()
    kept_in: Number = what.format if what.start is None else what.start
    found, model = Integer.unsigned(entering(what, port)), Definition(unit, keep=False)

    def right() -> Term:
        taken = model._input(code)
        if unit.promotion is not None and fmt != what.format:
            term = of_known_sign(addend_term(fmt, taken))
            taken = add(what.format, (term,), what.rounding)
        return holds(found == as_integer(taken) >> kept_in.padding)

    return LateClaim(
        f"{what.name}: entering", "what is kept of an addend is the model's", f"codes of {fmt.name}", clean,
        lambda: each(paths(right, clean)), (port,),
    )  # fmt: skip


def entering(what: Accumulation, c: Term | None) -> Term:
    """What is kept of an addend `c`; of None, where a unit has no addend, zero."""
    if c is None:
        return value(0, what.code_bits)
    circuit = circuits({"entering": EnteringCode(what)})["entering"]
    return substituted(circuit.outputs["o"], {circuit.inputs["c"]: c})
