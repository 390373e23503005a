"""A phone that Chromium emulates: its screen and pixels, its name, touch in the place of a mouse."""

from __future__ import annotations

import base64
import itertools
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import LIMIT

NAME = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 "
    "Mobile Safari/537.36"
)
PIXELS = 2.625  # of the screen to one of CSS


class Phone:
    """A browser that is driven by the DevTools protocol: messages of JSON on two pipes, each ended by a zero byte."""

    def __init__(self, write: int, read: int):
        self.write, self.read, self.buffer = write, read, b""
        self.numbers, self.session = itertools.count(1), ""

    def __call__(self, method: str, **parameters: Any) -> Any:
        """Ask for something, and return the answer."""
        number = next(self.numbers)
        session = {"sessionId": self.session} if self.session else {}
        message = {"id": number, "method": method, "params": parameters, **session}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                part = os.read(self.read, 1 << 16)
                assert part, "the browser has ended"
                self.buffer += part
            text, _, self.buffer = self.buffer.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def held(self, width: int, height: int) -> None:
        """Hold it so that its screen has this size in CSS's pixels."""
        screen = {"width": width, "height": height, "deviceScaleFactor": PIXELS}
        self("Emulation.setDeviceMetricsOverride", mobile=True, **screen)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page's JavaScript."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + LIMIT
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < end, expression
            time.sleep(0.05)

    def middle(self, selector: str) -> tuple[float, float]:
        """Scroll to the first element of a selector. Return where its middle is then."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return x, y

    def tap(self, selector: str) -> None:
        """Tap the middle of the first element of a selector with a finger."""
        self(
            "Input.dispatchTouchEvent",
            type="touchStart",
            touchPoints=[dict(zip("xy", self.middle(selector), strict=True))],
        )
        self("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def write_into(self, selector: str, text: str) -> None:
        """Tap a field, and write a text in the place of what it has, as a phone's keyboard does."""
        self.tap(selector)
        self.wait(f"document.activeElement === document.querySelector({json.dumps(selector)})")
        self.value("document.activeElement.select()")
        self("Input.insertText", text=text)

    def swipe(self, selector: str, distance: int) -> None:
        """Drag the first element of a selector to the left by so many pixels, with a finger."""
        x, y = self.middle(selector)
        places = [{"x": x + distance / 2 - step, "y": y} for step in range(0, distance + 1, 10)]
        self("Input.dispatchTouchEvent", type="touchStart", touchPoints=places[:1])
        for place in places[1:]:
            self("Input.dispatchTouchEvent", type="touchMove", touchPoints=[place])
        self("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def picture(self) -> bytes:
        """The screen as PNG."""
        return base64.b64decode(self("Page.captureScreenshot")["data"])


@contextmanager
def phone(chromium: str, page: Path, query: str = "", size: tuple[int, int] = (412, 915)) -> Iterator[Phone]:
    """A page on an emulated phone."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe",
        f"--user-data-dir={page.parent / 'phone'}", "about:blank",
    ]  # fmt: skip
    log = (os.POSIX_SPAWN_OPEN, 2, str(page.parent / "phone.log"), os.O_WRONLY | os.O_CREAT, 0o600)
    pipes = [(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, from_write, 4)]
    browser = os.posix_spawnp(chromium, command, os.environ, file_actions=[*pipes, log])
    os.close(to_read)
    os.close(from_write)
    driven = Phone(to_write, from_read)
    try:
        target = next(each for each in driven("Target.getTargets")["targetInfos"] if each["type"] == "page")
        attached = driven("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        driven.session = attached["sessionId"]
        driven.held(*size)
        driven("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        driven("Emulation.setUserAgentOverride", userAgent=NAME, platform="Android")
        driven("Page.navigate", url=f"{page.as_uri()}{query}")
        driven.wait("document.documentElement?.dataset.ready === 'yes'")
        yield driven
    finally:
        os.kill(browser, signal.SIGKILL)
        os.waitpid(browser, 0)
        os.close(to_write)
        os.close(from_read)
