"""`randpos playground`: trained models in one page that runs them in the browser."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import tyro

from randpos.errors import UserError
from randpos.store.folder import Store


@dataclass(frozen=True)
class Playground:
    """Write a page that runs trained models in the browser: one file, no server.

    Without RUNS it takes all trained models of the store that the page can run, and warns of the
    others.
    """

    runs: tyro.conf.Positional[tuple[str, ...]] = ()
    """Folders of runs, or the beginnings of their digests."""
    store: Path = Path("runs")
    """Where to look for digests."""
    out: Path = Path("playground.html")
    """The file to write."""

    def __call__(self) -> None:
        """Writes the page and prints its name."""
        from randpos.results.playground import Player, write_playground

        store = Store(self.store)
        players = [Player.load(store.find(name)) for name in self.runs]
        for folder in () if self.runs else store.runs():
            if not folder.parameters.is_file():
                continue
            try:
                players.append(Player.load(folder))
            except UserError as error:
                warnings.warn(str(error), stacklevel=2)
        if not players:
            raise UserError(f"{self.store} holds no trained model for the playground; name a run.")
        write_playground(players, self.out)
        print(self.out)
