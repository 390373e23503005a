"""The questions to hardware: for every open rule its possibilities, and stimuli that tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hwsim.readings import proposals
from hwsim.readings.changes import Candidate, Proposals, among
from hwsim.readings.silicon.stimuli import Mix
from hwsim.spec import Unit


@dataclass(frozen=True)
class Rule:
    """A question to hardware. propose: the candidates' changes, by their names. mix: stimuli that tell them apart."""

    name: str
    question: str
    propose: Callable[[Unit], Proposals]
    mix: Mix


def candidates(rule: Rule, unit: Unit, base: Unit | None = None) -> tuple[Candidate, ...]:
    """The candidates of a rule for a unit; of those that are equal the first, and the base itself always.

    base: what they are changes to, where that is no longer the unit as specified.
    """
    return among(rule.propose(unit), unit, base)


# Where binary32 ends: products far below an addend's least exponent, and the sums that they round to.
FLOOR = Mix(spread=40, addend="low", empty=0.3, top=(-156, -120), edge=0.9, floors=proposals.FLOORS)
TINY = Mix(spread=20, idle=0.5, addend="low", empty=0.3, top=(-170, -124), sparse=0.3)

RULES = (
    Rule("window", "How many bits of a term are kept below max_exp?", proposals.window, Mix(spread=34, edge=0.5)),
    Rule("lost", "What happens to a term's bits below the window?", proposals.lost, Mix(spread=40, edge=0.5)),
    Rule(
        "result",
        "What is a group's sum rounded to, and how?",
        proposals.result,
        Mix(spread=20, addend="near", edge=0.3),
    ),
    Rule("groups", "Which products are summed together?", proposals.groups, Mix(spread=24)),
    Rule("chain", "How does a longer K go on?", proposals.chain, Mix(spread=20, instructions=(2, 4))),
    Rule(
        "conversion", "Are 8-bit factors multiplied as they are?", proposals.conversion, Mix(spread=26, subnormal=0.4)
    ),
    Rule("subnormals", "Do subnormal factors count?", proposals.subnormals, Mix(spread=8, subnormal=0.4)),
    Rule(
        "addend", "How does the addend enter?", proposals.addend, Mix(spread=12, addend="near", instructions=(1, 1, 2))
    ),
    Rule("addend-bits", "Which bits of the addend enter?", proposals.addend_bits, Mix(spread=12, addend="above")),
    Rule(
        "zero-terms", "Does a zero term take part in max_exp?", proposals.zero_terms, Mix(spread=6, zeros=0.5, low=0.9)
    ),
    Rule("floor", "Is there a least max_exp?", proposals.floor, FLOOR),
    Rule(
        "zero-sum", "What is the sign of a sum of zero?", proposals.zero_sum, Mix(empty=0.6, addend="zero", cancel=0.5)
    ),
    Rule("tiny", "What becomes of a tiny result?", proposals.tiny, TINY),
    Rule(
        "overflow",
        "What is returned for too large a result?",
        proposals.overflow,
        Mix(high=0.9, addend="high", special=0.3),
    ),
    Rule("nan", "Which NaN is returned?", proposals.nan, Mix(special=1.0)),
    Rule(
        "special-codes", "Do the codes of NaN and infinity stand for them?", proposals.special_codes, Mix(special=1.0)
    ),
)
BY_NAME = {rule.name: rule for rule in RULES}
