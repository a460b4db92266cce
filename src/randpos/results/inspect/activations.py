"""Activations at the training length and at longer ones (appendix B.3).

As in the paper, a PCA is fitted to the activations of 30 sequences of the training length, and
those of longer sequences are projected with it. A plane may hide or exaggerate a difference, so
`share_inside` gives a number that uses all dimensions.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from randpos.nn.model import Trace
from randpos.results.inspect.models import Observed, Trained, observe, usual_lengths

Points = Float[np.ndarray, "points dim"]
Tokens = Literal["outputs", "inputs", "all"]
VARIANCE = 0.99
"""Share of the variance whose directions make up the range of the activations."""


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


def share_inside(
    reference: Float[np.ndarray, "known dim"], points: Float[np.ndarray, "new dim"]
) -> float:
    """Returns the share of points inside the range of a reference, in all dimensions.

    Inside is between the least and the largest value of the reference along each of the principal
    axes that make up 99 % of its variance, and no farther from the space of these axes than the
    reference gets. The second part counts deviations in directions that the reference does not use.
    """
    pca = fit_pca(reference, components=reference.shape[1])
    needed = 1 + int(np.searchsorted(np.cumsum(pca.explained), VARIANCE))
    pca = pca._replace(axes=pca.axes[:needed])
    known, new = (_coordinates(pca, x) for x in (reference, points))
    # Where all activations are equal, rounding must not decide.
    slack = 1e-4 * float(np.abs(reference).max())
    inside = (new >= known.min(axis=0) - slack) & (new <= known.max(axis=0) + slack)
    return float(np.mean(inside.all(axis=1)))


def _coordinates(pca: PCA, points: Points) -> Float[np.ndarray, "points axis"]:
    """Returns the coordinates along the axes, and last the distance from their space."""
    along = pca.project(points)
    rest = points - pca.mean - along @ pca.axes
    return np.column_stack([along, np.linalg.norm(rest, axis=1)])


class Layer(NamedTuple):
    """Activations after one layer, in the plane that was fitted to the short sequences."""

    name: str
    short: Float[np.ndarray, "short component"]
    long: Float[np.ndarray, "long component"]
    explained: Float[np.ndarray, " component"]
    inside: float
    """Share of the long sequences' activations within the range of the short ones."""
    alike: float
    """The same share of other short sequences, as a reference."""


class Activations(NamedTuple):
    """Activations of one model at two lengths, layer by layer."""

    task: str
    encoding: str
    trained_seed: int
    """The seed of the training."""
    lengths: tuple[int, int]
    accuracies: tuple[float, float]
    """Of the model on these sequences."""
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

    (short, first), (others, _), (long, second) = (
        at(length, number) for number, length in enumerate((lengths[0], *lengths))
    )
    layers = []
    for number, (x, other, y) in enumerate(zip(short, others, long, strict=True)):
        pca = fit_pca(x)
        name = f"Layer {number}" if number else "Embeddings"
        shares = share_inside(x, y), share_inside(x, other)
        layers.append(Layer(name, pca.project(x), pca.project(y), pca.explained, *shares))
    return Activations(
        trained.experiment.task,
        trained.experiment.encoding_name,
        trained.experiment.seed,
        lengths,
        (first.accuracy, second.accuracy),
        sequences,
        tuple(layers),
    )


def _layers(trace: Trace) -> tuple:
    return (trace.embeddings, *trace.activations)
