"""Packs the parameters of a model into a few arrays while steps are taken.

The optimizer computes a dozen small kernels per array, and compiling them takes as long as
compiling two layers of the model. A model has 65 arrays; packed, it has two for Adam and five for
Muon. Checkpoints keep the form of the model.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PyTree

from randpos.nn.model import Encoder

Part = Any
"""An array, or the `optax.MaskedNode` of parameters that an optimizer does not see."""


class Packed(NamedTuple):
    """The parameters of a model, or anything of the same form, in few arrays."""

    blocks: tuple[Part, ...]
    """The matrices of the blocks, for Muon: those of one shape are stacked."""
    matrices: Part
    """All other matrices, as one vector. They decay."""
    vectors: Part
    """Biases and the scales of LayerNorm, as one vector. They do not decay."""


class Packing:
    """Packs and unpacks trees that have the form of a model.

    Args:
        like: A model, or the shapes of its parameters.
        stack_blocks: Whether to keep the matrices of the blocks as matrices.
    """

    def __init__(self, like: PyTree, *, stack_blocks: bool) -> None:
        found, self.structure = jax.tree_util.tree_flatten_with_path(like)
        self.shapes = [leaf.shape for _, leaf in found]
        self.blocks: dict[tuple[int, ...], list[int]] = {}
        self.matrices: list[int] = []
        self.vectors: list[int] = []
        for i, (path, leaf) in enumerate(found):
            in_block = ".blocks" in jax.tree_util.keystr(path)
            if leaf.ndim < 2:
                self.vectors.append(i)
            elif stack_blocks and in_block:
                self.blocks.setdefault(leaf.shape, []).append(i)
            else:
                self.matrices.append(i)

    def pack(self, tree: PyTree) -> Packed:
        """Packs a tree; where optax has masked all parameters of a part, so is the part.

        NumPy's arrays stay arrays of NumPy.
        """
        leaves = jax.tree.leaves(tree, is_leaf=_is_masked)
        on_host = any(isinstance(leaf, np.ndarray) for leaf in leaves)
        xp: Any = np if on_host else jnp

        def join(places: list[int], how: Callable[[list[Any]], Part]) -> Part:
            parts = [leaves[i] for i in places]
            masked = bool(parts) and all(map(_is_masked, parts))
            return optax.MaskedNode() if masked else how(parts)

        def flat(parts: list[Any]) -> Part:
            return xp.concatenate([xp.zeros(0, xp.float32), *(x.ravel() for x in parts)])

        return Packed(
            tuple(join(places, xp.stack) for places in self.blocks.values()),
            join(self.matrices, flat),
            join(self.vectors, flat),
        )

    def unpack(self, packed: Packed) -> PyTree:
        """Returns the tree that `pack` packed."""
        leaves: list[Any] = [optax.MaskedNode()] * len(self.shapes)
        for places, part in zip(self.blocks.values(), packed.blocks, strict=True):
            if not _is_masked(part):
                for row, i in enumerate(places):
                    leaves[i] = part[row]
        for places, part in ((self.matrices, packed.matrices), (self.vectors, packed.vectors)):
            first = 0
            for i in [] if _is_masked(part) else places:
                size = math.prod(self.shapes[i])
                leaves[i] = part[first : first + size].reshape(self.shapes[i])
                first += size
        return jax.tree.unflatten(self.structure, leaves)

    def pack_state(self, state: PyTree) -> PyTree:
        """Packs every tree inside of a state that has the form of the model."""
        return _replace(Encoder, self.pack, state)

    def unpack_state(self, state: PyTree) -> PyTree:
        """Undoes `pack_state`."""
        return _replace(Packed, self.unpack, state)


def _is_masked(x: Any) -> bool:
    return isinstance(x, optax.MaskedNode)


def _replace(kind: type, function: Callable[[Any], Any], tree: PyTree) -> PyTree:
    """Applies a function to all subtrees of a kind."""
    return jax.tree.map(
        lambda x: function(x) if isinstance(x, kind) else x,
        tree,
        is_leaf=lambda x: isinstance(x, kind),
    )
