"""A child process that takes orders and answers with messages, both as lines of JSON."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from randpos.errors import StorageError, UserError
from randpos.sweeps.work import Emit, Event

Message = dict[str, Any]
Send = Callable[[Message], None]

CRASHES = {
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGSYS,
    signal.SIGTRAP,
}
"""Signals that a process causes itself. All others come from outside."""


class Process:
    """A child process with pipes to and from it.

    Args:
        module: The Python module to run.
        environment: Environment variables in addition to those of this process.
    """

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        try:
            self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
            # In its own session: Ctrl-C at the terminal interrupts only the driver, which then
            # asks its workers to stop.
            self.child = subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                start_new_session=True,
                env=os.environ | environment,
            )
        except OSError as error:
            raise UserError(
                f"a worker process cannot be started: {error.strerror}; pass fewer --workers, or "
                "raise the limits of this machine."
            ) from error

    def send(self, order: Message) -> None:
        """Sends an order. If the process is gone, `messages` ends."""
        assert self.child.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # a broken or a closed pipe
            self.child.stdin.write(json.dumps(order) + "\n")
            self.child.stdin.flush()

    def messages(self) -> Iterator[Message]:
        """Yields the messages of the process until it ends."""
        assert self.child.stdout is not None
        for line in self.child.stdout:
            try:
                yield json.loads(line)
            except ValueError:
                return  # the process was killed while it wrote this line

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.child.poll() is None

    @property
    def was_killed(self) -> bool:
        """Whether the process was ended from outside; a worker exits with 0 when interrupted."""
        code = self.child.poll()
        return code == 0 or (code is not None and code < 0 and -code not in CRASHES)

    def describe_end(self) -> str:
        """Waits for the end of the process and says how it ended, with its last error line."""
        code = self.child.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        self.errors.seek(0)
        last = self.errors.read()[-2000:].strip().splitlines()[-1:]
        return f"its process {how}" + (f": {last[0]}" if last else "")

    def interrupt(self) -> None:
        """Asks the process to save its work and to end."""
        if self.alive:
            self.child.send_signal(signal.SIGINT)

    def close_input(self) -> None:
        """Ends the orders; the process then exits."""
        assert self.child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()

    def wait(self, seconds: float) -> None:
        """Ends the orders and waits for the process to end; kills it after `seconds`."""
        self.close_input()
        try:
            self.child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def close(self, seconds: float) -> None:
        """Waits for the process as `wait` does, then closes its files.

        No other thread may read `messages` any more.
        """
        self.wait(seconds)
        assert self.child.stdout is not None
        self.child.stdout.close()
        self.errors.close()


def follow(messages: Iterable[Message], emit: Emit) -> Message | None:
    """Passes on the events and warnings of a job.

    Returns:
        The message that ends the job, or None if the process ended before the job did.

    Raises:
        StorageError: If the store refused to be read or written.
    """
    for message in messages:
        if "event" in message:
            emit(Event(**message["event"]))
        elif "warning" in message:
            warnings.warn(message["warning"], stacklevel=2)
        elif "refused" in message:
            raise StorageError(message["refused"])
        else:
            return message
    return None


def open_answers() -> Send:
    """Called in a child process: returns the function that sends messages to the driver.

    Everything else that writes to standard output goes to standard error from now on. If the driver
    is gone, sending raises `KeyboardInterrupt`, so that runs are saved as on an interrupt.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    lock = threading.Lock()

    def send(message: Message) -> None:
        try:
            with lock:
                answers.write(json.dumps(message) + "\n")
                answers.flush()
        except BrokenPipeError as error:
            raise KeyboardInterrupt from error

    return send
