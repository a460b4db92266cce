"""Installs into the virtual environment that runs this: `python .ci/install.py REQUIREMENT ...`.

uv does in seconds what takes pip minutes, so it is used where it can be had, with the package
indexes that pip is configured for. Where it fails, pip does the work.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

PIP = [sys.executable, "-m", "pip"]
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
"""Settings of pip, and the environment variables by which uv takes the same."""


def read_pip_settings() -> dict[str, str]:
    """Returns pip's settings from its files and from the environment, as variables of uv."""
    listed = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=True)
    found = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        variable = SETTINGS.get(name.rpartition(".")[2])
        if variable:
            separator = "," if variable == "UV_FIND_LINKS" else " "
            found[variable] = separator.join(ast.literal_eval(value).split())
    return found


def main() -> int:
    """Installs the requirements of the command line; returns the exit code."""
    requirements = sys.argv[1:]
    uv = Path(sys.executable).parent / "uv"
    if not uv.exists():
        subprocess.run([*PIP, "install", "--quiet", "uv>=0.8,<1"], check=False)
    if uv.exists():
        # A package of an extra index may be older than PyPI's: compare all indexes, as pip does.
        strategy = {"UV_INDEX_STRATEGY": "unsafe-best-match", "VIRTUAL_ENV": sys.prefix}
        environment = read_pip_settings() | strategy | os.environ
        command = [str(uv), "pip", "install", "--quiet", "--python", sys.executable, *requirements]
        if subprocess.run(command, env=environment, check=False).returncode == 0:
            return 0
    print("install: uv is not available or failed; pip takes some minutes.", flush=True)
    return subprocess.run([*PIP, "install", "--quiet", *requirements], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
