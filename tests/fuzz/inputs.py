"""Inputs by target, seed and number: a valid input of the target with one of its files mutated."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml
from fuzz import bases, containers, octets, trees
from fuzz.targets import BY_NAME, TARGETS, Target

POOL = ".pool"
POOLED = (bases.units, bases.own_format, bases.designs, bases.studies)
AS_BYTES = 0.2  # of the inputs, whatever their files are
Pool = dict[str, list[Any]]


@dataclass(frozen=True)
class Key:
    """Which input."""

    target: str
    seed: int
    index: int

    def __str__(self) -> str:
        return f"{self.target}:{self.seed}:{self.index}"

    @classmethod
    def parsed(cls, text: str) -> Key:
        """The key that `str` writes. Raises ValueError for anything else."""
        target, seed, index = text.split(":")
        if target not in BY_NAME:
            raise ValueError(f"there is no target {target}; there are {', '.join(BY_NAME)}")
        return cls(target, int(seed), int(index))


@dataclass(frozen=True)
class FuzzInput:
    """An input in a folder. base: the valid input that it was. subject: the file that was mutated, relative."""

    key: Key
    target: Target
    base: str
    subject: Path
    words: tuple[str, ...]


def prepare(folder: Path, targets: list[Target]) -> None:
    """Write the valid inputs of some targets, and those that all take values from."""
    for number, maker in enumerate(POOLED):
        maker(folder / POOL / str(number))
    made: dict[Any, Path] = {}
    for target in targets:
        at = folder / target.name
        same = next((made[maker] for maker in made if maker is target.make), None)
        if same is None:
            target.make(at)
            made[target.make] = at
        else:
            shutil.copytree(same, at)


def pool_of(folder: Path) -> Pool:
    """The values that every key has in any valid file of a few kinds, the same whichever targets are run."""
    paths = sorted((folder / POOL).rglob("*.yaml"))
    return trees.gathered([yaml.load(path.read_text(), Loader=trees.LOADER) for path in paths])


def make(key: Key, prepared: Path, into: Path, pool: Pool) -> FuzzInput:
    """Write an input into an empty folder."""
    target, rng = BY_NAME[key.target], Random(f"{key}")
    base = rng.choice(sorted(one for one in (prepared / key.target).iterdir() if one.is_dir()))
    shutil.copytree(base, into, dirs_exist_ok=True)
    subject = _subject(target, into, rng)
    subject.write_bytes(mutated(subject, subject.read_bytes(), rng, pool))
    if target.sealed and rng.random() < 0.7:
        _seal(subject)
    words = [_found(word, into) for word in rng.choice(target.commands).split()] if target.commands else []
    return FuzzInput(key, target, base.name, subject.relative_to(into), tuple(words))


def _subject(target: Target, folder: Path, rng: Random) -> Path:
    every = {subject: sorted(path for path in folder.rglob(subject) if path.is_file()) for subject in target.subjects}
    if not any(every.values()):
        raise ValueError(f"{target.name}: {folder.name} has none of {', '.join(target.subjects)}")
    while True:
        if there := every[rng.choice(target.subjects)]:
            return rng.choice(there)


def _found(word: str, folder: Path) -> str:
    """A file whatever its ending is."""
    return next(folder.glob(word)).name if word.endswith(".*") else word


def mutated(path: Path, data: bytes, rng: Random, pool: Pool) -> bytes:
    """A file's bytes, changed by what its name says that they are, or as bytes."""
    if rng.random() < AS_BYTES:
        return octets.mutated(data, rng)
    match path.suffix:
        case ".yaml" | ".json":
            tree = json.loads(data) if path.suffix == ".json" else yaml.load(data, Loader=trees.LOADER)
            for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
                tree = trees.mutate(tree, rng, pool)
            return (trees.as_json if path.suffix == ".json" else trees.as_yaml)(tree, rng)[: octets.MOST]
        case ".npy":
            return containers.npy(data, rng)
        case ".npz":
            return containers.npz(data, rng)
        case ".safetensors":
            return containers.safetensors(data, rng)
        case ".parquet":
            return containers.parquet(data, rng)
    return octets.lines(data, rng)


def _seal(subject: Path) -> None:
    """Make a manifest's digest that of the file, so that what reads the file is reached."""
    manifest = subject.parent / "manifest.yaml"
    if subject == manifest:
        return
    held = yaml.load(manifest.read_text(), Loader=trees.LOADER)
    entry = held.get("files", {}).get(subject.name) or held.get("instructions", {}).get(subject.stem)
    entry["sha256"] = hashlib.sha256(subject.read_bytes()).hexdigest()
    manifest.write_text(yaml.dump(held, Dumper=trees.DUMPER, sort_keys=False))


def chosen(names: list[str]) -> list[Target]:
    """The targets of those names; all of them unless given."""
    return [target for target in TARGETS if not names or target.name in names]
