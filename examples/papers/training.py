"""Small networks that are trained on units, and tables of what became of them: what the scripts train_*.py share.

A transformer that reads characters, and convolutions for digits. All linear layers and convolutions go through the
units of a recipe, forward and both gradients; attention's own two products, norms and optimisers are PyTorch's in
float32.
"""

from __future__ import annotations

import copy
import lzma
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from paper import Options, Record, figure, on_all_cores, table
from torch import Tensor, nn
from torch.nn import functional

import hwsim.torch as ht
from hwsim.quantize import LossScaling
from hwsim.study import interval

VALIDATION_SEED = 0x5EED
DIVERGED = math.log(1e4)  # nats: far above the loss of answers by chance
WARM = LEAST = 0.1  # the rate rises over a tenth of all steps, and falls to a tenth as a cosine
OUTLYING = 4  # channels that a method's outliers are in
TUNED = 20  # batches that statistics of batch norms are tuned by
Batch = tuple[Tensor, Tensor]
# Of a recipe's mapping: attention's own products are PyTorch's.
ATTENTION: Any = {"recipe": "attention", "products": dict.fromkeys(("forward", "input", "weight"), "none"),
                  "layers": [{"kind": "attention", "recipe": "none"}]}  # fmt: skip


class Block(nn.Module):
    """Attention, and two linear layers with GELU between; each after a layer norm, and added."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.qkv(self.before(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*qkv, is_causal=True)
        x = x + self.attended(seen.transpose(1, 2).flatten(2))
        more: Tensor = self.narrower(functional.gelu(self.wider(self.between(x))))
        return x + more


class Transformer(nn.Module):
    """A transformer that says which character comes next. Takes (examples, context) numbers of characters."""

    def __init__(self, characters: int, width: int, layers: int, heads: int, context: int):
        super().__init__()
        self.characters, self.places = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)
        for embedding in (self.characters, self.places):
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        logits: Tensor = self.head(self.norm(self.blocks(self.characters(x) + self.places(places))))
        return logits

    @torch.no_grad()
    def enlarge(self, factor: float) -> None:
        """Give activations outliers, as trained transformers have them, without changing any result."""
        for block in self.blocks:
            assert isinstance(block, Block)
            for norm, layer in ((block.before, block.qkv), (block.between, block.wider)):
                norm.weight[:OUTLYING] *= factor
                norm.bias[:OUTLYING] *= factor
                layer.weight[:, :OUTLYING] /= factor


@dataclass(frozen=True)
class Characters:
    """The next character of hwsim's documentation, as it was once. validated: characters that judge a network."""

    width: int
    layers: int
    heads: int
    context: int
    batch: int
    validated: int

    def network(self) -> Transformer:
        return Transformer(int(corpus().max()) + 1, self.width, self.layers, self.heads, self.context)

    def batch_of(self, seed: int, step: int, many: int = 1) -> Batch:
        """Inputs of a step, and its expected outputs. many: that many batches in one."""
        return self.drawn(corpus()[: -(len(corpus()) // 10)], self.batch * many, generator(seed, step))

    def unseen(self) -> Batch:
        unseen = corpus()[-(len(corpus()) // 10) :]
        return self.drawn(unseen, self.validated // self.context, generator(VALIDATION_SEED, 0))

    def probes(self) -> Tensor:
        """Inputs on which answers are compared."""
        return self.unseen()[0]

    def drawn(self, text: Tensor, count: int, of: torch.Generator) -> Batch:
        places = torch.randint(0, len(text) - self.context, (count, 1), generator=of) + torch.arange(self.context)
        return text[places], text[places + 1]


@dataclass(frozen=True)
class Digits:
    """Handwritten digits of 8 x 8 pixels: three convolutions with batch norm, and a linear layer."""

    width: int
    batch: int

    def network(self) -> nn.Sequential:
        width = self.width
        return nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1, stride=2, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Flatten(), nn.Linear(2 * width * 16, 10),
        )  # fmt: skip

    def batch_of(self, seed: int, step: int, many: int = 1) -> Batch:
        pictures, labels = _digits()
        chosen = torch.randint(0, len(labels) - 360, (self.batch * many,), generator=generator(seed, step))
        return pictures[360 + chosen], labels[360 + chosen]

    def unseen(self) -> Batch:
        pictures, labels = _digits()
        return pictures[:360], labels[:360]

    def probes(self) -> Tensor:
        return _digits()[0]


Problem = Characters | Digits
CHARACTERS = {
    "tiny": Characters(32, 1, 2, 16, 4, 256),
    "quick": Characters(128, 2, 4, 32, 64, 8192),
    "full": Characters(192, 4, 6, 128, 64, 13824),
}


@cache
def corpus() -> Tensor:
    text = lzma.decompress(Path(__file__).with_name("corpus.txt.xz").read_bytes()).decode("ascii")
    known = {character: number for number, character in enumerate(sorted(set(text)))}
    return torch.tensor([known[character] for character in text])


@cache
def _digits() -> Batch:
    from sklearn.datasets import load_digits

    pixels, labels = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    order = torch.randperm(len(labels), generator=generator(VALIDATION_SEED, 0))
    return (pixels[order] / 16).float().reshape(-1, 1, 8, 8), labels[order].long()


def generator(seed: int, step: int) -> torch.Generator:
    return torch.Generator().manual_seed((seed << 32) + step)


@dataclass(frozen=True)
class Method:
    """How a network is trained.

    recipe: of its products, as `hwsim.torch.load_recipe` takes it; None is PyTorch in float32. update: how weights are
    kept in 1-4-3 (`hwsim.torch.NarrowWeights`); None keeps them in float32. learners: processes that share each batch
    and HFP8's update. pretrained: steps in float32 before, at a rate of `pretrained_rate`. outliers: what a few
    channels of the activations are multiplied by then.
    """

    label: str
    recipe: Any = None
    rate: float = 0.004
    optimizer: str = "adamw"
    update: Any = None
    loss_scale: float = 1.0
    learners: int = 1
    pretrained: int = 0
    pretrained_rate: float | None = None
    outliers: float = 1.0

    def convert(self, network: nn.Module) -> None:
        if self.recipe is not None:
            recipe, attention = ht.load_recipe(self.recipe), ht.load_recipe(ATTENTION).layers
            ht.convert(network, replace(recipe, layers=(*attention, *recipe.layers)))

    def optimizer_of(self, parameters: Any) -> Any:
        if self.optimizer == "sgd":
            return torch.optim.SGD(parameters, lr=self.rate, momentum=0.9)
        return ht.AdamW(parameters, lr=self.rate, betas=(0.9, 0.95), moments="f32")

    def rate_at(self, step: int, steps: int) -> float:
        rising = min(1.0, (step + 1) / max(1.0, WARM * steps))
        return self.rate * rising * (LEAST + (1 - LEAST) * (1 + math.cos(math.pi * step / steps)) / 2)


@dataclass(frozen=True)
class Course:
    """A training: its problem, method, number of steps and seed; judged after every so many steps."""

    problem: Problem
    method: Method
    steps: int
    every: int
    seed: int


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """Within the block PyTorch draws from this seed, and adds in one order: with one thread."""
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def loss_of(logits: Tensor, expected: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, -2), expected.flatten())


@torch.no_grad()
def judged(network: nn.Module, problem: Problem) -> dict[str, float]:
    x, expected = problem.unseen()
    logits = answered(network, x)
    right = (logits.argmax(-1) == expected).float().mean()
    return {"validation": float(loss_of(logits, expected)), "right": float(right)}


@torch.no_grad()
def answered(network: nn.Module, x: Tensor) -> Tensor:
    """Logits, with statistics of batch norms as they have been learned."""
    training = network.training
    network.eval()
    logits: Tensor = network(x)
    network.train(training)
    return logits


def started(problem: Problem, method: Method, seed: int) -> Any:
    """A network before its first step by units: new, or trained in float32, maybe with outliers."""
    network: Any = problem.network()
    if method.pretrained:
        rate = method.rate if method.pretrained_rate is None else method.pretrained_rate
        before = Method("float32", rate=rate, optimizer=method.optimizer)
        network.load_state_dict(_pretrained(Course(problem, before, method.pretrained, method.pretrained, seed)))
    if method.outliers != 1:
        network.enlarge(method.outliers)
    return network


@lru_cache(maxsize=4)
def _pretrained(course: Course) -> dict[str, Any]:
    with reproducible(course.seed):
        network: Any = course.problem.network()
        learn(network, replace(course, every=course.steps + 1))
        state: dict[str, Any] = network.state_dict()
        return state


def learn(network: nn.Module, course: Course, rank: int = 0) -> list[Record]:
    """Take the steps of a course. A record after every so many: the mean `loss` since the one before, `validation`,
    `right`.

    Ends early where the loss is no number any more, or tells of divergence. rank: of several learners, each of whom has
    its share of every batch and of the weights.
    """
    problem, method, steps = course.problem, course.method, course.steps
    several, records, losses = method.learners > 1, list[Record](), list[float]()
    scaler = ht.LossScaler(LossScaling(scale=method.loss_scale, window=1 << 30))
    update: Any = method.optimizer_of(network.parameters())
    if several:
        update = ht.ShardedResidual(network.parameters(), method.optimizer_of, "hfp8-e4m3")
    elif method.update is not None:
        matrices = {"seed": course.seed, "only": lambda parameter: parameter.ndim > 1}
        update = ht.NarrowWeights(update, "hfp8-e4m3", method.update, **matrices)
    network.train()
    for step in range(1, steps + 1):
        for group in (update.optimizer if several else update).param_groups:
            group["lr"] = method.rate_at(step - 1, steps)
        x, expected = problem.batch_of(course.seed, method.pretrained + step - 1)
        if several:
            x, expected = (tensor.chunk(method.learners)[rank] for tensor in (x, expected))
        loss = loss_of(network(x), expected)
        mean = loss.detach().clone()
        if several:
            dist.all_reduce(mean)
        losses.append(float(mean) / method.learners)
        if not losses[-1] < DIVERGED:
            break
        update.zero_grad()
        if several:
            (loss * method.loss_scale).backward()  # type: ignore[no-untyped-call]
            for parameter in network.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(method.loss_scale)
            update.step()
        else:
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            scaler.step(update)
        if step % course.every == 0 or step == steps:
            records.append({"step": step, "loss": sum(losses) / len(losses), **judged(network, problem)})
            losses.clear()
    return records


def trained(course: Course) -> list[Record]:
    """The records of a network that one method trains from one seed; NaN from where it has diverged."""
    if course.method.learners == 1:
        with reproducible(course.seed):
            network = started(course.problem, course.method, course.seed)
            course.method.convert(network)
            records = learn(network, course)
    else:
        with TemporaryDirectory() as folder:
            args = course, folder
            torch.multiprocessing.spawn(_learn_share, args, course.method.learners)  # type: ignore[no-untyped-call]
            records = torch.load(Path(folder, "found"))
    return whole(records, course)


def whole(records: Sequence[Record], course: Course) -> list[Record]:
    """A record for each step that a course is judged after; NaN from where it has diverged."""
    steps = [*range(course.every, course.steps, course.every), course.steps]
    nothing = dict.fromkeys(("loss", "validation", "right"), math.nan)
    reached = {record["step"]: record for record in records}
    return [
        {"label": course.method.label, "seed": course.seed, "step": step, **reached.get(step, nothing)}
        for step in steps
    ]


def _learn_share(rank: int, course: Course, folder: str) -> None:
    """A learner's process."""
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=course.method.learners)
    with reproducible(course.seed):
        network = started(course.problem, course.method, course.seed)
        course.method.convert(network)
        records = learn(network, course, rank)
    if rank == 0:
        torch.save(records, Path(folder, "found"))
    dist.destroy_process_group()


def seeds(given: Options, many: tuple[int, int, int]) -> range:
    """The seeds of networks, of which two seeds of the command have none in common."""
    first = 1 + (given.seed - 1) * 1000
    return range(first, first + given.pick(*many))


def runs(args: Options, problem: Problem, methods: Sequence[Method], of: range, steps: int, every: int) -> list[Record]:
    """Train by every method from every seed."""
    courses = [Course(problem, method, steps, every, seed) for seed in of for method in methods]
    return list(chain.from_iterable(on_all_cores(trained, [(course,) for course in courses], args.size != "tiny")))


def casts(args: Options, problem: Problem, methods: Sequence[Method], of: range, **more: Any) -> list[Record]:
    """Measure each recipe on networks that have been trained in float32. more: see `cast_all`."""
    calls = [(problem, tuple(methods), seed, more) for seed in of]
    return list(chain.from_iterable(on_all_cores(cast_all, calls, args.size != "tiny")))


def cast_all(problem: Problem, methods: Sequence[Method], seed: int, more: Mapping[str, Any]) -> list[Record]:
    """A record for each method: `validation`, `right`, `mismatch`, the share of answers that are not float32's;
    `_tuned`
    of batch norms tuned again. more: `estimate`, a function of the network, its probes and a method.
    """
    rows = []
    estimate: Callable[[Any, Tensor, Method], float] = more.get("estimate", lambda *_: math.nan)
    with reproducible(seed):
        network = started(problem, methods[0], seed)
        before = answered(network, problem.probes()).argmax(-1)

        def seen(model: nn.Module, ending: str) -> Record:
            other = (answered(model, problem.probes()).argmax(-1) != before).float().mean()
            return {
                f"{key}{ending}": value for key, value in (judged(model, problem) | {"mismatch": float(other)}).items()
            }

        for method in methods:
            model = copy.deepcopy(network)
            method.convert(model)
            row: Record = {"label": method.label, "seed": seed, **seen(model, "")}
            if isinstance(problem, Digits):
                ht.retune(model, (problem.batch_of(seed, -1 - step)[0] for step in range(TUNED)))
                row |= seen(model, "_tuned")
            rows.append(row | {"estimated": estimate(network, problem.probes(), method)})
    return rows


def gradients(
    given: Options, problem: Problem, methods: Sequence[Method], of: range, batches: Sequence[int], layers: str = "*"
) -> list[Record]:
    """The errors of gradients of weights, by the length of their sums. batches: taken as so many together."""
    calls = [(problem, tuple(methods), seed, tuple(batches), layers) for seed in of]
    return list(chain.from_iterable(on_all_cores(gradients_of, calls, given.size != "tiny")))


def gradients_of(
    problem: Problem, methods: Sequence[Method], seed: int, batches: Sequence[int], layers: str
) -> list[Record]:
    """A record for each method and number of batches: `length`, and root mean squares over the layers of a pattern."""
    rows = []
    with reproducible(seed):
        network = started(problem, methods[0], seed)
        for method in methods:
            method.convert(network)
            for many in batches:
                x, expected = problem.batch_of(seed, methods[0].pretrained, many)
                network.zero_grad()
                with ht.measure() as measured:
                    (loss_of(network(x), expected) * method.loss_scale).backward()  # type: ignore[no-untyped-call]
                records = [record for record in measured.records if record["product"] == "weight"]
                records = [record for record in records if fnmatchcase(record["layer"], layers)]
                kinds = ("quantization", "accumulation")
                errors = {
                    kind: math.sqrt(sum(record[kind] ** 2 for record in records) / len(records)) for kind in kinds
                }
                rows.append({"label": method.label, "seed": seed, "batches": many, "length": records[0]["k"], **errors})
            ht.restore(network)
    return rows


# Tables.


def mean_and_reach(values: Sequence[float], sign: str = "", digits: int = 3) -> str:
    """A mean over seeds, and the reach of its 95 % t interval; none where one seed has no number."""
    missing = sum(map(math.isnan, values))
    if missing:
        return "-" if missing == len(values) else f"none in {missing} of {len(values)}"
    mean, _, high = interval(list(values), 0.95)
    return f"{mean:{sign}.{digits}f}" + ("" if math.isnan(high) else f" ± {high - mean:.{digits}f}")


def by_label(records: Sequence[Record], key: str = "label") -> dict[Any, list[Record]]:
    """Records of each label, by seed."""
    groups: dict[Any, list[Record]] = {}
    for record in sorted(records, key=lambda record: int(record["seed"])):
        groups.setdefault(record[key], []).append(record)
    order = list(dict.fromkeys(record[key] for record in records))
    return {label: groups[label] for label in order}


def gaps(rows: Sequence[Record], of: Sequence[Record]) -> list[float]:
    """Losses above those of the baseline with the same seed."""
    return [row["validation"] - other["validation"] for row, other in zip(rows, of, strict=True)]


def gap(rows: Sequence[Record], of: Sequence[Record], times: float = 1.0, digits: int = 3) -> str:
    differences = [times * difference for difference in gaps(rows, of)]
    lost = sum(map(math.isnan, differences))
    if rows == of:
        return "-"
    return f"diverged, {lost} of {len(differences)}" if lost else mean_and_reach(differences, "+", digits)


def values(rows: Sequence[Record], name: str) -> list[float]:
    return [row[name] for row in rows]


def percents(rows: Sequence[Record], name: str) -> str:
    return mean_and_reach([100 * value for value in values(rows, name)], digits=1)


MEANS = """Mean over {} seeds, with the reach of its 95 % t interval. Loss: in nats a character, of text that was held
    back.
    Right: the next character is the most probable one."""


def after_steps(title: str, records: Sequence[Record], baseline: str, head: str = "Products", **more: Any) -> None:
    """Print how every method ended.

    more: `share`, a column of the gap in %; `batches`, of the last batches' loss; `caption`.
    """
    last = max(record["step"] for record in records)
    ends = by_label([record for record in records if record["step"] == last])
    of, rows = ends[baseline], []
    for label, of_label in ends.items():
        row = [label, mean_and_reach(values(of_label, "validation")), gap(of_label, of)]
        mean = sum(values(of, "validation")) / len(of)
        row += [gap(of_label, of, 100 / mean, 2)] if more.get("share") else []
        row += [percents(of_label, "right")]
        rows.append(row + ([mean_and_reach(values(of_label, "loss"))] if more.get("batches") else []))
    header = [head, "Loss", f"Gap to {baseline}", *(["of the loss, %"] if more.get("share") else []), "Right, %"]
    header += ["Loss of the last batches"] if more.get("batches") else []
    caption = more.get("caption") or MEANS.format(len(of))
    table(title, header, rows, len(header), caption)


def cast_table(title: str, records: Sequence[Record], baseline: str, head: str, caption: str) -> None:
    of = by_label(records)
    rows = []
    for label, of_label in of.items():
        loss = mean_and_reach(values(of_label, "validation"))
        rows.append([label, loss, gap(of_label, of[baseline]), percents(of_label, "mismatch")])
    table(title, [head, "Loss", f"Gap to {baseline}", "Other answers, %"], rows, 4, caption)


def gradient_table(title: str, records: Sequence[Record], head: str, caption: str) -> None:
    """Print errors of sums and of quantisation by K; a K that two batches are filled up to has the larger one's."""
    heads = [f"K = {length:,.0f}" for length in sorted({record["length"] for record in records})]
    rows = []
    for label, of_label in by_label(records).items():
        cells: dict[str, str] = {}
        for some in by_label(of_label, "batches").values():
            errors = [sum(values(some, kind)) / len(some) for kind in ("accumulation", "quantization")]
            cells[f"K = {some[0]['length']:,.0f}"] = f"{errors[0]:.2%} of {errors[1]:.1%}"
        rows.append([label, *(cells.get(head, "") for head in heads)])
    table(title, [head, *heads], rows, caption=caption)


def curves(args: Options, name: str, title: str, records: Sequence[Record], **look: Any) -> None:
    """Draw the losses on the way, as NAME-curves."""
    losses = {
        (label, step): values(rows, "validation")
        for step, some in by_label(records, "step").items()
        for label, rows in by_label(some).items()
    }
    axes = ("Step", "Loss of what was held back / nats")
    figure(args, f"{name}-curves", title, on_the_way(losses), "step", "y", "label", titles=axes, **look)


def gap_curves(args: Options, name: str, records: Sequence[Record], baseline: str) -> None:
    """Draw the losses above the baseline's on the way, as NAME-gaps."""
    steps = {step: by_label(some) for step, some in by_label(records, "step").items()}
    above = {
        (label, step): gaps(rows, of[baseline])
        for step, of in steps.items()
        for label, rows in of.items()
        if label != baseline
    }
    title, axes = f"Loss above that of {baseline} with the same seed", ("Step", "Gap / nats")
    figure(args, f"{name}-gaps", title, on_the_way(above), "step", "y", "label", titles=axes)


def on_the_way(numbers: Mapping[tuple[str, int], Sequence[float]]) -> list[Record]:
    """The mean of all seeds and the ends of its interval by label and step; none where a seed has NaN."""
    return [
        {"label": label, "step": step} | dict(zip(("y", "y_low", "y_high"), interval(of, 0.95), strict=True))
        for (label, step), of in numbers.items()
        if not any(map(math.isnan, of))
    ]
