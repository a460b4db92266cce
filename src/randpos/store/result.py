"""What a run yields: accuracies by length, and how it ended (`result.json`)."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from randpos.errors import UserError, quoted
from randpos.store.files import read_json, write_json

Ending = Literal["complete", "diverged"]
Status = Literal["complete", "diverged", "failed", "unfinished"]


class Accuracy(NamedTuple):
    """How well one length is solved."""

    length: int
    accuracy: float
    """Share of the counted output tokens that are right."""
    whole: float
    """Share of the sequences whose counted tokens are all right."""
    error: float | None = None
    """Standard error of `accuracy`, from the spread over draws; None with a single draw."""
    forced: float | None = None
    """Accuracy of a decoder that reads the right answer before each token (teacher forcing), while
    `accuracy` and `whole` are those of generated answers. None for an encoder."""
    constant: bool | None = None
    """Whether all examples that share a draw of positions have the same answer, so that it cannot
    depend on the input. None if that was not recorded, or each example has its own draw."""


class CurvePoint(NamedTuple):
    """Mean training loss and accuracy over some steps, of which `step` is the last."""

    step: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    status: Ending
    step: int
    """The last step, or the first one whose loss is not finite."""
    seconds: float
    """Training time without interruptions and compilation."""
    curve: tuple[CurvePoint, ...] = ()
    """The learning curve."""


def read_result(path: Path) -> Result | None:
    """Reads `result.json`; None if the file does not exist.

    Raises:
        UserError: The file is damaged.
    """
    if not path.exists():
        return None
    data = read_json(path)
    if not isinstance(data, dict) or data.get("status") not in get_args(Ending):
        raise UserError(f"{path} is damaged: it does not say how the run ended.")
    if not is_count(data.get("step")):
        raise UserError(f"{path} is damaged: step is {quoted(data.get('step'))}.")
    if not is_number(data.get("seconds")) or data["seconds"] < 0:
        raise UserError(f"{path} is damaged: seconds is {quoted(data.get('seconds'))}.")
    curve = data.get("curve")
    if not isinstance(curve, list) or not all(map(is_curve_point, curve)):
        raise UserError(f"{path} is damaged: curve is {quoted(curve)}.")
    points = tuple(CurvePoint(*point) for point in curve)
    return Result(data["status"], data["step"], float(data["seconds"]), points)


def write_result(path: Path, result: Result) -> None:
    """Writes `result.json`, atomically."""
    write_json(path, asdict(result))


def is_count(value: Any) -> bool:
    """Returns whether a JSON value is an integer from 0 that fits into 64 bits."""
    return type(value) is int and 0 <= value < 2**63


def is_number(value: Any) -> bool:
    """Returns whether a JSON value is a finite number."""
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and abs(value) < 2**63


def is_curve_point(value: Any) -> bool:
    """Returns whether a JSON value is a step, a loss and an accuracy."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and is_count(value[0])
        and all(map(is_number, value[1:]))
        and 0 <= value[2] <= 1
    )


def percent(value: float | None) -> str:
    """Writes a share as the paper does; a missing one as a dash.

    >>> percent(0.9514), percent(None)
    ('95.1', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}"
