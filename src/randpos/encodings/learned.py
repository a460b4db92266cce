"""Learned encoding (Gehring et al., 2017); with randomized positions, the label encoding."""

import jax
import jax.core
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from randpos.encodings.base import Encoding, check_time
from randpos.errors import UserError
from randpos.nn.layers import truncated_normal
from randpos.positions import Positions
from randpos.settings import Shape


class Learned(Encoding):
    """Adds a learned row per position.

    Rows of positions that do not occur in training keep their random initial values, so the plain
    form fails on longer sequences. With randomized positions every row is trained; Li and
    McClelland (2022) call that form label encoding.
    """

    name = "learned"
    description = "A learned vector per position, added to the embeddings."
    reference = "Gehring et al., 2017"
    label = "Learned"
    color = "#cc79a7"
    marker = "v"
    pytorch = True
    additive = True
    layerwise = False

    rows: Float[Array, "position dim"]

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        super().__init__(shape, key=key)
        self.rows = truncated_normal(key, (shape.positions, shape.dim), 1.0)

    def embed(
        self, x: Float[Array, "batch time dim"], positions: Positions
    ) -> Float[Array, "batch time dim"]:
        """Adds the row of each position; positions count from 1.

        A position without a row is refused. Where it is only known at run time, it gives NaN.
        """
        check_time(x, positions.query)
        largest = positions.largest
        if largest is None and not isinstance(positions.query, jax.core.Tracer):
            largest = int(positions.query.max(initial=0))
            if positions.query.min(initial=1) < 1:
                raise UserError("learned has no row for positions below 1; count from 1.")
        if largest is not None and largest > len(self.rows):
            raise UserError(
                f"learned has rows for {len(self.rows)} positions, but positions go up to "
                f"{largest}; build it for a shape with positions={largest} or more."
            )
        # Index -1 would wrap around to the last row.
        index = jnp.where(positions.query >= 1, positions.query - 1, len(self.rows))
        return x + self.rows.at[index].get(mode="fill", fill_value=jnp.nan)
