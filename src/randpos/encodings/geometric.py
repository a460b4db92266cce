"""Geometric attention with directional encoding (Csordás et al., 2022, Neural Data Router).

It has neither the gating nor the shared layers of that paper, like the comparison in table 5.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from randpos.encodings.base import Encoding, Keys, LayerNumber, Mask, Queries, View
from randpos.nn.attention import NEVER
from randpos.nn.layers import truncated_normal
from randpos.positions import Positions
from randpos.settings import Shape

DENSE = 128
"""Up to this many keys, sums over earlier keys are matrix products: 5 times as fast at T = 41 and
at T = 81 (docs/performance.md). A matrix per query would take too much memory beyond."""


BLOCK = 16
"""Beyond `DENSE` keys, sums are formed of blocks of this many: within blocks, then over blocks."""


class Scan(NamedTuple):
    """In which order each query tests the keys, and on which side of it they stand."""

    offsets: Int[Array, "query key"]
    before: Float[Array, "query key key"] | None
    """1 where the first key is tested before the second; None for more than `DENSE` keys."""
    order: Int[Array, "query padded"] | None
    """The keys from first to last tested, then out of bounds to whole blocks; None up to `DENSE`.
    These are indices of the flat matrix of queries and keys, and so is `rank`."""
    rank: Int[Array, "query key"] | None
    """When each key is tested: the inverse of `order`."""


def scan_order(offsets: Int[Array, "query key"]) -> Int[Array, "query key"]:
    """Lists each query's keys from near to far; of two equally far, the right one comes first.

    >>> import jax.numpy as jnp
    >>> scan_order(jnp.array([[2, 1, 0, -1, -2]])).tolist()
    [[2, 3, 1, 4, 0]]
    """
    return jnp.argsort(2 * jnp.abs(offsets) + (offsets > 0), axis=-1)


def log_reach(
    log_miss: Float[Array, "batch head query key"], scan: Scan
) -> Float[Array, "batch head query key"]:
    """Returns for each key the sum of `log_miss` over the keys tested before it.

    Sums of the terms themselves: differences of prefix sums would cancel (docs/fidelity.md).
    """
    return _log_reach(log_miss, scan)


@jax.custom_vjp
def _log_reach(log_miss, scan):
    return _sums(log_miss, scan, after=False)


# The map is linear, and its transpose sums over the keys tested after. Autodiff would make scatters
# of the gathers.
_log_reach.defvjp(
    lambda log_miss, scan: (_log_reach(log_miss, scan), scan),
    lambda scan, grad: (_sums(grad, scan, after=True), None),
)


def _sums(x, scan: Scan, *, after: bool):
    """Sums `x` over the keys tested before each key, or after it."""
    if scan.before is not None:
        matrices = jnp.swapaxes(scan.before, -1, -2) if after else scan.before
        rows = jnp.transpose(x, (2, 0, 1, 3)).reshape(x.shape[2], -1, x.shape[3])
        sums = jnp.matmul(rows, matrices, precision=jax.lax.Precision.HIGHEST)
        return jnp.transpose(sums.reshape(x.shape[2], *x.shape[:2], -1), (1, 2, 0, 3))
    return _take(_block_sums(_take(x, scan.order), after=after), scan.rank)


def _take(x, index):
    """Gathers from the last two axes of `x`, taken as one; 0 where the index is out of bounds."""
    flat = x.reshape(*x.shape[:2], -1)
    found = jnp.take(flat, index.ravel(), axis=-1, mode="fill", fill_value=0.0)
    return found.reshape(*x.shape[:2], *index.shape)


def _block_sums(x, *, after: bool):
    """Sums `x` over the places before each place of the last axis, or after it.

    Products with triangular matrices: XLA's cumulative sum passes over the array many times.
    """
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)

    def sums(y):
        ones = jnp.tri(y.shape[-1], k=-1)
        return jnp.matmul(y, ones if after else ones.T, precision=jax.lax.Precision.HIGHEST)

    return (sums(blocks) + sums(jnp.sum(blocks, axis=-1))[..., None]).reshape(x.shape)


class Geometric(Encoding):
    """Each query matches the nearest key that fits, testing keys outwards from its own place.

    A key that matches with probability p = σ(z) is chosen if no key before it was: its weight is
    p · Π (1 - p') over the keys tested before. z depends on the content and on the key's side.

    Args:
        shape: The sizes of the model.
        normalise: Scale each row to sum 1, as the released code does.
        key: Source of the parameters.
    """

    name = "geometric"
    description = "Attention to the nearest matching key, with a sense of direction."
    reference = "Csordás et al., 2022"
    label = "Geometric"
    color = "#56b4e9"
    marker = "P"
    pytorch = True
    readings = ("positions", "distances")

    query_bias: Float[Array, "layer head head_dim"]
    direction: Float[Array, "layer dim side_head"]
    direction_bias: Float[Array, "layer side_head"]
    content_scale: Float[Array, " layer"]
    direction_scale: Float[Array, " layer"]
    threshold: Float[Array, " layer"]
    normalise: bool = eqx.field(static=True)

    def __init__(self, shape: Shape, *, normalise: bool = True, key: Key[Array, ""]) -> None:
        super().__init__(shape, key=key)
        layers, heads, dim = shape.layers, shape.heads, shape.dim
        self.query_bias = jnp.zeros((layers, heads, shape.head_dim))
        sides = (layers, dim, 2 * heads)
        self.direction = truncated_normal(key, sides, dim**-0.5)
        self.direction_bias = jnp.zeros((layers, 2 * heads))
        self.content_scale = jnp.full(layers, shape.head_dim**-0.5)
        self.direction_scale = jnp.ones(layers)
        self.threshold = jnp.zeros(layers)
        self.normalise = normalise

    def precompute(self, positions: Positions, mask: Mask) -> Scan:
        """Sorts every query's keys by distance, once for all layers."""
        # The barrier keeps XLA from sorting ordinal positions itself, which takes it half a minute.
        order = scan_order(jax.lax.optimization_barrier(positions.offsets))
        rank, keys = jnp.argsort(order, axis=-1), order.shape[-1]
        if keys <= DENSE:
            before = (rank[:, :, None] < rank[:, None, :]).astype(jnp.float32)
            return Scan(positions.offsets, before, None, None)
        query, padded = jnp.arange(len(order))[:, None], -(-keys // BLOCK) * BLOCK
        beyond = (0, 0), (0, padded - keys)
        order = jnp.pad(query * keys + order, beyond, constant_values=order.size)
        return Scan(positions.offsets, None, order, query * padded + rank)

    def weights(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        view: View,
        layer: LayerNumber,
    ) -> Float[Array, "batch head query key"]:
        """Returns the probability that each key is the first to match."""
        scan: Scan = view.precomputed
        z = self.match(x, q, k, scan, layer)
        allowed = view.mask & (scan.offsets != 0)
        common = jnp.log1p(jnp.exp(-jnp.abs(z)))
        log_miss = jnp.where(allowed, -jnp.maximum(z, 0.0) - common, 0.0)
        log_hit = jnp.where(allowed, -jnp.maximum(-z, 0.0) - common, NEVER)
        log_weights = log_hit + log_reach(log_miss, scan)
        weights = jax.nn.softmax(log_weights, axis=-1) if self.normalise else jnp.exp(log_weights)
        return jnp.where(allowed, weights, 0.0)

    def match(
        self,
        x: Float[Array, "batch query model"],
        q: Queries,
        k: Keys,
        scan: Scan,
        layer: LayerNumber,
    ) -> Float[Array, "batch head query key"]:
        """Returns z, the log-odds that each key matches its query."""
        content = (q + self.query_bias[layer][:, None, :]) @ jnp.swapaxes(k, -1, -2)
        sides = x @ self.direction[layer] + self.direction_bias[layer]
        left, right = jnp.split(jnp.swapaxes(sides, -1, -2)[..., None], 2, axis=1)
        side = jnp.where(scan.offsets > 0, left, right)
        scaled = self.content_scale[layer] * content + self.direction_scale[layer] * side
        return scaled + self.threshold[layer]

    @classmethod
    def operations(cls, shape: Shape, tokens: int) -> float:
        """Returns those of the sums over keys tested before: as many as of the logits."""
        return 2 * tokens * shape.dim
