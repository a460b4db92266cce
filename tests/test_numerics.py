"""Random streams, and what a run records of the numerics."""

import itertools
import json
import warnings
from typing import get_args

import jax
import numpy as np
import pytest

from randpos import Schedule, numerics, train
from randpos.numerics import Use, random_stream
from tests.experiments import tiny


def test_no_two_uses_of_a_seed_share_a_key():
    """Roots of all uses of some seeds, and what is folded into them for small numbers."""
    keys = {}
    for use, seed in itertools.product(get_args(Use), range(4)):
        root = random_stream(use, seed)
        keys[use, seed] = np.asarray(jax.random.key_data(root)).tolist()
        for number in range(50):
            folded = jax.random.fold_in(root, number)
            keys[use, seed, number] = np.asarray(jax.random.key_data(folded)).tolist()
    assert len({tuple(key) for key in keys.values()}) == len(keys)


def test_a_stream_works_with_traced_seeds():
    traced = jax.jit(lambda seed: jax.random.key_data(random_stream("training", seed)))
    np.testing.assert_array_equal(
        traced(np.uint32(7)), jax.random.key_data(random_stream("training", 7))
    )


def test_continuing_under_other_numerics_says_so(tmp_path):
    short = tiny(steps=200, lengths=Schedule("fixed", 4))

    def stop(progress):
        if progress.step >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(short, store=tmp_path, report=stop)
    path = next(tmp_path.glob("*/environment.json"))
    environment = json.loads(path.read_text())
    assert environment["numerics"] == numerics.VERSION
    del environment["numerics"]  # as version 0.1 wrote it
    path.write_text(json.dumps(environment))
    with pytest.warns(UserWarning, match="begun under version 1 of the numerics"):
        run = train(short, store=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run.metrics()[-1]["step"] == 200
