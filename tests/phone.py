"""A phone that Chromium emulates: its screen and pixels, its name, fingers in the place of a mouse."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from browser import Browser
from patience import LIMIT

NAME = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 "
    "Mobile Safari/537.36"
)
PIXELS = 2.625  # of the screen to one of CSS


class Phone(Browser):
    """A browser that believes itself on a phone."""

    def turn(self, width: int, height: int) -> None:
        """Hold it so that its screen has this size in CSS's pixels."""
        screen = {"width": width, "height": height, "deviceScaleFactor": PIXELS}
        self.call("Emulation.setDeviceMetricsOverride", mobile=True, **screen)

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + LIMIT
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < end, expression
            time.sleep(0.05)

    def middle(self, selector: str) -> tuple[float, float]:
        """Scroll to the first element of a selector. Return where its middle is then."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return x, y

    def touch(self, *places: tuple[float, float]) -> None:
        """Put a finger down at the first of some places, move it over the others, and take it up."""
        kinds = ["touchStart", *["touchMove"] * (len(places) - 1)]
        for kind, (x, y) in zip(kinds, places, strict=True):
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def tap(self, selector: str) -> None:
        """Tap the middle of the first element of a selector."""
        self.touch(self.middle(selector))

    def write_into(self, selector: str, text: str) -> None:
        """Tap a field, and write a text in the place of what it has, as a phone's keyboard does."""
        self.tap(selector)
        self.wait(f"document.activeElement === document.querySelector({json.dumps(selector)})")
        self.run("document.activeElement.select()")
        self.call("Input.insertText", text=text)

    def swipe(self, selector: str, distance: int) -> None:
        """Drag the first element of a selector to the left by so many pixels."""
        x, y = self.middle(selector)
        self.touch(*((x + distance / 2 - step, y) for step in range(0, distance + 1, 10)))


@contextmanager
def phone(chromium: str, page: Path, query: str, size: tuple[int, int]) -> Iterator[Phone]:
    """A page on a phone whose screen has this size in CSS's pixels."""
    held = Phone(chromium, page.parent)
    try:
        held.turn(*size)
        held.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        held.call("Emulation.setUserAgentOverride", userAgent=NAME, platform="Android")
        held.open(page, query)
        held.wait("document.documentElement.dataset.ready === 'yes'")
        yield held
    finally:
        held.close()
