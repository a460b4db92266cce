"""The tasks: the paper's fifteen (section 4) and tasks beyond it, one file each."""

from randpos.errors import unknown
from randpos.tasks.addition import VARIANTS
from randpos.tasks.base import Batch, Example, Level, Task
from randpos.tasks.binary_addition import BinaryAddition
from randpos.tasks.binary_multiplication import BinaryMultiplication
from randpos.tasks.bucket_sort import BucketSort
from randpos.tasks.compute_sqrt import ComputeSqrt
from randpos.tasks.copy import Copy
from randpos.tasks.cycle_navigation import CycleNavigation
from randpos.tasks.duplicate_string import DuplicateString
from randpos.tasks.even_pairs import EvenPairs
from randpos.tasks.listops import ListOps
from randpos.tasks.missing_duplicate import MissingDuplicate
from randpos.tasks.modular_arithmetic import ModularArithmetic
from randpos.tasks.modular_arithmetic_simple import ModularArithmeticSimple
from randpos.tasks.multi_query_recall import MultiQueryRecall
from randpos.tasks.odds_first import OddsFirst
from randpos.tasks.parity_check import ParityCheck
from randpos.tasks.reverse_string import ReverseString
from randpos.tasks.scan import Scan
from randpos.tasks.solve_equation import SolveEquation
from randpos.tasks.stack_manipulation import StackManipulation
from randpos.tasks.user_task import load

__all__ = ["PAPER_TASKS", "TASKS", "Batch", "Example", "Level", "Task", "get_task"]

PAPER_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        EvenPairs(),
        ModularArithmeticSimple(),
        ParityCheck(),
        CycleNavigation(),
        StackManipulation(),
        ReverseString(),
        ModularArithmetic(),
        SolveEquation(),
        DuplicateString(),
        MissingDuplicate(),
        OddsFirst(),
        BinaryAddition(),
        BinaryMultiplication(),
        ComputeSqrt(),
        BucketSort(),
    )
}
"""The fifteen tasks of the paper, in the order of its tables. Its grids have no others."""

BEYOND: dict[str, Task] = {
    task.name: task
    for task in (
        Copy(),
        MultiQueryRecall(),
        VARIANTS["addition"],
        VARIANTS["addition_reversed"],
        VARIANTS["addition_reversed_hints"],
        Scan(),
        ListOps(),
    )
}
"""Tasks that the paper does not have; register a new task here."""

TASKS: dict[str, Task] = PAPER_TASKS | BEYOND
"""Every task by name, the paper's first."""


def get_task(name: str) -> Task:
    """Returns the task of a name, or of a `module:Class` in a file of your own.

    >>> get_task("reverse_string").output_length(7)
    7
    """
    if ":" in name:
        return load(name)
    if name in VARIANTS:
        return VARIANTS[name]
    if name not in TASKS:
        raise unknown("task", name, TASKS | VARIANTS)
    return TASKS[name]
