"""What cannot be randomized says so in a sentence, before anything is changed."""

import subprocess
import sys

import pytest
import torch
import transformers

from randpos.errors import UserError
from randpos.huggingface import Family, check, families, randomize_positions, register
from randpos.huggingface.families import _FAMILIES
from tests.huggingface.tiny import ENCODERS, fresh, tiny, tokens

SMALL = {"vocab_size": 9, "d_model": 8, "hidden_size": 8, "n_embd": 8}
REFUSED = {
    "t5": ({"d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}, "relative biases"),
    "bart": ({"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2}, "encoder-decoder"),
    "bloom": ({"n_layer": 1, "n_head": 2}, "ALiBi"),
    "mpt": ({"n_layers": 1, "n_heads": 2}, "ALiBi"),
    "xlnet": ({"n_layer": 1, "n_head": 2, "d_inner": 8}, "relative biases"),
    "gptj": ({"n_layer": 1, "n_head": 1, "rotary_dim": 4}, "inside every attention layer"),
    "mamba": ({"num_hidden_layers": 1, "state_size": 4}, "recurrent"),
    "llama4_text": ({"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
                     "num_key_value_heads": 2, "head_dim": 4}, "temperature of its attention"),
    "falcon": ({"alibi": True, "num_hidden_layers": 1, "num_attention_heads": 2}, "ALiBi"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_take_no_positions_are_refused(name):
    settings, reason = REFUSED[name]
    config = transformers.AutoConfig.for_model(name, **{**SMALL, **settings})
    with pytest.raises(UserError, match=reason):
        randomize_positions(transformers.AutoModel.from_config(config))


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_rope_that_guesses_the_length_is_refused(name, kind):
    half = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    scaling = {"rope_type": kind, "rope_theta": 1e4, "factor": 2.0,
               "original_max_position_embeddings": 64, **half}  # fmt: skip
    if name == "gemma3_text":
        plain = {"rope_type": "default", "rope_theta": 1e4}
        scaling = {"full_attention": scaling, "sliding_attention": plain}
    model = fresh(name, rope_parameters=scaling)
    with pytest.raises(UserError, match=f"rope_type='{kind}'"):
        randomize_positions(model)


@pytest.mark.parametrize("kind", ["linear", "llama3", "yarn"])
def test_rope_with_fixed_frequencies_is_fine(kind):
    scaling = {"rope_type": kind, "rope_theta": 1e4, "factor": 2.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": 64}  # fmt: skip
    check(fresh("llama", rope_parameters=scaling))


def test_an_unknown_model_says_how_to_register_it():
    model = tiny("llama")
    model.config.model_type = "brand_new"
    try:
        with pytest.raises(UserError, match=r"'brand_new'.*register\(Family\('brand_new'"):
            randomize_positions(model)
        register(Family("brand_new", consumer="rotary_emb"))
        assert "brand_new" in families()
        check(model)
        register(Family("brand_new", consumer="wpe"))
        with pytest.raises(UserError, match="0 submodules called 'wpe'"):
            randomize_positions(model)
    finally:
        model.config.model_type = "llama"
        del _FAMILIES["brand_new"]


def test_a_config_without_a_model_type_says_so():
    model = fresh("llama")
    model.config.model_type = ""
    with pytest.raises(UserError, match="LlamaConfig of LlamaForCausalLM has no model_type"):
        randomize_positions(model)
    with pytest.raises(UserError, match="Linear contains no transformers model"):
        randomize_positions(torch.nn.Linear(2, 2))


def test_a_vision_language_model_is_refused():
    text = {"num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 8, "vocab_size": 9,
            "num_attention_heads": 2, "model_type": "llama"}  # fmt: skip
    vision = {"num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 8, "image_size": 8,
              "num_attention_heads": 2, "patch_size": 4,
              "model_type": "clip_vision_model"}  # fmt: skip
    config = transformers.LlavaConfig(text_config=text, vision_config=vision)
    model = transformers.LlavaForConditionalGeneration(config)
    with pytest.raises(UserError, match="numbers text and other inputs together"):
        randomize_positions(model)


@pytest.mark.parametrize(
    ("family", "match"),
    [
        (Family("llama", "rotary_emb", "input"), "called without 'input'"),
        (Family("llama", "rotary_emb", start="after_padding_idx"), "no padding_idx"),
    ],
)
def test_a_family_that_does_not_fit_is_a_sentence(family, match, monkeypatch):
    monkeypatch.setitem(_FAMILIES, "llama", family)
    with pytest.raises(UserError, match=match), randomize_positions(tiny("llama")):
        tiny("llama")(tokens(1, 3))


def test_a_consumer_that_is_never_called_is_noticed():
    model = fresh("llama")
    idle = torch.nn.Identity()
    model.model.idle = idle
    _FAMILIES["llama"], kept = Family("llama", consumer="idle"), _FAMILIES["llama"]
    try:
        with randomize_positions(model), pytest.raises(RuntimeError, match="never called 'idle'"):
            model(tokens(1, 3))
    finally:
        _FAMILIES["llama"] = kept


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"maximum": 0}, "maximum=0"),
        ({"seed": -1}, "seed=-1"),
        ({"reserve": -1}, "reserve=-1"),
        ({"chunks": 0}, "chunks=0"),
    ],
)
def test_arguments_are_checked_before_the_model_is_touched(arguments, match):
    with pytest.raises(UserError, match=match):
        randomize_positions(tiny("llama"), **arguments)
    assert not hasattr(tiny("llama").model, "_randpos")


def test_a_model_is_randomized_once():
    model = tiny("llama")
    with randomize_positions(model), pytest.raises(UserError, match="already"):
        randomize_positions(model)


def test_every_family_is_covered_by_the_tiny_models():
    assert set(ENCODERS) <= set(families())


@pytest.mark.parametrize(
    ("module", "missing", "sentence"),
    [
        ("randpos.torch", "torch", 'randpos.torch needs PyTorch: pip install "randpos[torch]"'),
        (
            "randpos.huggingface",
            "transformers",
            "randpos.huggingface needs PyTorch and transformers: pip install "
            '"randpos[huggingface]"',
        ),
    ],
)
def test_a_missing_extra_is_one_sentence(module, missing, sentence):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import randpos\n"
        f"try:\n    import {module}\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sentence


def test_the_core_never_imports_torch():
    code = (
        "import sys, randpos, randpos.numpy, randpos.positions; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
