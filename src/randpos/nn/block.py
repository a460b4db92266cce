"""One layer of the Transformer: attention and feed-forward (post-norm, appendix A)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from randpos.nn.dropout import drop
from randpos.nn.layers import LayerNorm, Linear, relu
from randpos.settings import Architecture


class Block(eqx.Module):
    """Attention and feed-forward, each with dropout, a residual connection and a LayerNorm."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    attention_norm: LayerNorm
    expand: Linear
    contract: Linear
    feed_forward_norm: LayerNorm
    architecture: Architecture = eqx.field(static=True)

    def __init__(self, architecture: Architecture, *, key: Key[Array, ""]) -> None:
        dim, hidden = architecture.dim, architecture.hidden
        keys = jax.random.split(key, 6)
        self.query, self.key, self.value, self.output = (
            Linear(dim, dim, bias=False, key=k) for k in keys[:4]
        )
        self.attention_norm = LayerNorm(dim)
        self.expand = Linear(dim, hidden, bias=True, key=keys[4])
        self.contract = Linear(hidden, dim, bias=True, key=keys[5])
        self.feed_forward_norm = LayerNorm(dim)
        self.architecture = architecture

    def heads(
        self, queries: Float[Array, "batch query dim"], context: Float[Array, "batch time dim"]
    ) -> tuple[Float[Array, "batch head _ head_dim"], ...]:
        """Returns q, k and v, split into heads."""
        return tuple(
            jnp.swapaxes(y.reshape(*y.shape[:2], self.architecture.heads, -1), 1, 2)
            for y in (self.query(queries), self.key(context), self.value(context))
        )

    def finish(
        self,
        x: Float[Array, "batch query dim"],
        attended: Float[Array, "batch head query head_dim"],
        kept: Bool[Array, "2 batch query dim"] | None = None,
    ) -> Float[Array, "batch query dim"]:
        """Applies everything after the attention of a block; `kept` are the masks of dropout."""
        rate = self.architecture.dropout
        in_attention, in_feed_forward = (None, None) if kept is None else kept
        joined = self.output(jnp.swapaxes(attended, 1, 2).reshape(x.shape))
        x = self.attention_norm(x + drop(joined, rate, in_attention))
        fed = self.contract(relu(self.expand(x)))
        return self.feed_forward_norm(x + drop(fed, rate, in_feed_forward))
