"""Makes `torch.compile` notice that hooks were added or removed, for the hooked model only."""

import torch
from torch import nn

outside_of_graphs = torch.compiler.disable(
    reason="randpos draws positions between the graphs; compile without fullgraph=True"
)


def mark(module: nn.Module) -> None:
    """Invalidates the compiled code of a module.

    The guards of compiled code do not look at hooks, but they see an attribute that hides the
    `forward` of the class.
    """
    if "forward" in vars(module):  # set by another library; compiled code is dropped altogether
        torch.compiler.reset()
    else:
        module.forward = module.forward


def unmark(module: nn.Module) -> None:
    """Undoes `mark`; code that was compiled before it is used again."""
    if getattr(vars(module).get("forward"), "__func__", None) is type(module).forward:
        del module.forward
    else:
        torch.compiler.reset()
