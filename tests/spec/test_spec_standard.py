"""The unit file as a standard: its JSON schema, the canonical form and its hash."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import hwsim
from hwsim.cosim.fuzz.draw import drawn_unit
from hwsim.spec import load_specified, load_unit, presets
from hwsim.spec.catalog import as_yaml, modal_presets
from hwsim.spec.standard import SCHEMA_FILE, canonical, fingerprint, schema_text, unit_schema

VALIDATOR = Draft202012Validator(unit_schema())
EVERY = [*presets(), *modal_presets()]


def keys_of(name: str) -> dict[str, Any]:
    keys: dict[str, Any] = yaml.safe_load(as_yaml(load_specified(name)))
    return keys


def test_the_shipped_schema_is_made_of_the_classes_that_check_files() -> None:
    # hwsim units --schema > hwsim/spec/unit.schema.json
    assert SCHEMA_FILE.read_text("utf-8") == schema_text()
    Draft202012Validator.check_schema(unit_schema())


def test_every_preset_and_random_units_are_valid() -> None:
    units = [keys_of(name) for name in EVERY]
    units += [yaml.safe_load(as_yaml(drawn_unit(1, number).unit)) for number in range(150)]
    for keys in units:
        assert not list(VALIDATOR.iter_errors(keys)), keys["unit"]


BASE = "hopper-wgmma-e4m3-f32"
# A preset, the path of a key, and a value that a file must not give it; `del` takes the key away.
WRONG: list[tuple[str, str, Any]] = [
    (BASE, "unit", "a b"), (BASE, "evidence", "guessed"), (BASE, "source", "text"), (BASE, "more", 1),
    (BASE, "operands.a", 3), (BASE, "operands.a", "del"), (BASE, "operands.daz", "yes"),
    (BASE, "operands.a", {"name": "mine", "kind": "float", "exponent_bits": 4}),
    (BASE, "operands.a", {"name": "mine", "kind": "floating", "exponent_bits": 4, "fraction_bits": 3, "bias": 7}),
    (BASE, "operands.a", {"name": "mine", "exponent_bits": 4, "fraction_bits": 3, "bias": 7}),
    (BASE, "instruction.k", 0), (BASE, "instruction.k", "32"), (BASE, "instruction.k", 32.5),
    (BASE, "instruction.k", True),
    (BASE, "instruction.order", {"modulo": 2}), (BASE, "instruction.start", "late"), (BASE, "sum", "del"),
    (BASE, "sum.method", "del"), (BASE, "sum.method", "align"), (BASE, "sum.fraction_bits", "del"),
    (BASE, "sum.fraction_bits", 300), (BASE, "sum.lost", "round"), (BASE, "sum.format", "f32"),
    (BASE, "sum.product", "fused"), (BASE, "sum.subgroup", {"lanes": 2}), (BASE, "sum.cut", {"bits": 0}),
    (BASE, "result.rounding", "nearest"), (BASE, "result.nan", "quiet"), (BASE, "scale", "e8m0"),
    ("int8-i32", "sum.lost", "floor"), ("blackwell-mxf4nvf4-e2m1-f32", "sum.subgroup.fraction_bits", 3),
    ("blackwell-mxf4nvf4-e2m1-f32", "scale.a.block", [16]), ("blackwell-mxf4nvf4-e2m1-f32", "scale.at", "sum"),
    ("intel-amx-e5m2-f32", "late.sum_bits", 3), ("intel-amx-e5m2-f32", "late.rounding", "del"),
    ("hfp8-hybrid", "modes.forward.a", "del"), ("hfp8-hybrid", "operands.a", "e4m3"), ("fp8-any", "modes", {"any": 3}),
]  # fmt: skip


def changed(name: str, path: str, value: Any) -> dict[str, Any]:
    keys = copy.deepcopy(keys_of(name))
    part, (*sections, key) = keys, path.split(".")
    for section in sections:
        part = part[section]
    if value == "del":
        del part[key]
    else:
        part[key] = value
    return keys


@pytest.mark.parametrize(("name", "path", "value"), WRONG)
def test_wrong_files_are_refused_by_the_schema_and_by_hwsim(name: str, path: str, value: Any) -> None:
    keys = changed(name, path, value)
    assert list(VALIDATOR.iter_errors(keys))
    with pytest.raises(hwsim.SpecError):
        load_specified(keys)


# Right files that say what other methods' keys are without them, `none`, null, and formats in each way.
RIGHT: list[tuple[str, str, Any]] = [
    (BASE, "scale", "none"), (BASE, "scale", None), (BASE, "promotion", "none"), (BASE, "sum.max_exp_floor", "none"),
    (BASE, "sum.flush", False), (BASE, "sum.combine", None), (BASE, "instruction.chain", "none"),
    (BASE, "sum.cut", None),
    (BASE, "operands.a", {"name": "mine", "kind": "float", "exponent_bits": 4, "fraction_bits": 3, "bias": 7}),
    (BASE, "result.nan", 0x7FFFE000), ("int8-i32", "sum.lost", "truncate"), ("int8-i32", "sum.addend", "aligned"),
    ("blackwell-mxf4nvf4-e2m1-f32", "sum.subgroup.low_lanes", "none"),
    ("fp8-any", "modes", {"any": ["e4m3", "e5m2"]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value"), RIGHT)
def test_right_files_are_valid(name: str, path: str, value: Any) -> None:
    keys = changed(name, path, value)
    load_specified(keys)
    assert not list(VALIDATOR.iter_errors(keys))


def test_rules_between_keys_are_hwsims_alone() -> None:
    keys = changed(BASE, "instruction.lanes", 3)
    assert not list(VALIDATOR.iter_errors(keys))
    with pytest.raises(hwsim.SpecError, match=r"instruction\.lanes must divide"):
        load_specified(keys)


def test_words_are_not_hashed_and_arithmetic_is() -> None:
    keys = keys_of(BASE)
    words = {"unit": "other", "summary": "other words", "source": ["elsewhere"], "evidence": "designed"}
    assert fingerprint(load_unit({**keys, **words})) == fingerprint(load_unit(BASE))
    made = {name: fingerprint(load_specified(name)) for name in EVERY}
    plain = {name: load_specified(name).model_dump(mode="json") for name in EVERY}
    sayings = {"unit", "summary", "evidence", "source"}
    kept = {
        name: json.dumps({key: value for key, value in one.items() if key not in sayings})
        for name, one in plain.items()
    }
    # Units of one hash have the same keys, and others not; presets name their formats, of which each is another.
    assert len(set(made.values())) == len(set(kept.values()))


Edit = Callable[[dict[str, Any]], Any]
# Changes of a file that leave its arithmetic keys as they are.
SAME: dict[str, Edit] = {
    "a default stated": lambda keys: keys["operands"].update(daz=False, zeros="signed"),
    "a format written out under another name": lambda keys: keys["operands"].update(a=_renamed("e4m3")),
    "an alias of none": lambda keys: keys.update(promotion=None, late=None),
    "another order of keys": lambda keys: keys.update(sum=dict(reversed(keys.pop("sum").items()))),
}
OTHERS: dict[str, Edit] = {
    "a bit of the window": lambda keys: keys["sum"].update(fraction_bits=14),
    "a rounding": lambda keys: keys["result"].update(rounding="rne"),
    "a format": lambda keys: keys["operands"].update(b="e5m2"),
    "a zero's sign": lambda keys: keys["result"].update(zero_sign="any"),
}


def _renamed(name: str) -> Mapping[str, Any]:
    fmt = hwsim.get_format(name)
    return {**fmt.model_dump(mode="json", exclude={"source", "summary"}), "name": "renamed", "summary": "mine"}


@pytest.mark.parametrize(("edit", "same"), [(one, True) for one in SAME] + [(one, False) for one in OTHERS])
def test_what_the_hash_covers(edit: str, same: bool) -> None:
    keys = keys_of(BASE)
    (SAME | OTHERS)[edit](keys)
    assert (fingerprint(load_unit(keys)) == fingerprint(load_unit(BASE))) is same


def test_modes_are_hashed_by_their_order_and_not_by_their_names() -> None:
    keys = keys_of("hfp8-hybrid")
    forward, backward = keys["modes"]["forward"], keys["modes"]["backward"]
    modes = (
        {"forward": forward, "backward": backward},
        {"one": forward, "two": backward},
        {"backward": backward, "forward": forward},
    )
    hashes = [fingerprint(load_specified({**keys, "modes": one})) for one in modes]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_canonical_form_is_one_spelling() -> None:
    text = canonical(load_unit(BASE))
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert fingerprint(load_unit(BASE)) == hashlib.sha256(text.encode()).hexdigest()


def test_a_key_more_in_the_language_is_another_version() -> None:
    # Where this differs because keys were added: raise VERSION in hwsim/spec/standard.py once hashes were published.
    assert fingerprint(load_unit(BASE)) == "5cbcb68e30f5adc296eb145360be1e078142be391b5c71f884d2078ce7b957a8"
