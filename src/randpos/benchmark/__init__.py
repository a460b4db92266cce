"""The fifteen tasks as a benchmark for models of any framework.

    examples -> your model -> evaluate -> a store, beside the paper's numbers

Examples come as NumPy arrays, text, files, and as data sets of `randpos.benchmark.torch` and
`randpos.benchmark.huggingface`. The guide is docs/benchmark.md.
"""

from randpos.benchmark.evaluation import EvaluationError, Model, Result, evaluate
from randpos.benchmark.export import write_jsonl, write_parquet
from randpos.benchmark.formats import Layout
from randpos.benchmark.references import (
    constant_answer,
    perfect_oracle,
    random_guess,
    references,
)
from randpos.benchmark.sampling import Examples, batches, examples
from randpos.benchmark.storing import Entry
from randpos.benchmark.streams import Block
from randpos.benchmark.vocabulary import DecoderVocabulary, EncoderVocabulary

__all__ = [
    "Block",
    "DecoderVocabulary",
    "EncoderVocabulary",
    "Entry",
    "EvaluationError",
    "Examples",
    "Layout",
    "Model",
    "Result",
    "batches",
    "constant_answer",
    "evaluate",
    "examples",
    "perfect_oracle",
    "random_guess",
    "references",
    "write_jsonl",
    "write_parquet",
]
