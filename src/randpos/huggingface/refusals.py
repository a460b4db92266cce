"""Lists model types that cannot be randomized, with the reason."""

_RELATIVE = "its relative biases come from token distances inside attention, and no positions go in"
_ALIBI = "its ALiBi biases come from token distances, and no positions go in"
_SEQ2SEQ = "an encoder-decoder numbers two sequences by itself, from their shapes"
_RECURRENT = "it is recurrent and takes no positions"
_TEMPERATURE = "it also reads positions for the temperature of its attention"
_INSIDE = "it looks positions up inside every attention layer, not in a submodule of its own"

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        [
            "t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "udop", "deberta",
            "deberta-v2", "xlnet",
        ],
        _RELATIVE,
    ),
    **dict.fromkeys(["bloom", "mpt"], _ALIBI),
    **dict.fromkeys(
        [
            "bart", "mbart", "plbart", "pegasus", "pegasus_x", "bigbird_pegasus", "marian",
            "blenderbot", "blenderbot-small", "led", "m2m_100", "nllb-moe", "fsmt", "prophetnet",
            "whisper", "speech_to_text", "t5gemma",
        ],
        _SEQ2SEQ,
    ),
    **dict.fromkeys(["gptj", "codegen", "ctrl"], _INSIDE),
    **dict.fromkeys(
        ["mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm", "jamba", "nemotron_h", "zamba"],
        _RECURRENT,
    ),
    **dict.fromkeys(["llama4", "llama4_text", "ministral3"], _TEMPERATURE),
    **dict.fromkeys(["moshi", "recurrent_gemma"], _INSIDE),
    "roformer": "it makes its sinusoids from the shape of the input, and no positions go in",
}  # fmt: skip
