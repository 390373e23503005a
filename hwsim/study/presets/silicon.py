"""The same matrix product on every matrix unit of real hardware: where two generations differ, and by how much."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hwsim.study.data import draw, parse_data
from hwsim.study.presets.generations import Compared, compare, groups
from hwsim.study.presets.preset import Context, Records, load_page
from hwsim.study.report.contents import StudyReport
from hwsim.study.report.declared import said

NAME = "silicon"
EQUAL = 200.0  # dB: what a heatmap shows in the place of an infinite SNR


def report(context: Context) -> StudyReport:
    """The report: pairs of each group of formats on zero-mean data, and each unit's own error."""
    plan = load_page(NAME, context.size)
    length, size, shown = (plan.given[key] for key in ("length", "size", "shown"))

    def compared(entry: Any) -> dict[str, Compared]:
        drawn = draw(parse_data(entry, Path()), context.seed, 0, length, size, size)
        return {group.name: compare(group, drawn) for group in groups()}

    normal, one_signed = compared(plan.given["normal"]), compared(plan.given["one_signed"])
    tables = {
        "groups": [
            {
                "name": name,
                "units": one.group.units,
                "specifications": len(one.group.members),
                "different": one.different,
                "one_signed_different": one_signed[name].different,
            }
            for name, one in normal.items()
        ],
        "units": [row for name in shown for row in _errors(normal[name], one_signed[name])],
        **{name: _pairs(normal[name]) for name in shown},
        **{f"{name}, once": [one for one in _pairs(normal[name]) if one["first"]] for name in shown},
    }
    return plan.report(context, tables)


def _errors(normal: Compared, one_signed: Compared) -> Records:
    """Each unit's own error on both kinds of data."""
    return [
        {
            "group": normal.group.name,
            "unit": member.short,
            "snr": one.snr,
            "nearest": 100 * one.nearest,
            "ulp": one.ulp,
            "one_signed_snr": other.snr,
            "one_signed_nearest": 100 * other.nearest,
            "one_signed_shrink": round(100 * other.shrink, 4) + 0.0,  # never -0.0
        }
        for member, one, other in zip(normal.group.members, normal.errors, one_signed.errors, strict=True)
    ]


def _pairs(one: Compared) -> Records:
    """Every unit beside every other; `first` where it stands before it. Units are numbered."""
    names = [f"{at} {member.short}" for at, member in enumerate(one.group.members, 1)]
    equal = any(math.isinf(pair.snr) for pair in one.pairs.values())
    made = []
    for i, unit in enumerate(names):
        for j, other in enumerate(names):
            if i == j:
                continue
            pair = one.pairs[min(i, j), max(i, j)]
            made.append(
                {
                    "group": one.group.name,
                    "unit": unit,
                    "other": other,
                    "number": str(j + 1),
                    "numbers": tuple(str(at) for at in range(1, len(names) + 1)),
                    "first": i < j,
                    "snr": EQUAL if math.isinf(pair.snr) else pair.snr,
                    "equal": f"{EQUAL:g}: equal bit for bit. " if equal else "",
                    "note": said(CELL, {"share": 100 * pair.share, "ulp": pair.ulp, "snr": pair.snr})
                    if pair.share
                    else "equal",
                }
            )
    return made


CELL = "{share:.1f} %; {ulp:ulps} ulp; {snr:decibels} dB"
