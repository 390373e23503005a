"""Relative error of Hopper's FP8 accumulator at K = 4096, with and without promotion (DeepSeek-V3, section 3.3.2)."""

from __future__ import annotations

from typing import Any

from hwsim.spec import load_unit
from hwsim.spec.fields import vary
from hwsim.study.accuracy.bounds import bounds
from hwsim.study.presets.preset import Context, Page, Records, load_page
from hwsim.study.presets.truncation import expected_shrink, sampled_products, share_of_signs
from hwsim.study.report.contents import StudyReport

NAME = "deepseek-2pct"
NEARLY = (0.015, 0.022)
LARGEST = "accumulation_relative_max_most"


def report(context: Context) -> StudyReport:
    """The report: data, promotion, length and width, each at the size that the context asks for."""
    plan = load_page(NAME, context.size)
    tables = {study: _described(plan.run(context, study)) for study in ("promotion", "lengths", "bits")}
    flat = [one for one in tables["promotion"] if one["interval"] == "none"]
    _expect(plan, flat, context.seed)
    low, high = NEARLY
    nearly = [one["data"] for one in flat if low <= one[LARGEST] <= high]
    tables["bounds"] = _bounds(plan, tables["promotion"])
    return plan.report(context, tables, nearly=", ".join(nearly) or "none")


def _described(points: Records) -> Records:
    """Points with what charts show, and with what says most of their data: of sums that cancel, the rms error."""
    for one in points:
        one["largest_percent"], one["rms_percent"] = 100 * one[LARGEST], 100 * one["accumulation_rms"]
        one["telling"] = one["accumulation_rms" if one["data"] == "normal" else LARGEST]
        one["bits"] = int(one.get("accumulator", 0))
    return points


def _expect(plan: Page, points: Records, seed: int) -> None:
    """Give points without promotion what their products let expect."""
    length = plan.given["length"]
    for point in points:
        products = sampled_products(data(plan)[point["data"]], length, seed)
        point["expected"] = expected_shrink(products, length, plan.given["bits"])
        point["signs"] = share_of_signs(products)


def data(plan: Page) -> dict[str, dict[str, Any]]:
    """The kinds of data by name. Without one, as they are here, products are sampled of other numbers than are run."""
    entries = plan.data["studies"]["promotion"]["data"]
    return {one["name"]: {key: one[key] for key in one if key != "name"} for one in entries}


def _bounds(plan: Page, points: Records) -> Records:
    """By interval: the bounds of theory, and the largest errors of the data that charts show."""
    given, found = plan.given, []
    for interval in given["intervals"]:
        theory = bounds(vary(load_unit(given["unit"]), {"interval": interval}), given["length"])
        values = {"worst case": theory.worst, "probabilistic": theory.probabilistic}
        errors = {one["data"]: one for one in points if one["interval"] == str(interval)}
        values |= {name: errors[name]["accumulation_normalized_max_most"] for name in given["drawn"]}
        found += [{"interval": interval, "what": what, "value": value} for what, value in values.items()]
    return found
