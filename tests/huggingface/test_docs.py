"""The guide lists the families, and the examples run."""

import runpy
from pathlib import Path

import pytest

from randpos.huggingface import families
from randpos.huggingface.refusals import REFUSED

ROOT = Path(__file__).parents[2]


def test_the_guide_lists_every_family():
    guide = (ROOT / "docs" / "own-model.md").read_text()
    listed = guide.split("### Families")[1].split("### What goes wrong")[0]
    names = {name.strip(" |;:") for name in listed.replace("\n", ",").replace(";", ",").split(",")}
    missing = [n for n in families() if not any(n == x.split()[-1] for x in names if x)]
    assert missing == []


def test_no_family_is_both_known_and_refused():
    assert not set(families()) & set(REFUSED)


def test_the_short_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "own_attention_torch.py"), run_name="__main__")
    assert "(4, 8, 40, 16)" in capsys.readouterr().out


@pytest.mark.slow
def test_randomized_positions_reach_lengths_that_ordinary_ones_do_not():
    """The example at smoke size, where it depends on luck: seed 2 has not learnt by then.

    With seeds 0, 1 and 2 it was 0.39, 0.43 and 0.14 against 0.05, 0.09 and 0.11 at length 20. The
    full size, which the guide reports, takes minutes.
    """
    compare = runpy.run_path(str(ROOT / "examples" / "huggingface_llama.py"))["compare"]
    found = compare(steps=1000, longest=10, asked=(10, 20, 30), maximum=64, rate=5e-3, seed=0)
    assert found["ordinary"][0] > 0.9  # both have learnt what they were shown
    assert found["randomized"][0] > 0.6
    assert found["ordinary"][1] < 0.15
    assert found["randomized"][1] > found["ordinary"][1] + 0.15
