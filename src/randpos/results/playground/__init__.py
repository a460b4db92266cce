"""The playground: one HTML file that runs trained models in the browser."""

from randpos.results.playground.models import Player, load_players
from randpos.results.playground.write import make_playground, write_playground

__all__ = ["Player", "load_players", "make_playground", "write_playground"]
