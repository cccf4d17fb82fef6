"""`headscope`: the app, in the browser or in a desktop window."""

import argparse

from viz import ROOT
from viz.desktop import desktop

REFUSED = (desktop.ServerError,)
"""Errors whose message is one sentence for the user."""


def serve(arguments: argparse.Namespace) -> None:
    """Serve the app until it is stopped."""
    from streamlit.web import cli

    options = [
        f"--server.{name}={value}"
        for name in ("port", "address")
        if (value := getattr(arguments, name)) is not None
    ]
    cli.main(["run", str(ROOT / "app.py"), *options], prog_name="headscope")


def fill(parser: argparse.ArgumentParser) -> None:
    """Give `headscope desktop` its options."""
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--webview", action="store_true", help="in a webview alone")
    kind.add_argument("--browser", action="store_true", help="in Chromium, Chrome, Edge or Brave")


def run(arguments: argparse.Namespace) -> None:
    """Open the app in a desktop window and serve it until the window is closed."""
    desktop.run(webview=not arguments.browser, browser=not arguments.webview)
