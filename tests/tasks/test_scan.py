"""SCAN: all of its commands, by number and by meaning."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from randpos.tasks import TASKS
from randpos.tasks.scan import LONGEST, WORDS, commands, spell
from tests.oracles.beyond import SCAN_ACTIONS, interpret
from tests.oracles.beyond import scan as oracle
from tests.tasks.samplers import sampler

# Figure 1 of the SCAN paper.
WORKED = {
    "jump": "JUMP",
    "jump left": "LTURN JUMP",
    "jump around right": "RTURN JUMP RTURN JUMP RTURN JUMP RTURN JUMP",
    "turn left twice": "LTURN LTURN",
    "jump thrice": "JUMP JUMP JUMP",
    "jump opposite left and walk thrice": "LTURN LTURN JUMP WALK WALK WALK",
    "jump opposite left after walk around left": (
        "LTURN WALK LTURN WALK LTURN WALK LTURN WALK LTURN LTURN JUMP"
    ),
}


@pytest.fixture(scope="module")
def every() -> dict[str, list[str]]:
    """All commands and their actions, as the device spells them."""
    numbers = jnp.arange(len(commands().first))
    inputs, outputs = jax.jit(jax.vmap(lambda number: spell(number, LONGEST)))(numbers)
    sizes = np.diff(commands().start)
    sizes = np.repeat(np.arange(len(sizes)), sizes)
    assert not np.asarray(outputs)[np.arange(LONGEST) >= sizes[:, None]].any()
    return {
        " ".join(WORDS[t] for t in row if t < len(WORDS)): [SCAN_ACTIONS[a] for a in acts[:size]]
        for row, acts, size in zip(inputs.tolist(), outputs.tolist(), sizes, strict=True)
    }


def test_there_are_as_many_commands_as_in_the_published_splits(every):
    sizes = [len(actions) for actions in every.values()]
    assert len(every) == 20_910
    assert sum(size <= 22 for size in sizes) == 16_990
    assert sum(24 <= size <= 48 for size in sizes) == 3_920


def test_every_command_means_what_the_paper_says(every):
    assert all(actions == interpret(command.split()) for command, actions in every.items())


@pytest.mark.parametrize("command", WORKED)
def test_worked_examples_of_the_paper(command, every):
    assert every[command] == WORKED[command].split()
    assert interpret(command.split()) == WORKED[command].split()


def test_a_length_that_no_command_has_takes_the_nearest_shorter_one():
    task = TASKS["scan"]
    found = [int(task.output_length(n)) for n in (1, 22, 23, 24, 31, 47, 48, 49, 500)]
    assert found == [1, 22, 22, 24, 30, 40, 48, 48, 48]
    assert [int(task.output_length(jnp.asarray(n))) for n in (23, 47, 500)] == [22, 40, 48]
    inputs, outputs, _ = sampler("scan", 64)(jax.random.key(1), 23)
    assert [oracle(row, 23) for row in inputs.tolist()] == outputs[:, :22].tolist()


def test_all_commands_of_a_length_are_drawn():
    drawn = [sampler("scan", 64)(jax.random.key(seed), 48).inputs for seed in range(12)]
    assert len({row.tobytes() for row in np.concatenate(drawn)}) == 128
