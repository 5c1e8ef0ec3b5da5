"""A headless Chromium, driven over its debugging pipe; nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ANSWER_WITHIN = 60.0


class Chromium:
    """One browser with one page. `events` holds everything it reported, requests and errors among them."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise SystemExit("no Chromium found: apt-get install chromium (one of " + ", ".join(NAMES) + ")")
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands_read, self._commands = os.pipe()
        self._answers, answers_write = os.pipe()

        def connect() -> None:
            # The browser reads commands from descriptor 3 and answers on 4; the pipes' own ends may
            # have these numbers.
            read, write = os.dup(commands_read), os.dup(answers_write)
            read, write = (os.dup(read), os.dup(write)) if {read, write} & {3, 4} else (read, write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [
                program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                "--no-first-run", "--disable-extensions", "--disable-background-networking",
                f"--user-data-dir={self.profile.name}", "about:blank",
            ],
            preexec_fn=connect, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )
        os.close(commands_read)
        os.close(answers_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_WITHIN
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._answers, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path: Path, width: int, dark: bool) -> None:
        """Opens a file in a window of this width, and waits until it is there."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, expression: str) -> Any:
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["text"])
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        self.profile.cleanup()
