"""A real Firefox without a window, driven by WebDriver BiDi, which it speaks by itself.

Playwright drives only a Firefox of its own. https://w3c.github.io/webdriver-bidi/
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from tests.kit.running_app import free_port

SECONDS = 60
EMPTY = "about:blank"

REFUSED = """() => {
  globalThis.refused = [];
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
    refused.push([violatedDirective, blockedURI, sample].join(" "));
  });
}"""
"""Notes in each document what its security policy refuses; Firefox does not log that as errors."""

HELPERS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

PREFERENCES = {
    # Nothing beyond this machine can be asked: all of it goes through a proxy that is not there.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "localhost, 127.0.0.1",
    "intl.accept_languages": "en-US",
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
}


def find_firefox() -> str | None:
    """The command of an installed Firefox."""
    return next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)


LEFT = "status=2152398850"
"""Of a file that was still on its way when its page was left (NS_BINDING_ABORTED)."""


class FirefoxPage:
    """A tab.

    Attributes:
        asked: the addresses of all requests.
        trouble: errors in its console.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self.asked: list[str] = []
        self.trouble: list[str] = []
        self._call("session.new", capabilities={})
        events = ["network.beforeRequestSent", "log.entryAdded"]
        self._call("session.subscribe", events=events)
        # In every document from its start, whichever navigation brings it.
        for script in (REFUSED, f"() => {{ {HELPERS} }}"):
            self._call("script.addPreloadScript", functionDeclaration=script)
        (self._context,) = self._contexts()

    def open(self, address: str) -> None:
        """Go to an address, and wait until it is loaded."""
        self._call("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def pop_up(self, script: str) -> None:
        """Run an expression as a person's click runs it, and turn to the window that it opens.

        A window begins empty; what is asked of it before its page stands is lost with it.
        """
        before = self._contexts()
        self._run(script, userActivation=True)
        (self._context,) = self._contexts().keys() - before.keys()
        end = time.monotonic() + SECONDS
        while self._contexts()[self._context] == EMPTY:
            assert time.monotonic() < end, "The window stayed empty."
            time.sleep(0.05)

    @property
    def refused(self) -> list[str]:
        """What the security policy has refused to the document."""
        refused: list[str] = self.evaluate("refused")
        return refused

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in CSS pixels."""
        size = {"width": width, "height": height}
        self._call("browsingContext.setViewport", context=self._context, viewport=size)

    def call(self, function: str, *given: object) -> Any:
        """The plain value of a function of firefox.js, awaited."""
        return self.evaluate(f"{function}(...{json.dumps(given)})")

    def evaluate(self, script: str) -> Any:
        """The plain value of an expression, or of the promise that it is."""
        text = f"Promise.resolve({script}).then((value) => JSON.stringify(value ?? null))"
        return json.loads(self._run(text)["value"])

    def _contexts(self) -> dict[str, str]:
        """The address of every tab and window."""
        tabs = self._call("browsingContext.getTree")["contexts"]
        return {each["context"]: each["url"] for each in tabs}

    def _run(self, script: str, **options: bool) -> dict[str, Any]:
        answer = self._call(
            "script.evaluate",
            expression=script,
            target={"context": self._context},
            awaitPromise=True,
            **options,
        )
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        result: dict[str, Any] = answer["result"]
        return result

    def _call(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        command = {"id": self._last, "method": method, "params": parameters}
        self._connection.send(json.dumps(command))
        while True:
            message = json.loads(self._connection.recv(timeout=SECONDS))
            if message.get("id") == self._last:
                assert message["type"] == "success", message
                return message["result"]
            self._hear(message)

    def _hear(self, event: dict[str, Any]) -> None:
        heard = event.get("params", {})
        if event.get("method") == "network.beforeRequestSent":
            self.asked.append(heard["request"]["url"])
        elif (
            event.get("method") == "log.entryAdded"
            and heard["level"] == "error"
            and LEFT not in heard["text"]
        ):
            self.trouble.append(heard["text"])


@contextmanager
def firefox(command: str) -> Iterator[FirefoxPage]:
    """A fresh Firefox with one tab."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        lines = (f"user_pref({json.dumps(n)}, {json.dumps(v)});" for n, v in PREFERENCES.items())
        Path(profile, "user.js").write_text("\n".join(lines), encoding="utf-8")
        port = free_port()
        options = ["--headless", "--no-remote", "--profile", profile]
        process = subprocess.Popen(
            [command, *options, "--remote-debugging-port", str(port), EMPTY],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with _connected(port) as connection:
                yield FirefoxPage(connection)
        finally:
            process.terminate()
            process.wait()


def _connected(port: int) -> ClientConnection:
    end = time.monotonic() + SECONDS
    while True:
        try:
            return connect(f"ws://127.0.0.1:{port}/session", max_size=None, proxy=None)
        except (OSError, WebSocketException):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
