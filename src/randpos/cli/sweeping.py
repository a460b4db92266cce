"""`randpos sweep`.

What imports JAX is imported where it is used: help and wrong options are answered without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.console import Console

from randpos.cli.display import Format, show
from randpos.cli.training import describe_budget
from randpos.errors import UserError, check_seconds
from randpos.experiment import Experiment, preset
from randpos.paper.slices import USUAL_BUDGET, Slice, expand, expand_grids
from randpos.store.folder import Store
from randpos.sweeps.grid import groups, read_grid

if TYPE_CHECKING:
    from randpos.sweeps.executor import Executor
    from randpos.sweeps.plan import Plan

LISTED = 3
"""Runs that a dry run lists from the start and from the end."""


@dataclass(frozen=True)
class Sweep:
    """Train and test all runs of a table or figure, or of a grid file, that the store lacks.

    Stopped at any moment and started again with the same command, it continues where it was. Two
    sweeps on one store share the work.
    """

    name: tyro.conf.Positional[str]
    """A named experiment such as table1, `all` of them, or the path of a grid file (.toml)."""
    part: Annotated[Slice, tyro.conf.arg(name="")]
    store: Path = Path("runs")
    """Folder that runs are kept in, each under the digest of its experiment."""
    executor: Literal["local", "ray"] = "local"
    """Where runs are trained: in processes on this machine, or on a Ray cluster."""
    address: str = "auto"
    """Address of the Ray cluster."""
    reconnect: float = 600.0
    """Seconds to wait for a Ray cluster that went away."""
    workers: int | None = None
    """Jobs at a time; by default one per core, or per accelerator."""
    members: int | None = None
    """Most runs that share a job; by default all that differ only in seed and learning rate."""
    save_every: float = 60.0
    """Seconds between two checkpoints of a run."""
    retry_failed: bool = False
    """Try failed runs again."""
    dry_run: bool = False
    """Only print the runs to do, with a measured estimate of time and disk."""
    estimate: bool = False
    """Only print the arithmetic: operations per run, and hours on 1, 8 and 64 accelerators."""
    format: Format = "text"
    """How a dry run or an estimate is printed."""

    def __call__(self) -> None:
        """Runs the sweep, then prints where the runs are and what to do next."""
        from randpos.sweeps.plan import make_plan

        self.check()
        experiments = self.experiments()
        if self.part.budget is None:
            Console(stderr=True).print(self.budget_note(), highlight=False, soft_wrap=True)
        if self.estimate:
            show_estimate(experiments, self.format)
        elif self.dry_run:
            self.show_plan(make_plan(experiments, self.store, self.retry_failed))
        else:
            self.run(experiments)
            Console(stderr=True).print(self.next_steps(), highlight=False, soft_wrap=True)

    def run(self, experiments: Sequence[Experiment]) -> None:
        """Trains and tests the missing runs; raises `UserError` if any run failed."""
        from randpos.sweeps.driver import Driver
        from randpos.sweeps.plan import make_plan
        from randpos.sweeps.view import SweepView

        plan = make_plan(experiments, self.store, self.retry_failed)
        if self.retry_failed:
            for experiment in plan.missing:
                Store(self.store).run(experiment).clear_failure()
        console = Console(stderr=True)
        with SweepView(plan, console) as view:
            driver = Driver(plan, self.store, self.choose_executor(), view, self.members)
            driver.run()
        failed = {run.digest: reason for run, reason in plan.failed} | driver.failures
        for run, reason in failed.items():
            console.print(f"{run} failed: {reason}", highlight=False, markup=False, soft_wrap=True)
        if failed:
            raise UserError(
                f"{len(failed)} of {len(experiments)} runs failed; see randpos runs list, and run "
                "the same command with --retry-failed to try them again."
            )

    def check(self) -> None:
        """Raises `UserError` for numbers that are out of range."""
        for name in ("workers", "members"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name} {value} must be at least 1.")
        check_seconds("save_every", self.save_every)
        check_seconds("reconnect", self.reconnect)

    def experiments(self) -> list[Experiment]:
        """Returns the runs that the command names."""
        if self.name.endswith(".toml"):
            return expand_grids(self.name, [read_grid(Path(self.name))], self.part)
        return expand(self.name, self.part)

    def budget_note(self) -> str:
        """Returns a note on the budget that is used without --budget."""
        if self.name.endswith(".toml"):
            return f"randpos: settings that {self.name} does not name are the paper's."
        paper = f"--budget paper: {describe_budget(preset('paper'))}"
        usual = describe_budget(preset(USUAL_BUDGET))
        return f"randpos: budget {USUAL_BUDGET}: {usual} ({paper})."

    def choose_executor(self) -> "Executor":
        """Returns the executor that the command names."""
        if self.executor == "ray":
            from randpos.sweeps.ray import Ray

            return Ray(self.store, self.address, self.workers, self.save_every, self.reconnect)
        from randpos.sweeps.local import Local

        return Local(self.store, self.workers, self.save_every)

    def next_steps(self) -> str:
        """Returns where the runs are, and two commands that read them."""
        return (
            f"The runs are in {self.store}. Next:\n"
            f"  randpos runs list --store {self.store}\n"
            f"  randpos report {self.store} --out report.html"
        )

    def show_plan(self, plan: "Plan") -> None:
        """Prints the missing runs, and the time they take at the speed of a short measurement."""
        from randpos.results.selection import count
        from randpos.sweeps.estimate import cost
        from randpos.sweeps.local import measure_worker, places
        from randpos.sweeps.view import duration
        from randpos.sweeps.work import describe_run

        workers = self.workers or len(places())
        row: dict[str, Any] = {
            "runs": len(plan.done) + len(plan.failed) + len(plan.missing),
            "done": len(plan.done),
            "failed": len(plan.failed),
            "missing": len(plan.missing),
            "programs": len(groups(plan.missing)),
            "workers": workers,
            "disk_gb": cost(plan.missing).disk / 1e9,
        }
        compiling = working = 0.0
        if plan.missing:
            note = (
                "randpos: measuring the speed of one run on this machine (compiles its program) …"
            )
            Console(stderr=True).print(note, highlight=False, soft_wrap=True)
            speed = measure_worker(plan.missing[0])
            compiling, working = speed.seconds(plan.missing, workers)
            row["gflops_per_worker"] = speed.operations / 1e9
        row |= {"compiling_seconds": compiling, "working_seconds": working}
        names = [f"{run.digest}  {describe_run(run)}" for run in plan.missing]
        if self.format == "json":
            show([{**row, "missing_runs": names}], "json")
            return
        print(
            f"{count(row['runs'], 'run')}: {row['done']:,} done, {row['failed']:,} failed, ", end=""
        )
        print(f"{row['missing']:,} missing in {count(row['programs'], 'program')}.")
        if not plan.missing:
            return
        hidden = len(names) - 2 * LISTED
        if hidden > 1:
            names[LISTED:-LISTED] = [f"… {hidden:,} more"]
        print(*(f"  {name}" for name in names), sep="\n")
        print(
            f"About {duration(compiling + working)} with {count(workers, 'worker')} at the speed "
            f"of this machine: {duration(compiling)} compiling (less if programs are in the "
            f"cache), {duration(working)} training and testing. Disk: {row['disk_gb']:.2g} GB."
        )


def show_estimate(experiments: Sequence[Experiment], form: Format) -> None:
    """Prints hours on 1, 8 and 64 accelerators, at the speed of the paper's runs on a V100."""
    from randpos.paper.speed import published_speed
    from randpos.sweeps.estimate import cost

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
