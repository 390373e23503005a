"""Hopper's window, promotion and DeepSeek-V3's scales on a transformer of 114 million parameters, on one GPU.

DeepSeek-V3 technical report, arXiv 2412.19437, sections 3.3 and B.1; here a transformer that reads the bytes of a text.
Prints the tables of docs/studies/train-large.md.

    python examples/papers/train_large.py --size full --output DIR

A run that was stopped goes on from DIR. The text is the source code of Python's standard library, or `--text`'s; the
sizes tiny and quick take a small network and the text of train_deepseek.py, on the host.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sysconfig
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from paper import Options, Record, figure, options_of, parser_of
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor, nn
from train_deepseek import METHODS
from training import (
    DIVERGED,
    Batch,
    Characters,
    Course,
    Method,
    Transformer,
    after_steps,
    corpus,
    gap_curves,
    generator,
    gradient_table,
    judged,
    loss_of,
    reproducible,
    whole,
)  # fmt: skip

import hwsim.torch as ht

BYTES = 256
SIZES = {
    "tiny": Characters(32, 2, 2, 16, 4, 256),
    "quick": Characters(128, 2, 4, 64, 32, 8192),
    "full": Characters(768, 16, 12, 1024, 32, 65536),
}
CHOSEN = ("BF16", "DeepSeek-V3", "25 bits", "13 bits, promoted", "13 bits", "9 bits")
MEASURED = ("13 bits", "13 bits, promoted", "DeepSeek-V3")
TEXTS = (".py", ".md", ".rst", ".txt")
KEPT, PLAN = "state.pt", "plan.json"


@dataclass(frozen=True, eq=False)
class Bytes:
    """The next byte of a text. size: of the network and its batches. device: where it is trained."""

    text: Tensor
    size: Characters
    device: str

    def network(self) -> Transformer:
        size = self.size
        return Transformer(BYTES, size.width, size.layers, size.heads, size.context).to(self.device)

    def batch_of(self, seed: int, step: int, many: int = 1) -> Batch:
        """Inputs of a step, and its expected outputs. many: that many batches in one."""
        return self.drawn(self.text[: -(len(self.text) // 10)], self.size.batch * many, generator(seed, step))

    def unseen(self) -> Batch:
        held_back, size = self.text[-(len(self.text) // 10) :], self.size
        return self.drawn(held_back, size.validated // size.context, generator(1 << 16, 0))

    def drawn(self, text: Tensor, count: int, of: torch.Generator) -> Batch:
        x, expected = (side.long().to(self.device) for side in self.size.drawn(text, count, of))
        return x, expected


def read(paths: Sequence[Path]) -> Tensor:
    """The bytes of files, and of the sources and texts in folders, in the order of their names."""
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    some = (file for file in files if file in paths or (file.suffix in TEXTS and "site-packages" not in file.parts))
    return torch.frombuffer(bytearray(b"".join(file.read_bytes() for file in some)), dtype=torch.uint8)


def train(problem: Bytes, course: Course, folder: Path | None, show: Progress) -> tuple[list[Record], nn.Module]:
    """Take the steps of a course, from where a folder's checkpoint is. Records as of `training.learn`, the network."""
    method, steps, records, losses, begun = course.method, course.steps, list[Record](), list[float](), 0
    kept = None if folder is None else folder / KEPT
    with reproducible(course.seed):
        network: Any = problem.network()
        method.convert(network)
        update = torch.optim.AdamW(network.parameters(), lr=method.rate, betas=(0.9, 0.95))
        if kept is not None and kept.exists():
            state = torch.load(kept, map_location=problem.device, weights_only=True)
            network.load_state_dict(state["network"])
            update.load_state_dict(state["update"])
            begun, records, losses = state["step"], state["records"], state["losses"]
        task = show.add_task(method.label, total=steps, completed=begun, loss="")
        for step in range(begun + 1, steps + 1):
            for group in update.param_groups:
                group["lr"] = method.rate_at(step - 1, steps)
            x, expected = problem.batch_of(course.seed, step - 1)
            loss = loss_of(network(x), expected)
            losses.append(float(loss.detach()))
            if not losses[-1] < DIVERGED:
                break
            update.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            update.step()
            show.update(task, advance=1, loss=f"{losses[-1]:.3f} nats")
            if step % course.every == 0 or step == steps:
                records.append({"step": step, "loss": sum(losses) / len(losses), **judged(network, problem)})
                losses.clear()
                if kept is not None:
                    keep(kept, {"step": step, "records": records, "losses": losses,
                                "network": network.state_dict(), "update": update.state_dict()})  # fmt: skip
        show.update(task, completed=steps)
    return whole(records, course), network


def keep(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def gradients(problem: Bytes, network: nn.Module, methods: Sequence[Method], args: Options) -> list[Record]:
    """The errors of the gradient of weights, of the wider layer of the first, the middle and the last block."""
    ht.restore(network)
    blocks: Any = network.blocks
    layers = {index: blocks[index].wider for index in sorted({0, len(blocks) // 2, len(blocks) - 1})}
    seen: dict[int, list[Tensor]] = {index: [] for index in layers}
    hooks = [
        hook
        for index, layer in layers.items()
        for hook in (
            layer.register_forward_hook(lambda _, inputs, __, into=seen[index]: into.append(inputs[0].detach())),
            layer.register_full_backward_hook(lambda _, __, outputs, into=seen[index]: into.append(outputs[0])),
        )
    ]
    x, expected = problem.batch_of(args.seed, 1 << 20)
    loss_of(network(x), expected).backward()  # type: ignore[no-untyped-call]
    for hook in hooks:
        hook.remove()
    tokens = x.numel()
    lengths = [tokens >> shift for shift in reversed(range(args.pick(2, 3, 4)))]
    return [
        {"label": method.label, "seed": args.seed, "batches": length, **errors(method, layers, seen, length)}
        for method in methods
        for length in lengths
    ]


def errors(method: Method, layers: dict[int, Any], seen: dict[int, list[Tensor]], length: int) -> Record:
    """Root mean squares over layers of what a method's sums and quantisation do to gradients of so many tokens."""
    records: list[Record] = []
    for index, layer in layers.items():
        alone = nn.Sequential(nn.Linear(layer.in_features, layer.out_features, bias=False, device=layer.weight.device))
        alone[0].load_state_dict({"weight": layer.weight.detach()})
        method.convert(alone)
        x, gradient = (tensor.flatten(0, 1)[:length] for tensor in seen[index])
        with ht.measure() as measured:
            alone(x).backward(gradient)
        records += [record for record in measured.records if record["product"] == "weight"]
    kinds = ("quantization", "accumulation")
    means = {kind: math.sqrt(sum(record[kind] ** 2 for record in records) / len(records)) for kind in kinds}
    return {"length": records[0]["k"], **means}


def course_of(problem: Bytes, method: Method, args: Options, steps: int | None) -> Course:
    steps = args.pick(4, 120, 2000) if steps is None else steps
    every = max(1, steps // args.pick(2, 6, 20))
    rate = args.pick(0.004, 0.004, 0.0006)
    return Course(problem, replace(method, rate=rate), steps, every, args.seed)  # type: ignore[arg-type]


def plan_of(problem: Bytes, course: Course) -> dict[str, Any]:
    """What must be the same where a run goes on."""
    digest = hashlib.sha256(problem.text.numpy().tobytes()).hexdigest()
    keys = {"steps": course.steps, "every": course.every, "seed": course.seed, "rate": course.method.rate}
    return {**asdict(problem.size), **keys, "text": digest}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--output", type=Path, metavar="DIR", help="keep checkpoints there, and go on from them")
    parser.add_argument("--text", type=Path, nargs="+", metavar="PATH", help="files, and folders of sources and texts")
    parser.add_argument("--steps", type=int, metavar="N", help="of each method; 120 of quick, 2,000 of full")
    parser.add_argument("--methods", default=",".join(name.replace(",", "") for name in CHOSEN), metavar="A,B",
                        help="which products, without commas in their names; all of them unless given")  # fmt: skip
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train")
    given = parser.parse_args(arguments)
    args = options_of(parser, given)
    methods = {method.label.replace(",", ""): method for method in METHODS}
    names = given.methods.split(",")
    if unknown := [name for name in names if name not in methods]:
        parser.error(f"--methods: {unknown[0]!r} is none of {', '.join(methods)}")
    if given.steps is not None and given.steps < 1:
        parser.error(f"--steps must be at least 1, not {given.steps}")
    if given.text:
        text = read(given.text)
    else:
        text = read([Path(sysconfig.get_paths()["stdlib"])]) if args.size == "full" else corpus().to(torch.uint8)
    problem = Bytes(text, SIZES[args.size], given.device)
    if len(text) < 20 * problem.size.context:
        parser.error(f"--text must have at least {20 * problem.size.context:,} bytes, not {len(text):,}")
    records: list[Record] = []
    networks: list[Any] = []
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as show:
        for name in names:
            course = course_of(problem, methods[name], args, given.steps)
            plan, folder = json.dumps(plan_of(problem, course)), None
            if given.output is not None:
                folder = given.output / f"{name.replace(' ', '-')}-seed{args.seed}"
                folder.mkdir(parents=True, exist_ok=True)
                if not (folder / PLAN).exists():
                    (folder / PLAN).write_text(plan)
                elif (folder / PLAN).read_text() != plan:
                    parser.error(f"--output: {folder} has a run of another size, text, rate, seed or number of steps")
            some, network = train(problem, course, folder, show)
            records += some
            networks = networks or [network]  # the first one's gradients are looked at
    parameters = sum(parameter.numel() for parameter in networks[0].parameters())
    caption = f"""One network of {parameters:,} parameters each. Loss: in nats a byte, of text that was held back.
        Right: the next byte is the most probable one. A batch has {problem.size.batch * problem.size.context:,} bytes
        of a text of {len(text):,}."""
    first = methods[names[0]].label
    after_steps(f"After {records[-1]['step']} steps", records, first, share=True, caption=caption)
    measured = [methods[name] for name in (label.replace(",", "") for label in MEASURED) if name in names]
    if measured:
        found = gradients(problem, networks[0], measured, args)
        caption = """Error of sums, and of quantisation, over the RMS of the exact gradient; root mean square over three
            layers of the network that was trained first. K: the tokens that a gradient sums."""
        gradient_table("Error of the gradient of weights, by K", found, "Products", caption)
        points = [{**row, "y": row["accumulation"]} for row in found]
        look: dict[str, Any] = {"titles": ("K", "RMS error / RMS of the gradient"), "log_x": 2, "log_y": 10}
        title = "Error of sums in the gradient of weights"
        figure(args, "train-large-gradients", title, points, "length", "y", "label", **look)
    gap_curves(args, "train-large", records, first)


if __name__ == "__main__":
    main()
