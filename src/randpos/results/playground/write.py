"""Writes the playground: one HTML file with models, code and style. It needs no network."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from randpos import __version__
from randpos.errors import UserError
from randpos.paper.looks import task_label, task_order
from randpos.results.inlining import document, embedded, template
from randpos.results.playground.models import (
    Player,
    Precision,
    check_supported,
    facts,
    packed_weights,
)
from randpos.results.tables.labels import encoding_order
from randpos.store.files import write_atomic
from randpos.tasks import TASKS

STYLES = ("style.css", "controls.css", "models.css")
ENGINE = ("linear.js", "rows.js", "encodings.js", "forward.js", "weights.js", "worker.js")
"""The scripts that also run in the page's workers."""
SCRIPTS = (
    "expressions.js",
    "tasks.js",
    "positions.js",
    "runner.js",
    "svg.js",
    "answers.js",
    "numberline.js",
    "attention.js",
    "chart.js",
    "card.js",
    "tests.js",
    "input.js",
    "main.js",
)
_template = partial(template, "randpos.results.playground")


def write_playground(players: Sequence[Player], out: Path) -> None:
    """Writes the playground of some trained models, atomically."""
    write_atomic(out, make_playground(players).encode())


def make_playground(players: Sequence[Player], precision: Precision = "float16") -> str:
    """Returns the playground as text.

    Args:
        players: The models; on the page they are grouped by task, and ordered as in the paper.
        precision: How weights are stored.
    """
    for player in players:
        check_supported(player.run, player.experiment)
    if not players:
        raise UserError("the playground needs at least one trained run; name one.")
    order = encoding_order({player.experiment.encoding_name for player in players})
    players = sorted(players, key=lambda p: order.index(p.experiment.encoding_name))
    tasks = task_order(player.experiment.task for player in players)
    style = "\n".join(_template(name) for name in STYLES)
    # The report's own script makes every element, and all text in it.
    dom = template("randpos.results.page", "dom.js")
    engine = "\n".join(_template(name) for name in ENGINE)
    script = "\n".join([dom, *(_template(name) for name in SCRIPTS)])
    about = {
        "version": __version__,
        "tasks": {task: task_facts(task) for task in tasks},
        "first": max(tasks, key=lambda task: contrast(players, task)),
        "models": [facts(player) for player in players],
        "precision": precision,
    }
    weights = "\n".join(
        f'<script type="application/octet-stream" id="weights-{number}">'
        f"{packed_weights(player, precision)}</script>"
        for number, player in enumerate(players)
    )
    body = Template(_template("page.html")).substitute(
        about=embedded(about), weights=weights, engine=engine, script=script
    )
    return document(
        style,
        [engine, script],
        body,
        "connect-src 'none'",
        "worker-src blob:",
        title="Longer than trained: a playground of randomized positional encodings",
        description="Two Transformers, trained on short inputs, run in your browser. Make the "
        "input longer and see which one still works.",
    )


def contrast(players: Sequence[Player], task: str) -> float:
    """Returns how far the scores of a task's models lie apart; the page opens with the widest."""
    scores = [player.score for player in players if player.experiment.task == task]
    known = [score for score in scores if score is not None]
    return max(known) - min(known) if known else 0.0


def task_facts(task: str) -> dict[str, Any]:
    """Returns what the page knows of a task but how to answer it."""
    known = TASKS[task]
    return {
        "label": task_label(task),
        "description": known.description,
        "symbols": known.symbols,
        "output_symbols": known.output_symbols,
        "chance": known.chance,
        "terminator": known.terminator,
    }
