"""The paper's evaluation by name: which runs every table and figure is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from randpos.catalog import PAPER_ROWS, get_combination
from randpos.errors import UserError, unknown
from randpos.experiment import PRESETS, Experiment, flat, preset
from randpos.sweeps.grid import Grid, distinct
from randpos.tasks import TASKS

Budget = Literal["smoke", "laptop", "paper"]

SEEDS = {"smoke": (0,), "laptop": (0,), "paper": tuple(range(10))}
RATES = {"smoke": (3e-4,), "laptop": (3e-4,), "paper": (1e-4, 3e-4, 5e-4)}

TABLE_1 = [name for name in PAPER_ROWS if name not in ("geometric", "unsorted-sincos")]
ROWS = {
    "table1": TABLE_1,
    "ablation-sorting": ["unsorted-sincos", "randomized-sincos"],
    "geometric": ["geometric", *(name for name in TABLE_1 if name.startswith("randomized"))],
}
COPIES = {"table-means": "table1", "running-times": "table1", "curves": "table1"}
"""What reads the same runs as another table."""
LOOKED_INTO = ["relative", "randomized-relative"]


def grids(name: str) -> list[Grid]:
    """Returns the grids of a named experiment; seeds, rates and budget come on top."""
    name = COPIES.get(name, name)
    if name in ROWS:
        return [Grid(name, {}, {"task": list(TASKS), "encoding": ROWS[name]})]
    relative = {"encoding": "randomized-relative"}
    two = {"task": ["reverse_string", "missing_duplicate"]}
    if name == "max-position":
        return [Grid(name, relative, {**two, "positions.maximum": [1024, 2048, 4096, 8192]})]
    if name == "efficiency":
        task = {"task": "missing_duplicate"}
        return [
            Grid(name, {**task, "encoding": "relative", "lengths.maximum": 500}),
            Grid(name, {**task, **relative}),
        ]
    if name in ("pca", "attention"):
        return [Grid(name, {"task": "reverse_string"}, {"encoding": LOOKED_INTO})]
    if name == "readings":
        readings = {"positions.reading": ["positions", "distances", "released"]}
        draws = {"positions.draw": ["per_batch", "per_layer"]}
        return [Grid(name, relative, {**two, **readings, **draws})]
    raise unknown("experiment", name, names())


def names() -> list[str]:
    """Lists the named experiments."""
    one = ["max-position", "efficiency", "pca", "attention", "readings"]
    return [*ROWS, *COPIES, *one]


@dataclass(frozen=True)
class Slice:
    """How much of an experiment is run; what is left empty is as the experiment has it."""

    budget: Budget = "paper"
    """Steps, test lengths, and how many seeds and rates."""
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
    """Examples per training step instead of 128."""
    test_length: int | None = None
    """M instead of the budget's."""
    stride: int | None = None
    """Test every stride-th length, instead of the budget's."""
    examples: int | None = None
    """Examples per tested length, instead of the budget's."""

    def expand(self, grid: Grid) -> list[Experiment]:
        """Returns the experiments of this slice of a grid."""
        if self.budget not in PRESETS:
            raise unknown("budget", self.budget, PRESETS)
        base = flat(preset(self.budget).to_dict())
        changes: dict[str, Any] = {
            "steps": self.steps,
            "batch": self.batch,
            "test_length": self.test_length,
            "evaluation.stride": self.stride,
            "evaluation.batch": self.examples,
        }
        base.update({name: value for name, value in changes.items() if value is not None})
        # A model must be tested at all lengths that it is trained on.
        longest = grid.fixed.get("lengths.maximum", 0)
        if isinstance(longest, int) and longest > base["test_length"]:
            base["test_length"] = longest
        said = {
            "task": self.tasks,
            "encoding": tuple(get_combination(one).name for one in self.encodings),
            "learning_rate": self.rates,
            "seed": self.seeds,
        }
        for name in ("task", "encoding"):
            if said[name] and name in grid.fixed and grid.fixed[name] not in said[name]:
                return []
        usual = {"learning_rate": RATES[self.budget], "seed": SEEDS[self.budget]}
        axes = {name: said.get(name) or values for name, values in grid.axes.items()}
        if self.encodings and "encoding" in axes and grid.name != "table1":
            # Only Table 1 takes whatever is asked for: elsewhere rows have their meaning.
            axes["encoding"] = [e for e in grid.axes["encoding"] if e in said["encoding"]]
            if not axes["encoding"]:
                return []
        for name, values in usual.items():
            if said[name] or name not in {**grid.fixed, **axes}:
                axes[name] = said[name] or values
        return Grid(grid.name, grid.fixed, axes).expand(base)


def expand(name: str, part: Slice) -> list[Experiment]:
    """Returns the runs of a named experiment, without repetitions, or of `all` of them."""
    chosen = [grid for one in (names() if name == "all" else [name]) for grid in grids(name=one)]
    return expand_grids(name, chosen, part)


def expand_grids(name: str, grids: Sequence[Grid], part: Slice) -> list[Experiment]:
    """Returns the runs of grids, without repetitions; there must be some."""
    found = distinct(one for grid in grids for one in part.expand(grid))
    if not found:
        asked = ", ".join((*part.tasks, *part.encodings))
        raise UserError(f"{name} has no runs with {asked}.")
    return found
