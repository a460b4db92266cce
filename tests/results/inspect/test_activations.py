import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from randpos import UserError
from randpos.results.inspect.activations import compare_activations, fit_pca, share_inside
from randpos.results.inspect.models import Trained, observe
from tests.experiments import random_model, tiny
from tests.results.inspect.hand_made import blank


def cloud(seed: int, points: int = 60, dim: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    spread = np.array([3.0, 2.0, 1.0, 0.5, 0.1])[:dim]
    rotation, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    return rng.normal(size=(points, dim)) * spread @ rotation + rng.normal(size=dim)


@given(st.integers(0, 30), st.integers(1, 5))
def test_pca_is_the_eigendecomposition_of_the_covariance(seed: int, components: int) -> None:
    points = cloud(seed)
    found = fit_pca(points, components)
    values, vectors = np.linalg.eigh(np.cov(points.T))
    values, vectors = values[::-1], vectors[:, ::-1]
    np.testing.assert_allclose(found.explained, values[:components] / values.sum(), rtol=1e-9)
    ours = found.project(points)
    theirs = (points - points.mean(axis=0)) @ vectors[:, :components]
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-9)


def test_axes_point_to_the_side_of_their_largest_entry() -> None:
    axes = fit_pca(cloud(1), 5).axes
    assert (axes.max(axis=1) == np.abs(axes).max(axis=1)).all()


def test_equal_points_have_no_variance_to_explain() -> None:
    found = fit_pca(np.ones((4, 3)))
    assert found.explained.tolist() == [0.0, 0.0]
    assert not found.project(np.ones((4, 3))).any()


def test_every_point_is_inside_its_own_range() -> None:
    points = cloud(0)
    assert share_inside(points, points) == 1.0
    equal = np.full((3, 5), 7.0)
    assert share_inside(equal, equal + 1e-6) == 1.0


def test_points_between_others_are_inside_and_points_beyond_are_not() -> None:
    points = cloud(2)
    middle = points.mean(axis=0)
    inner, outer = middle + 0.5 * (points - middle), middle + 50.0 * (points - middle)
    assert share_inside(points, inner) == 1.0
    assert share_inside(points, outer) == 0.0
    assert share_inside(points, np.concatenate([inner, outer])) == 0.5


def test_a_step_in_a_direction_that_never_varied_is_outside() -> None:
    flat = cloud(3)
    flat[:, 0] = 0.0  # spoils the rotation, not the point: the first direction is unused
    assert share_inside(flat, flat + np.array([1.0, 0, 0, 0, 0])) == 0.0
    assert share_inside(np.ones((4, 3)), np.ones((4, 3)) + np.array([0.0, 0.1, 0.0])) == 0.0


def test_activations_of_all_layers_are_compared_at_both_lengths() -> None:
    experiment = tiny()
    trained = Trained(experiment, random_model(experiment))
    found = compare_activations(trained, lengths=(4, 6), sequences=5)
    assert [layer.name for layer in found.layers] == ["Embeddings", "Layer 1"]
    for layer in found.layers:
        assert layer.short.shape == (5 * 4, 2)
        assert layer.long.shape == (5 * 6, 2)
        np.testing.assert_allclose(layer.short.mean(axis=0), 0.0, atol=1e-6)  # fitted to these
        assert 0.0 <= layer.inside <= 1.0
    whole = compare_activations(trained, lengths=(4, 6), sequences=5, tokens="all")
    assert whole.layers[1].short.shape == (5 * 8, 2)
    assert found.lengths == whole.lengths == (4, 6)


def test_the_plane_is_that_of_the_traced_activations() -> None:
    experiment = tiny()
    trained = Trained(experiment, random_model(experiment))
    found = compare_activations(trained, lengths=(4, 6), sequences=5, tokens="all")
    kept, _ = observe(trained, 4, 5, 0, lambda trace: trace.activations[0])
    points = np.asarray(kept, np.float64).reshape(-1, 8)
    _, vectors = np.linalg.eigh(np.cov(points.T))
    plane = (points - points.mean(axis=0)) @ vectors[:, :-3:-1]
    np.testing.assert_allclose(np.abs(found.layers[1].short), np.abs(plane), atol=1e-6)


def test_accuracy_is_that_of_the_very_sequences() -> None:
    """A model that always says 1 is right where the input has a 1."""
    experiment, model = blank(encoding="none")
    marked = model.embedding.at[1, 0].set(1.0)
    always = model.head.bias
    assert always is not None
    object.__setattr__(model, "embedding", marked)
    object.__setattr__(model.head, "bias", always.at[1].set(1.0))
    kept, seen = observe(Trained(experiment, model), 6, 50, 3, lambda trace: trace.embeddings)
    ones = np.asarray(kept)[:, : seen.first, 0] > 0
    assert (seen.first, seen.answers) == (6, 6)
    assert seen.accuracy == pytest.approx(ones.mean())
    assert 0.3 < seen.accuracy < 0.7


def test_a_length_beyond_the_model_is_refused() -> None:
    trained = blank()
    with pytest.raises(UserError, match="length=7 must lie between 1 and M=6"):
        observe(trained, 7, 1, 0, lambda trace: jnp.zeros(()))
