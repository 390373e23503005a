"""The six MX formats, their scale rules and block sizes, by distribution (OCP MX 1.0; Rouhani et al. 2023)."""

from __future__ import annotations

from typing import Any

from hwsim.study.presets.preset import Context, load_page
from hwsim.study.presets.rounding import by_rule, lost, signal_to_noise
from hwsim.study.presets.samples import drawn
from hwsim.study.report.contents import StudyReport

NAME = "mx"
NOT_MX = "NVFP4 (not MX)"


def report(context: Context) -> StudyReport:
    """The report: errors of numbers by format, rule and block size, then those of whole dot products."""
    plan = load_page(NAME, context.size)
    given = plan.given
    numbers = {
        name: drawn(entry, given["rows"], given["length"], seed=context.seed) for name, entry in given["data"].items()
    }

    def errors(label: str, name: str, **changes: Any) -> dict[str, Any]:
        x = numbers[name]
        rounded = by_rule(x, given["formats"][label], **changes)
        return {"format": label, "numbers": name, "snr": signal_to_noise(x, rounded), "zeros": 100 * lost(x, rounded)}

    pairs = [(label, name) for label in given["formats"] if label != NOT_MX for name in given["drawn"]]
    tables = {
        "formats": [errors(label, name) for label in given["formats"] for name in numbers],
        "selects": [errors(*of, select=one) | {"select": one} for of in pairs for one in given["selects"]],
        "blocks": [errors(*of, block=(1, size)) | {"block": size} for of in pairs for size in given["blocks"]],
        "products": plan.run(context, "products"),
    }
    return plan.report(context, tables)
