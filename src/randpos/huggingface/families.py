"""Which submodule of which model family turns positions into numbers, and how it counts them.

A model is randomized by changing what *that* submodule is told, and nothing else: masks, packing
and caches go on seeing ordinary position ids, which is what their code expects.
"""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from randpos.errors import UserError
from randpos.huggingface.refusals import REFUSED


@dataclass(frozen=True)
class Family:
    """How the models of one `config.model_type` consume positions.

    Args:
        name: The `config.model_type`.
        consumer: Name of the submodule that receives the positions, e.g. `rotary_emb`.
        argument: Name of the parameter of its `forward` that holds them.
        start: The id of the first token: 0, or `after_padding_idx` for padding_idx + 1 (RoBERTa).
        extra_rows: Rows of a learned table that belong to no position (OPT keeps two in front).
    """

    name: str
    consumer: str
    argument: str = "position_ids"
    start: Literal["zero", "after_padding_idx"] = "zero"
    extra_rows: int = 0

    def first(self, consumer: nn.Module) -> int:
        """Returns the id that an ordinary model gives to the first token of a sequence."""
        return 0 if self.start == "zero" else int(consumer.padding_idx) + 1  # type: ignore[arg-type]

    def capacity(self, consumer: nn.Module) -> int | None:
        """Returns how many positions a learned table holds; None if there is no table."""
        if not isinstance(consumer, nn.Embedding):
            return None
        return consumer.num_embeddings - self.extra_rows - self.first(consumer)


_ROTARY = [
    "apertus", "arcee", "bitnet", "cohere", "cohere2", "deepseek_v3", "diffllama", "ernie4_5",
    "eurobert", "exaone4", "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt_neox",
    "gpt_oss", "granite", "granitemoe", "helium", "hunyuan_v1_dense", "llama", "ministral",
    "mistral", "mixtral", "modernbert", "nemotron", "olmo", "olmo2", "olmo3", "olmoe",
    "persimmon", "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss",
    "smollm3", "stablelm", "starcoder2",
]  # fmt: skip

_FAMILIES: dict[str, Family] = {
    family.name: family
    for family in [
        *(Family(name, "rotary_emb") for name in _ROTARY),
        Family("gpt2", "wpe", "input"),
        Family("gpt_neo", "wpe", "input"),
        Family("gpt_bigcode", "wpe", "input"),
        Family("openai-gpt", "positions_embed", "input"),
        Family("albert", "position_embeddings", "input"),
        Family("bert", "position_embeddings", "input"),
        Family("distilbert", "position_embeddings", "input"),
        Family("electra", "position_embeddings", "input"),
        Family("camembert", "position_embeddings", "input", "after_padding_idx"),
        Family("mpnet", "position_embeddings", "input", "after_padding_idx"),
        Family("roberta", "position_embeddings", "input", "after_padding_idx"),
        Family("xlm-roberta", "position_embeddings", "input", "after_padding_idx"),
        Family("biogpt", "embed_positions", extra_rows=2),
        Family("opt", "embed_positions", extra_rows=2),
    ]
}


def register(family: Family) -> None:
    """Makes a further model type known; run `randpos.huggingface.check` on a model of it next.

    Args:
        family: What to change in its models.

    >>> register(Family("my_model", consumer="rotary_emb"))
    >>> "my_model" in families()
    True
    >>> _ = _FAMILIES.pop("my_model")
    """
    _FAMILIES[family.name] = family


def families() -> tuple[str, ...]:
    """Returns the known model types, sorted."""
    return tuple(sorted(_FAMILIES))


def family_of(model: nn.Module) -> Family:
    """Returns the family of a model, or raises the sentence that says why there is none."""
    # The model may be wrapped in something without a config (DistributedDataParallel).
    config = next((m.config for m in model.modules() if hasattr(m, "config")), None)
    name = getattr(config, "model_type", None)
    if name in _FAMILIES:
        if name == "falcon" and getattr(config, "alibi", False):
            raise UserError(
                "This Falcon model uses ALiBi (config.alibi=True), which takes no positions."
            )
        return _FAMILIES[name]
    if name in REFUSED:
        raise UserError(f"{type(model).__name__} cannot be randomized: {REFUSED[name]}.")
    raise UserError(
        f"Unknown model type {name!r} ({type(model).__name__}): randpos does not know which of its "
        "submodules consumes positions. Find the one whose forward takes position ids, call "
        f'randpos.huggingface.register(Family({name!r}, consumer="rotary_emb")) with its name, '
        "then randpos.huggingface.check(model)."
    )
