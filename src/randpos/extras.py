"""The error for an optional dependency that is not installed."""

from randpos.errors import UserError


class MissingExtraError(UserError, ImportError):
    """An optional dependency is not installed; the message has the command that installs it.

    It is an `ImportError` too, so that `try: import randpos.torch` behaves as Python users expect.

    >>> print(MissingExtraError("randpos.torch", "PyTorch", "torch"))
    randpos.torch needs PyTorch: pip install "randpos[torch]"
    """

    def __init__(self, module: str, library: str, extra: str) -> None:
        super().__init__(f'{module} needs {library}: pip install "randpos[{extra}]"')
