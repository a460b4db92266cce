"""Randomly initialised models of every family, small enough to run in milliseconds."""

import contextlib
import functools
import inspect
import warnings

import torch
import transformers

from randpos.huggingface import families

VOCABULARY = 40
PAD = 1
TABLE = 130

_SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": TABLE,
    "pad_token_id": PAD,
    "bos_token_id": 0,
    "eos_token_id": 2,
    # The default of 0.02 leaves attention almost uniform, and then positions hardly matter.
    "initializer_range": 0.3,
    "attention_dropout": 0.0,
}
_EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2}
_ROUTED = {
    **_EXPERTS, "n_routed_experts": 4, "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
    "moe_intermediate_size": 16, "first_k_dense_replace": 1,
}  # fmt: skip
_LATENT = {
    **_ROUTED, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 8, "num_key_value_heads": 4,
}  # fmt: skip
_HYBRID = {
    "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
}  # fmt: skip
_SPECIAL = {
    "albert": {"embedding_size": 16},
    "deepseek_v3": _LATENT,
    "dots1": _ROUTED,
    "ernie4_5_moe": {**_EXPERTS, "moe_num_experts": 4, "moe_intermediate_size": 16},
    "exaone_moe": _ROUTED,
    "afmoe": {**_ROUTED, "num_dense_layers": 1},
    "deepseek_v2": _LATENT,
    "distilbert": {"dim": 32, "hidden_dim": 32, "n_layers": 2, "n_heads": 4},
    "electra": {"embedding_size": 32},
    "falcon": {"alibi": False, "new_decoder_architecture": False},
    "glm4_moe": _ROUTED,
    "glm4_moe_lite": _LATENT,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": TABLE},
    "gpt_bigcode": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": TABLE},
    "gpt_neo": {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
    "gpt_oss": {**_EXPERTS, "layer_types": ["sliding_attention", "full_attention"]},
    "granitemoe": _EXPERTS,
    "lfm2_moe": {**_ROUTED, "layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "longcat_flash": {**_LATENT, "ffn_hidden_size": 32, "expert_ffn_hidden_size": 16,
                      "zero_expert_num": 0, "moe_topk": 2, "num_layers": 2},
    "minicpm3": _LATENT,
    "mixtral": _EXPERTS,
    "modernbert": {"global_attn_every_n_layers": 2},
    "olmoe": _EXPERTS,
    "openai-gpt": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": TABLE},
    "opt": {"ffn_dim": 32, "word_embed_proj_dim": 32},
    "phimoe": _EXPERTS,
    "qwen2_moe": {**_EXPERTS, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16},
    "qwen3_next": {**_EXPERTS, **_HYBRID, "moe_intermediate_size": 16,
                   "shared_expert_intermediate_size": 16},
    "solar_open": _ROUTED,
    "squeezebert": {"embedding_size": 32},
    "xglm": {"d_model": 32, "ffn_dim": 32, "num_layers": 2, "attention_heads": 4},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "youtu": _LATENT,
    "qwen3_moe": {**_EXPERTS, "moe_intermediate_size": 16},
}  # fmt: skip
ENCODERS = [
    "albert", "bert", "camembert", "data2vec-text", "distilbert", "electra",
    "ernie", "eurobert", "jina_embeddings_v3", "megatron-bert", "modernbert",
    "mpnet", "nomic_bert", "rembert", "roberta", "roberta-prelayernorm", "squeezebert",
    "xlm-roberta", "xlm-roberta-xl", "xmod",
]  # fmt: skip
# The oldest transformers that is supported does not know all of them.
KNOWN = [name for name in families() if name in transformers.CONFIG_MAPPING]


@functools.cache
def tiny(name: str):
    """Returns a model of a family that tests share, since every test must leave it as it was."""
    return fresh(name)


def fresh(name: str, **overrides):
    """Returns an evaluating model of a family: with a causal head, or a masked one for encoders."""
    settings = {**_SMALL, **_SPECIAL.get(name, {}), **overrides}
    if name == "falcon":
        del settings["head_dim"]
    config = transformers.AutoConfig.for_model(name, **settings)
    auto = (
        transformers.AutoModelForMaskedLM if name in ENCODERS else transformers.AutoModelForCausalLM
    )
    torch.manual_seed(0)
    with warnings.catch_warnings():
        # GPT-BigCode scripts a function when it is imported, which torch 2.13 calls deprecated.
        warnings.filterwarnings("ignore", "`torch.jit.script", DeprecationWarning)
        return auto.from_config(config).eval()


def tokens(rows: int, length: int, seed: int = 0) -> torch.Tensor:
    """Returns random tokens, none of them special."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, VOCABULARY, (rows, length), generator=generator)


@contextlib.contextmanager
def watched(change):
    """Gives the list of ids, counted from 0, that the consumer really receives."""
    seen: list[torch.Tensor] = []
    consumer, name = change.site.inner, change.family.argument
    first = consumer.padding_idx + 1 if change.family.start == "after_padding_idx" else 0

    def note(module, args, kwargs):
        ids = inspect.signature(module.forward).bind(*args, **kwargs).arguments[name]
        seen.append(ids.clone() - first)

    handle = consumer.register_forward_pre_hook(note, with_kwargs=True)
    yield seen
    handle.remove()
