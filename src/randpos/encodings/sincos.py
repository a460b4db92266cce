"""Sinusoidal encoding (Vaswani et al., 2017), equations 1 and 2 of the paper."""

from jaxtyping import Array, Float, Key

from randpos.encodings.base import Encoding, check_time
from randpos.encodings.sinusoids import sinusoid
from randpos.errors import UserError
from randpos.positions import Positions
from randpos.settings import Shape


class SinCos(Encoding):
    """Adds sines and cosines of the position to the embedding."""

    name = "sincos"
    description = "Sines and cosines of the position, added to the embeddings."
    reference = "Vaswani et al., 2017"
    label = "sin/cos"
    color = "#e69f00"
    marker = "o"
    pytorch = True
    additive = True
    layerwise = False

    def __init__(self, shape: Shape, *, key: Key[Array, ""]) -> None:
        if shape.dim % 2:
            raise UserError(f"sincos pairs channels, but dim={shape.dim} is odd; pass an even dim.")
        super().__init__(shape, key=key)

    def embed(
        self, x: Float[Array, "batch time dim"], positions: Positions
    ) -> Float[Array, "batch time dim"]:
        """Adds the sinusoids of the positions."""
        check_time(x, positions.query)
        return x + sinusoid(positions.query, x.shape[-1], positions.largest)
