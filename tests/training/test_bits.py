"""Short trainings and tests whose numbers must not change: digests exactly, floats up to rounding.

Numbers differ between processors in the last bits. On one machine they are equal bit for bit; the
printed difference shows it (`pytest -s`). After a change of `numerics.VERSION` write the file anew:
`python -m tests.training.test_bits`.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

from randpos import Evaluation, Optimizer, PositionOptions, Run, Schedule, train
from tests.experiments import tiny

STORED = Path(__file__).parent / "data" / "bits.json"

EXPERIMENTS = {
    "relative": tiny(
        encoding="randomized-relative",
        steps=20,
        learning_rate=1e-3,
        lengths=Schedule("uniform", 3),
        evaluation=Evaluation(stride=2, batch=40, draws=2),
    ),
    "rope": tiny(
        task="even_pairs",
        encoding="randomized-rope",
        steps=20,
        learning_rate=1e-3,
        positions=PositionOptions(maximum=64, draw="per_layer"),
        optimizer=Optimizer(warmup=5, final_rate=0.1, weight_decay=0.01, average=0.9),
    ),
    "geometric": tiny(task="missing_duplicate", encoding="geometric", steps=20, learning_rate=1e-3),
    "alibi": tiny(
        task="duplicate_string", encoding="randomized-alibi", steps=20, learning_rate=1e-3
    ),
}


def measure(run: Run) -> dict[str, Any]:
    """Returns a run's digest, loss, accuracies, and a weighted sum of all its parameters."""
    leaves = jax.tree.leaves(eqx.filter(run.model(), eqx.is_array))
    weights = np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in leaves])
    return {
        "digest": run.experiment().digest,
        "loss": run.metrics()[-1]["loss"],
        "accuracy": run.metrics()[-1]["accuracy"],
        "parameters": float(weights @ np.random.default_rng(0).normal(size=weights.size)),
        "tests": [[point.length, point.accuracy] for point in run.evaluate()[0]],
    }


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_numbers_and_digests_do_not_change(name, tmp_path):
    stored = json.loads(STORED.read_text())[name]
    measured = measure(train(EXPERIMENTS[name], store=tmp_path))
    assert measured.pop("digest") == stored.pop("digest")
    numbers = [np.hstack([np.ravel(value) for value in row.values()]) for row in (measured, stored)]
    print(f"{name}: largest difference {np.abs(numbers[0] - numbers[1]).max()}")
    # Other compiler flags move the sum over all parameters by 1.4e-6.
    np.testing.assert_allclose(*numbers, rtol=0, atol=1e-5)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as store:
        rows = {name: measure(train(e, store=store)) for name, e in EXPERIMENTS.items()}
    STORED.write_text(json.dumps(rows, indent=2) + "\n")
