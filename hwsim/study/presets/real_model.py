"""`real-model`: a trained transformer on a page of text, and a small network for digits, by unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, get_args

from hwsim.study.intervals import interval
from hwsim.study.network.measurement import KINDS, Entry, Measured, Network, kept
from hwsim.study.network.minilm import tokens
from hwsim.study.network.models import NEIGHBOURS, digits_network, minilm_network
from hwsim.study.network.unit_products import ProductErrors
from hwsim.study.presets.preset import Context, Records, Size, load_page
from hwsim.study.presets.samples import page
from hwsim.study.report.contents import StudyReport
from hwsim.study.report.declared import said

NAME = "real-model"
PLAIN, PROMOTED = "Hopper", "Hopper promoted"
CONFIDENCE = 0.95
WORDS = {"quantization": "quantisation", "accumulation": "accumulation", "total": "both"}
# Of the transformer's products.
LENGTHS = {"scores": "32", "context": "tokens", "narrower": "1536"}
MOST_LENGTHS = "384"
Found = Mapping[str, Measured]


def report(context: Context) -> StudyReport:
    """The report. Raises ToolMissing where scikit-learn, the tokenizer or the weights are not installed.

    What was measured of each unit is kept in the context's folder, and is taken from there when it is asked again.
    """
    plan = load_page(NAME, context.size)
    units = entries(context.size)
    words: dict[str, Any] = {"labels": tuple(entry.label for entry in units)}
    tables: dict[str, Records] = {}
    if longest := plan.given["longest"]:
        sentences = short(page(), longest)
        found = _measured(minilm_network(sentences, page()), units, context)
        tables |= of_sentences(units, found)
        words |= {"sentences": len(sentences), "tokens": sum(map(len, tokens(sentences)))}
        words |= {"plain": _mean(found[PLAIN], "accumulation"), "promoted": _mean(found[PROMOTED], "accumulation")}
        words |= {"quantized": _mean(found[PLAIN], "quantization")}
    found = _measured(digits_network(context.seed, plan.given["digits"]), units, context)
    tables |= {"digits": _by_unit(units, found), "digits, by kind": _by_kind(units, found)}
    return plan.report(context, tables, **words)


def entries(size: Size) -> list[Entry]:
    """The units of a size, and of those below it."""
    sizes = get_args(Size)[: get_args(Size).index(size) + 1]
    made = load_page(NAME, size).given["units"]
    return [Entry(**{key: one[key] for key in one if key != "size"}) for one in made if one["size"] in sizes]


def short(sentences: Sequence[str], longest: int) -> list[str]:
    """Those sentences that have at most so many tokens."""
    return [one for one, ids in zip(sentences, tokens(sentences), strict=True) if len(ids) <= longest]


def _measured(network: Network, units: Sequence[Entry], context: Context) -> dict[str, Measured]:
    """What each unit does to a network, by label."""
    by_label = {entry.label: entry for entry in units}
    return {
        label: kept(by_label[label], network, context.folder) for label in context.each(list(by_label), network.name)
    }


def of_sentences(units: Sequence[Entry], found: Found) -> dict[str, Records]:
    """The tables of the transformer."""
    products = {entry.label: _products(found[entry.label]) for entry in units}
    return {
        "embeddings": _by_unit(units, found),
        "embeddings, by kind": _by_kind(units, found),
        "layers": _by_layer(products),
        "promotion": [
            {"product": name, "k": LENGTHS.get(name, MOST_LENGTHS), **_promotion(plain, products[PROMOTED][name])}
            for name, plain in products[PLAIN].items()
        ],
        "products": [
            {"unit": unit, "product": name, "error": _together(errors, "total")}
            for unit, of in products.items()
            for name, errors in of.items()
        ],
        "worst": [{"unit": entry.label, **_worst(found[entry.label])} for entry in units],
    }


def _by_unit(units: Sequence[Entry], found: Found) -> Records:
    """The errors of every kind, with the reach of their intervals, and what the network is judged by."""
    made = []
    for entry in units:
        one = found[entry.label]
        errors = {kind: _reach(one, kind) for kind in KINDS}
        made.append({"unit": entry.label, "scaling": entry.scaling, **errors, **_judged(one)})
    return made


def _reach(one: Measured, kind: str) -> str:
    mean, _, high = interval(one.relative[kind], CONFIDENCE)
    return f"{mean:.1e} ± {high - mean:.0e}" if mean else "0"


def _judged(one: Measured) -> dict[str, Any]:
    """Sentences and neighbours as counts, digits in %."""
    many = {"nearest": len(one.relative["total"]), "neighbours": len(one.relative["total"]) * NEIGHBOURS}
    shown = {
        key: f"{round(share * many[key])} of {many[key]}" if key in many else 100 * share
        for key, share in one.judged.items()
    }
    return {"cosine": fmean(one.cosine["total"]), **shown}


def _by_kind(units: Sequence[Entry], found: Found) -> Records:
    """The errors that are not zero, each with its interval."""
    made = []
    for kind in KINDS:
        for entry in units:
            mean, low, high = interval(found[entry.label].relative[kind], CONFIDENCE)
            error = {"error": mean, "error_low": low, "error_high": high}
            made += [{"kind": WORDS[kind], "unit": entry.label, **error}] if mean > 0 else []
    return made


def _mean(one: Measured, kind: str) -> float:
    return fmean(one.relative[kind])


def _products(one: Measured) -> dict[str, list[ProductErrors]]:
    """The products of a layer, in their order, each by layer."""
    products: dict[str, list[ProductErrors]] = {}
    for where, errors in one.products.items():
        products.setdefault(where.name, []).append(errors)
    return products


def _by_layer(products: Mapping[str, Mapping[str, Sequence[ProductErrors]]]) -> Records:
    """Both errors of each product, by layer, with and without promotion."""
    shown = {
        "quantisation to E4M3": (PLAIN, "quantization"),
        f"accumulation, {PLAIN}": (PLAIN, "accumulation"),
        f"accumulation, {PROMOTED}": (PROMOTED, "accumulation"),
    }
    return [
        {"what": what, "product": name, "layer": layer, "error": one.relative(kind)}
        for what, (unit, kind) in shown.items()
        for name, by_layer in products[unit].items()
        for layer, one in enumerate(by_layer, 1)
    ]


def _promotion(plain: Sequence[ProductErrors], promoted: Sequence[ProductErrors]) -> dict[str, float]:
    """What promotion does for one product."""
    worst = max(range(len(plain)), key=lambda layer: plain[layer].accumulation / plain[layer].signal)
    without, with_it = (_together(errors, "accumulation") for errors in (plain, promoted))
    return {
        "quantization": _together(plain, "quantization"),
        "accumulation": without,
        "promoted": with_it,
        "ratio": without / with_it,
        "worst": plain[worst].relative("accumulation"),
        "worst_layer": worst + 1,
        "shrink": _shrink(plain),
        "shrink_promoted": _shrink(promoted),
    }


def _worst(one: Measured) -> dict[str, Any]:
    """Where each kind of error is largest, and which way sums err."""
    made: dict[str, Any] = {"shrink": _shrink(one.products.values())}
    for kind in ("quantization", "accumulation"):
        where = max(one.products, key=lambda where: one.products[where].relative(kind))
        error = one.products[where].relative(kind)
        words = {"error": error, "layer": where.layer + 1, "name": where.name}
        made[kind] = _together(one.products.values(), kind)
        made[f"{kind}_worst"] = said("{error:error} ({layer} {name})", words) if error else "0"
    return made


def _together(errors: Iterable[ProductErrors], kind: str) -> float:
    """Root mean square of relative errors: of all layers alike."""
    return math.sqrt(fmean(one.relative(kind) ** 2 for one in errors))


def _shrink(errors: Iterable[ProductErrors]) -> float:
    """By how much sums are too near to zero: the mean."""
    return fmean(one.shrink for one in errors)
