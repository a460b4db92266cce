"""The cache of compiled programs."""

from pathlib import Path
from typing import Any

import jax
import pytest

from randpos.training.compilation import cache_folder, enable_cache


@pytest.fixture
def settings(monkeypatch) -> dict[str, Any]:
    """What is set, instead of setting it for all other tests; another test may have set it."""
    made: dict[str, Any] = {}
    monkeypatch.setattr(type(jax.config), "jax_compilation_cache_dir", None)
    monkeypatch.setattr(type(jax.config), "update", lambda self, k, v: made.update({k: v}))
    return made


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch):
    monkeypatch.delenv("RANDPOS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/randpos/xla")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "randpos" / "xla"
    monkeypatch.setenv("RANDPOS_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")


def test_the_cache_is_on_by_default(monkeypatch, tmp_path, settings):
    monkeypatch.setenv("RANDPOS_CACHE", str(tmp_path / "new"))
    enable_cache()
    assert settings["jax_compilation_cache_dir"] == str(tmp_path / "new")
    assert (tmp_path / "new").is_dir()


def test_without_a_folder_there_is_a_warning_and_no_cache(monkeypatch, tmp_path, settings):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANDPOS_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="file is not writable: compiled programs are not kept"):
        enable_cache()
    assert settings == {}
