"""`randpos sweep`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from randpos.config import Experiment
from randpos.errors import UserError
from randpos.paper.experiments import Slice, expand
from randpos.sweeps.driver import Driver
from randpos.sweeps.grid import distinct, read_grid
from randpos.sweeps.local import Executor, Local
from randpos.sweeps.plan import make_plan
from randpos.sweeps.view import SweepView


@dataclass(frozen=True)
class Sweep:
    """Train and test all runs of a table or figure, or of a grid file; does what is missing.

    Stopped at any moment and started again with the same command, it continues where it was. Two
    sweeps on one store share the work.
    """

    name: tyro.conf.Positional[str]
    """A named experiment such as table1, `all` of them, or the path of a grid file (.toml)."""
    part: Annotated[Slice, tyro.conf.arg(name="")]
    store: Path = Path("runs")
    """Folder that runs are kept in, each under the digest of its experiment."""
    executor: Literal["local", "ray"] = "local"
    """Where runs are done: processes on this machine, or a Ray cluster."""
    address: str = "auto"
    """Address of the Ray cluster."""
    workers: int | None = None
    """Jobs at a time; by default one per core, or per accelerator."""
    members: int | None = None
    """Most runs that share a program; by default all that differ only in seed and rate."""
    save_every: float = 60.0
    """Seconds between two checkpoints of a run."""
    retry_failed: bool = False
    """Try failed runs again."""
    dry_run: bool = False
    """Only print what would be done, with a measured estimate of time and disk."""
    estimate: bool = False
    """Only print the arithmetic: operations per run, and hours on 1, 8 and 64 accelerators."""

    def __call__(self) -> None:
        """Does what is missing, and says what failed."""
        experiments = self.experiments()
        plan = make_plan(experiments, self.store, self.retry_failed)
        console = Console(stderr=True)
        with SweepView(plan, console) as view:
            driver = Driver(plan, self.store, self.choose_executor(), view, self.members)
            driver.run()
        failed = {**{one.digest: why for one, why in plan.failed}, **driver.failures}
        for run, reason in failed.items():
            console.print(f"{run} failed: {reason}", highlight=False, markup=False, soft_wrap=True)
        if failed:
            raise UserError(
                f"{len(failed)} of {len(experiments)} runs failed; see randpos runs list, and run "
                "the same command with --retry-failed to try them again."
            )

    def experiments(self) -> list[Experiment]:
        """Returns the runs that are asked for."""
        if self.name.endswith(".toml"):
            return distinct(self.part.expand(read_grid(Path(self.name))))
        return expand(self.name, self.part)

    def choose_executor(self) -> Executor:
        """Returns where the runs are done."""
        return Local(self.store, self.workers, self.save_every)
