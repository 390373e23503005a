"""Networks on units: products by hand, errors told apart, and the small network for digits."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hwsim.cases.drawing import Stream, normals
from hwsim.compute.products import gemm
from hwsim.errors import ToolMissing
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import quantize
from hwsim.spec import load_unit
from hwsim.study.network import digits, measurement, models, unit_products
from hwsim.study.network.layers import Linear, attention
from hwsim.study.network.measurement import Entry, Network, kept, measure, turned
from hwsim.study.network.product import Array, Matmul, Where, exact
from hwsim.study.network.unit_products import Accumulated, UnitProducts

HOPPER = Entry("Hopper", "hopper-wgmma-e4m3-f32", "tensor", "channel")
PROMOTED = Entry("promoted", "deepseek-v3-e4m3-f32", "tensor", "channel")
MXFP4 = Entry("MXFP4", "mxfp4-e2m1-f32", "block", "block")
BLOCKS = {"a": "deepseek-v3-1x128", "b": "deepseek-v3-128x128"}
EVERY = [
    HOPPER,
    PROMOTED,
    MXFP4,
    Entry("DeepSeek-V3", "deepseek-v3-e4m3-f32-scaled", BLOCKS, BLOCKS),
    Entry("HFP8", "hfp8-forward-e4m3-dlfloat16", "direct", "direct"),
    Entry("INT8", "int8-i32", "tensor", "channel"),
    Entry("NVFP4", "blackwell-mxf4nvf4-e2m1-f32", "nvfp4", "nvfp4"),
]
LINEAR = Where(0, "linear", True)
INSIDE = Where(0, "scores", False)


def products(entry: Entry) -> UnitProducts:
    return UnitProducts(load_unit(entry.unit), entry.activations, entry.weights)


def matrices(*shapes: tuple[int, ...]) -> list[Array]:
    return [normals(Stream(3, "network", index), shape) for index, shape in enumerate(shapes)]


def test_a_linear_product_on_hopper_is_the_units_own_times_both_scales() -> None:
    a, b = matrices((3, 64), (64, 4))
    of_a, of_b = quantize(a.astype(np.float32), "tensor-e4m3"), quantize(b.astype(np.float32), "channel-e4m3", axis=0)
    returned = gemm("hopper-wgmma-e4m3-f32", of_a.codes, of_b.codes).astype(np.float64)
    expected = returned * of_a.scale_values * of_b.scale_values
    np.testing.assert_allclose(products(HOPPER).both(LINEAR, a, b), expected, rtol=1e-15)


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.label)
@pytest.mark.parametrize("where", [LINEAR, INSIDE], ids=["weight", "batch"])
def test_quantised_products_are_exact_sums_of_what_codes_and_scales_stand_for(entry: Entry, where: Where) -> None:
    # K of 40 is no multiple of a block, which is filled up with zeros.
    a, b = matrices((3, 40), (40, 2)) if where.weight else matrices((2, 3, 40), (2, 40, 2))
    found = products(entry).quantized(where, a, b)
    k = found.shape[-1]
    assert found.shape == (*a.shape[:-1], b.shape[-1]) and k == 2
    made = products(entry)
    rules = made.of_activations.a, made.of_weights.b if where.weight else made.of_activations.b
    numbers = []
    for side, x, axis in zip(rules, (a, b), (-1, -2), strict=True):
        widths = [(0, 0)] * x.ndim
        widths[axis] = 0, -40 % 128
        full = np.pad(x, widths).astype(np.float32)
        numbers.append(quantize(full, side.rule, axis, scale=side.scale).dequantize())
    for at in np.ndindex(*found.shape):
        row, column = numbers[0][at[:-1]], numbers[1][(*at[:-2], slice(None), at[-1])]
        total = sum(Fraction(x) * Fraction(y) for x, y in zip(row.tolist(), column.tolist(), strict=True))
        assert math.isclose(found[at], total, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.label)
def test_accumulation_is_the_units_error_on_an_exact_product(entry: Entry) -> None:
    a, b = matrices((3, 128), (128, 4))
    made = products(entry)
    observed = Accumulated(made)
    error = made.both(LINEAR, a, b) - made.quantized(LINEAR, a, b)
    np.testing.assert_array_equal(observed(LINEAR, a, b), a @ b + error)
    sums = observed.sums[LINEAR]
    assert sums.signal == pytest.approx(np.square(a @ b).sum())
    assert sums.accumulation == pytest.approx(np.square(error).sum(), rel=1e-9, abs=1e-300)
    assert sums.total == pytest.approx(np.square(made.both(LINEAR, a, b) - a @ b).sum())
    observed(LINEAR, a, b)
    assert observed.sums[LINEAR].signal == pytest.approx(2 * sums.signal)  # both calls count


def test_hopper_leaves_positive_sums_too_near_to_zero_and_promotion_less_so() -> None:
    # One-signed products, K of 1536: truncation always takes away.
    a, b = (np.abs(one) for one in matrices((8, 1536), (1536, 8)))
    found = {}
    for entry in (HOPPER, PROMOTED):
        observed = Accumulated(products(entry))
        observed(LINEAR, a, b)
        found[entry.label] = observed.sums[LINEAR]
    assert found["Hopper"].shrink == pytest.approx(found["Hopper"].relative("accumulation"), rel=0.1)
    assert found["Hopper"].shrink > 4 * found["promoted"].shrink > 0


def test_an_accumulation_error_of_the_other_sign_shrinks_less_than_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = (np.abs(one) for one in matrices((2, 32), (32, 2)))
    made = products(HOPPER)
    more = made.quantized(LINEAR, a, b) * 1.5
    monkeypatch.setattr(made, "by_unit", lambda operands: more)
    observed = Accumulated(made)
    observed(LINEAR, a, b)
    assert observed.sums[LINEAR].shrink == pytest.approx(-0.5)


def test_a_weight_is_quantised_once_and_another_one_in_its_place_again() -> None:
    a, b, other = matrices((3, 32), (32, 4), (32, 4))
    made = products(HOPPER)
    first = made.operands(LINEAR, a, b)[1]
    assert made.operands(LINEAR, 2 * a, b)[1] is first
    assert not np.array_equal(made.operands(LINEAR, a, other)[1].values, first.values)


def test_a_scaling_that_the_unit_does_not_take_is_refused() -> None:
    with pytest.raises(SpecError, match="block"):
        UnitProducts(load_unit("hopper-wgmma-e4m3-f32"), "block", "channel")


def test_attention_of_one_head_is_softmax_by_hand() -> None:
    q, k, v = (np.array(rows, dtype=np.float64) for rows in ([[2, 0], [0, 0]], [[1, 0], [0, 1]], [[1, 2], [5, 6]]))
    first = 1 / (1 + math.exp(-2 / math.sqrt(2)))
    expected = [[first * 1 + (1 - first) * 5, first * 2 + (1 - first) * 6], [3, 4]]
    np.testing.assert_allclose(attention(exact, 0, q, k, v, 1), expected)


def small_network(forward: object = None) -> Network:
    a, b = matrices((5, 64), (64, 8))

    def by_product(product: Matmul) -> Array:
        return product(LINEAR, a, b)

    return Network("small", by_product, lambda found: {"first": float(found[0, 0])}, "digest")


def test_measures_of_one_product_are_those_of_its_rows() -> None:
    network = small_network()
    found = measure(HOPPER, network)
    made, reference = products(HOPPER), network.reference
    a, b = matrices((5, 64), (64, 8))
    for kind, returned in (("quantization", made.quantized(LINEAR, a, b)), ("total", made.both(LINEAR, a, b))):
        for row, one in enumerate(returned):
            expected = math.dist(one, reference[row]) / math.hypot(*reference[row])
            assert found.relative[kind][row] == pytest.approx(expected)
            cosine = float(one @ reference[row]) / math.hypot(*one) / math.hypot(*reference[row])
            assert found.cosine[kind][row] == pytest.approx(1 - cosine, abs=1e-14)
    assert max(found.relative["accumulation"]) < min(found.relative["quantization"]) / 10
    assert found.judged == {"first": made.both(LINEAR, a, b)[0, 0]}


def test_cosines_do_not_cancel() -> None:
    # At a right angle 1, opposite 2; an angle of 1e-9 is 5e-19, which 1 - cosine in binary64 is not.
    rows = np.array([[1, 0], [0, 1], [-2, 0], [1, 1e-9]], dtype=np.float64)
    np.testing.assert_allclose(turned(rows, np.array([[3.0, 0]] * 4)), [0, 1, 2, 5e-19])


def test_what_was_measured_is_taken_up_and_not_for_another_unit_or_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = small_network()
    first = kept(HOPPER, network, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(measurement, "measure", lambda *_: pytest.fail("measured again"))
        assert kept(HOPPER, network, tmp_path) == first
        assert kept(Entry("renamed", *[getattr(HOPPER, key) for key in ("unit", "activations", "weights")]),
                    small_network(), tmp_path) == first  # fmt: skip
    (part,) = (tmp_path / ".parts").glob("[!.]*")
    kept(PROMOTED, network, tmp_path)
    kept(Entry("direct", HOPPER.unit, "direct", "channel"), network, tmp_path)
    network.digest = "another"
    kept(HOPPER, network, tmp_path)
    assert len(list((tmp_path / ".parts").glob("*.json"))) == 4
    network.digest = "digest"
    for broken in ("", "[]", json.dumps({"relative": {}}), part.read_text()[:-9]):
        part.write_text(broken)  # half a file of a machine that went down
        assert kept(HOPPER, network, tmp_path) == first


@pytest.fixture(scope="module")
def read_digits() -> Network:
    return models.digits_network(1, 96)


def test_the_small_network_reads_digits(read_digits: Network) -> None:
    judged = read_digits.judge(read_digits.reference)
    assert judged["same"] == 1
    assert judged["right"] > 0.94  # chance is 0.1
    upside_down = read_digits.judge(-read_digits.reference)
    assert upside_down["right"] < 0.05


def test_formats_and_accumulators_come_in_their_order_on_digits(read_digits: Network) -> None:
    def error(entry: Entry, kind: str) -> float:
        return float(np.mean(measure(entry, read_digits).relative[kind]))

    hfp8 = Entry("HFP8", "hfp8-forward-e4m3-dlfloat16", "tensor", "channel")
    accumulation = [error(one, "accumulation") for one in (PROMOTED, HOPPER, hfp8)]
    assert accumulation == sorted(accumulation)
    assert error(HOPPER, "quantization") == error(PROMOTED, "quantization") > 50 * accumulation[1]
    assert error(MXFP4, "total") > 3 * error(HOPPER, "total")


def test_slopes_are_those_of_differences() -> None:
    data = digits.digits(1)
    model = digits._untrained(1, (64, 6, 10))
    at = list(range(8))

    def loss() -> float:
        out = digits.logits(model, data.train[at], exact)
        return float(np.mean(np.log(np.exp(out).sum(axis=1)) - out[np.arange(8), data.train_labels[at]]))

    values = [part for layer in model.layers for part in (layer.weight, layer.bias)]
    for value, slope in zip(values, digits._gradient(model, data, at), strict=True):
        place = np.unravel_index(np.argmax(np.abs(slope)), slope.shape)
        step = 1e-6
        value[place] += step
        above = loss()
        value[place] -= 2 * step
        assert (above - loss()) / (2 * step) == pytest.approx(slope[place], rel=1e-5)
        value[place] += step


def test_digits_are_divided_with_none_in_both_parts() -> None:
    data = digits.digits(1)
    assert (data.train.shape, data.test.shape) == ((1437, 64), (360, 64))
    assert (data.train.min(), data.train.max()) == (0, 1)
    assert sorted(set(data.test_labels.tolist())) == list(range(10))
    assert not np.array_equal(data.test_labels, digits.digits(2).test_labels)


def test_missing_scikit_learn_is_said_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.datasets", None)
    with pytest.raises(ToolMissing, match=r"pip install 'hwsim\[models\]'"):
        digits.digits(1)


@pytest.mark.parametrize("mutant", ["scale left out", "quantised twice", "exact sums", "wrong axis"])
def test_mutants_of_products_are_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if mutant == "scale left out":
        monkeypatch.setattr(unit_products, "_scaled", lambda product, operands: product)
    elif mutant == "quantised twice":
        plain = UnitProducts._quantized
        monkeypatch.setattr(UnitProducts, "_quantized", lambda *args: plain(*args[:3], plain(*args).values))
    elif mutant == "exact sums":
        monkeypatch.setattr(UnitProducts, "by_unit", UnitProducts.exactly)
    else:
        monkeypatch.setattr(unit_products, "apply", lambda side, which, *rest: APPLY(side, "a", *rest))
    with pytest.raises((AssertionError, ValueError)):
        test_a_linear_product_on_hopper_is_the_units_own_times_both_scales()


APPLY = unit_products.apply


def test_linear_layers_add_their_bias() -> None:
    layer = Linear(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 20.0]))
    np.testing.assert_array_equal(layer(exact, 0, "linear", np.array([[1.0, 1.0]])), [[14, 26]])
