"""Randomized positions and position encodings for PyTorch models.

`import randpos` never comes here, so JAX users need no PyTorch.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError:
    from randpos.extras import MissingExtraError

    raise MissingExtraError("randpos.torch", "PyTorch", "torch") from None

from randpos.torch.positions import sample_positions, sample_skipwise

__all__ = ["sample_positions", "sample_skipwise"]
