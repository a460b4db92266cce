"""What each layer sees of the positions: the view of its encoding, and which keys are allowed."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from randpos.encodings import Encoding
from randpos.encodings.base import LayerNumber, Mask, View
from randpos.errors import UserError
from randpos.nn.attention import log_visible
from randpos.positions import Length, Positions, per_example
from randpos.settings import Architecture

Outputs = tuple[Length, int]
"""The first of some tokens (it may be traced), and their number."""


def inside(outputs: Outputs | None, time: int) -> Outputs | None:
    """Checks that selected tokens lie inside the sequence: `dynamic_slice` clamps silently."""
    if outputs is None:
        return None
    start, size = outputs
    if isinstance(start, int) and not 0 <= start <= time - size:
        raise UserError(f"outputs={outputs} reach beyond the {time} tokens of the sequence.")
    return jnp.clip(start, 0, time - size), size


def selected_shape(
    x: Float[Array, "batch time dim"], outputs: Outputs | None
) -> tuple[int, int, int]:
    """Returns the shape of the tokens that `outputs` selects."""
    batch, time, dim = x.shape
    return batch, time if outputs is None else outputs[1], dim


def layer_positions(
    positions: Positions | Sequence[Positions], architecture: Architecture
) -> list[Positions]:
    """Returns the positions of each layer."""
    layers = architecture.layers
    found = [positions] * layers if isinstance(positions, Positions) else list(positions)
    if len(found) != layers:
        raise UserError(f"{len(found)} draws of positions do not fit {layers} layers.")
    return found


def all_views(
    encoding: Encoding,
    architecture: Architecture,
    positions: Positions | Sequence[Positions],
    mask: Bool[Array, "#batch time"] | None,
    outputs: Outputs | None,
    start: Length,
) -> tuple[View, ...]:
    """Returns the view of each layer; see `Encoder.view`."""
    if per_example(positions):
        examples = len(jax.tree.leaves(positions)[0])
        rows = None if mask is None else jnp.broadcast_to(mask, (examples, mask.shape[1]))

        def of_example(where, row):
            mask = None if row is None else row[None]
            return all_views(encoding, architecture, where, mask, outputs, start)

        return jax.vmap(of_example)(positions, rows)
    per_layer = layer_positions(positions, architecture)
    outputs = inside(outputs, len(per_layer[-1].key))
    views: list[View] = []
    for layer, where in enumerate(per_layer):
        selected = outputs if layer == len(per_layer) - 1 else None
        same = layer and selected is None and where is per_layer[layer - 1]
        view = (
            views[-1] if same else common_view(encoding, architecture, where, mask, selected, start)
        )
        views.append(layer_view(encoding, view, layer))
    return tuple(views)


def common_view(
    encoding: Encoding,
    architecture: Architecture,
    where: Positions,
    mask: Bool[Array, "#batch time"] | None,
    outputs: Outputs | None,
    start: Length = 0,
) -> View:
    """Computes the part of a view that all layers with these positions share."""
    if outputs is not None:
        where, start = where.rows(*outputs), outputs[0]
    allowed = allowed_keys(architecture, where, mask, start)
    scale = log_visible(allowed) if architecture.attention_scale == "log" else None
    return View(encoding.precompute(where, allowed), None, allowed, scale)


def layer_view(encoding: Encoding, view: View, layer: LayerNumber) -> View:
    """Adds the part of a view that depends on the parameters of a layer."""
    return view._replace(per_layer=encoding.precompute_layer(view.precomputed, layer))


def allowed_keys(
    architecture: Architecture,
    positions: Positions,
    mask: Bool[Array, "#batch time"] | None,
    start: Length,
) -> Mask:
    """Returns which keys each query may attend to; the first query is token `start`."""
    queries, keys = positions.offsets.shape
    allowed = jnp.ones((1, 1, 1, keys), bool) if mask is None else mask[:, None, None, :]
    if not (architecture.causal or architecture.window):
        return allowed
    apart = start + jnp.arange(queries)[:, None] - jnp.arange(keys)
    if architecture.causal:
        allowed = allowed & (apart >= 0)
    if window := architecture.window:
        nearest = apart < window if architecture.causal else jnp.abs(apart) <= window // 2
        allowed = allowed & nearest
    return allowed
