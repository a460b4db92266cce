"""How fast the paper's own runs were: what estimates for accelerators are based on."""

import polars as pl

from randpos.experiment import Experiment
from randpos.paper.published import published
from randpos.sweeps.estimate import training


def published_speed() -> float:
    """Returns the operations per second that the paper's running times amount to, on one V100.

    The operations of all runs that Table 2 lists, divided by their hours: 2,000,000 steps each.
    """
    table = published("running_times").filter(pl.col("statistic") == "mean")
    operations = sum(
        training(Experiment(task=task, encoding=encoding))
        for task, encoding in table.select("task", "encoding").iter_rows()
    )
    return operations / (3600 * float(table["value"].sum()))
