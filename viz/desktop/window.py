"""The browser that shows the app in a window of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from viz import ROOT

TITLE = "Headscope"


WIDTH, HEIGHT = 1280, 860
"""The window's initial size in pixels."""


ICON = ROOT / "viz" / "draw" / "icon.png"
"""A bitmap: not every system accepts vector icons."""


LINUX_BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("microsoft-edge", "microsoft-edge-stable", "brave-browser"),
)


MAC_BROWSERS = ("Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser")


WINDOWS_BROWSERS = (
    "Microsoft/Edge/Application/msedge.exe",
    "Google/Chrome/Application/chrome.exe",
    "Chromium/Application/chrome.exe",
    "BraveSoftware/Brave-Browser/Application/brave.exe",
)


QUIET = (
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
    # A temporary profile needs no keyring.
    "--password-store=basic",
    "--use-mock-keychain",
)
"""Switches that keep Chromium from asking the person or the internet for anything."""


def view(url: str) -> int:
    """Run the window: a webview on an address, until it is closed; returns 1 without a webview."""
    try:
        import webview
    except ImportError:
        return 1
    # By default, webviews refuse downloads.
    webview.settings["ALLOW_DOWNLOADS"] = True
    try:
        webview.create_window(TITLE, url, width=WIDTH, height=HEIGHT, text_select=True)
        webview.start(icon=str(ICON))
    except webview.WebViewException:
        return 1
    return 0


def browsers(platform: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """The Chromium, Chrome, Edge and Brave programs in their usual places.

    Args:
        environment: the variables that say where programs are.
    """
    named: Iterable[str | None]
    if platform == "win32":
        places = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        named = (
            f"{environment[place]}/{browser}"
            for browser in WINDOWS_BROWSERS
            for place in places
            if environment.get(place)
        )
    elif platform == "darwin":
        named = (
            f"{home}/Applications/{browser}.app/Contents/MacOS/{browser}"
            for browser in MAC_BROWSERS
            for home in ("", environment.get("HOME", ""))
        )
    else:
        named = (shutil.which(name, path=environment.get("PATH", "")) for name in LINUX_BROWSERS)
    for path in dict.fromkeys(filter(None, named)):
        if Path(path).is_file():
            yield Path(path)


def browser_command(browser: Path, url: str, profile: Path) -> list[str]:
    """The command by which a Chromium shows one address in a window without an address bar.

    Args:
        profile: a separate folder, which makes the process live exactly as long as its window.
    """
    command = [
        str(browser),
        f"--app={url}",
        f"--user-data-dir={profile}",
        f"--window-size={WIDTH},{HEIGHT}",
        f"--class={TITLE}",
        *QUIET,
    ]
    if sys.platform == "linux" and os.geteuid() == 0:
        # As root, Chromium refuses to start with a sandbox and complains without one.
        command += ["--no-sandbox", "--test-type"]
    return command
