"""A training step as a definition: loss, gradient, clipping and Adam in float64 NumPy.

The gradient is a finite difference, parameter by parameter: nothing here differentiates.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.oracles.encodings import encode

Arrays = list[np.ndarray]


def cross_entropy(logits: np.ndarray, answer: int) -> float:
    """−log softmax(logits)[answer]."""
    top = logits.max()
    return float(top + np.log(np.exp(logits - top).sum()) - logits[answer])


def loss(
    model: Any,
    tokens: np.ndarray,
    answers: np.ndarray,
    positions: list[tuple[np.ndarray, np.ndarray]],
) -> float:
    """The mean over the batch and over all answers, whether they count for the accuracy or not.

    Args:
        model: An encoder whose parameters are float64 NumPy arrays.
        tokens: Inputs and placeholders, without padding.
        answers: What should stand at the placeholders, the last tokens.
        positions: For every layer the positions and the offsets.
    """
    total = 0.0
    for row, wanted in zip(tokens, answers, strict=True):
        logits = encode(model, row, positions, np.ones(len(row), bool))[-len(wanted) :]
        total += sum(cross_entropy(*pair) for pair in zip(logits, wanted, strict=True))
    return total / answers.size


def gradient(function: Callable[[], float], parameters: Arrays, width: float = 1e-5) -> Arrays:
    """Central differences; `function` reads the parameters, which are changed and put back."""
    found = []
    for array in parameters:
        slope = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            kept = array[place]
            array[place] = kept + width
            above = function()
            array[place] = kept - width
            below = function()
            array[place] = kept
            slope[place] = (above - below) / (2 * width)
        found.append(slope)
    return found


def clip(gradients: Arrays, largest: float) -> Arrays:
    """Scales all gradients by one factor, so that their common norm is at most `largest`."""
    norm = np.sqrt(sum(float((g**2).sum()) for g in gradients))
    return [g * min(1.0, largest / norm) for g in gradients]


class Adam(NamedTuple):
    """Kingma & Ba (2015), algorithm 1."""

    mean: Arrays
    square: Arrays
    steps: int = 0

    def step(self, parameters: Arrays, gradients: Arrays, rate: float) -> "Adam":
        """Changes the parameters in place, and returns the new moments."""
        mean = [0.9 * m + 0.1 * g for m, g in zip(self.mean, gradients, strict=True)]
        square = [0.999 * v + 0.001 * g**2 for v, g in zip(self.square, gradients, strict=True)]
        steps = self.steps + 1
        for p, m, v in zip(parameters, mean, square, strict=True):
            p -= rate * (m / (1 - 0.9**steps)) / (np.sqrt(v / (1 - 0.999**steps)) + 1e-8)
        return Adam(mean, square, steps)
