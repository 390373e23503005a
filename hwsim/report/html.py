"""What pages of HTML have in common: how templates are read, and what a page allows itself."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).with_name("templates")


def environment(folder: Path) -> Environment:
    """The templates of a folder. Whatever names are, they are shown, and never become markup."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def policy(style: str, script: str, *more: str) -> str:
    """A page's Content-Security-Policy: its own style and script, by their hashes, and nothing of a network."""
    return "; ".join(
        ["default-src 'none'", *more, f"style-src {_hash(style)}", f"script-src {_hash(script)}", "base-uri 'none'"]
    )


def page_style() -> str:
    """The style of every page: colours, for light and dark, the page, and pictures of windows."""
    return read("colours.css") + read("report.css") + read("picture.css")


def read(name: str) -> str:
    """A file beside the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
