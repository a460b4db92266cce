"""Results of own models in a store: tables show them, and nothing is lost or overwritten."""

from pathlib import Path

import numpy as np
import pytest

from randpos.benchmark import Entry, EvaluationError, evaluate, perfect_oracle
from randpos.catalog import get_combination
from randpos.cli.main import main
from randpos.errors import UserError
from randpos.results import make_table
from randpos.results.leaderboard import leaderboard
from randpos.store.tables import StoreTables, read_store

REVERSE = perfect_oracle("reverse_string")
SIZES: dict = {"lengths": [1, 5, 6, 8], "count": 5, "training_length": 5}


def wrong_first(tokens: np.ndarray) -> np.ndarray:
    answers = REVERSE(tokens).copy()
    answers[:, 0] ^= 1
    return answers


def entry(store: Path, **changes) -> Entry:
    return Entry(store, **{"name": "My net", "steps": 10, "batch": 4, **changes})


def accuracies(store: Path) -> list[tuple[int, float]]:
    return list(read_store(store).accuracies.select("length", "accuracy").iter_rows())


def test_a_result_is_a_complete_run_with_a_column_in_the_table(tmp_path):
    result = evaluate(wrong_first, "reverse_string", **SIZES, entry=entry(tmp_path))
    tables = read_store(tmp_path)
    (row,) = tables.runs.iter_rows(named=True)
    assert (row["encoding"], row["status"], row["steps"]) == ("external:My net", "complete", 10)
    assert accuracies(tmp_path) == [(n, pytest.approx(1 - 1 / n)) for n in (1, 5, 6, 8)]
    table = make_table(tables, "table1")
    assert "My net" in [column.label for column in table.columns]
    ours = table.cells["reverse_string", "external:My net"].ours
    assert ours is not None
    assert result.score is not None
    assert result.score == pytest.approx((5 / 6 + (5 / 6 + 7 / 8) / 2 + 7 / 8) / 3)
    assert ours.value == pytest.approx(100 * result.score)


def test_results_are_never_overwritten_unasked(tmp_path):
    evaluate(wrong_first, "reverse_string", **SIZES, entry=entry(tmp_path))
    before = accuracies(tmp_path)
    with pytest.raises(UserError, match=r"results of 'My net' on reverse_string with seed 0; pass"):
        evaluate(REVERSE, "reverse_string", **SIZES, entry=entry(tmp_path))
    evaluate(REVERSE, "reverse_string", **SIZES, entry=entry(tmp_path, existing="resume"))
    assert accuracies(tmp_path) == before
    evaluate(REVERSE, "reverse_string", **SIZES, entry=entry(tmp_path, existing="replace"))
    assert accuracies(tmp_path) == [(n, 1.0) for n in (1, 5, 6, 8)]
    evaluate(REVERSE, "reverse_string", **SIZES, entry=entry(tmp_path, seed=1))
    assert read_store(tmp_path).runs["seed"].to_list() == [0, 1]


def test_lengths_before_a_failure_are_stored_and_resumed(tmp_path):
    def broken(tokens: np.ndarray) -> np.ndarray:
        return REVERSE(tokens) if tokens.shape[1] < 12 else tokens

    with pytest.raises(EvaluationError, match="At length 6"):
        evaluate(broken, "reverse_string", **SIZES, entry=entry(tmp_path))
    assert accuracies(tmp_path) == [(1, 1.0), (5, 1.0)]
    assert read_store(tmp_path).runs["status"].to_list() == ["unfinished"]
    resumed = entry(tmp_path, existing="resume")
    result = evaluate(wrong_first, "reverse_string", **SIZES, entry=resumed)
    assert [a.accuracy == 1 for a in result.accuracies] == [True, True, False, False]
    assert read_store(tmp_path).runs["status"].to_list() == ["complete"]


def test_a_model_stands_beside_runs_of_another_budget(tmp_path):
    sizes: dict = {"lengths": [1, 40, 41, 200], "count": 4}
    for task in ("reverse_string", "bucket_sort"):
        evaluate(perfect_oracle(task), task, **sizes, entry=entry(tmp_path))
    ours = read_store(Path("results")).only(encoding=["rope", "sincos"])
    joined = StoreTables(ours.runs.vstack(read_store(tmp_path).runs), *map(
        lambda pair: pair[0].vstack(pair[1]), zip(ours[1:], read_store(tmp_path)[1:], strict=True)
    ))  # fmt: skip
    board, notes = leaderboard(joined)
    rows = {row["encoding"]: row for row in board.iter_rows(named=True)}
    assert set(rows) == {"external:My net", "rope", "sincos"}
    assert (rows["external:My net"]["tasks"], rows["external:My net"]["score"]) == (2, 1.0)
    assert rows["external:My net"]["context-free"] == 1.0
    assert rows["external:My net"]["regular"] is None
    assert board["tasks"].is_sorted(descending=True)
    assert "1 model trained elsewhere." in notes


def test_the_commands_store_references_and_write_a_leaderboard(tmp_path, capsys):
    store, page = str(tmp_path / "runs"), tmp_path / "page.md"
    line = ["benchmark", "references", "even_pairs", "--store", store, "--lengths", "1,40,41,60"]
    assert main([*line, "--count", "20"]) == 0
    assert "even_pairs perfect-oracle: score 100.0" in capsys.readouterr().out
    assert main([*line, "--count", "20"]) == 2  # they exist
    page.write_text("before\n<!-- leaderboard -->\nold\n<!-- end of leaderboard -->\nafter\n")
    assert main(["benchmark", "leaderboard", store, "--out", str(page)]) == 0
    text = page.read_text()
    assert text.startswith("before\n<!-- leaderboard -->\n\n| model |")
    assert "| perfect-oracle | 1 | 1 | 100.0 | 100.0 | 100.0 | – | – |" in text
    assert text.endswith("<!-- end of leaderboard -->\nafter\n")
    assert "old" not in text
    page.write_text("no marks")
    assert main(["benchmark", "leaderboard", store, "--out", str(page)]) == 2
    assert page.read_text() == "no marks"


@pytest.mark.parametrize("name", ["", "a/b", "x" * 41, "two\nlines"])
def test_a_bad_name_is_a_sentence(tmp_path, name):
    with pytest.raises(UserError, match="does not name a model"):
        evaluate(REVERSE, "reverse_string", **SIZES, entry=entry(tmp_path, name=name))
    assert not any(tmp_path.iterdir())


def test_a_model_from_elsewhere_cannot_be_trained():
    with pytest.raises(UserError, match="'external:x' is a model that was trained elsewhere"):
        get_combination("external:x")
