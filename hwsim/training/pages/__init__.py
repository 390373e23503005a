"""Studies that train networks, as files: what is trained, and what their reports show."""

from pathlib import Path

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.yaml")))
