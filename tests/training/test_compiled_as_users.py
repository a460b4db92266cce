"""Programs compiled with the compiler's defaults, unlike those of the other tests.

`make test` compiles with fewer optimisations. Without fusion emitters switched off, jax 0.10 fails
on each of these programs with its defaults only. `make compile-all` compiles all that there are.
"""

import os
import subprocess
import sys

import pytest

from randpos.store.tables import read_store


@pytest.mark.parametrize("encoding", ["rope", "relative", "randomized-rope"])
def test_even_pairs_trains_as_users_compile_it(tmp_path, encoding):
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    flags = ["--task", "even_pairs", "--encoding", encoding, "--preset", "smoke", "--no-evaluate"]
    line = [sys.executable, "-m", "randpos", "train", *flags, "--store", str(tmp_path)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert read_store(tmp_path).runs["step"].to_list() == [20]
