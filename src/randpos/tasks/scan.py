"""SCAN: from a command in simplified English to a sequence of actions (Lake and Baroni, 2018).

    C → S and S | S after S | S        V → D opposite E | D around E | D E | U
    S → V twice | V thrice | V         D → U | turn        E → left | right
                                       U → walk | look | run | jump

The grammar has 34 phrases V, 102 sentences S and 102 + 2 · 102² = 20,910 commands. A command is
stored as a pair of sentences; its words and actions are put together on the device.
"""

import itertools
from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key

from randpos.tasks.base import Example, Length, Task
from randpos.tasks.draws import below, inside, words

WORDS = (
    *("walk", "look", "run", "jump", "turn", "left", "right"),
    *("opposite", "around", "twice", "thrice", "and", "after"),
)
"""The words of a command, in the order of the task's symbols; the last symbol fills up."""
ACTIONS = ("I_WALK", "I_LOOK", "I_RUN", "I_JUMP", "I_TURN_LEFT", "I_TURN_RIGHT")
FILLER = len(WORDS)
PLACES = 9
"""Words of the longest commands."""
LONGEST = 48
"""Actions of the longest commands."""
AND, AFTER = WORDS.index("and"), WORDS.index("after")


class Sentences(NamedTuple):
    """The 102 sentences: their words and actions, and how many of each they have."""

    words: Int[np.ndarray, "sentence word"]
    word_count: Int[np.ndarray, " sentence"]
    actions: Int[np.ndarray, "sentence action"]
    action_count: Int[np.ndarray, " sentence"]


class Commands(NamedTuple):
    """All commands, those with fewer actions first."""

    first: Int[np.ndarray, " command"]
    """The number of the sentence that is written first."""
    second: Int[np.ndarray, " command"]
    """The number of the other sentence, or -1 if there is none."""
    after: Bool[np.ndarray, " command"]
    """Whether the second sentence is executed first."""
    start: Int[np.ndarray, " actions"]
    """The number of commands with fewer actions, for each number of actions up to 49."""


def _phrases() -> list[tuple[list[str], list[str]]]:
    """Lists the phrases V with their actions."""
    verbs = ["walk", "look", "run", "jump"]
    found = [([verb], [f"I_{verb.upper()}"]) for verb in verbs]
    for verb, side in itertools.product([*verbs, "turn"], ["left", "right"]):
        turn, act = f"I_TURN_{side.upper()}", [] if verb == "turn" else [f"I_{verb.upper()}"]
        found.append(([verb, side], [turn, *act]))
        found.append(([verb, "opposite", side], [turn, turn, *act]))
        found.append(([verb, "around", side], 4 * [turn, *act]))
    return found


@cache
def sentences() -> Sentences:
    """Returns all sentences S."""
    repeats = ([], 1), (["twice"], 2), (["thrice"], 3)
    pairs = [(w + more, times * a) for w, a in _phrases() for more, times in repeats]
    tables = []
    for rows, names, width in (
        ([w for w, _ in pairs], WORDS, (PLACES - 1) // 2),
        ([a for _, a in pairs], ACTIONS, LONGEST // 2),
    ):
        table = np.zeros((len(rows), width), np.int32)
        for number, row in enumerate(rows):
            table[number, : len(row)] = [names.index(name) for name in row]
        tables += [table, np.array([len(row) for row in rows], np.int32)]
    return Sentences(*tables)


@cache
def commands() -> Commands:
    """Returns all commands."""
    count = sentences().action_count
    numbers = range(len(count))
    every = [(i, -1, False) for i in numbers]
    every += [(i, j, after) for i in numbers for j in numbers for after in (False, True)]
    first, second, after = (np.array(column) for column in zip(*every, strict=True))
    total = count[first] + np.where(second < 0, 0, count[second])
    order = np.argsort(total, kind="stable")
    start = np.searchsorted(total[order], np.arange(LONGEST + 2))
    narrow = first[order].astype(np.int16), second[order].astype(np.int16)
    return Commands(*narrow, after[order], start.astype(np.int32))


@cache
def _served() -> Int[np.ndarray, " length"]:
    """Returns for each length the largest number of actions up to it that some command has."""
    counts = np.diff(commands().start)
    return np.maximum.accumulate(np.where(counts > 0, np.arange(LONGEST + 1), 0)).astype(np.int32)


class Scan(Task):
    """A uniformly drawn command of SCAN with n actions; the actions.

    A length that no command has takes the nearest shorter one. The input has nine places; a
    filler follows a shorter command.

    >>> from randpos.tasks.render import show
    >>> show(Scan(), length=4, count=2, seed=0)
    ['to<&w2___ → <<ww', 'j<2______ → <j<j']
    """

    name = "scan"
    level = "R"
    description = "the actions of a command: < and > turn, o is opposite, a is around"
    symbols = "wlrjt<>oa23&;_"
    output_symbols = "wlrj<>"
    chance = 1 / 6

    def input_length(self, length: Length) -> Length:
        """Nine places, whatever the number of actions."""
        return PLACES

    def output_length(self, length: Length) -> Length:
        """The number of actions: n, or the nearest shorter number that a command has."""
        if isinstance(length, int):
            return int(_served()[min(length, LONGEST)])
        return jnp.asarray(_served())[jnp.minimum(length, LONGEST)]

    def example(self, key: Key[Array, ""], length: Length, maximum: int) -> Example:
        """Draws one of the commands with this number of actions."""
        table, actions = commands(), jnp.asarray(self.output_length(length))
        start = jnp.asarray(table.start)
        count = start[actions + 1] - start[actions]
        number = start[actions] + below(words(key, 1)[0], count)
        return spell(number, int(self.output_length(maximum)))


def spell(number: Int[Array, ""], size: int) -> Example:
    """Returns the words of a command, and its actions in a buffer of `size` places."""
    table, parts = commands(), sentences()
    first, second = (jnp.asarray(x)[number].astype(jnp.int32) for x in table[:2])
    after, alone = jnp.asarray(table.after)[number], second < 0
    second = jnp.maximum(second, 0)

    def joined(rows, counts, left, right, gap, size):
        """Writes row `left`, a gap and row `right` into `size` places."""
        rows, counts, place = jnp.asarray(rows), jnp.asarray(counts), jnp.arange(size)
        behind = place - counts[left] - gap
        last = rows.shape[1] - 1
        written = jnp.where(
            place < counts[left],
            rows[left, jnp.minimum(place, last)],
            rows[right, jnp.clip(behind, 0, last)],
        )
        ends = jnp.where(alone, counts[left], counts[left] + gap + counts[right])
        return jnp.where(place < ends, written, 0), ends

    spoken, ends = joined(parts.words, parts.word_count, first, second, 1, PLACES)
    between = ~alone & (jnp.arange(PLACES) == jnp.asarray(parts.word_count)[first])
    spoken = jnp.where(between, jnp.where(after, AFTER, AND), spoken)
    spoken = jnp.where(inside(ends, PLACES), spoken, FILLER)
    earlier, later = jnp.where(after, second, first), jnp.where(after, first, second)
    acted, _ = joined(parts.actions, parts.action_count, earlier, later, 0, size)
    return Example(spoken, acted)
