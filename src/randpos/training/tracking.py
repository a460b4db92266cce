"""Optional experiment trackers: they get the metrics that the run's folder gets."""

from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from randpos.errors import UserError
from randpos.experiment import Experiment

Name = Literal["tensorboard", "wandb"]


@runtime_checkable
class Tracker(Protocol):
    """Somewhere that numbers over steps are sent."""

    def log(self, step: int, values: dict[str, float]) -> None:
        """Sends the values of a step."""
        ...

    def close(self) -> None:
        """Makes sure that everything has arrived."""
        ...


class TensorBoard:
    """Writes TensorBoard event files into the run's folder."""

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise _missing("tensorboard") from error
        self.writer = SummaryWriter(str(folder / "tensorboard"))

    def log(self, step: int, values: dict[str, float]) -> None:
        """Adds one scalar per value."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Writes what is buffered."""
        self.writer.close()


class WandB:
    """Logs to Weights & Biases under the run's digest; `WANDB_MODE=offline` needs no network."""

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        try:
            import wandb
        except ImportError as error:
            raise _missing("wandb") from error
        self.run = wandb.init(
            project="randpos",
            id=experiment.digest,
            name=f"{experiment.task}/{experiment.encoding}/{experiment.seed}",
            config=experiment.to_dict(),
            dir=str(folder),
            resume="allow",
            # Without it a second member of an ensemble would log into the first one's run.
            reinit="create_new",
        )

    def log(self, step: int, values: dict[str, float]) -> None:
        """Logs the values at their step."""
        self.run.log(values, step=step)

    def close(self) -> None:
        """Ends the run."""
        self.run.finish()


def _missing(name: str) -> UserError:
    return UserError(f'--track {name} needs an extra: pip install "randpos[tracking]".')


TRACKERS: dict[str, type[TensorBoard] | type[WandB]] = {"tensorboard": TensorBoard, "wandb": WandB}
