"""Arrays in files: mapped, not copied. What a file must hold is told by the command that reads it: tests/cli."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import hwsim
from hwsim.base.errors import InputError
from hwsim.quantize import tensors as stored


def test_codes_are_mapped_and_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    e4m3, e8m0 = hwsim.get_format("e4m3"), hwsim.get_format("e8m0")
    np.save("a.npy", np.arange(64, dtype=np.uint8).reshape(8, 8))
    save_file({"a": np.arange(64, dtype=np.uint8).reshape(8, 8).view(ml_dtypes.float8_e4m3fn)}, "a.safetensors")
    for name in ("a.npy", "a.safetensors"):
        found = stored.read(name)
        assert isinstance(found.array, np.memmap)
        codes = stored.codes(e4m3, found, "A")
        assert np.shares_memory(codes, found.array)
        assert codes.tolist() == np.arange(64).reshape(8, 8).tolist()
    assert not stored.are_codes(e8m0, stored.read("a.safetensors"))


def test_characters_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.npz"
    for word, fails in (("", False), ("ok", False), ("\U0010ffff", False), (None, True)):
        array = np.array(word) if word is not None else np.array([0x110000], np.uint32).view("<U1")
        np.savez(path, facts=array)
        if fails:
            with pytest.raises(InputError, match=r"facts\.npz: facts holds characters that are none"):
                stored.members(path, ["facts"])
        else:
            assert str(stored.members(path, ["facts"])[0]) == word
