"""Networks that are small enough to be trained here: a transformer that reads characters, and one for digits."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

EMBEDDED = 0.1  # the deviation of embeddings at first


class TransformerBlock(nn.Module):
    """Attention, and two linear layers with GELU between; each after a layer norm, and added."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """x: (examples, context, width)."""
        qkv = self.qkv(self.before(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = qkv
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.attended(seen.transpose(1, 2).flatten(2))
        more: Tensor = self.narrower(functional.gelu(self.wider(self.between(x))))
        return x + more

    def scale_channels(self, channels: int, factor: float) -> None:
        """Enlarge what goes into two layers, in some channels, and shrink their weights: no result changes."""
        for norm, layer in ((self.before, self.qkv), (self.between, self.wider)):
            norm.weight[:channels] *= factor
            norm.bias[:channels] *= factor
            layer.weight[:, :channels] /= factor


class CharacterTransformer(nn.Module):
    """A transformer that says which character comes next."""

    def __init__(self, characters: int, width: int, layers: int, heads: int, context: int):
        super().__init__()
        self.characters, self.places = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)
        for one in (self.characters, self.places):
            nn.init.normal_(one.weight, std=EMBEDDED)

    def forward(self, x: Tensor) -> Tensor:
        """x: (examples, context) numbers of characters. Returns (examples, context, characters) logits."""
        place = torch.arange(x.shape[1], device=x.device)
        found: Tensor = self.head(self.norm(self.blocks(self.characters(x) + self.places(place))))
        return found

    @torch.no_grad()
    def scale_channels(self, channels: int, factor: float) -> None:
        """Give activations outliers, as trained transformers have them, without changing any result."""
        for block in self.blocks:
            assert isinstance(block, TransformerBlock)
            block.scale_channels(channels, factor)


class DigitNetwork(nn.Module):
    """Three convolutions with batch norm, and a linear layer, for pictures of 8 x 8."""

    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1, stride=2, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Flatten(), nn.Linear(2 * width * 16, 10),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """x: (examples, 1, 8, 8). Returns (examples, 10) logits."""
        found: Tensor = self.layers(x)
        return found

    @torch.no_grad()
    def scale_channels(self, channels: int, factor: float) -> None:
        """Enlarge some channels of what goes into the last two convolutions, and shrink their weights.

        No result changes: ReLU passes a factor on.
        """
        for norm, layer in ((self.layers[1], self.layers[3]), (self.layers[4], self.layers[6])):
            assert isinstance(norm, nn.BatchNorm2d) and isinstance(layer, nn.Conv2d)
            norm.weight[:channels] *= factor
            norm.bias[:channels] *= factor
            layer.weight[:, :channels] /= factor
