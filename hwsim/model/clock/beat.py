"""Beats: what enters a unit in one cycle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Beat:
    """One group of products.

    a, b: a code for each lane. scale_a, scale_b: a code for each `Unit.lanes_of_scale` lanes; empty for an unscaled
    unit. c: the addend's code; counts only where `first`. first: opens a sum in its context. last: closes it.
    mode: of a unit of several, the number of the mode that computes this group; 0 for a unit of one.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int = 0
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    first: bool = True
    last: bool = True
    context: int = 0
    mode: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What leaves a unit: a code in the result's container, and the context that it belongs to."""

    code: int
    context: int
