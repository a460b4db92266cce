"""Do longer sequences lead to activations unlike those met in training? (appendix B.3)

As the paper does, a PCA is fitted to the activations of 30 sequences of the training length, and
those of longer ones are projected with it. A plane may hide or exaggerate a difference, so a number
that uses all dimensions goes with it: see `share_inside`.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from randpos.analysis.models import Observed, Trained, observe, usual_lengths
from randpos.model import Trace

Points = Float[np.ndarray, "points dim"]
Tokens = Literal["outputs", "inputs", "all"]
LEVEL = 0.95
"""Share of fresh activations of the training length that count as inside, by definition."""


class PCA(NamedTuple):
    """Principal components: the directions of largest variance, without whitening."""

    mean: Float[np.ndarray, " dim"]
    axes: Float[np.ndarray, "component dim"]
    explained: Float[np.ndarray, " component"]
    """Share of the variance along each axis; zero where nothing varies."""

    def project(self, points: Points) -> Float[np.ndarray, "points component"]:
        """Returns the coordinates of points along the axes."""
        return (points - self.mean) @ self.axes.T


def fit_pca(points: Points, components: int = 2) -> PCA:
    """Fits principal components by a singular value decomposition of the centred points.

    Each axis points to the side of its largest entry, so that a picture is not mirrored by chance.
    """
    mean = points.mean(axis=0)
    _, values, axes = np.linalg.svd(points - mean, full_matrices=False)
    axes = axes[:components]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    variances = values**2
    total = variances.sum()
    explained = variances[:components] / total if total > 0 else np.zeros(len(axes))
    return PCA(mean, axes, explained)


def nearest(points: Points, reference: Points) -> Float[np.ndarray, " points"]:
    """Returns the distance of each point to the nearest reference point."""
    # Shifted to the middle first: the expanded square cancels less.
    middle = reference.mean(axis=0)
    reference = reference - middle
    squares, found = (reference**2).sum(axis=1), []
    for start in range(0, len(points), 1024):  # bounds the memory
        some = points[start : start + 1024] - middle
        square = (some**2).sum(axis=1)[:, None] - 2 * some @ reference.T + squares
        found.append(np.sqrt(np.maximum(square.min(axis=1), 0.0)))
    return np.concatenate(found)


def share_inside(reference: Points, control: Points, points: Points) -> float:
    """Returns the share of points that lie about as near to the reference as a control does.

    Near is within the distance to the nearest reference point that 95 % of the control keep. With
    a control from the same distribution as the reference, points of that distribution too give
    0.95, and points far from it 0.
    """
    limit = float(np.quantile(nearest(control, reference), LEVEL))
    # Where all activations are equal, rounding must not decide.
    slack = 1e-4 * float(np.abs(reference).max())
    return float(np.mean(nearest(points, reference) <= limit + slack))


class Layer(NamedTuple):
    """Activations after one layer, in the plane that was fitted to the short sequences."""

    name: str
    short: Float[np.ndarray, "short component"]
    long: Float[np.ndarray, "long component"]
    explained: Float[np.ndarray, " component"]
    inside: float
    """Share of the long sequences' activations within the range of the short ones, in all
    dimensions; 0.95 if they are distributed alike."""


class Activations(NamedTuple):
    """How activations at two lengths compare, layer by layer."""

    task: str
    encoding: str
    lengths: tuple[int, int]
    accuracies: tuple[float, float]
    """Of the model, on these very sequences."""
    sequences: int
    layers: tuple[Layer, ...]


def compare_activations(
    trained: Trained,
    *,
    lengths: tuple[int, int] | None = None,
    sequences: int = 30,
    tokens: Tokens = "outputs",
    seed: int = 0,
) -> Activations:
    """Compares a model's activations at the training length and beyond.

    Args:
        trained: The model and its experiment.
        lengths: The length to fit the PCA at, and the longer one; by default N and 150.
        sequences: How many of each.
        tokens: Whose activations. The paper counts n of them per sequence, which are either the
            `inputs` or the `outputs` (placeholders), and does not say which; the default is where
            the model answers.
        seed: Source of the sequences and positions.
    """
    lengths = lengths or usual_lengths(trained.experiment)

    def at(length: int, number: int) -> tuple[list[Points], Observed]:
        kept, seen = observe(trained, length, sequences, 3 * seed + number, _layers)
        chosen = {"outputs": slice(seen.first, None), "inputs": slice(seen.first)}
        place = chosen.get(tokens, slice(None))
        flat = [np.asarray(x, np.float64)[:, place] for x in kept]
        return [x.reshape(-1, x.shape[-1]) for x in flat], seen

    (short, first), (control, _), (long, second) = (
        at(length, number) for number, length in enumerate((lengths[0], *lengths))
    )
    layers = []
    for number, (x, other, y) in enumerate(zip(short, control, long, strict=True)):
        pca = fit_pca(x)
        name = f"Layer {number}" if number else "Embeddings"
        near = share_inside(x, other, y)
        layers.append(Layer(name, pca.project(x), pca.project(y), pca.explained, near))
    return Activations(
        trained.experiment.task,
        trained.experiment.combination.name,
        lengths,
        (first.accuracy, second.accuracy),
        sequences,
        tuple(layers),
    )


def _layers(trace: Trace) -> tuple:
    return (trace.embeddings, *trace.activations)
