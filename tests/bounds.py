"""Tests the package with the oldest, or the newest, versions that pyproject.toml allows.

`make bounds` runs it: `python tests/bounds.py lowest .venv/lowest`. It makes a virtual environment
in that folder, installs there what the tests below need, and runs them: those that meet every
dependency without compiling much.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = ("report", "tracking")
TOOLS = ("beartype", "hypothesis", "playwright", "pytest", "pytest-xdist", "scipy")
"""What of the extra `dev` the tests import; PyTorch, Ray and the browser are tested elsewhere."""
SUBSET = [
    "tests/results/test_selection.py",
    "tests/results/figures/test_save.py",
    "tests/fuzz/test_checkpoints.py",
    "tests/fuzz/test_commands.py",
    "tests/fuzz/test_configs.py",
    "tests/fuzz/test_stores.py",
    "tests/paper",
    "tests/results/tables/test_formats.py",
    "tests/results/page/test_page.py",
    "tests/results/test_scores.py",
    "tests/sweeps/test_grid.py",
    "tests/nn/test_attention.py",
    "tests/store/test_checkpoints.py",
    "tests/cli/test_main.py",
    "tests/test_catalog.py",
    "tests/test_experiment.py",
    "tests/test_positions.py",
    "tests/store/test_accuracies.py",
    "tests/store/test_folder.py",
    "tests/cli/test_streams.py",
    "tests/training/test_tracking.py",
    "tests/training/test_interruption.py",
    "tests/training/test_loop.py",
    "tests/store/test_tables.py",
    # How much memory reading takes is promised for the newest only.
    "--deselect=tests/store/test_tables.py::"
    "test_six_thousand_runs_of_five_hundred_lengths_fit_into_a_gigabyte",
]


def requirements() -> list[str]:
    """Lists what is installed, with the bounds of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    tools = [
        requirement
        for requirement in optional["dev"]
        if re.split(r"[^\w-]", requirement)[0] in TOOLS
    ]
    return [
        *project["dependencies"],
        *(requirement for name in EXTRAS for requirement in optional[name]),
        *tools,
    ]


def main(resolution: str, folder: Path) -> int:
    """Installs and tests; returns the exit code of the tests."""
    venv.create(folder, with_pip=True)
    bin = folder.absolute() / "bin"
    subprocess.run([bin / "pip", "install", "--quiet", "uv"], check=True)
    # The package itself comes from the source tree: uv then takes all these as direct.
    line = [bin / "uv", "pip", "install", "--quiet", "--python", bin / "python", "--upgrade"]
    strategy = {"lowest": "lowest-direct", "newest": "highest"}[resolution]
    subprocess.run([*line, "--resolution", strategy, *requirements()], check=True)
    subprocess.run([*line, "--no-deps", "--editable", ROOT], check=True)
    subprocess.run([bin / "uv", "pip", "list", "--python", bin / "python"], check=True)
    test = [bin / "python", "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    return subprocess.run([*test, *SUBSET], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
