"""What happens inside trained models, and what training costs (section 4 and appendix B.3)."""

from randpos.analysis.activations import Activations, compare_activations
from randpos.analysis.attention import Attention, look_at_attention
from randpos.analysis.efficiency import Efficiency, compare_efficiency
from randpos.analysis.models import best_trained
from randpos.analysis.selection import best_runs, comparable, scores, tested

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
