"""PyTorch encodings alone: exact at any position, and no silent broadcast or wrapped index."""

import math

import mpmath
import numpy as np
import pytest
import torch

from randpos.errors import UserError
from randpos.torch import ALiBi, Learned, SinCos, apply_rope, sample_positions
from randpos.torch.encodings import sinusoid
from randpos.torch.encodings.base import int64_positions
from randpos.torch.loading import ENCODINGS
from randpos.torch.offsets import offsets_from_distances

FAR = [0, 1, -1, 8192, -65_000, 65_535, 65_536, 10**6, -(10**6), 2**31 - 1, -(2**31)]
DIM, HEADS = 16, 2


def test_sinusoids_are_exact_to_float32_at_any_position():
    with mpmath.workdps(50):
        angles = [[p * mpmath.mpf(10000) ** (-mpmath.mpf(i) / 4) for i in range(4)] for p in FAR]
        expected = [[f(a) for f in (mpmath.sin, mpmath.cos) for a in row] for row in angles]
    for dtype in (torch.int64, torch.int32):
        found = sinusoid(torch.tensor(FAR, dtype=dtype), 8).numpy()
        np.testing.assert_allclose(found, np.array(expected, float), atol=6e-8, rtol=0)


def test_rope_depends_on_differences_only_also_far_out():
    q, k = torch.randn(2, 1, 1, 3, 8)
    near = torch.tensor([1, 5, 9])

    def products(shift: int) -> torch.Tensor:
        return apply_rope(q, near + shift) @ apply_rope(k, near + shift).mT

    torch.testing.assert_close(products(2**31 - 20), products(0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "geometric"])
def test_one_query_equals_the_last_row_of_all_queries(name):
    """Decoding: five keys, one query; `geometric` reads its input and is tried below."""
    torch.manual_seed(0)
    encoding = ENCODINGS[name](DIM, HEADS, 50)
    q, k, v = torch.randn(3, 1, HEADS, 5, DIM // HEADS)
    positions = sample_positions(0, 5, maximum=50)
    whole = encoding(q, k, v, positions)
    last = encoding(q[:, :, -1:], k, v, positions, query_positions=positions[-1:])
    torch.testing.assert_close(last, whole[:, :, -1:], rtol=0, atol=1e-6)


def test_one_query_of_geometric_attention_equals_the_last_row():
    encoding = ENCODINGS["geometric"](DIM, HEADS, 50)
    q, k, v = torch.randn(3, 1, HEADS, 5, DIM // HEADS)
    x, positions = torch.randn(1, 5, DIM), sample_positions(0, 5, maximum=50)
    whole = encoding(q, k, v, positions, x=x)
    first = {"x": x[:, -1:], "query_positions": positions[-1:]}
    last = encoding(q[:, :, -1:], k, v, positions, **first)
    torch.testing.assert_close(last, whole[:, :, -1:], rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
@pytest.mark.parametrize("name", ENCODINGS)
def test_positions_of_every_integer_type_mean_the_same(name, dtype):
    encoding = ENCODINGS[name](DIM, HEADS, 127)
    q, k, v = torch.randn(3, 1, HEADS, 4, DIM // HEADS)
    x, positions = torch.randn(1, 4, DIM), torch.tensor([1, 5, 100, 127])
    found = encoding(q, k, v, positions.to(dtype), x=x)
    torch.testing.assert_close(found, encoding(q, k, v, positions, x=x), rtol=0, atol=0)
    found = encoding.embed(x, positions.to(dtype))
    torch.testing.assert_close(found, encoding.embed(x, positions), rtol=0, atol=0)


def test_distances_of_small_types_do_not_overflow():
    drawn = sample_positions(0, 4, maximum=99)
    for released in (None, 300):
        found = offsets_from_distances(drawn.to(torch.uint8), released_maximum=released)
        torch.testing.assert_close(found, offsets_from_distances(drawn, released_maximum=released))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_positions_that_are_no_integers_are_refused(dtype):
    with pytest.raises(UserError, match="pass integers"):
        int64_positions(torch.ones(4, dtype=dtype))


@pytest.mark.parametrize("name", ENCODINGS)
def test_queries_without_positions_of_their_own_are_refused(name):
    q, k = torch.randn(1, HEADS, 1, DIM // HEADS), torch.randn(1, HEADS, 5, DIM // HEADS)
    with pytest.raises(UserError, match=r"q has 1 tokens, but there are 5 positions.*query_pos"):
        ENCODINGS[name](DIM, HEADS, 50)(q, k, k, torch.arange(1, 6), x=torch.randn(1, 1, DIM))
    with pytest.raises(UserError, match="v has 1 tokens, but there are 5 positions"):
        ENCODINGS[name](DIM, HEADS, 50)(k, k, q, torch.arange(1, 6), x=torch.randn(1, 5, DIM))


@pytest.mark.parametrize("encoding", [SinCos(), Learned(8, 20)])
def test_embeddings_are_not_broadcast_over_positions(encoding):
    with pytest.raises(UserError, match="x has 1 tokens, but there are 5 positions"):
        encoding.embed(torch.zeros(2, 1, 8), torch.arange(1, 6))


@pytest.mark.parametrize("positions", [[0, 1, 2], [19, 20, 21], [-1, 3, 4]])
def test_positions_without_a_learned_row_are_refused(positions):
    with pytest.raises(UserError, match=f"1 to 20, but these run from {positions[0]}"):
        Learned(8, 20).embed(torch.zeros(1, 3, 8), torch.tensor(positions))


def test_compiled_code_refuses_position_zero_too():
    compiled = torch.compile(Learned(8, 20).embed, backend="eager", fullgraph=True)
    with pytest.raises((IndexError, RuntimeError)):
        compiled(torch.zeros(1, 3, 8), torch.tensor([0, 1, 2]))


def press_et_al(heads: int) -> list[float]:
    """The rule of the ALiBi paper's released code, written out."""

    def of_a_power(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return of_a_power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return of_a_power(closest) + press_et_al(2 * closest)[0::2][: heads - closest]


def test_slopes_of_alibi_are_those_of_its_authors():
    for heads in (1, 2, 3, 6, 8, 12, 20):
        found = ALiBi(heads).get_buffer("slopes").numpy()
        np.testing.assert_allclose(found, press_et_al(heads), rtol=1e-6)
