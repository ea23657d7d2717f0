"""A headless Chromium controlled by its DevTools protocol."""

import base64
import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--hide-scrollbars", "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)  # fmt: skip
PATIENCE = 120.0
"""For anything that is waited for [s]; software draws slowly."""
T = TypeVar("T")
CLICK = """(() => {
  const own = [...document.querySelectorAll('button, label, div, span')]
    .filter((e) => e.innerText && e.innerText.trim() === %s && e.offsetParent !== null);
  if (!own.length) return false;
  let at = own[own.length - 1];
  if (%s) {
    while (at && !at.querySelector('input[type=checkbox]')) at = at.parentElement;
    if (!at) return false;
    at = at.querySelector('input[type=checkbox]');
  }
  at.click();
  return true;
})()"""


class Tab:
    """One page."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire, self._numbers = wire, itertools.count()
        self.complaints: list[str] = []
        self.call("Runtime.enable")

    def call(self, method: str, **values: Any) -> Any:
        number = next(self._numbers)
        self._wire.send(json.dumps({"id": number, "method": method, "params": values}))
        while True:
            heard = json.loads(self._wire.recv(timeout=PATIENCE))
            if heard.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(heard["params"]["exceptionDetails"]))
            if heard.get("id") == number:
                return heard.get("result", heard)

    def run(self, script: str) -> Any:
        """The value of an expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return answer.get("result", {}).get("value")

    def open(self, url: str, width: int = 1280, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.call("Page.navigate", url=url)

    @property
    def text(self) -> str:
        return str(self.run("document.body ? document.body.innerText : ''") or "")

    def wait_for(self, words: str) -> None:
        until(lambda: words in self.text)

    def click(self, words: str, *, box: bool = False) -> None:
        """Press the button that says so, or the box beside what says so."""
        script = CLICK % (json.dumps(words), "true" if box else "false")
        until(lambda: bool(self.run(script)))

    def image(self, path: Path) -> Path:
        # there is none while a page is being replaced by the next
        data = until(lambda: self.call("Page.captureScreenshot").get("data"))
        path.write_bytes(base64.b64decode(data))
        return path


def until(holds: Callable[[], T]) -> T:
    """What is true at last."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if result := holds():
            return result
        time.sleep(0.3)
    raise TimeoutError


@contextmanager
def browser(directory: Path) -> Iterator[Tab]:
    """A tab of a browser that ends with the block.

    Args:
        directory: For what the browser keeps.
    """
    assert PROGRAM is not None
    words = (PROGRAM, *OPTIONS, f"--user-data-dir={directory / 'profile'}", "about:blank")
    with (directory / "browser.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        message = until(
            lambda: re.search(rb"ws://(\S+?)/", (directory / "browser.log").read_bytes())
        )
        with urlopen(f"http://{message[1].decode()}/json") as answer:
            tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
        with connect(tabs[0]["webSocketDebuggerUrl"], max_size=2**26) as wire:
            yield Tab(wire)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
