"""`randpos sweep`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from randpos.cli.display import Format, show
from randpos.errors import UserError, check_seconds
from randpos.experiment import Experiment
from randpos.paper.experiments import Slice, expand, expand_grids
from randpos.paper.speed import published_speed
from randpos.store.folder import Store
from randpos.sweeps.driver import Driver
from randpos.sweeps.estimate import calibrate, cost
from randpos.sweeps.grid import read_grid
from randpos.sweeps.local import Executor, Local, places
from randpos.sweeps.plan import Plan, make_jobs, make_plan
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
    format: Format = "text"
    """How a plan or an estimate is printed."""

    def __call__(self) -> None:
        """Does what is missing, and says what failed."""
        self.check()
        experiments = self.experiments()
        if self.estimate:
            show_estimate(experiments, self.format)
            return
        plan = make_plan(experiments, self.store, self.retry_failed)
        if self.dry_run:
            self.show_plan(plan)
            return
        if self.retry_failed:
            for one in plan.missing:
                Store(self.store).run(one).clear_failure()
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

    def check(self) -> None:
        """Refuses numbers that would do nothing, or everything at once."""
        for name in ("workers", "members"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name} {value} must be at least 1.")
        check_seconds("save_every", self.save_every)

    def show_plan(self, plan: Plan) -> None:
        """Prints what would be done, with hours from a short run on this machine."""
        # What a cluster has is known when the sweep starts.
        slots = self.workers or (len(places()) if self.executor == "local" else None)
        jobs = make_jobs(plan.missing, slots or 1, self.members)
        price = cost(plan.missing)
        # Workers have a core each, but this process has them all: it is about one worker's speed
        # times the cores, less what threads lose.
        speed = calibrate() if plan.missing else 1.0
        row = {
            "runs": len(plan.done) + len(plan.failed) + len(plan.missing),
            "done": len(plan.done),
            "failed": len(plan.failed),
            "missing": len(plan.missing),
            "programs": len(jobs),
            "members_per_program": max((len(job.members) for job in jobs), default=0),
            "workers": slots,
            "measured_gflops": speed / 1e9,
            "hours": price.operations / speed / 3600,
            "disk_gb": price.disk / 1e9,
        }
        title = "What would be done, at the speed of this machine"
        if slots is None:
            title += "; workers are as many as the cluster has GPUs, or else CPUs"
        show([row], self.format, title)

    def experiments(self) -> list[Experiment]:
        """Returns the runs that are asked for."""
        if self.name.endswith(".toml"):
            return expand_grids(self.name, [read_grid(Path(self.name))], self.part)
        return expand(self.name, self.part)

    def choose_executor(self) -> Executor:
        """Returns where the runs are done."""
        if self.executor == "ray":
            from randpos.sweeps.ray import Ray

            return Ray(self.store, self.address, self.workers, self.save_every)
        return Local(self.store, self.workers, self.save_every)


def show_estimate(experiments: Sequence[Experiment], form: Format) -> None:
    """Prints hours on 1, 8 and 64 accelerators, at the speed of the paper's runs on a V100."""
    price, speed = cost(experiments), published_speed()
    rows = [
        {
            "accelerators": count,
            "runs": price.runs,
            "petaflop_training": price.training / 1e15,
            "petaflop_testing": price.testing / 1e15,
            "gflops_each": speed / 1e9,
            "hours": price.operations / speed / count / 3600,
            "days": price.operations / speed / count / 86_400,
            "disk_gb": price.disk / 1e9,
        }
        for count in (1, 8, 64)
    ]
    show(
        rows,
        form,
        "At the speed of the paper's own runs, one at a time on a V100 (docs/scaling.md)",
    )
