"""The kernel of a unit, by its method. Modules are imported when a unit needs them: compiled code takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, assert_never

from hwsim.compute.kernels.kernel import AnyKernel
from hwsim.spec import AlignedSum, EvenOddSum, ExactSum, PairwiseSum, SequentialSum, Support, Unit

WHERE = "is in the model, but not in compiled code"


class Method(NamedTuple):
    """The kernel of a method. lacks: what the kernel of a unit does not hold. kernel: makes it, if it lacks nothing."""

    lacks: Iterator[str]
    kernel: Callable[[], AnyKernel]


def _method(unit: Unit) -> Method:
    rule = unit.sum
    match rule:
        case AlignedSum():
            from hwsim.compute.kernels import aligned

            return Method(aligned.lacks(unit, rule), lambda: aligned.kernel(unit, rule))
        case EvenOddSum():
            from hwsim.compute.kernels import aligned

            return Method(aligned.even_odd_lacks(unit, rule), lambda: aligned.even_odd_kernel(unit, rule))
        case SequentialSum():
            from hwsim.compute.kernels import additions

            return Method(additions.sequential_lacks(unit, rule), lambda: additions.sequential_kernel(unit, rule))
        case PairwiseSum():
            from hwsim.compute.kernels import additions

            return Method(additions.pairwise_lacks(unit, rule), lambda: additions.pairwise_kernel(unit, rule))
        case ExactSum():
            from hwsim.compute.kernels import exact

            return Method(exact.lacks(unit, rule), lambda: exact.kernel(unit, rule))
        case _:
            assert_never(rule)


def supports(unit: Unit) -> Support:
    """Support of a unit by a kernel; without one, the model is what is left. A kernel may have a `longest` K."""
    return Support(unit.name, WHERE, tuple(dict.fromkeys(_method(unit).lacks)))


def kernel_of(unit: Unit) -> AnyKernel:
    """The kernel that computes a unit. Raises NotImplementedYet where none `supports` it."""
    supports(unit).demand()
    return _method(unit).kernel()
