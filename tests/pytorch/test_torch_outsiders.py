"""Models that nobody here wrote for units: they train, or run, under several recipes as they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from papers import minilm
from torch import Tensor, nn
from torch.nn import functional

import hwsim
import hwsim.torch as ht
from hwsim.quantize import quantize

FIVE = ["bf16-hopper", "fp8-rowwise", "deepseek-v3", "mxfp6", "hfp8"]
SENTENCES = ["All dreaded it.", "All sought to avert it."]


class Residual(nn.Module):
    """The basic block of a residual network, as torchvision has it."""

    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        return functional.relu(self.bn2(self.conv2(out)) + self.downsample(x), inplace=True)


def residual_network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3),
    )  # fmt: skip


def encoder() -> nn.Sequential:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 1), nn.Flatten(), nn.Linear(32 * 6, 3))


@pytest.mark.slow
@pytest.mark.parametrize("recipe", FIVE)
@pytest.mark.parametrize(("model", "shape"), [(residual_network, (12, 3, 20, 20)), (encoder, (12, 6, 32))])
def test_a_module_of_others_trains_unchanged(model: type[nn.Module], shape: tuple[int, ...], recipe: str) -> None:
    torch.manual_seed(1)
    net, labels = model(), torch.arange(12) % 3
    x = torch.randn(shape) + labels.reshape(12, *[1] * (len(shape) - 1)) - 1.0
    emulation = ht.convert(net, recipe)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(5):
        loss = functional.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        (128 * loss).backward()
        for one in net.parameters():
            assert one.grad is not None and bool(torch.isfinite(one.grad).all())
            one.grad.div_(128)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert not emulation.report.left and len(emulation.report.converted) >= 5


class MiniLM(nn.Module):
    """all-MiniLM-L6-v2 of PyTorch's own modules."""

    @torch.no_grad()
    def __init__(self) -> None:
        super().__init__()
        weights = {name: one.float() for name, one in minilm.weights().items()}
        words, places = (weights[f"embeddings.{one}_embeddings.weight"] for one in ("word", "position"))
        kinds = weights["embeddings.token_type_embeddings.weight"]
        self.words, self.places = nn.Embedding.from_pretrained(words + kinds[0]), nn.Embedding.from_pretrained(places)
        self.norm = nn.LayerNorm(384, eps=minilm.EPSILON)
        layer = nn.TransformerEncoderLayer(384, 12, 1536, 0.0, "gelu", minilm.EPSILON, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, minilm.LAYERS)

        def loaded(module: Any, *names: str, ending: str = "") -> None:
            for part in ("weight", "bias"):
                value = torch.cat([weights[f"{name}.{part}"] for name in names])
                getattr(module, ending + part).copy_(value)

        loaded(self.norm, "embeddings.LayerNorm")
        for at, one in enumerate(self.encoder.layers):
            assert isinstance(one, nn.TransformerEncoderLayer)
            name = f"encoder.layer.{at}"
            qkv = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
            loaded(one.self_attn, *qkv, ending="in_proj_")
            loaded(one.self_attn.out_proj, f"{name}.attention.output.dense")
            loaded(one.linear1, f"{name}.intermediate.dense")
            loaded(one.linear2, f"{name}.output.dense")
            loaded(one.norm1, f"{name}.attention.output.LayerNorm")
            loaded(one.norm2, f"{name}.output.LayerNorm")

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.shape[1])))
        found: Tensor = functional.normalize(self.encoder(x).mean(1), dim=-1)
        return found


@pytest.mark.slow
@pytest.mark.usefixtures("minilm_weights")
def test_minilm_runs_as_it_is_and_its_first_product_is_that_of_gemm() -> None:
    net = MiniLM().eval()
    sentences = minilm.tokens(SENTENCES)
    expected = minilm.embeddings(sentences)

    def embedded() -> Tensor:
        return torch.cat([net(torch.tensor([one])) for one in sentences])

    errors = {}
    for recipe in ["exact", *FIVE]:
        with ht.emulate(net, recipe) as emulation, torch.no_grad():
            errors[recipe] = float((embedded() - expected).norm(dim=-1).max())
        # In each layer four linear ones, and two products within attention: of each sentence.
        assert list(emulation.report.calls.values()) == [2] * 36 and not emulation.report.left
    assert errors["exact"] < 1e-6 < errors["bf16-hopper"] < 0.02
    assert all(errors["bf16-hopper"] < errors[one] < 0.5 for one in FIVE[1:])
    kept: list[Tensor] = []
    layer = net.encoder.layers[0].linear1
    layer.register_forward_hook(lambda _, given, out: kept.extend((given[0].detach(), out.detach())))
    with ht.emulate(net, "mxfp6"):
        embedded()
    x, y = kept[0][0].numpy(), kept[1][0]
    a, b = (quantize(one, "mxfp6-e3m2", axis) for one, axis in ((x, -1), (layer.weight.detach().numpy().T, 0)))
    product = hwsim.gemm("blackwell-mxf8f6f4-e3m2-f32", a.codes, b.codes, scale_a=a.scales, scale_b=b.scales)
    bias = layer.bias.detach().to(torch.bfloat16).to(torch.float32)
    assert torch.equal(y, (torch.from_numpy(product) + bias).to(torch.bfloat16).to(torch.float32))
