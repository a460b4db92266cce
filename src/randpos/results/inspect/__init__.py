"""What happens inside trained models, and what training costs (section 4 and appendix B.3)."""

from randpos.results.efficiency import Efficiency, compare_efficiency
from randpos.results.inspect.activations import Activations, compare_activations
from randpos.results.inspect.attention import Attention, look_at_attention
from randpos.results.inspect.models import best_trained
from randpos.results.selection import best_runs, comparable, scores, tested

__all__ = [
    "Activations",
    "Attention",
    "Efficiency",
    "best_runs",
    "best_trained",
    "comparable",
    "compare_activations",
    "compare_efficiency",
    "look_at_attention",
    "scores",
    "tested",
]
