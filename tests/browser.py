"""Finds a browser for the tests of the report page, or installs one: `python tests/browser.py`.

Takes a Chromium or Chrome that is there, else the Debian package, else Playwright's own. If none
can be had, the tests of the page are left out with a loud line; with `CI=true` that is an error.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APPLICATIONS = ("Google Chrome", "Chromium")
MISSING = (
    "THE REPORT PAGE IS NOT TESTED: there is no Chromium or Chrome, and none could be installed; "
    "install one and run the tests again."
)


def is_required() -> bool:
    """Whether a missing browser is an error."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


@functools.cache
def find_browser() -> str | None:
    """Returns the path of the first browser that starts."""
    return next((path for path in _candidates() if _starts(path)), None)


def _candidates() -> Iterator[str]:
    yield from (path for name in NAMES if (path := shutil.which(name)))
    for folder in (Path("/Applications"), Path.home() / "Applications"):  # macOS
        for name in APPLICATIONS:
            yield str(folder / f"{name}.app" / "Contents" / "MacOS" / name)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        own = play.chromium.executable_path
    yield own


def _starts(path: str) -> bool:
    """Whether it starts: not a stub, and no library is missing."""
    return _run(path, "--version", quiet=True)


def _run(*line: str, quiet: bool = False) -> bool:
    kept = subprocess.PIPE if quiet else sys.stderr
    try:
        return subprocess.run(line, stdout=kept, stderr=kept, timeout=900).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def install_browser() -> None:
    """Installs one with apt or, where there is none or it fails, with Playwright."""
    if shutil.which("apt-get"):
        # Without a terminal nobody can type a password.
        ask = ["sudo", *([] if sys.stdin.isatty() else ["-n"])] if os.geteuid() else []
        options = ["-y", "-q", "--no-install-recommends"]
        _run(*ask, "apt-get", "update", "-q") and _run(
            *ask, "apt-get", "install", *options, "chromium"
        )
        find_browser.cache_clear()
    if find_browser() is None:
        _run(sys.executable, "-m", "playwright", "install", "chromium")
        find_browser.cache_clear()


def main() -> int:
    """Makes sure that there is a browser; returns 1 if there must be one and is not."""
    if find_browser() is None:
        install_browser()
    if found := find_browser():
        print(f"the report page is tested in {found}")
        return 0
    line = "!" * len(MISSING)
    print(f"{line}\n{MISSING}\n{line}", file=sys.stderr)
    return 1 if is_required() else 0


if __name__ == "__main__":
    sys.exit(main())
