import html
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from randpos import UserError
from randpos.paper.artifacts import figures
from randpos.results.figures import curves, overview, pca, save
from randpos.results.figures.style import FORMATS
from tests.results.figures.gallery import activations, main_store
from tests.results.figures.synthetic import records


def test_the_caption_is_text_beside_the_picture_and_in_its_metadata(tmp_path: Path) -> None:
    paths = save(pca(activations()), tmp_path / "pca")
    assert [path.suffix for path in paths] == [".png", ".svg", ".pdf", ".txt"]
    words = paths[-1].read_text().strip()
    assert words.startswith("Activations of the answering tokens")
    assert words in " ".join(html.unescape(paths[1].read_text()).split())
    assert not any("answering tokens" in text.get_text() for text in pca(activations()).texts)


def test_three_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    paths = save(overview(), tmp_path / "new" / "fig1.draft")
    assert [path.name for path in paths] == [f"fig1.draft.{kind}" for kind in ("png", "svg", "pdf")]
    assert sorted(paths) == sorted((tmp_path / "new").iterdir())
    starts = [path.read_bytes()[:5] for path in paths]
    assert starts == [b"\x89PNG\r", b"<?xml", b"%PDF-"]


def test_the_same_data_give_the_same_bytes_whatever_the_user_has_set(tmp_path: Path) -> None:
    def draw() -> list[Path]:
        return save(curves(main_store(), ["reverse_string"]), tmp_path / "curves")

    first = [path.read_bytes() for path in draw()]
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 20}):
        second = [path.read_bytes() for path in draw()]
    assert first == second
    assert len(set(first)) == len(FORMATS) + 1  # the caption


def test_no_file_names_a_date_or_a_program(tmp_path: Path) -> None:
    for path in save(overview(), tmp_path / "figure"):
        content = path.read_bytes()
        for word in (b"CreationDate", b"Producer", b"dc:date", b"dc:creator", b"Software"):
            assert word not in content


def test_a_failure_leaves_the_old_file_whole(tmp_path: Path, monkeypatch) -> None:
    old = tmp_path / "figure.png"
    old.write_bytes(b"old")

    def fail(*args, **kwargs):
        args[1].write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(KeyboardInterrupt):
        save(overview(), tmp_path / "figure")
    assert old.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.parametrize("name", [name for name in figures() if name != "overview"])
def test_of_an_empty_store_the_message_says_what_to_run(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"run randpos reproduce {name}"):
        figures()[name].draw(records([]), tmp_path)


def test_only_figures_need_matplotlib() -> None:
    program = """
import sys
sys.modules["matplotlib"] = None
import randpos, randpos.results.inspect
try:
    import randpos.results.figures
except randpos.UserError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (
        run.stdout.strip()
        == 'randpos.results.figures needs Matplotlib: pip install "randpos[report]"'
    )
