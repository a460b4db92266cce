"""Every encoding, and the encoder around it, as definitions: plain loops over float64.

A new encoding needs a class here, and a line in `ORACLES`. It reads the parameters of the encoding
that it defines, and nothing else of the package.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Pair:
    """A query and a key: where they stand, and how far the query stands to the right of the key."""

    query: int
    key: int
    offset: int
    span: int
    """The query's largest distance to a key that it may see."""


def sinusoid(position: int, dim: int) -> np.ndarray:
    """Equations 1 and 2, all sines before all cosines."""
    angles = [position / 10000 ** (2 * c / dim) for c in range(dim // 2)]
    return np.array([math.sin(a) for a in angles] + [math.cos(a) for a in angles])


def asymmetric_distance(offset: int) -> float:
    """The distance, half a step shorter to the left."""
    return offset - 0.5 if offset > 0 else -offset


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def softplus(z: float) -> float:
    return math.log1p(math.exp(z))


class NoPositions:
    """Plain attention; what the others change."""

    def __init__(self, parameters: Any, attention_scale: str) -> None:
        self.p = parameters
        self.attention_scale = attention_scale

    def embed(self, x: np.ndarray, position: int) -> np.ndarray:
        return x

    def logit(self, layer: int, head: int, q: np.ndarray, k: np.ndarray, pair: Pair) -> float:
        return float(q @ k) / math.sqrt(len(q)) + self.bias(layer, head, pair)

    def bias(self, layer: int, head: int, pair: Pair) -> float:
        return 0.0

    def distance(self, offset: int) -> float:
        """The distance that ALiBi and KERPLE penalise; a decoder needs no half step."""
        return offset if self.p.shape.one_sided else asymmetric_distance(offset)

    def row(
        self,
        layer: int,
        head: int,
        x: np.ndarray,
        q: np.ndarray,
        keys: dict[int, np.ndarray],
        pairs: dict[int, Pair],
    ) -> dict[int, float]:
        """The weight that the query gives to each key that it may see."""
        scale = math.log(len(keys)) if self.attention_scale == "log" else 1.0
        logits = {j: scale * self.logit(layer, head, q, keys[j], pairs[j]) for j in keys}
        top = max(logits.values())
        weights = {j: math.exp(logits[j] - top) for j in logits}
        total = sum(weights.values())
        return {j: weights[j] / total for j in weights}


class SinCos(NoPositions):
    def embed(self, x: np.ndarray, position: int) -> np.ndarray:
        return x + sinusoid(position, len(x))


class Learned(NoPositions):
    def embed(self, x: np.ndarray, position: int) -> np.ndarray:
        return x + self.p.rows[position - 1]


class RoPE(NoPositions):
    def logit(self, layer: int, head: int, q: np.ndarray, k: np.ndarray, pair: Pair) -> float:
        half = len(q) // 2
        total = 0.0
        for c in range(half):
            turn = 10000 ** (-c / half)
            a = complex(q[c], q[c + half]) * np.exp(1j * pair.query * turn)
            b = complex(k[c], k[c + half]) * np.exp(1j * pair.key * turn)
            total += (a * b.conjugate()).real
        return total / math.sqrt(len(q))


class ALiBi(NoPositions):
    def bias(self, layer: int, head: int, pair: Pair) -> float:
        slope = 2 ** (-8 * (head + 1) / self.p.shape.heads)
        return -slope * self.distance(pair.offset)


class Relative(NoPositions):
    def logit(self, layer: int, head: int, q: np.ndarray, k: np.ndarray, pair: Pair) -> float:
        size = len(q)
        u, v = self.p.content_bias[layer][head], self.p.position_bias[layer][head]
        whole = sinusoid(pair.offset, self.p.shape.dim) @ self.p.projection[layer]
        r = whole[head * size : (head + 1) * size]
        return float((q + u) @ k + (q + v) @ r) / math.sqrt(size)


class Geometric(NoPositions):
    normalise = True

    def row(
        self,
        layer: int,
        head: int,
        x: np.ndarray,
        q: np.ndarray,
        keys: dict[int, np.ndarray],
        pairs: dict[int, Pair],
    ) -> dict[int, float]:
        p, heads = self.p, self.p.shape.heads
        weights, left = dict.fromkeys(keys, 0.0), 1.0
        for distance in range(1, 1 + max((pair.span for pair in pairs.values()), default=0)):
            for offset, column in ((-distance, heads + head), (distance, head)):
                for j in keys:
                    if pairs[j].offset != offset:
                        continue
                    side = x @ p.direction[layer][:, column] + p.direction_bias[layer][column]
                    content = (q + p.query_bias[layer][head]) @ keys[j]
                    z = p.content_scale[layer] * content + p.direction_scale[layer] * side
                    match = sigmoid(z + p.threshold[layer])
                    weights[j] = left * match
                    left *= 1 - match
        total = sum(weights.values())
        if self.normalise and total:
            weights = {j: weights[j] / total for j in weights}
        return weights


class T5(NoPositions):
    def bias(self, layer: int, head: int, pair: Pair) -> float:
        distance, exact = abs(pair.offset), 16 if self.p.shape.one_sided else 8
        bucket = distance
        if distance >= exact:
            share = math.log(distance / exact) / math.log(128 / exact)
            bucket = min(2 * exact - 1, exact + math.floor(exact * share + 1e-9))
        return self.p.biases[bucket + (16 if pair.offset < 0 else 0)][head]


class KERPLE(NoPositions):
    def bias(self, layer: int, head: int, pair: Pair) -> float:
        strength = softplus(self.p.strength[layer][head])
        rate = softplus(self.p.rate[layer][head])
        return -strength * math.log(1 + rate * self.distance(pair.offset))


class FIRE(NoPositions):
    def bias(self, layer: int, head: int, pair: Pair) -> float:
        p, c = self.p, 0.1 * abs(self.p.rate[layer])
        farthest = max(512 * abs(p.threshold[layer]), pair.span)
        z = math.log(1 + c * abs(pair.offset)) / math.log(1 + c * farthest)
        z = math.copysign(z, pair.offset)
        total = p.outer_bias[layer][head]
        for unit in range(32):
            hidden = max(0.0, z * p.inner[layer][unit] + p.inner_bias[layer][unit])
            total += hidden * p.outer[layer][unit][head]
        return total


ORACLES: dict[str, type[NoPositions]] = {
    "none": NoPositions,
    "sincos": SinCos,
    "relative": Relative,
    "alibi": ALiBi,
    "rope": RoPE,
    "learned": Learned,
    "geometric": Geometric,
    "t5": T5,
    "kerple": KERPLE,
    "fire": FIRE,
}


def norm(x: np.ndarray, layer_norm: Any) -> np.ndarray:
    return (x - x.mean()) / math.sqrt(x.var() + 1e-5) * layer_norm.scale + layer_norm.offset


def see(query: int, real: np.ndarray, sizes: Any) -> list[int]:
    """The keys that a query may attend to."""
    first, last = 0, len(real) - 1
    if sizes.window:
        first, last = query - sizes.window // 2, query + sizes.window // 2
    if sizes.causal:
        first, last = (query - sizes.window + 1 if sizes.window else 0), query
    return [j for j in range(len(real)) if real[j] and first <= j <= last]


def encode(
    model: Any,
    tokens: np.ndarray,
    positions: list[tuple[np.ndarray, np.ndarray]],
    real: np.ndarray,
) -> np.ndarray:
    """The logits of the real tokens of one sequence; those of padding are NaN.

    Args:
        model: An encoder whose parameters are float64 NumPy arrays.
        tokens: One sequence.
        positions: For every layer the positions [time] and the offsets [time, time].
        real: Which tokens are not padding.
    """
    sizes = model.architecture
    oracle = ORACLES[model.encoding.name](model.encoding, sizes.attention_scale)
    time, width = len(tokens), sizes.dim // sizes.heads
    x = {
        i: oracle.embed(model.embedding[tokens[i]] * math.sqrt(sizes.dim), int(positions[0][0][i]))
        for i in range(time)
        if real[i]
    }
    for layer, block in enumerate(model.blocks):
        index, offsets = positions[layer]
        after = {}
        for i in x:
            seen = see(i, real, sizes)
            span = max(abs(int(offsets[i][j])) for j in seen)
            pairs = {j: Pair(int(index[i]), int(index[j]), int(offsets[i][j]), span) for j in seen}
            joined = np.zeros(sizes.dim)
            for head in range(sizes.heads):
                part = slice(head * width, (head + 1) * width)
                q = (x[i] @ block.query.weight)[part]
                keys = {j: (x[j] @ block.key.weight)[part] for j in seen}
                row = oracle.row(layer, head, x[i], q, keys, pairs)
                for j in seen:
                    joined[part] += row[j] * (x[j] @ block.value.weight)[part]
            y = norm(x[i] + joined @ block.output.weight, block.attention_norm)
            hidden = np.maximum(0, y @ block.expand.weight + block.expand.bias)
            fed = hidden @ block.contract.weight + block.contract.bias
            after[i] = norm(y + fed, block.feed_forward_norm)
        x = after
    nothing = np.full(model.head.bias.shape, np.nan)
    return np.array(
        [x[i] @ model.head.weight + model.head.bias if i in x else nothing for i in range(time)]
    )
