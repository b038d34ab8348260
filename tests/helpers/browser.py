"""Chromium without a screen, asked over a pipe by its DevTools protocol: nothing but Python is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip

KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
    "ArrowRight": 39, "ArrowDown": 40, "F8": 119,
}  # fmt: skip

# the protocol reads from the file number 3 and writes to 4
START = """
import fcntl, os, sys
for target, number in zip((3, 4), [fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]]):
    os.dup2(number, target)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._read = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []
        self.allowed: tuple[str, ...] = ("file:", "data:", "blob:")
        (target,) = [t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self._session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def wait(self, event: str) -> Any:
        """Wait for an event of the protocol."""
        while True:
            found = self._next()
            if found.get("method") == event:
                return found["params"]

    def _next(self) -> Any:
        while b"\0" not in self._read:
            chunk = os.read(self._reading, 1 << 20)
            assert chunk, "the browser has ended"
            self._read += chunk
        text, _, self._read = self._read.partition(b"\0")
        message = json.loads(text)
        match message:
            case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
                self.errors.append(str(details))
            case {"method": "Log.entryAdded", "params": {"entry": {"level": "error"} as entry}}:
                self.errors.append(entry["text"])
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": str(url)}}}:
                if not url.startswith(self.allowed):
                    self.errors.append(f"asked for {url}")
        return message

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file and wait until it is loaded."""
        self.visit(path.as_uri(), width=width, height=height, dark=dark)

    def visit(
        self, url: str, *, width: int = 1200, height: int = 900, dark: bool = False, mobile: bool = False
    ) -> None:  # fmt: skip
        """Go to an address and wait until it is loaded."""
        self.errors.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript comes to; a promise is awaited."""
        found = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, condition: str, seconds: float = 20) -> Any:
        """Wait until an expression is true; an error in it counts as false."""
        found = self.value(
            f"new Promise((done) => {{ const late = performance.now() + {seconds * 1000}; const look = () => {{"
            f" let found = false; try {{ found = ({condition}); }} catch {{ }}"
            " if (found || performance.now() > late) done(Boolean(found)); else setTimeout(look, 15); }; look(); })"
        )
        assert found, f"never came true: {condition}; errors: {self.errors}"
        return found

    def key(self, name: str, *, ctrl: bool = False, shift: bool = False, alt: bool = False) -> None:
        """Press a key: a letter, or one of the names of the protocol, such as ArrowLeft."""
        held = (1 if alt else 0) + (2 if ctrl else 0) + (8 if shift else 0)
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        code = KEY_CODES.get(name, ord(name.upper()) if len(name) == 1 else 0)
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if kind == "keyDown" and text and not ctrl else {}
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, modifiers=held,
                **typed,
            )  # fmt: skip

    def type(self, text: str) -> None:
        """Enter text where the focus is."""
        self.ask("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Let the mouse move, press or turn its wheel."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def photograph(self, path: Path) -> None:
        """Write what the page shows as a PNG file."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browse(program: str) -> Iterator[Browser]:
    """Start a Chromium with a new profile; end it when done."""
    asks, told = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [*OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        command = [sys.executable, "-c", START, str(asks[0]), str(told[1]), program, *options]
        process = subprocess.Popen(
            command, pass_fds=(asks[0], told[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(asks[0])
        os.close(told[1])
        try:
            yield Browser(told[0], asks[1])
        finally:
            os.close(asks[1])
            os.close(told[0])
            process.terminate()
            process.wait(20)
