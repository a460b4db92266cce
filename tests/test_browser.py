"""How `make test` comes by a browser, on machines that are folders with a few commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import MISSING

SCRIPT = Path(__file__).parent / "browser.py"
RUNS, STUB = "exit 0", "exit 1"


class Machine:
    """A PATH, a home, and a Playwright that can install or cannot."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.home = folder / "bin", folder / "home"
        self.own = folder / "playwright-chromium"
        self.command("sudo", 'while [ "$1" = -n ]; do shift; done; exec "$@"')
        package = folder / "packages" / "playwright"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text("raise SystemExit('no network')\n")
        (package / "sync_api.py").write_text(
            "import contextlib, types\n"
            f"kind = types.SimpleNamespace(executable_path={str(self.own)!r})\n"
            "sync_playwright = lambda: contextlib.nullcontext(types.SimpleNamespace(chromium=kind))"
        )
        self.playwright = package / "__main__.py"

    def command(self, name: str, script: str) -> None:
        write(self.bin / name, script)

    def prepare(self, **more: str) -> subprocess.CompletedProcess[str]:
        packages = str(self.playwright.parent.parent)
        kept = {"PATH": str(self.bin), "HOME": str(self.home), "PYTHONPATH": packages}
        line = [sys.executable, str(SCRIPT)]
        return subprocess.run(line, env=kept | more, capture_output=True, text=True)


def write(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def making(path: Path) -> str:
    """A shell script that makes a browser."""
    return f"printf '#!/bin/sh\\nexit 0\\n' > {path}; /bin/chmod 755 {path}"


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def apt(machine) -> Machine:
    install = making(machine.bin / "chromium")
    machine.command(
        "apt-get", f'[ "$1" = update ] || {{ {install}; }}; echo "$1" >> {machine.bin}/log'
    )
    return machine


def found(machine: Machine, path: Path) -> None:
    done = machine.prepare()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(str(path))


@pytest.mark.parametrize("name", ["chromium", "google-chrome"])
def test_a_browser_that_is_there_is_taken(apt, name):
    apt.command(name, RUNS)
    found(apt, apt.bin / name)
    assert not (apt.bin / "log").exists()


def test_an_application_of_macos_is_taken(machine):
    path = machine.home / "Applications" / "Chromium.app" / "Contents" / "MacOS" / "Chromium"
    write(path, RUNS)
    found(machine, path)


def test_a_stub_that_does_not_start_is_not_taken(apt):
    apt.command("chromium-browser", STUB)
    found(apt, apt.bin / "chromium")


def test_else_apt_installs_one(apt):
    found(apt, apt.bin / "chromium")
    assert (apt.bin / "log").read_text().split() == ["update", "install"]


@pytest.mark.parametrize("apt_fails", [False, True])
def test_without_apt_playwright_installs_one(machine, apt_fails):
    if apt_fails:
        machine.command("apt-get", STUB)
    script = making(machine.own)
    machine.playwright.write_text(f"import os\nos.system({script!r})\n")
    found(machine, machine.own)


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("false", 0), ("true", 1)])
def test_without_any_it_says_so_aloud_and_fails_only_in_ci(machine, ci, code):
    done = machine.prepare(CI=ci)
    assert done.returncode == code
    assert MISSING in done.stderr.splitlines()
