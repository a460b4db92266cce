"""The encoder: its size, its start, its call and what can be asked of it besides."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos import ENCODINGS, Architecture, Encoder, Ordinal, Randomized, UserError
from tests.cases import ALIKE, only, without
from tests.small import (
    BATCH,
    BUFFER,
    CLASSES,
    KEY,
    LARGEST,
    NAMES,
    TIME,
    encoder,
    padded,
    tokens,
)

MASK = jnp.arange(BUFFER)[None] < TIME
LAYERS, HEADS, DIM, HIDDEN, TOKENS, BITS, L = 5, 8, 64, 256, 2 + 2, 2, 2048

# Embedding; per layer q, k, v, o, two norms, two maps with biases; the head.
PLAIN = (
    TOKENS * DIM
    + LAYERS * (4 * DIM**2 + 2 * 2 * DIM + DIM * HIDDEN + HIDDEN + HIDDEN * DIM + DIM)
    + DIM * BITS
    + BITS
)
# What each encoding has besides: the number, and how it comes about.
COUNTS = {
    "none": (249_026, 0),
    "sincos": (249_026, 0),
    "rope": (249_026, 0),
    "alibi": (249_026, 0),
    # A row for each position.
    "learned": (380_098, L * DIM),
    # Per layer W_r, u and v.
    "relative": (270_146, LAYERS * (DIM**2 + 2 * DIM)),
    # Per layer c, a map to left and right of each head, and α, β, γ.
    "geometric": (254_561, LAYERS * (DIM + DIM * 2 * HEADS + 2 * HEADS + 3)),
    # A number per bucket and head, which all layers share.
    "t5": (249_282, 32 * HEADS),
    # Per layer and head r1 and r2.
    "kerple": (249_106, LAYERS * HEADS * 2),
    # Per layer c, the threshold, and the MLP 1 -> 32 -> heads with biases.
    "fire": (250_676, LAYERS * (2 + 32 + 32 + 32 * HEADS + HEADS)),
}


def paper_model(name: str) -> Encoder:
    """The paper's model on a binary task, as shapes only."""

    def build():
        sizes = Architecture()
        return Encoder(TOKENS, BITS, ENCODINGS[name](sizes.shape(L), key=KEY), sizes, key=KEY)

    return eqx.filter_eval_shape(build)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_parameters_is_the_one_written_down(name):
    assert name in COUNTS, f"write the parameter count of {name!r} into COUNTS, and its formula"
    count, more = COUNTS[name]
    assert sum(x.size for x in jax.tree.leaves(paper_model(name))) == count == PLAIN + more


def test_geometric_attention_has_1107_more_parameters_per_layer():
    assert COUNTS["geometric"][1] == 5 * 1107


def test_every_parameter_is_float32():
    assert all(x.dtype == jnp.float32 for n in NAMES for x in jax.tree.leaves(paper_model(n)))


def start() -> Encoder:
    """A model as it starts, with tokens enough for statistics; jit drops what a test leaves out."""
    sizes = Architecture(layers=2, heads=2, dim=8, hidden=12)
    return Encoder(4000, 2, ENCODINGS["none"](sizes.shape(L), key=KEY), sizes, key=KEY)


def test_token_embeddings_start_small():
    table = jax.jit(lambda: start().embedding)()
    assert np.asarray(table).std() == pytest.approx(0.02 * 0.8796, rel=0.03)


def test_token_embeddings_are_scaled_up():
    model, positions = encoder("none"), Ordinal().sample(KEY, BUFFER, BUFFER)
    found = model.trace(tokens(BUFFER), positions).embeddings
    np.testing.assert_allclose(found, 8**0.5 * model.embedding[tokens(BUFFER)], rtol=1e-6)


def test_layers_start_different():
    weights = jax.jit(lambda: [w.weight for b in start().blocks for w in (b.query, b.key)])()
    assert len({float(w[0, 0]) for w in weights}) == len(weights) == 4


def either_way(name: str, causal: bool) -> Any:
    """One way of each encoding is quick."""
    is_quick = name not in ALIKE and causal == (name in ("relative", "geometric"))
    return pytest.param(name, causal, marks=() if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "causal"), [either_way(*case) for case in itertools.product(NAMES, (False, True))]
)
def test_selected_outputs_are_a_slice_of_all(name, causal):
    model, positions = encoder(name, causal=causal), Randomized(LARGEST).sample(KEY, TIME, BUFFER)
    whole = model(padded(), positions, mask=MASK)
    for start in (0, 3, 6):
        part = model(padded(), positions, mask=MASK, outputs=(start, 2))
        np.testing.assert_allclose(part, whole[:, start : start + 2], rtol=0, atol=2e-6)


call: Any = eqx.filter_jit(Encoder.__call__)
trace: Any = eqx.filter_jit(Encoder.trace)


BY_DISTANCES = [f"{name} by distances" for name in NAMES]


@pytest.mark.parametrize(
    "name",
    [*without((*ALIKE, "fire"), NAMES), *only(["relative by distances"], BY_DISTANCES)],
)
def test_examples_with_positions_of_their_own_are_computed_as_if_alone(name):
    name, _, by_distances = name.partition(" by ")
    # One is causal: later tokens are hidden there, and with them the padding.
    causal, reading = name == "rope", "distances" if by_distances else "positions"
    model = encoder(name, causal=causal)
    scheme = Randomized(LARGEST, reading=reading, draw="per_example")
    drawn = scheme.sample_batch(KEY, TIME, BUFFER, layers=2, examples=BATCH)
    mask = jnp.arange(BUFFER) < jnp.array([[TIME], [TIME - 2]])
    outputs = (1, TIME - 3)
    alone = [
        call(
            model,
            padded()[i : i + 1],
            jax.tree.map(lambda x, i=i: x[i], drawn),
            mask=mask[i : i + 1],
            outputs=outputs,
        )
        for i in range(BATCH)
    ]
    expected = np.concatenate(alone)
    found = call(model, padded(), drawn, mask=mask, outputs=outputs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)
    traced = trace(model, padded(), drawn, mask=mask).logits[:, 1 : TIME - 2]
    np.testing.assert_allclose(traced, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", ["relative", "sincos"])
def test_pieces_of_a_batch_keep_the_positions_of_their_examples(name):
    model, scheme = encoder(name), Randomized(LARGEST, draw="per_example")
    drawn = scheme.sample_batch(KEY, TIME, BUFFER, layers=2, examples=BATCH)
    whole, pieces = (model(padded(), drawn, mask=MASK, pieces=n) for n in (1, BATCH))
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=2e-6)


def test_more_draws_of_positions_than_examples_are_refused():
    scheme = Randomized(LARGEST, draw="per_example")
    drawn = scheme.sample_batch(KEY, TIME, TIME, layers=2, examples=BATCH + 1)
    with pytest.raises(UserError, match=f"{BATCH + 1} draws of positions do not fit {BATCH}"):
        encoder("rope")(tokens(), drawn)


def test_a_logarithmic_scale_is_refused_where_attention_has_no_logits():
    sizes = Architecture(attention_scale="log")
    with pytest.raises(UserError, match="attention_scale='log' does not apply to geometric"):
        Encoder(4, 2, ENCODINGS["geometric"](sizes.shape(8), key=KEY), sizes, key=KEY)


def test_the_first_output_may_be_traced_and_layers_may_draw_anew():
    model = encoder("relative")
    positions = Randomized(LARGEST, draw="per_layer").sample_batch(
        KEY, BUFFER, BUFFER, layers=2, examples=BATCH
    )
    select = eqx.filter_jit(lambda start: model(tokens(BUFFER), positions, outputs=(start, 3)))
    whole = model(tokens(BUFFER), positions)
    for start in (0, 4):
        found = select(jnp.array(start))
        np.testing.assert_allclose(found, whole[:, start : start + 3], rtol=0, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_what_happens_in_the_call(name, causal):
    model, positions = encoder(name, causal=causal), Randomized(LARGEST).sample(KEY, TIME, BUFFER)
    trace = model.trace(padded(), positions, mask=MASK)
    logits = model(padded(), positions, mask=MASK)
    np.testing.assert_allclose(trace.logits, logits, rtol=0, atol=2e-6)
    head = np.asarray(trace.activations[-1]) @ np.asarray(model.head.weight)
    np.testing.assert_allclose(head + np.asarray(model.head.bias), logits, rtol=0, atol=1e-5)
    for weights in trace.attention:
        weights = np.asarray(weights)
        assert weights.shape == (BATCH, 2, BUFFER, BUFFER)
        assert not weights[..., TIME:].any()
        assert not causal or not np.triu(weights, 1).any()
        # A query of geometric attention does not see itself, so the first one may see nothing.
        first = 1 if causal and name == "geometric" else 0
        np.testing.assert_allclose(weights[:, :, first:].sum(-1), 1, rtol=1e-5)


def test_a_compiled_call_equals_an_eager_one():
    model, positions = encoder("none"), Ordinal().sample(KEY, BUFFER, BUFFER)
    compiled = eqx.filter_jit(model)(tokens(BUFFER), positions)
    np.testing.assert_allclose(compiled, model(tokens(BUFFER), positions), rtol=0, atol=1e-5)


def test_examples_of_a_batch_do_not_mix():
    model, positions = encoder("rope"), Ordinal().sample(KEY, BUFFER, BUFFER)
    changed = tokens(BUFFER).at[1].set(0)
    np.testing.assert_array_equal(model(changed, positions)[0], model(tokens(BUFFER), positions)[0])


def silent(name: str) -> Encoder:
    """An encoder whose blocks add nothing, so that only the embedding can be dropped."""

    def added(model):
        parts = ([b.output.weight, b.contract.weight, b.contract.bias] for b in model.blocks)
        return list(itertools.chain.from_iterable(parts))

    return eqx.tree_at(added, encoder(name), replace_fn=jnp.zeros_like)


@pytest.mark.parametrize("name", NAMES)
def test_only_encodings_that_add_to_the_embedding_drop_it(name):
    model, positions = silent(name), Ordinal().sample(KEY, BUFFER, BUFFER)
    change = model(tokens(BUFFER), positions, key=KEY) - model(tokens(BUFFER), positions)
    assert bool((np.abs(change) > 1e-5).any()) == ENCODINGS[name].additive


def test_dropout_needs_a_key_and_changes_with_it():
    model, positions = encoder("none"), Ordinal().sample(KEY, BUFFER, BUFFER)
    keys = (None, None, jax.random.key(1), jax.random.key(2))
    same, again, left, other = (model(tokens(BUFFER), positions, key=k) for k in keys)
    np.testing.assert_array_equal(same, again)
    assert len({float(x[0, 0, 0]) for x in (same, left, other)}) == 3


def test_every_dropout_of_a_call_has_a_mask_of_its_own(monkeypatch):
    masks = []

    def spy(x, rate, kept):
        masks.append(np.asarray(kept))
        return x

    for module in ("block", "dropout"):  # in the blocks, and in `dropout` of the embeddings
        monkeypatch.setattr(f"randpos.nn.{module}.drop", spy)
    encoder("sincos")(tokens(BUFFER), Ordinal().sample(KEY, BUFFER, BUFFER), key=KEY)
    assert len({mask.tobytes() for mask in masks}) == len(masks) == 1 + 2 * 2


def test_padding_does_not_change_dropout():
    model = encoder("sincos")
    alone = model(tokens(), Ordinal().sample(KEY, TIME, TIME), key=KEY)
    inside = model(padded(), Ordinal().sample(KEY, TIME, BUFFER), mask=MASK, key=KEY)
    np.testing.assert_allclose(inside[:, :TIME], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["sincos", "relative", "fire"])
def test_a_batch_in_pieces_gives_what_it_gives_whole(name):
    model, positions = encoder(name), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    whole = model(tokens(BUFFER), positions, key=KEY)
    views = model.view(positions)
    pieces = [
        model.logits(tokens(BUFFER)[i : i + 1], positions, views, key=KEY, first=i)
        for i in range(BATCH)
    ]
    np.testing.assert_allclose(jnp.concatenate(pieces), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("outputs", [None, (3, 2)], ids=["all", "selected"])
def test_a_call_may_compute_its_batch_in_pieces(outputs):
    model, positions = encoder("sincos"), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    whole, cut = (
        model(tokens(BUFFER), positions, mask=MASK, outputs=outputs, key=KEY, pieces=pieces)
        for pieces in (1, 2)
    )
    np.testing.assert_allclose(cut, whole, rtol=0, atol=1e-5)


def test_members_of_an_ensemble_compute_as_alone():
    left, positions = encoder("rope"), Randomized(LARGEST).sample(KEY, BUFFER, BUFFER)
    other = jax.tree.map(lambda x: 0.5 * x if eqx.is_inexact_array(x) else x, left)
    both = jax.tree.map(lambda *x: jnp.stack(x) if eqx.is_array(x[0]) else x[0], left, other)
    keys = jax.random.split(KEY, 2)

    @eqx.filter_jit
    def call(model, key):
        return model(tokens(BUFFER), positions, key=key)

    together = eqx.filter_jit(eqx.filter_vmap(call))(both, keys)
    for found, model, key in zip(together, (left, other), keys, strict=True):
        np.testing.assert_allclose(found, call(model, key), rtol=0, atol=1e-5)


def test_the_output_has_the_asked_shape():
    model, positions = encoder("none"), Ordinal().sample(KEY, BUFFER, BUFFER)
    assert model(tokens(BUFFER), positions).shape == (BATCH, BUFFER, CLASSES)
