"""A browser that a test asks and shows pages to, over a pipe: one start for many pages, widths and colour schemes."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from patience import LIMIT
from PIL import Image

# What is wrong with how a page looks: it scrolls sideways, text is cut off, text is too faint. Everything is unfolded
# first. A text may be in a box that scrolls in itself. Contrast is WCAG's, of computed colours.
LOOK = """
(() => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const wrong = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page is ${root.scrollWidth} wide of ${innerWidth}`);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parts = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const kept = (make) => {
    const known = new Map();
    return (key) => known.has(key) ? known.get(key) : known.set(key, make(key)).get(key);
  };
  const luminance = kept((colour) => {
    const [r, g, b] = parts(colour).slice(0, 3).map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  });
  const opacity = kept((colour) => parts(colour)[3]);
  const bars = kept((svg) => [...svg.querySelectorAll("rect")].reverse()
    .map((bar) => [bar.getBoundingClientRect(), getComputedStyle(bar).fill]));
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const inside = (rect, x, y) => rect.left <= x && x <= rect.right && rect.top <= y && y <= rect.bottom;
  const behind = (element, x, y) => {
    const svg = element.closest("svg");
    const bar = svg && bars(svg).find(([box]) => inside(box, x, y));
    if (bar) return bar[1];
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (opacity(colour) === 255) return colour;
      if (opacity(colour)) wrong.push(`a background is translucent: ${at.className || at.tagName}`);
    }
    return "white";
  };
  const cut = (element, rect) => {
    for (let at = element; at; at = at.parentElement) {
      const box = at.getBoundingClientRect(), x = getComputedStyle(at).overflowX;
      if (at.tagName === "svg" || x === "hidden" || x === "clip") {
        if (rect.left < box.left - 1.5 || rect.right > box.right + 1.5) return true;
      }
      if (x === "auto" || x === "scroll") return false;
    }
    return rect.left < -1 || rect.right > innerWidth + 1;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (texts.nextNode()) {
    const node = texts.currentNode, element = node.parentElement, style = getComputedStyle(element);
    const words = node.textContent.trim();
    if (!words || ["SCRIPT", "STYLE", "TITLE", "title"].includes(element.tagName)) continue;
    // What is for screen readers alone, as the heads of a table whose cells say them.
    const spoken = element.closest(".skip, .hidden")
      || getComputedStyle(element.closest("thead") ?? element).clipPath !== "none";
    if (style.visibility === "hidden" || spoken) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter((rect) => rect.width && rect.height);
    if (!rects.length) continue;
    seen += 1;
    const said = words.slice(0, 40), svg = element.closest("svg");
    const shown = svg ? [element.getBoundingClientRect()] : rects;
    if (shown.some((rect) => cut(element, rect))) wrong.push(`cut off: ${said}`);
    const middle = rects[0], ink = svg ? style.fill : style.color;
    const ratio = contrast(ink, behind(element, middle.left + middle.width / 2, middle.top + middle.height / 2));
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${said}`);
    if (parseFloat(style.fontSize) < (svg ? 9 : 12)) wrong.push(`letters of ${style.fontSize}: ${said}`);
  }
  return { wrong: [...new Set(wrong)], seen, height: root.scrollHeight };
})()
"""


class Browser:
    """Chromium without a window. Every call waits for its answer."""

    def __init__(self, program: str, folder: Path):
        ours, theirs = os.pipe(), os.pipe()
        self.out, self.back = ours[1], theirs[0]
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
            "--disable-background-networking", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe",
        ]  # fmt: skip

        # Chromium reads its file 3 and writes to its file 4; whatever the pipes' numbers are here, they end there.
        wiring = f'exec 3<&{ours[0]} 4>&{theirs[1]}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", wiring, "bash", *command],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.rest, self.count, self.session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.count += 1
        asked = {"id": self.count, "method": method, "params": parameters}
        asked |= {"sessionId": self.session} if self.session else {}
        os.write(self.out, json.dumps(asked).encode() + b"\0")
        while (heard := self._heard()).get("id") != self.count:
            pass
        assert "error" not in heard, heard
        return dict(heard["result"])

    def _heard(self) -> dict[str, Any]:
        end = time.monotonic() + LIMIT
        while b"\0" not in self.rest:
            assert select.select([self.back], [], [], max(0, end - time.monotonic()))[0], "the browser says nothing"
            got = os.read(self.back, 1 << 20)
            assert got, "the browser has ended"
            self.rest += got
        first, _, self.rest = self.rest.partition(b"\0")
        return dict(json.loads(first))

    def open(self, page: Path, query: str = "") -> None:
        """Show a page, and wait until it is there. query: what follows its address."""
        self.call("Page.navigate", url=f"{page.as_uri()}{query}")
        while self._heard().get("method") != "Page.loadEventFired":
            pass

    def view(self, width: int, scheme: str, height: int = 1000) -> None:
        """Have a window of that width, and prefer light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:
        """What a script in the page says, whatever the page allows itself."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def picture(self, height: int | None = None) -> Image.Image:
        """The window's picture; of the whole page, where a height is given."""
        width = self.run("innerWidth")
        clip = {} if height is None else {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=height is not None, **clip)
        with Image.open(io.BytesIO(base64.b64decode(shot["data"]))) as image:
            return image.convert("RGB")

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(AssertionError, OSError):
            self.session = ""
            self.call("Browser.close")
        os.close(self.out)
        os.close(self.back)
        self.process.wait(LIMIT)


@contextlib.contextmanager
def browser(program: str, folder: Path) -> Iterator[Browser]:
    """A browser for a while."""
    shown = Browser(program, folder)
    try:
        yield shown
    finally:
        shown.close()
