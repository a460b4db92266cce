"""Activations and attention of trained models, and the cost of training (section 4, B.3)."""

from randpos.results.efficiency import Efficiency, compare_efficiency
from randpos.results.inspect.activations import Activations, compare_activations
from randpos.results.inspect.attention import Attention, attention_entropy, look_at_attention
from randpos.results.inspect.models import best_trained

__all__ = [
    "Activations",
    "Attention",
    "Efficiency",
    "attention_entropy",
    "best_trained",
    "compare_activations",
    "compare_efficiency",
    "look_at_attention",
]
