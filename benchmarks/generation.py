"""What generating answers costs, beside one teacher-forced pass over the same sequences.

    taskset -c 1 python benchmarks/generation.py [--encodings rope none] [--length 200] [--torch]

Reverse String: a prompt of n tokens and n answers. Each figure is processor time, the fastest of
`--repeats` runs; on one core (taskset) that is the time of the clock. With --torch the same decoder
also generates in PyTorch eager, with the cache of `randpos.torch`.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from randpos import Architecture, Experiment, resolve
from randpos.export import export_torch
from randpos.numerics import compiler_options
from randpos.training.batch import assemble, draw_batch
from randpos.training.evaluation import MAX_LOGIT_BYTES, generation_pieces
from randpos.training.generation import generate_in_pieces
from timing import fastest


def measure(encoding: str, length: int, batch: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measures both programs of one encoding."""
    experiment = Experiment(
        task="reverse_string", encoding=encoding, answers="autoregressive", model=Architecture()
    )
    setup = resolve(experiment)
    model = eqx.filter_jit(setup.build)(jax.random.key(0))
    parameters, static = eqx.partition(model, eqx.is_array)
    one, other = jax.random.split(jax.random.key(1))
    drawn, positions = draw_batch(setup, one, other, length, batch, length)
    sequences = assemble(setup.layout, drawn, length)
    compiled = partial(jax.jit, compiler_options=compiler_options())
    example = 4 * experiment.model.heads * sequences.tokens.shape[1] ** 2
    fits = max(1, MAX_LOGIT_BYTES // example)
    pieces = next(p for p in range(1, batch + 1) if batch % p == 0 and batch // p <= fits)

    @compiled
    def forced(parameters, tokens, positions):
        model = eqx.combine(parameters, static)
        return model(tokens, positions, outputs=(length, length), pieces=pieces)

    count = options.pieces or generation_pieces(experiment, length, batch)

    @compiled
    def generated(parameters, prompt, positions, length):
        model = eqx.combine(parameters, static)
        return generate_in_pieces(model, setup.layout, prompt, positions, length, count)

    prompt, n = sequences.tokens[:, :length], jnp.asarray(length)
    at_once = partial(forced, parameters, sequences.tokens, positions)
    one_by_one = partial(generated, parameters, prompt, positions, n)
    row = {
        "forced": fastest(lambda: jax.block_until_ready(at_once()), options.repeats),
        "generated": fastest(lambda: jax.block_until_ready(one_by_one()), options.repeats),
    }
    if options.torch:
        row |= in_torch(model, setup, np.array(prompt), positions, length, options.repeats)
    return row


def in_torch(model, setup, prompt, positions, length: int, repeats: int) -> dict[str, float]:
    """Measures the exported decoder in PyTorch eager, on one thread."""
    import torch

    from randpos.torch import Decoder, load_encoder

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        export_torch(model, Path(folder) / "decoder", setup.layout)
        twin = load_encoder(Path(folder) / "decoder")
    assert isinstance(twin, Decoder)
    places = torch.from_numpy(np.array(positions.query)).long()
    inputs = torch.from_numpy(prompt).long()
    found = fastest(lambda: twin.generate(inputs, places, length).classes.numpy(), repeats)
    return {"torch": found}


def main() -> None:
    """Measures and prints a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--encodings", nargs="+", default=["none", "rope", "randomized-relative"])
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pieces", type=int, default=0, help="pieces of the batch; 0: as in tests")
    parser.add_argument("--torch", action="store_true", help="also measure PyTorch eager")
    options = parser.parse_args()
    print("| encoding | teacher-forced | generated | ratio | PyTorch eager |")
    print("|---|---:|---:|---:|---:|")
    for name in options.encodings:
        row = measure(name, options.length, options.batch, options)
        ratio = row["generated"] / row["forced"]
        eager = f"{row['torch']:.2f} s" if "torch" in row else "–"
        cells = f"{row['forced']:.2f} s | {row['generated']:.2f} s | {ratio:.1f} × | {eager}"
        print(f"| {name} | {cells} |", flush=True)
    print(f"reverse_string, n = {options.length}, {options.batch} examples", file=sys.stderr)


if __name__ == "__main__":
    main()
