"""What the model costs per encoding, as a ratio to its matrix products alone.

    taskset -c 1 python benchmarks/model.py [--randomized] [--format md|json]

Rows are encodings, columns lengths T. Each figure is the time of a batch divided by that of the
products that the plain model cannot do without (projections, feed-forward, logits and averages; in
the backward pass two more for each), as plain dots of the same shapes in the same pieces. Both are
measured in turn, and the fastest run of each counts. Times are those of the processor: what else
the machine does then disturbs a ratio little. On one core (taskset) that is the time of the clock.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from randpos.encodings import ENCODINGS, get_encoding
from randpos.nn.model import Encoder
from randpos.numerics import compiler_options
from randpos.positions import Ordinal, Positions, Randomized
from randpos.settings import Architecture
from randpos.training.step import cache_pieces

SIZES = Architecture()
LENGTHS = (21, 41, 81, 501)
BATCH = {21: 128, 41: 128, 81: 128}
"""The paper's batch; long sequences are measured on `FEW` examples."""
FEW = 8

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles as training does."""
    return jax.jit(function, compiler_options=compiler_options())


def in_pieces(x: jax.Array) -> jax.Array:
    """Cuts a batch as training does."""
    return x.reshape(cache_pieces(*x.shape[:2]), -1, *x.shape[1:])


def model_programs(name: str, time: int, batch: int, randomized: bool) -> tuple[Program, Program]:
    """Returns the forward pass of a batch, and its gradient; dropout is in both."""
    key = jax.random.key(0)
    encoding = get_encoding(name)(SIZES.shape(2048), key=key)
    model = Encoder(vocabulary=4, classes=2, encoding=encoding, architecture=SIZES, key=key)
    parameters, static = eqx.partition(model, eqx.is_array)
    scheme = Randomized(2048) if randomized else Ordinal()
    tokens = in_pieces(jax.random.randint(key, (batch, time), 0, 4))

    def views(parameters: Encoder, positions: Positions):
        seen = eqx.combine(parameters, static).view(positions)
        return tuple(v.per_layer for v in seen), tuple(v._replace(per_layer=None) for v in seen)

    def total(learned, rest, positions: Positions, piece: jax.Array):
        parameters, tables = learned
        seen = tuple(v._replace(per_layer=t) for v, t in zip(rest, tables, strict=True))
        model: Encoder = eqx.combine(parameters, static)
        return jnp.sum(jnp.square(model.logits(piece, positions, seen, key=jax.random.key(1))))

    def forward(parameters: Encoder, tokens: jax.Array, positions: Positions):
        tables, rest = views(parameters, positions)
        return jax.lax.map(lambda p: total((parameters, tables), rest, positions, p), tokens)

    def both(parameters: Encoder, tokens: jax.Array, positions: Positions):
        tables, pull_back, rest = jax.vjp(lambda p: views(p, positions), parameters, has_aux=True)
        learned = (parameters, tables)

        def step(grads, piece: jax.Array):
            new = jax.grad(total)(learned, rest, positions, piece)
            return jax.tree.map(jnp.add, grads, new), None

        grads, d_tables = jax.lax.scan(step, jax.tree.map(jnp.zeros_like, learned), tokens)[0]
        return jax.tree.map(jnp.add, grads, pull_back(d_tables)[0])

    arguments = (parameters, tokens, scheme.sample(key, time, time))
    return (jitted(forward), arguments), (jitted(both), arguments)


def turned(x: jax.Array) -> jax.Array:
    """Transposes in memory, so that the products around it keep their fast order."""
    return jax.lax.optimization_barrier(jnp.swapaxes(x, -1, -2))


def product_programs(time: int, batch: int) -> tuple[Program, Program]:
    """Returns the matrix products of the forward pass, and those of both passes.

    Each is in the fastest order found, and works on the result of another, so that none is left
    out; the values mean nothing.
    """
    dim, heads, hidden = SIZES.dim, SIZES.heads, SIZES.hidden
    shapes = [(dim, dim)] * 4 + [(dim, hidden), (hidden, dim)]
    weights = [0.1 * jax.random.normal(jax.random.key(0), shape) for shape in shapes]
    x = in_pieces(jax.random.normal(jax.random.key(1), (batch, time, dim)))
    x = jnp.tile(x, (SIZES.layers, 1, 1, 1)).reshape(SIZES.layers * len(x), -1, dim)

    def split(x: jax.Array) -> jax.Array:
        return x.reshape(-1, heads, time, dim // heads)

    def join(x: jax.Array) -> jax.Array:
        return x.reshape(-1, dim)

    def block(weights: list[jax.Array], x: jax.Array):
        query, key, value, output, expand, contract = weights
        q, k, v = (split(x @ w) for w in (query, key, value))
        logits = q @ jnp.swapaxes(k, -1, -2)
        mixed = join(logits @ v)
        joined = mixed @ output
        hidden = joined @ expand
        return hidden @ contract, (q, k, v, logits, mixed, joined, hidden)

    def back(weights: list[jax.Array], x: jax.Array, saved: tuple[jax.Array, ...], grad: jax.Array):
        query, key, value, output, expand, contract = weights
        q, k, v, logits, mixed, joined, hidden = saved
        d_hidden = grad @ contract.T
        d_joined = d_hidden @ expand.T
        d_mixed = split(d_joined @ output.T)
        d_logits = d_mixed @ jnp.swapaxes(v, -1, -2)
        d_v = join(turned(turned(d_mixed) @ logits))
        d_k = join(turned(turned(q) @ d_logits))
        d_q = join(d_logits @ k)
        d_x = d_q @ query.T + d_k @ key.T + d_v @ value.T
        pairs = ((x, d_q), (x, d_k), (x, d_v), (mixed, d_joined), (joined, d_hidden))
        return d_x, [*(a.T @ b for a, b in pairs), grad.T @ hidden]

    def forward(weights: list[jax.Array], x: jax.Array):
        return jax.lax.map(lambda piece: block(weights, piece)[0], x)

    def both(weights: list[jax.Array], x: jax.Array):
        def step(grads, piece: jax.Array):
            out, saved = block(weights, piece)
            d_x, d_weights = back(weights, piece, saved, out)
            return jax.tree.map(jnp.add, grads, d_weights), d_x

        zero = [*(jnp.zeros_like(w) for w in weights[:-1]), jnp.zeros_like(weights[-1].T)]
        return jax.lax.scan(step, zero, x)

    return (jitted(forward), (weights, x)), (jitted(both), (weights, x))


def fastest(programs: list[Program], budget: float) -> list[float]:
    """Returns the shortest processor time of each, all run in turn for `budget` seconds of it."""
    best = [float("inf")] * len(programs)
    for run, arguments in programs:
        jax.block_until_ready(run(*arguments))
    end = time.process_time() + budget
    while time.process_time() < end:
        for i, (run, arguments) in enumerate(programs):
            start = time.process_time()
            jax.block_until_ready(run(*arguments))
            best[i] = min(best[i], time.process_time() - start)
    return best


def rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every encoding at every length."""
    measured = []
    for length in options.lengths:
        batch = BATCH.get(length, FEW)
        products = product_programs(length, batch)
        for name in options.encodings:
            row: dict[str, Any] = {"encoding": name, "length": length, "batch": batch}
            model = model_programs(name, length, batch, options.randomized)
            for what, program, bound in zip(("forward", "both"), model, products, strict=True):
                seconds, least = fastest([program, bound], options.seconds)
                row |= {f"{what}_ms": 1e3 * seconds, f"{what}_ratio": seconds / least}
            measured.append(row)
            print(row, file=sys.stderr, flush=True)
    return measured


def markdown(measured: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Returns a table: forward / forward and backward, as ratios to the products."""
    ratios = {
        (row["encoding"], row["length"]): f"{row['forward_ratio']:.1f} / {row['both_ratio']:.1f}"
        for row in measured
    }
    lines = [
        "| encoding | " + " | ".join(f"T = {length}" for length in options.lengths) + " |",
        "|---" * (1 + len(options.lengths)) + "|",
    ]
    for name in options.encodings:
        cells = " | ".join(ratios[name, length] for length in options.lengths)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--encodings", nargs="+", default=list(ENCODINGS), metavar="NAME")
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS, metavar="T")
    parser.add_argument("--randomized", action="store_true", help="positions from 1..2048")
    parser.add_argument("--seconds", type=float, default=1.5, help="per pair of programs")
    parser.add_argument("--format", choices=("md", "json"), default="md")
    options = parser.parse_args()
    measured = rows(options)
    print(
        json.dumps(measured, indent=2) if options.format == "json" else markdown(measured, options)
    )


if __name__ == "__main__":
    main()
