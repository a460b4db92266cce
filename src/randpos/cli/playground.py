"""`randpos playground`: trained models in one page that runs them in the browser."""

from dataclasses import dataclass
from pathlib import Path

import tyro

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
        from randpos.results.playground import load_players, write_playground

        write_playground(load_players(Store(self.store), self.runs), self.out)
        print(self.out)
