"""All commands: each module adds its own to `hwsim.cli.app.app`, which this has when it is imported."""

from importlib import import_module

from hwsim.cli.app import FIRST, MORE, app

for _module in sorted({*FIRST.values(), *MORE.values()}):
    import_module(f"hwsim.cli.{_module}")

__all__ = ["app"]
