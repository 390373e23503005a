"""The text that networks learn: 154,000 characters of hwsim's documentation, as it was once. It never changes."""

from __future__ import annotations

import lzma
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import torch
from torch import Tensor

HELD_BACK = 10  # of so many parts of the text, one is for validation: the last


class Corpus(NamedTuple):
    """The text as numbers from 0 to `characters` - 1: to learn, and to be judged by."""

    train: Tensor
    validation: Tensor
    characters: int


@cache
def corpus() -> Corpus:
    """The text."""
    text = lzma.decompress(files("hwsim.training").joinpath("corpus.txt.xz").read_bytes()).decode("ascii")
    known = {character: number for number, character in enumerate(sorted(set(text)))}
    numbers = torch.tensor([known[character] for character in text])
    cut = len(numbers) - len(numbers) // HELD_BACK
    return Corpus(numbers[:cut], numbers[cut:], len(known))


def batch(numbers: Tensor, count: int, context: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Places of the text by chance: (count, context) characters, and those that follow each."""
    places = torch.randint(0, len(numbers) - context, (count, 1), generator=generator) + torch.arange(context)
    return numbers[places], numbers[places + 1]
