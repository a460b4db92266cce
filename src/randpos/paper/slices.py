"""Slices of the runs that a table or figure is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from randpos.errors import UserError, unknown
from randpos.experiment import PRESETS, Experiment, preset
from randpos.paper.artifacts import experiments, paper_experiments
from randpos.plain_data import flat
from randpos.sweeps.grid import Grid, distinct

SEEDS = {"paper": tuple(range(10))}
"""Seeds of a budget; of all others, only seed 0."""
RATES = {"paper": (1e-4, 3e-4, 5e-4)}
"""Learning rates of a budget; of all others, only the rate that the budget sets."""
USUAL_BUDGET = "laptop"
"""The budget of a table or figure, unless another is chosen."""


@dataclass(frozen=True)
class Slice:
    """How much of an artifact is run; an empty field keeps what the artifact has."""

    budget: str | None = None
    """Name of the budget (see `randpos train --help`): steps, test lengths, seeds and rates. By
    default laptop; in a grid file, settings that it does not name are the paper's."""
    tasks: tuple[str, ...] = ()
    """Only these tasks."""
    encodings: tuple[str, ...] = ()
    """Only these encodings; of Table 1, also others than the paper's."""
    seeds: tuple[int, ...] = ()
    """These seeds instead of the budget's."""
    rates: tuple[float, ...] = ()
    """These learning rates instead of the budget's."""
    steps: int | None = None
    """Training steps instead of the budget's."""
    batch: int | None = None
    """Examples per training step instead of the budget's."""
    test_length: int | None = None
    """M instead of the budget's."""
    stride: int | None = None
    """Test one length in every so many, instead of the budget's."""
    examples: int | None = None
    """Examples per tested length, instead of the budget's."""

    def expand(self, grid: Grid) -> list[Experiment]:
        """Returns the experiments of this slice of a grid."""
        from randpos.catalog import get_combination  # JAX, which takes seconds to import

        budget = "paper" if self.budget is None else self.budget
        if budget not in PRESETS:
            raise unknown("budget", budget, PRESETS)
        base = flat(preset(budget).to_dict())
        changes: dict[str, Any] = {
            "steps": self.steps,
            "batch": self.batch,
            "test_length": self.test_length,
            "evaluation.stride": self.stride,
            "evaluation.batch": self.examples,
        }
        changes = {name: value for name, value in changes.items() if value is not None}
        base.update(changes)
        # What is asked for also replaces what an experiment sets itself, such as its M.
        grid = replace(
            grid, fixed={**grid.fixed, **{n: changes[n] for n in changes if n in grid.fixed}}
        )
        # A model must be tested at all lengths that it is trained on.
        longest = grid.fixed.get("lengths.maximum", 0)
        if isinstance(longest, int) and longest > base["test_length"]:
            base["test_length"] = longest
        wanted = {
            "task": self.tasks,
            "encoding": tuple(get_combination(name).name for name in self.encodings),
            "learning_rate": self.rates,
            "seed": self.seeds,
        }
        for name in ("task", "encoding"):
            if wanted[name] and name in grid.fixed and grid.fixed[name] not in wanted[name]:
                return []
        rates, seeds = ((base["learning_rate"],), (0,))
        if not grid.single:
            rates, seeds = RATES.get(budget, rates), SEEDS.get(budget, seeds)
        usual = {"learning_rate": rates, "seed": seeds}
        axes = {name: wanted.get(name) or values for name, values in grid.axes.items()}
        if self.encodings and "encoding" in axes and grid.name != "table1":
            # Only Table 1 takes other encodings: elsewhere each row has its meaning.
            axes["encoding"] = [e for e in grid.axes["encoding"] if e in wanted["encoding"]]
            if not axes["encoding"]:
                return []
        for name, values in usual.items():
            if wanted[name] or name not in {**grid.fixed, **axes}:
                axes[name] = wanted[name] or values
        return Grid(grid.name, grid.fixed, axes).expand(base)


def expand(name: str, part: Slice) -> list[Experiment]:
    """Returns the runs of an artifact, or of `all` artifacts of the paper, without repetitions."""
    known = experiments()
    if name not in (*known, "all"):
        raise unknown("experiment", name, [*known, "all"])
    chosen = paper_experiments().values() if name == "all" else [known[name]]
    if part.budget is None:
        part = replace(part, budget=USUAL_BUDGET)
    return expand_grids(name, [Grid(*runs) for artifact in chosen for runs in artifact.runs], part)


def expand_grids(name: str, grids: Sequence[Grid], part: Slice) -> list[Experiment]:
    """Returns the runs of grids, without repetitions; there must be some."""
    found = distinct(experiment for grid in grids for experiment in part.expand(grid))
    if not found:
        filters = ", ".join((*part.tasks, *part.encodings))
        raise UserError(f"{name} has no runs with {filters}.")
    return found
