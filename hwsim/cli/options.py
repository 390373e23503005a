"""Options that several commands have: where a unit's registers stand, and how many sums are open at once."""

from __future__ import annotations

from typing import Annotated

import typer

Cuts = Annotated[
    str | None, typer.Option(help="Steps after which there is a register, with commas; `hwsim units UNIT` lists them.")
]
Contexts = Annotated[int | None, typer.Option(help="Sums that can be open at once; as many as registers unless given.")]
