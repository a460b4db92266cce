"""Lists which submodule of which model family consumes positions, and how it counts them.

Randomized ids are given to *that* submodule and to nothing else: masks, packing and caches go on
seeing ordinary position ids, which is what their code expects.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

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
        extra_rows: Rows of a table that belong to no position (OPT keeps two in front).
    """

    name: str
    consumer: str
    argument: str = "position_ids"
    start: Literal["zero", "after_padding_idx"] = "zero"
    extra_rows: int = 0

    def first(self, consumer: nn.Module) -> int:
        """Returns the id that an ordinary model gives to the first token of a sequence."""
        if self.start == "zero":
            return 0
        padding = getattr(consumer, "padding_idx", None)
        if padding is None:
            raise UserError(
                f"{self.consumer} of this {self.name} model has no padding_idx to count from; "
                'register the family with start="zero".'
            )
        return int(padding) + 1

    def capacity(self, consumer: nn.Module) -> int | None:
        """Returns how many positions a table holds; None if there is no table."""
        if isinstance(consumer, nn.Embedding):
            rows = consumer.num_embeddings
        elif isinstance(getattr(consumer, "weights", None), Tensor):  # sinusoids of XGLM
            rows = len(consumer.weights)  # type: ignore[arg-type]
        else:
            return None
        return rows - self.extra_rows - self.first(consumer)


_ROTARY = [
    "afmoe", "apertus", "arcee", "bitnet", "cohere", "cohere2", "cohere2_moe", "cwm",
    "deepseek_v2", "deepseek_v3", "diffllama", "doge", "dots1", "ernie4_5", "ernie4_5_moe",
    "eurobert", "exaone4", "exaone_moe", "falcon", "flex_olmo", "gemma", "gemma2",
    "gemma3_text", "glm", "glm4", "glm4_moe", "glm4_moe_lite", "gpt_neox", "gpt_neox_japanese",
    "gpt_oss", "granite", "granitemoe", "granitemoeshared", "helium", "hunyuan_v1_dense",
    "hunyuan_v1_moe", "jetmoe", "jina_embeddings_v3", "lfm2", "llama",
    "longcat_flash", "minicpm3", "minimax", "minimax_m2", "ministral", "mistral", "mixtral",
    "modernbert", "modernbert-decoder", "nanochat", "nemotron", "nomic_bert", "olmo", "olmo2",
    "olmo3", "olmo_hybrid", "olmoe", "persimmon", "phi", "phi3", "phimoe", "qwen2", "qwen2_moe",
    "qwen3", "qwen3_moe", "qwen3_next", "seed_oss", "smollm3", "solar_open", "stablelm",
    "starcoder2", "vaultgemma", "youtu",
]  # fmt: skip
_TABLES = [
    "albert", "bert", "distilbert", "electra", "ernie", "megatron-bert",
    "rembert", "squeezebert",
]  # fmt: skip
_TABLES_AFTER_PADDING = [
    "camembert", "data2vec-text", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
    "xlm-roberta-xl", "xmod",
]  # fmt: skip

_FAMILIES: dict[str, Family] = {
    family.name: family
    for family in [
        *(Family(name, "rotary_emb") for name in _ROTARY),
        *(Family(name, "position_embeddings", "input") for name in _TABLES),
        *(
            Family(name, "position_embeddings", "input", "after_padding_idx")
            for name in _TABLES_AFTER_PADDING
        ),
        Family("lfm2_moe", "pos_emb"),
        Family("gpt2", "wpe", "input"),
        Family("gpt_neo", "wpe", "input"),
        Family("gpt_bigcode", "wpe", "input"),
        Family("openai-gpt", "positions_embed", "input"),
        Family("biogpt", "embed_positions", extra_rows=2),
        Family("opt", "embed_positions", extra_rows=2),
        Family("xglm", "embed_positions", extra_rows=2),
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
    """Returns the family of a model, or raises `UserError` that says why there is none."""
    # The model may be wrapped in something without a config (DistributedDataParallel).
    config = next((m.config for m in model.modules() if hasattr(m, "config")), None)
    name, kind = getattr(config, "model_type", None), type(model).__name__
    if name in _FAMILIES:
        if name == "falcon" and getattr(config, "alibi", False):
            raise UserError(
                "This Falcon model uses ALiBi (config.alibi=True), which takes no positions."
            )
        return _FAMILIES[name]
    if name in REFUSED:
        raise UserError(f"{kind} cannot be randomized: {REFUSED[name]}.")
    if config is None:
        raise UserError(f"{kind} contains no transformers model: none of its modules has a config.")
    if not name:
        raise UserError(
            f"{type(config).__name__} of {kind} has no model_type; give the class one, e.g. "
            'model_type = "my_model", and register a family of that name.'
        )
    if hasattr(config, "vision_config") or hasattr(config, "audio_config"):
        raise UserError(
            f"{kind} cannot be randomized: it numbers text and other inputs together, often along "
            "several axes; randomize its language model alone, if that is one of the families()."
        )
    raise UserError(
        f"Unknown model type {name!r} ({kind}): randpos does not know which of its submodules "
        "consumes positions. Find the one whose forward takes position ids, call "
        f'randpos.huggingface.register(Family({name!r}, consumer="rotary_emb")) with its name, '
        "then randpos.huggingface.check(model)."
    )
