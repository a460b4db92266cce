"""Model types that take no positions, or compute them where nothing can be changed: and why."""

_RELATIVE = "its relative biases come from token distances inside attention, and no positions go in"
_ALIBI = "its ALiBi biases come from token distances, and no positions go in"
_SEQ2SEQ = "an encoder-decoder numbers two sequences by itself, from their shapes"
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
    "roformer": "it makes its sinusoids from the shape of the input, and no positions go in",
    "llama4": "it also reads positions for the temperature and the chunks of its attention",
}  # fmt: skip
