"""Resolves an experiment: from settings to the task, encoding, positions and model they name."""

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.errors import ConcretizationTypeError, TracerIntegerConversionError
from jaxtyping import Array, Float, Key, PyTree

from randpos.catalog import Combination, get_combination
from randpos.encodings import Encoding
from randpos.errors import UserError
from randpos.experiment import Experiment
from randpos.nn.model import Encoder
from randpos.positions import Randomized, Scheme, check_maximum
from randpos.settings import AUTO, Architecture, Shape
from randpos.tasks import get_task
from randpos.tasks.base import Task
from randpos.tasks.layout import Layout

MAX_NUMBERS = 10**10
"""Parameters of a model, numbers of a training batch and tokens of a test batch. No
accelerator holds more, and allocating it would fill all memory before it fails."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What an experiment's settings stand for; made by `resolve`."""

    experiment: Experiment
    task: Task
    combination: Combination
    scheme: Scheme
    layout: Layout

    @property
    def longest_sequence(self) -> int:
        """The number of tokens of the longest sequence that is ever evaluated."""
        return int(self.layout.total_length(self.experiment.test_length))

    @property
    def shape(self) -> Shape:
        """The sizes that the encoding is built for."""
        shape = self.experiment.model.shape(self.scheme.largest or self.longest_sequence)
        return shape._replace(one_sided=self.layout.autoregressive)

    def build(self, key: Key[Array, ""]) -> Encoder:
        """Builds the untrained model."""
        to_encoding, to_model = jax.random.split(key)
        encoding = self.combination.encoding(self.shape, key=to_encoding)
        sizes = self.layout.vocabulary, self.task.classes
        return Encoder(*sizes, encoding, self.experiment.model, key=to_model)

    @cached_property
    def skeleton(self) -> tuple[PyTree, Encoder]:
        """The shapes of the parameters, and the model without them."""
        model = eqx.filter_eval_shape(self.build, jax.random.key(0))
        return eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    @property
    def parameter_count(self) -> int:
        """The number of parameters of the model."""
        return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(self.skeleton[0]))


def choose_maximum(experiment: Experiment, ratio: float = AUTO) -> Experiment:
    """Returns the experiment with a number for an L of 0 (auto).

    It is twice the number of tokens of the longest sequence that is tested: room for every test,
    and each position is still drawn often in a short training. docs/recipe.md and
    docs/open-questions.md have the measurements.

    Args:
        experiment: The experiment; a number that it has is kept.
        ratio: L divided by the tokens of the longest tested sequence, rounded up.

    >>> from randpos.settings import PositionOptions
    >>> auto = Experiment(task="reverse_string", positions=PositionOptions(maximum=0))
    >>> choose_maximum(auto).positions.maximum
    2000
    """
    if experiment.positions.maximum:
        return experiment
    longest = int(_layout(experiment).total_length(experiment.test_length))
    positions = dataclasses.replace(experiment.positions, maximum=math.ceil(ratio * longest))
    return dataclasses.replace(experiment, positions=positions)


def _layout(experiment: Experiment) -> Layout:
    return Layout(get_task(experiment.task), experiment.answers, experiment.thinking)


@lru_cache(maxsize=4096)
def resolve(experiment: Experiment) -> Setup:
    """Loads the task and the encoding of an experiment, and checks all settings together.

    Call it before any work is done. A user's own task or encoding is imported here.

    Raises:
        UserError: A name is unknown, a setting does not apply to the encoding, L is too small, or
            the model or a batch is too large.
    """
    experiment = choose_maximum(experiment)
    layout, combination = _layout(experiment), get_combination(experiment.encoding)
    options = experiment.positions
    scheme = combination.scheme(
        maximum=options.maximum,
        reading=experiment.reading,
        draw=options.draw,
        both_sides=options.both_sides,
    )
    _check_decoder(experiment, combination)
    combination.encoding.check_scale(experiment.model.attention_scale)
    setup = Setup(experiment, layout.task, combination, scheme, layout)
    if isinstance(scheme, Randomized):
        at = f"{experiment.task} at length {experiment.test_length}"
        check_maximum(options.maximum, setup.longest_sequence, at)
    _check_sizes(setup)
    if combination.path:
        _check_layers(combination, experiment.model, scheme)
    return setup


def _check_decoder(experiment: Experiment, combination: Combination) -> None:
    """Raises `UserError` if a decoder cannot have this encoding or these positions."""
    if experiment.answers == "parallel":
        return
    if not combination.encoding.causal:
        raise UserError(
            f"answers='autoregressive' does not apply to {combination.name}, which has no causal "
            "form that adds one token at a time; pass another encoding, or --answers parallel."
        )
    if experiment.positions.both_sides:
        raise UserError(
            "positions.both_sides draws distances to the right, but in a decoder nothing stands "
            "to the right; leave it out, or pass --answers parallel."
        )


def _check_sizes(setup: Setup) -> None:
    """Raises `UserError` if no machine has enough memory; each size alone may be fine."""
    experiment, model = setup.experiment, setup.experiment.model
    block = 4 * model.dim**2 + 2 * model.dim * model.hidden
    encoding = _encoding_size(setup.combination.encoding, setup.shape)
    if (count := model.layers * block + encoding) > MAX_NUMBERS:
        raise UserError(
            f"layers={model.layers}, dim={model.dim} and hidden={model.hidden}, with "
            f"{setup.shape.positions} positions, make a model of {count:,} parameters; at most "
            f"{MAX_NUMBERS:,} can be trained."
        )
    trained = int(setup.layout.total_length(experiment.lengths.maximum))
    if experiment.batch * trained * model.dim > MAX_NUMBERS:
        raise UserError(
            f"batch={experiment.batch} is too large for {trained} tokens and dim={model.dim}: "
            f"at most {MAX_NUMBERS:,} numbers can be trained on at a time."
        )
    if experiment.evaluation.batch * setup.longest_sequence > MAX_NUMBERS:
        raise UserError(
            f"evaluation.batch={experiment.evaluation.batch} is too large for "
            f"{setup.longest_sequence} tokens: at most {MAX_NUMBERS:,} can be tested on at a time."
        )


@lru_cache(maxsize=256)
def _check_layers(combination: Combination, model: Architecture, scheme: Scheme) -> None:
    """Raises `UserError` if a user's own encoding branches in Python on the number of a layer.

    Training calls it with numbers, but a test loops over the layers, and their number is traced.
    """
    tokens = min(4, scheme.largest or 4)

    def run(key: Key[Array, ""], pieces: int) -> Float[Array, "batch output classes"]:
        encoding = combination.encoding(model.shape(scheme.largest or tokens), key=key)
        encoder = Encoder(2, 2, encoding, model, key=key)
        positions = scheme.sample(key, tokens, tokens)
        return encoder(jnp.zeros((2, tokens), int), positions, pieces=pieces)

    eqx.filter_eval_shape(run, jax.random.key(0), 1)  # An error here has another reason.
    try:
        eqx.filter_eval_shape(run, jax.random.key(0), 2)
    except (ConcretizationTypeError, TracerIntegerConversionError) as error:
        raise UserError(
            f"Encoding {combination.path!r} branches in Python on the number of the layer, which "
            "is traced in tests; index arrays with it, as in self.table[layer], or use jnp.where."
        ) from error


@lru_cache(maxsize=256)
def _encoding_size(encoding: type[Encoding], shape: Shape) -> int:
    """Counts the parameters of an encoding without allocating them."""
    built = eqx.filter_eval_shape(encoding, shape, key=jax.random.key(0))
    leaves = [leaf for leaf in jax.tree.leaves(built) if isinstance(leaf, jax.ShapeDtypeStruct)]
    return sum(math.prod(leaf.shape) for leaf in leaves)
