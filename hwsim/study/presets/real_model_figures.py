"""The charts, tables and words of `real-model`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from hwsim.study.intervals import Interval, interval
from hwsim.study.network.measurement import KINDS, Entry, Measured
from hwsim.study.network.models import NEIGHBOURS
from hwsim.study.network.unit_products import ProductErrors
from hwsim.study.report.contents import Axis, Chart, Series, TextTable

PLAIN, PROMOTED = "Hopper", "Hopper promoted"
CONFIDENCE = 0.95
WORDS = {"quantization": "quantisation", "accumulation": "accumulation", "total": "both"}
METHOD = (
    "Every matrix product of the network goes through the unit; what stands between the products (layer norm, softmax, "
    "GELU, biases) is binary64, in which the reference is computed too. Three passes tell the errors apart: quantised "
    "factors multiplied exactly (quantisation), exact products given the unit's error in summing the quantised ones "
    "(accumulation), and the unit as it is (both)."
)
Found = Mapping[str, Measured]


def said_of_sentences(sentences: Sequence[str], ids: Sequence[Sequence[int]], found: Found) -> list[str]:
    """What the transformer was given, and what promotion does to it, in words."""
    count = sum(map(len, ids))
    plain, promoted = (_mean(found[name], "accumulation") for name in (PLAIN, PROMOTED))
    both = _mean(found[PLAIN], "quantization")
    return [
        f"all-MiniLM-L6-v2 embeds {len(sentences)} sentences of {count} tokens. Summing in Hopper's accumulator alone "
        f"moves an embedding by {_number(plain)} of its length, {_number(promoted)} with promotion every 128 products; "
        f"quantising to E4M3 moves it by {_number(both)}."
    ]


def of_sentences(entries: Sequence[Entry], found: Found, command: str) -> list[Chart | TextTable]:
    """What is shown of the transformer."""
    rows = []
    for entry in entries:
        one = found[entry.label]
        nearest, neighbours = (_counted(one, key, of) for key, of in (("nearest", 1), ("neighbours", NEIGHBOURS)))
        turned = _number(fmean(one.cosine["total"]))
        rows.append((entry.label, entry.scaling, *_errors(one), turned, nearest, neighbours))
    table = TextTable(
        title="Embeddings by unit",
        header=("Unit", "Scaling", "Quantisation", "Accumulation", "Both", "1 - cosine", "Nearest", "Nearest 5"),
        rows=tuple(rows),
        right=(2, 3, 4, 5, 6, 7),
        caption="Error: distance of an embedding from its reference, of the reference's length; mean over the "
        "sentences, with the reach of its 95 % t interval. 1 - cosine: mean, of both errors. Nearest: sentences with "
        "the same nearest neighbour on the page as in the reference; Nearest 5: of the five nearest, how many are the "
        "same. Scaling: of activations / of weights.",
    )
    return [
        _bars("real-model-embeddings", "Error of sentence embeddings by unit",
              "Distance from the embedding / its length", entries, found, command),
        table,
        _layers(found, command),
        _layer_table(found),
        _heatmap(entries, found, command),
        _worst_table(entries, found),
    ]  # fmt: skip


def of_digits(entries: Sequence[Entry], found: Found, command: str) -> list[Chart | TextTable]:
    """What is shown of the network for digits."""
    rows = tuple(
        (entry.label, entry.scaling, *_errors(found[entry.label]),
         *(f"{100 * found[entry.label].judged[key]:.1f} %" for key in ("right", "same")))
        for entry in entries
    )  # fmt: skip
    table = TextTable(
        title="Digits by unit",
        header=("Unit", "Scaling", "Quantisation", "Accumulation", "Both", "Right", "Same"),
        rows=rows,
        right=(2, 3, 4, 5, 6),
        caption="Error: distance of the ten logits from their reference, of the reference's length; mean over the "
        "digits, with the reach of its 95 % t interval. Right: digits read right; Same: read as in the reference.",
    )
    return [
        _bars("real-model-digits", "Error of the logits of a small network for digits, by unit",
              "Distance from the logits / their length", entries, found, command),
        table,
    ]  # fmt: skip


def _mean(one: Measured, kind: str) -> float:
    return fmean(one.relative[kind])


def _number(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _counted(one: Measured, key: str, of: int) -> str:
    """A share as a count, of so many for each sentence."""
    many = len(one.relative["total"]) * of
    return f"{round(one.judged[key] * many)} of {many}"


def _errors(one: Measured) -> tuple[str, ...]:
    """Mean and reach of the interval, of every kind of error."""
    said = []
    for kind in KINDS:
        mean, _, high = interval(one.relative[kind], CONFIDENCE)
        said.append(f"{mean:.1e} ± {high - mean:.0e}" if mean else "0")
    return tuple(said)


def _bars(name: str, title: str, y: str, entries: Sequence[Entry], found: Found, command: str) -> Chart:
    series = []
    for kind in KINDS:
        means: list[Interval] = [interval(found[entry.label].relative[kind], CONFIDENCE) for entry in entries]
        there = [(entry.label, one) for entry, one in zip(entries, means, strict=True) if one.mean > 0]
        series.append(
            Series(
                label=WORDS[kind], x=tuple(label for label, _ in there), y=tuple(one.mean for _, one in there),
                low=tuple(one.low for _, one in there), high=tuple(one.high for _, one in there),
            )
        )  # fmt: skip
    return Chart(
        name=name, title=title, kind="bars", command=command, series=tuple(series),
        caption="Mean and 95 % interval. A bar that is missing is an error of zero.",
        x=Axis(title="Unit", categories=tuple(entry.label for entry in entries)), y=Axis(title=y, log=10),
    )  # fmt: skip


def _names(found: Found) -> list[str]:
    """The products of a layer, in their order."""
    return list(dict.fromkeys(where.name for where in found[PLAIN].products))


def _by_layer(one: Measured, name: str) -> dict[int, ProductErrors]:
    return {where.layer: sums for where, sums in one.products.items() if where.name == name}


def _layers(found: Found, command: str) -> Chart:
    """Both errors of each product, by layer, with and without promotion."""
    shown = (
        ("quantisation to E4M3", PLAIN, "quantization"),
        (f"accumulation, {PLAIN}", PLAIN, "accumulation"),
        (f"accumulation, {PROMOTED}", PROMOTED, "accumulation"),
    )
    series = []
    for name in _names(found):
        for label, unit, kind in shown:
            sums = _by_layer(found[unit], name)
            errors = tuple(one.relative(kind) for one in sums.values())
            series.append(Series(label=label, x=tuple(layer + 1 for layer in sums), y=errors, panel=name))
    return Chart(
        name="real-model-layers", title="Error of every product of the transformer, by layer", series=tuple(series),
        x=Axis(title="Layer"), y=Axis(title="RMS error / RMS of the product", log=10), command=command, columns=4,
        caption="Of the same factors: those of a pass in which nothing but accumulation is wrong.",
    )  # fmt: skip


def _together(sums: Sequence[ProductErrors], kind: str) -> float:
    """Root mean square of relative errors: of all layers alike."""
    return math.sqrt(fmean(one.relative(kind) ** 2 for one in sums))


def _layer_table(found: Found) -> TextTable:
    """Products with their lengths, and what promotion does for each."""
    rows = []
    for name in _names(found):
        plain, promoted = (list(_by_layer(found[unit], name).values()) for unit in (PLAIN, PROMOTED))
        before, after = (_together(sums, "accumulation") for sums in (plain, promoted))
        worst = max(range(len(plain)), key=lambda layer: plain[layer].accumulation / plain[layer].signal)
        rows.append(
            (
                name, LENGTHS[name], _number(_together(plain, "quantization")), _number(before), _number(after),
                f"{before / after:.1f}", f"{_number(plain[worst].relative('accumulation'))} (layer {worst + 1})",
                _number(fmean(one.shrink for one in plain)), _number(fmean(one.shrink for one in promoted)),
            )
        )  # fmt: skip
    return TextTable(
        title="Products of the transformer on Hopper, with and without promotion",
        header=("Product", "K", "Quantisation", "Accumulation", "Promoted", "Ratio", "Worst layer", "Shrink",
                "Shrink promoted"),
        rows=tuple(rows),
        right=(1, 2, 3, 4, 5, 6, 7, 8),
        caption="RMS error of a product over its RMS, root mean square over the layers. Ratio: accumulation over "
        "accumulation promoted. Shrink: by how much sums are too near to zero, of their mean magnitude; mean over the "
        "layers.",
    )  # fmt: skip


LENGTHS = {
    "query": "384", "key": "384", "value": "384", "scores": "32", "context": "tokens", "attention out": "384",
    "wider": "384", "narrower": "1536",
}  # fmt: skip


def _worst_table(entries: Sequence[Entry], found: Found) -> TextTable:
    """Where each kind of error is largest, and which way sums err."""
    rows = []
    for entry in entries:
        products = found[entry.label].products
        cells = [entry.label]
        for kind in ("quantization", "accumulation"):
            where = max(products, key=lambda one, kind=kind, of=products: of[one].relative(kind))  # type: ignore[misc]
            worst = products[where].relative(kind)
            together = _together(list(products.values()), kind)
            cells += [_number(together), f"{_number(worst)} ({where.layer + 1} {where.name})" if worst else "0"]
        rows.append((*cells, _number(fmean(one.shrink for one in products.values()))))
    return TextTable(
        title="Products of the transformer by unit",
        header=("Unit", "Quantisation", "Worst", "Accumulation", "Worst", "Shrink"),
        rows=tuple(rows),
        right=(1, 2, 3, 4, 5),
        caption="RMS error over RMS of a product: root mean square over all products, and the largest with "
        "its layer and name. Shrink: as above; below zero, sums are too far from zero.",
    )


def _heatmap(entries: Sequence[Entry], found: Found, command: str) -> Chart:
    names = _names(found)
    series = []
    for entry in entries:
        products = found[entry.label].products
        each = [[sums for where, sums in products.items() if where.name == name] for name in names]
        series.append(Series(label=entry.label, x=tuple(names), y=tuple(_together(one, "total") for one in each)))
    return Chart(
        name="real-model-products", title="Error of the transformer's products, by unit", kind="heatmap",
        series=tuple(series), x=Axis(title="Product", categories=tuple(names)), y=Axis(title="Unit"), command=command,
        value=Axis(title="RMS error / RMS of the product", log=10),
        caption="Quantisation and accumulation together; root mean square over the layers.",
    )  # fmt: skip
