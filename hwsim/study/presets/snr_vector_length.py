"""FP8 dot products of small numbers by length: E4M3 chains, flat and in chunks, scales, and Hopper's accumulator."""

from __future__ import annotations

import math
from typing import Any

from hwsim.study.presets.preset import Context, Records, load_page
from hwsim.study.report.contents import StudyReport

NAME = "snr-vector-length"
FLAT, ALONE = "E4M3 flat", "quantisation alone"


def report(context: Context) -> StudyReport:
    """The report: chains and Hopper under tensor scales, and blocks with scales of their own."""
    plan = load_page(NAME, context.size)
    given = plan.given
    tensors, blocks = (_described(plan.run(context, study)) for study in ("tensors", "blocks"))
    fitting = [one for one in tensors if one["data"] == given["data"] and one["scaling"] == given["scaling"]]
    by_length = {one["length"]: one for one in fitting if one["curve"] == FLAT}
    alone = [one | {"curve": ALONE, "snr": one["quantization_snr_db"]} for one in by_length.values()]
    gains = gain(fitting, given["chunk"])
    rows = [
        *fitting,
        *({"sum": ALONE, "length": one["length"], "cell": f"{one['snr']:.1f}"} for one in alone),
        *(
            {"sum": f"gain of chunks of {given['chunk']} over flat", "length": length, "cell": f"{value:.1f}"}
            for length, value in gains.items()
        ),
    ]
    # Charts do not show Hopper with promotion.
    curves = [one for one in fitting if "promoted" not in one["curve"]]
    tables = {"tensors": tensors, "lengths": [*curves, *alone], "rows": rows, "blocks": blocks}
    return plan.report(context, tables, gain=max(gains.values()))


def gain(points: Records, chunk: int) -> dict[int, float]:
    """By length, how many dB chunks are better than the flat chain. points: described, of one scale and data."""
    flat, chunked = (
        {one["length"]: one["total_snr_db"] for one in points if one["curve"] == curve}
        for curve in (FLAT, f"E4M3 in chunks of {chunk}")
    )
    return {length: chunked[length] - flat[length] for length in flat}


def _described(points: Records) -> Records:
    """Points by data and scale, with the name of their sum in charts and in tables, and their SNR."""
    order = {key: list(dict.fromkeys(one[key] for one in points)) for key in ("data", "scaling")}
    made = [one | named(one) | _snr(one) for one in points]
    return sorted(made, key=lambda one: tuple(order[key].index(one[key]) for key in order))


def named(point: dict[str, Any]) -> dict[str, str]:
    """What charts (`curve`) and tables (`sum`) call the sum of a point."""
    entry, interval = point["entry"], point.get("interval", "none")
    if entry == "Hopper":
        if interval == "none":
            return {"curve": "Hopper", "sum": "Hopper, no promotion"}
        return dict.fromkeys(("curve", "sum"), f"Hopper, promoted every {interval}")
    return dict.fromkeys(("curve", "sum"), FLAT if interval == "none" else f"E4M3 in chunks of {interval}")


def _snr(point: dict[str, Any]) -> dict[str, Any]:
    """The SNR; or how many of the results are NaN."""
    if point["nonfinite"]:
        return {"snr": math.nan, "cell": f"{100 * point['nonfinite'] / point['results']:.3g} % NaN"}
    return {"snr": point["total_snr_db"], "cell": f"{round(point['total_snr_db'], 1) + 0.0:.1f}"}  # never -0.0
