"""What is measured of a model's products is what a plain computation of each finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import hwsim
import hwsim.torch as ht
from hwsim.base.arrays import read_table
from hwsim.base.errors import InputError
from hwsim.quantize import quantize


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 8))


def test_errors_of_quantisation_and_of_accumulation_are_told_apart() -> None:
    net, x = network(), torch.randn(64, 256)
    with ht.emulate(net, "hopper-unpromoted"), ht.measure() as measures:
        net(x).square().sum().backward()
    found = {(one["layer"], one["product"]): one for one in measures.records}
    # The first layer's input needs no gradient.
    assert list(found) == [
        ("0", "forward"), ("2", "forward"), ("2", "input"), ("2", "weight"), ("0", "weight")
    ]  # fmt: skip
    one = found["0", "forward"]
    a, b = x.numpy(), net[0].weight.detach().numpy().T
    qa, qb = quantize(a, "tensor-e4m3"), quantize(b, "tensor-e4m3", axis=0)
    unit = hwsim.load_unit("hopper-wgmma-e4m3-f32")
    exact, quantized = a.astype(float) @ b.astype(float), qa.dequantize() @ qb.dequantize()
    factor = qa.scales.reshape(1, 1) * qb.scales.reshape(1, 1)
    returned = (hwsim.gemm(unit, qa.codes, qb.codes) * factor).astype(float)

    def relative(error: object) -> float:
        return float(np.sqrt(np.square(error).mean() / np.square(exact).mean()))

    assert (one["m"], one["k"], one["n"], one["unit"], one["step"]) == (64, 256, 32, unit.name, 0)
    assert one["quantization"] == pytest.approx(relative(quantized - exact), rel=1e-9)
    assert one["accumulation"] == pytest.approx(relative(returned - quantized), rel=1e-9)
    assert one["total"] == pytest.approx(relative(returned - exact), rel=1e-9)
    assert one["snr_db"] == pytest.approx(-20 * np.log10(one["total"]))
    assert one["shrink"] > 0  # Hopper's accumulator truncates
    assert 1e-5 < one["accumulation"] < one["quantization"] < 0.1


def test_numbers_beyond_the_codes_are_counted() -> None:
    net = nn.Linear(4, 4, bias=False)
    direct = {"unit": "hopper-wgmma-e4m3-f32", "a": "direct", "b": "direct"}
    recipe = {"recipe": "direct", "products": {"forward": direct, "input": "none", "weight": "none"}}
    with torch.no_grad():
        net.weight.copy_(torch.eye(4))
    x = torch.tensor([[448.0, 464.0, 480.0, 1e9], [2.0**-9, 2.0**-11, 0.0, 1.0]])
    with ht.emulate(net, recipe), ht.measure() as measures:
        net(x)
    (one,) = measures.records
    # 464 rounds to 448: it is no further than half an ulp. 480 and 1e9 are cut.
    assert one["saturated_a"] == 2 / 8 and one["underflowed_a"] == 1 / 7
    assert one["saturated_b"] == one["underflowed_b"] == 0


def test_scales_count_and_a_transform_is_undone_by_the_product() -> None:
    net, x = network(), torch.randn(64, 256)
    for recipe, most in (("nvfp4", 0.3), ("deepseek-v3", 0.06), ("mxfp4", 0.3)):
        with ht.emulate(net, recipe), ht.measure() as measures:
            net(x).square().sum().backward()
        for one in measures.records:
            assert one["accumulation"] < 1e-3 and one["quantization"] < most, one
            # The last layer of nvfp4 is in BF16, and so are what goes into it and, here, its gradient.
            assert one["quantization"] > 1e-4 or one["unit"] == "hopper-wgmma-bf16-f32", one


def test_records_are_a_parquet_file(tmp_path: Path) -> None:
    net = network()
    with ht.emulate(net, "mxfp8"), ht.measure() as measures:
        with pytest.raises(InputError, match="nothing was measured"):
            measures.write(tmp_path / "layers.parquet")
        net(torch.randn(4, 256)).sum().backward()
    measures.write(tmp_path / "layers.parquet")
    assert read_table(tmp_path / "layers.parquet").to_pylist() == measures.records


def test_some_steps_are_looked_at() -> None:
    net = nn.Linear(8, 8)
    with ht.emulate(net, "mxfp8"), ht.measure(every=3) as measures:
        for _ in range(7):
            net(torch.randn(4, 8))
            measures.step()
    assert [one["step"] for one in measures.records] == [0, 3, 6]
    (mean,) = measures.summary()
    assert mean["quantization"] == pytest.approx(np.mean([one["quantization"] for one in measures.records]))
    assert mean["layer"] == "" and "step" not in mean
    with ht.emulate(net, "mxfp8"):
        net(torch.randn(4, 8))
    assert len(measures.records) == 3
    with pytest.raises(InputError, match="every must be a whole number of at least 1, not 0"), ht.measure(every=0):
        pass


@pytest.mark.slow
def test_what_was_measured_is_drawn(tmp_path: Path) -> None:
    net = network()
    with ht.emulate(net, "hopper-unpromoted"), ht.measure() as measures:
        for seed in range(2):
            net(torch.randn(64, 256, generator=torch.Generator().manual_seed(seed))).square().sum().backward()
            measures.step()
    report = measures.report("Two layers")
    layers, steps = report.charts
    assert set(layers.values("panel")) == {"forward", "gradient of the input", "gradient of the weight"}
    (table,) = report.tables
    summary = measures.summary()
    assert [row[0] for row in table.rows] == [one["layer"] for one in summary] and len(summary) == 5
    forward = [row for row in steps.rows if (row["panel"], row["series"]) == ("forward", "quantisation")]
    of_step = [one["quantization"] for one in measures.records if (one["step"], one["product"]) == (1, "forward")]
    assert [row["x"] for row in forward] == [0, 1] and forward[1]["y"] == pytest.approx(np.mean(of_step))
    assert f"{summary[0]['accumulation']:.1e}" in table.rows[0]
    written = measures.draw(tmp_path)
    assert all(path.is_file() for path in written)
    assert {path.name for path in written} == {"layers.svg", "layers.png", "steps.svg", "steps.png", "report.html"}
    foreign = tmp_path / "mine" / "report.html"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    with pytest.raises(InputError, match="hwsim did not write it"):
        measures.draw(foreign.parent)
    assert [*foreign.parent.iterdir()] == [foreign]
    with ht.measure() as nothing, pytest.raises(InputError, match="nothing was measured"):
        nothing.report()
