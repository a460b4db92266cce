"""Randomize RoPE in an attention layer of your own, in PyTorch.

python examples/own_attention_torch.py
"""

import torch

from randpos.torch import RoPE, sample_positions

batch, heads, time, dim, maximum = 4, 8, 40, 16, 2048
q, k, v = torch.randn(3, batch, heads, time, dim)

# One draw per step; the longest sequence ever to be evaluated must fit into `maximum`.
generator = torch.Generator().manual_seed(0)
positions = sample_positions(generator, time, maximum=maximum)

# An encoding is a module that attends: RoPE() here, or ALiBi(heads), Relative(width, heads), …
causal = torch.ones(1, 1, time, time, dtype=torch.bool).tril()
attended = RoPE()(q, k, v, positions, mask=causal)

print(positions[:5].tolist(), tuple(attended.shape))
