"""Examples are right, repeat under a seed, and do not depend on how they are read."""

import numpy as np
import pytest

from randpos.benchmark import batches, examples
from randpos.benchmark import streams as module
from randpos.benchmark.sampling import parsed_lengths
from randpos.errors import UserError
from randpos.tasks import TASKS
from tests.oracles.tasks import MASKED, ORACLES

LONG = ("listops", "binary_addition", "duplicate_string")


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        *((name, (1, 2, 3, 11, 40)) for name in TASKS),
        # Samplers of all tasks are tested up to 1,000 in tests/tasks.
        *(pytest.param(n, (501, 601), marks=() if n in LONG else pytest.mark.slow) for n in TASKS),
    ],
)
def test_every_task_agrees_with_the_oracle_also_beyond_500(name, lengths):
    data = examples(name, lengths, count=8, seed=3, split="test")
    blocks = list(data)
    assert [block.length for block in blocks] == list(lengths)
    for length, inputs, outputs, counted in blocks:
        answers = [ORACLES[name](row, length) for row in inputs.tolist()]
        np.testing.assert_array_equal(outputs, answers)
        end = TASKS[name].terminator
        assert (end is not None) == (name in MASKED)
        ends = [len(a) if end is None else a.index(end) + 1 for a in answers]
        np.testing.assert_array_equal(counted.sum(axis=1), ends)
        assert counted[:, 0].all()


def rows(data) -> list[bytes]:
    return [row.tobytes() for block in data for row in block.inputs]


def test_blocks_lengths_and_counts_do_not_change_an_example(monkeypatch):
    wide = rows(examples("binary_addition", [30, 40], count=50, seed=1))
    assert wide[50:] == rows(examples("binary_addition", 40, count=50, seed=1))
    assert wide[:20] == rows(examples("binary_addition", 30, count=20, seed=1))
    monkeypatch.setattr(module, "ROWS", 16)
    small = examples("binary_addition", [30, 40], count=50, seed=1)
    assert max(len(block.inputs) for block in small) == 16
    assert rows(small) == wide == rows(small)  # also when it is read again


def test_blocks_have_a_bounded_number_of_tokens():
    block = next(iter(examples("duplicate_string", 5000, count=100_000)))
    assert 0 < block.inputs.size + block.outputs.size <= module.TOKENS


def test_splits_and_seeds_share_no_example():
    streams = [
        set(rows(examples("reverse_string", 60, count=500, seed=seed, split=split)))
        for seed in (0, 1)
        for split in ("train", "test")
    ]
    assert len(set.union(*streams)) == 4 * 500


def test_lengths_share_no_example():
    blocks = examples("reverse_string", [60, 501, 502], count=20)
    starts = [row.tobytes() for block in blocks for row in block.inputs[:, :60]]
    assert len(set(starts)) == len(starts)


def test_all_examples_in_memory_are_those_of_the_blocks():
    data = examples("even_pairs", [5, 9], count=40)
    whole = data.numpy()
    assert list(whole) == [5, 9]
    assert whole[9].inputs.shape == (40, 9)
    assert [row.tobytes() for block in whole.values() for row in block.inputs] == rows(data)
    assert len(data) == 80


def test_training_batches_have_one_uniform_length_and_never_repeat_an_example():
    stream = batches("reverse_string", lengths=(60, 61, 62), batch=20, seed=5)
    drawn = [next(stream) for _ in range(90)]
    counts = [sum(block.length == n for block in drawn) for n in (60, 61, 62)]
    assert min(counts) > 15
    assert all(block.inputs.shape == (20, block.length) for block in drawn)
    assert len(set(rows(drawn))) == 90 * 20
    trained = {row.tobytes() for row in examples("reverse_string", 60, 400, seed=5).numpy()[60][1]}
    assert trained <= set(rows(drawn))  # the split `train`


def test_a_forked_process_is_refused(monkeypatch):
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(UserError, match="multiprocessing_context='spawn'"):
        next(iter(examples("even_pairs", 5, 1)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "even_pair"}, "did you mean 'even_pairs'"),
        ({"lengths": []}, "lengths is empty"),
        ({"lengths": [3, 0]}, "length=0 must be at least 1"),
        ({"lengths": 10**6}, "length=1000000 must be at most 65,536"),
        ({"count": 0}, "count=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 must lie between"),
    ],
)
def test_bad_arguments_are_a_sentence(arguments, words):
    with pytest.raises(UserError, match=words):
        examples(**{"task": "even_pairs", "lengths": 5, "count": 2, **arguments})


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-9:0", "1-", "-5", "1.5", "1,,2", "9" * 99])
def test_lengths_that_cannot_be_read_are_a_sentence(text):
    with pytest.raises(UserError, match="length"):
        parsed_lengths(text)
