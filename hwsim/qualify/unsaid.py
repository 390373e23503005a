"""A partial sum that is NaN and not said to be: as a number it is so large that it is handed on as it came.

That is so where products vanish beside it, the window holds all of its bits, and a promotion takes the code alone.
"""

from __future__ import annotations

from hwsim.prove.circuits import fixed
from hwsim.prove.logic import Term, ask, both, same, value, width
from hwsim.prove.relations import SPECIAL, holds
from hwsim.qualify.relations import Relations, aligned, number


def nan_handed_on(relations: Relations) -> Term | None:
    """The code of the NaN that partial sums may be, without padding; None where it is not handed on as a number.

    The solver shows it step by step; the sum between them adds, whatever is in it.
    """
    n, parts, neutral = relations.n, relations.parts, relations.neutral
    fmt = n.result
    if relations.unit.promotion is None or n.window_addend is not None or fmt.canonical_nan is None:
        return None
    carried = value(fmt.canonical_nan >> fmt.padding, width(neutral["i__carried__code"]))
    decoded = fixed(parts.products, {**neutral, "i__carried__code": carried, "i__chain": value(1, 1)}).outputs
    addend = {
        f"i__addend__{field}": value(number(decoded[f"o__addend__{field}"]), width(decoded[f"o__addend__{field}"]))
        for field in ("sign", "exp", "sig")
    }
    exp = addend["i__addend__exp"]
    largest = fixed(parts.maximum, addend)
    products = [relations.is_product(largest.inputs, lane) for lane in range(n.lanes)]
    max_exp = largest.outputs["o__max_exp"]
    # Neither is signed where it is not negative, and one may be wider than the other.
    top = value(number(exp), width(max_exp))
    in_window = fixed(parts.align, {**addend, "i__max_exp": top}).outputs
    left = [aligned(in_window, "o", lane) for lane in range(n.lanes)]
    total = number((aligned(in_window, "o", n.lanes)).term)
    given = {f"i__special__{flag}": value(0, 1) for flag in SPECIAL}
    given |= {"i__total": value(total, width(parts.round.inputs["i__total"])), "i__max_exp": top}
    claims = [
        (same(max_exp, top), products),
        (
            both(*(holds(one == 0) for one in left)),
            [relations.is_product(parts.align.inputs, lane) for lane in range(n.lanes)],
        ),
        (same(fixed(parts.round, given).outputs["o__code"], carried), []),
    ]
    return carried if all(ask(claim, known).word == "proved" for claim, known in claims) else None
