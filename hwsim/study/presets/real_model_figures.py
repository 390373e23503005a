"""The charts, tables and words of `real-model`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean

from hwsim.study.intervals import Interval, interval
from hwsim.study.network.measurement import KINDS, Entry, Measured
from hwsim.study.network.models import NEIGHBOURS
from hwsim.study.network.unit_products import ProductErrors
from hwsim.study.report.contents import Axis, Chart, TextTable
from hwsim.study.report.sweeps import curves, listing, series_of

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
Column = Callable[[Measured], str]
# Of one product, by layer: without and with promotion.
Both = tuple[list[ProductErrors], list[ProductErrors]]


def said_of_sentences(sentences: Sequence[str], ids: Sequence[Sequence[int]], found: Found) -> list[str]:
    """The transformer's input and the effect of promotion on it, in words."""
    count = sum(map(len, ids))
    plain, promoted = (_mean(found[name], "accumulation") for name in (PLAIN, PROMOTED))
    both = _mean(found[PLAIN], "quantization")
    return [
        f"all-MiniLM-L6-v2 embeds {len(sentences)} sentences of {count} tokens. Summing in Hopper's accumulator alone "
        f"moves an embedding by {_number(plain)} of its length, {_number(promoted)} with promotion every 128 products; "
        f"quantising to E4M3 moves it by {_number(both)}."
    ]


def of_sentences(entries: Sequence[Entry], found: Found) -> list[Chart | TextTable]:
    """The charts and tables of the transformer."""
    return [
        _bars(
            "real-model-embeddings",
            "Error of sentence embeddings by unit",
            "Distance from the embedding / its length",
            entries,
            found,
        ),
        _by_unit(
            "Embeddings by unit",
            entries,
            found,
            {
                "1 - cosine": lambda one: _number(fmean(one.cosine["total"])),
                "Nearest": lambda one: _counted(one, "nearest", 1),
                "Nearest 5": lambda one: _counted(one, "neighbours", NEIGHBOURS),
            },
            "Error: distance of an embedding from its reference, of the reference's length; mean over the sentences, "
            "with the reach of its 95 % t interval. 1 - cosine: mean, of both errors. Nearest: sentences with the same "
            "nearest neighbour on the page as in the reference; Nearest 5: of the five nearest, how many are the same. "
            "Scaling: of activations / of weights.",
        ),
        _layers(found),
        _table_of_layers(found),
        _heatmap(entries, found),
        _table_of_products(entries, found),
    ]


def of_digits(entries: Sequence[Entry], found: Found) -> list[Chart | TextTable]:
    """The chart and table of the network for digits."""
    return [
        _bars(
            "real-model-digits",
            "Error of the logits of a small network for digits, by unit",
            "Distance from the logits / their length",
            entries,
            found,
        ),
        _by_unit(
            "Digits by unit",
            entries,
            found,
            {
                "Right": lambda one: f"{100 * one.judged['right']:.1f} %",
                "Same": lambda one: f"{100 * one.judged['same']:.1f} %",
            },
            "Error: distance of the ten logits from their reference, of the reference's length; mean over the digits, "
            "with the reach of its 95 % t interval. Right: digits read right; Same: read as in the reference.",
        ),
    ]


def _mean(one: Measured, kind: str) -> float:
    return fmean(one.relative[kind])


def _number(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _counted(one: Measured, key: str, of: int) -> str:
    """A share as a count. of: how many there are for each sentence."""
    many = len(one.relative["total"]) * of
    return f"{round(one.judged[key] * many)} of {many}"


def _interval(one: Measured, kind: str) -> Interval:
    return interval(one.relative[kind], CONFIDENCE)


def _reach(kind: str, one: Measured) -> str:
    """The mean of a kind of error, and the reach of its interval."""
    mean, _, high = _interval(one, kind)
    return f"{mean:.1e} ± {high - mean:.0e}" if mean else "0"


def _by_unit(
    title: str, entries: Sequence[Entry], found: Found, columns: Mapping[str, Column], caption: str
) -> TextTable:
    """A row for each unit: its errors of every kind, and more columns."""
    errors: dict[str, Column] = {WORDS[kind].capitalize(): partial(_reach, kind) for kind in KINDS}
    rows = {(entry.label, entry.scaling): found[entry.label] for entry in entries}
    return listing(title, ("Unit", "Scaling"), rows, {**errors, **columns}, caption)


def _bars(name: str, title: str, y: str, entries: Sequence[Entry], found: Found) -> Chart:
    labels = tuple(entry.label for entry in entries)
    series = []
    for kind in KINDS:
        means = {label: one for label in labels if (one := _interval(found[label], kind)).mean > 0}
        series.append(series_of(WORDS[kind], means, means.values()))
    return Chart(
        name=name,
        title=title,
        kind="bars",
        series=tuple(series),
        caption="Mean and 95 % interval. A bar that is missing is an error of zero.",
        x=Axis(title="Unit", categories=labels),
        y=Axis(title=y, log=10),
    )


def _products(one: Measured) -> dict[str, list[ProductErrors]]:
    """The products of a layer, in their order, each by layer."""
    products: dict[str, list[ProductErrors]] = {}
    for where, errors in one.products.items():
        products.setdefault(where.name, []).append(errors)
    return products


def _layers(found: Found) -> Chart:
    """Both errors of each product, by layer, with and without promotion."""
    shown = {
        "quantisation to E4M3": (PLAIN, "quantization"),
        f"accumulation, {PLAIN}": (PLAIN, "accumulation"),
        f"accumulation, {PROMOTED}": (PROMOTED, "accumulation"),
    }
    products = {unit: _products(found[unit]) for unit in (PLAIN, PROMOTED)}
    layers = range(1, 1 + max(map(len, products[PLAIN].values())))

    def error(name: str, label: str, layer: int) -> float:
        unit, kind = shown[label]
        return products[unit][name][layer - 1].relative(kind)

    return Chart(
        name="real-model-layers",
        title="Error of every product of the transformer, by layer",
        series=curves(shown, layers, error, products[PLAIN]),
        x=Axis(title="Layer"),
        y=Axis(title="RMS error / RMS of the product", log=10),
        columns=4,
        caption="Of the same factors: those of a pass in which nothing but accumulation is wrong.",
    )


def _together(errors: Iterable[ProductErrors], kind: str) -> float:
    """Root mean square of relative errors: of all layers alike."""
    return math.sqrt(fmean(one.relative(kind) ** 2 for one in errors))


def _shrink(errors: Iterable[ProductErrors]) -> str:
    return _number(fmean(one.shrink for one in errors))


def _ratio(both: Both) -> str:
    return f"{_together(both[0], 'accumulation') / _together(both[1], 'accumulation'):.1f}"


def _worst_layer(both: Both) -> str:
    plain = both[0]
    worst = max(range(len(plain)), key=lambda layer: plain[layer].accumulation / plain[layer].signal)
    return f"{_number(plain[worst].relative('accumulation'))} (layer {worst + 1})"


def _table_of_layers(found: Found) -> TextTable:
    """Products with their lengths, and what promotion does for each."""
    plain, promoted = _products(found[PLAIN]), _products(found[PROMOTED])
    columns: dict[str, Callable[[Both], str]] = {
        "Quantisation": lambda both: _number(_together(both[0], "quantization")),
        "Accumulation": lambda both: _number(_together(both[0], "accumulation")),
        "Promoted": lambda both: _number(_together(both[1], "accumulation")),
        "Ratio": _ratio,
        "Worst layer": _worst_layer,
        "Shrink": lambda both: _shrink(both[0]),
        "Shrink promoted": lambda both: _shrink(both[1]),
    }
    made = listing(
        "Products of the transformer on Hopper, with and without promotion",
        ("Product", "K"),
        {(name, LENGTHS[name]): (plain[name], promoted[name]) for name in plain},
        columns,
        "RMS error of a product over its RMS, root mean square over the layers. Ratio: accumulation over accumulation "
        "promoted. Shrink: by how much sums are too near to zero, of their mean magnitude; mean over the layers.",
    )
    return replace(made, right=(1, *made.right))


LENGTHS = {
    "query": "384",
    "key": "384",
    "value": "384",
    "scores": "32",
    "context": "tokens",
    "attention out": "384",
    "wider": "384",
    "narrower": "1536",
}


def _worst_product(kind: str, one: Measured) -> str:
    where = max(one.products, key=lambda where: one.products[where].relative(kind))
    worst = one.products[where].relative(kind)
    return f"{_number(worst)} ({where.layer + 1} {where.name})" if worst else "0"


def _table_of_products(entries: Sequence[Entry], found: Found) -> TextTable:
    """Where each kind of error is largest, and which way sums err."""
    kinds = ("quantization", "accumulation")
    rows = []
    for entry in entries:
        one = found[entry.label]
        cells = [(_number(_together(one.products.values(), kind)), _worst_product(kind, one)) for kind in kinds]
        rows.append((entry.label, *cells[0], *cells[1], _shrink(one.products.values())))
    return TextTable(
        title="Products of the transformer by unit",
        header=("Unit", "Quantisation", "Worst", "Accumulation", "Worst", "Shrink"),
        rows=tuple(rows),
        right=(1, 2, 3, 4, 5),
        caption="RMS error over RMS of a product: root mean square over all products, and the largest with "
        "its layer and name. Shrink: as above; below zero, sums are too far from zero.",
    )


def _heatmap(entries: Sequence[Entry], found: Found) -> Chart:
    products = {entry.label: _products(found[entry.label]) for entry in entries}
    names = tuple(_products(found[PLAIN]))
    return Chart(
        name="real-model-products",
        title="Error of the transformer's products, by unit",
        kind="heatmap",
        series=curves(products, names, lambda _, label, name: _together(products[label][name], "total")),
        x=Axis(title="Product", categories=names),
        y=Axis(title="Unit"),
        value=Axis(title="RMS error / RMS of the product", log=10),
        caption="Quantisation and accumulation together; root mean square over the layers.",
    )
