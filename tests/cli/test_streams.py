"""The command line and its surroundings: outputs that take nothing, signals, and start-up."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest

from randpos.cli import listing
from randpos.cli import main as cli
from randpos.cli.main import main
from randpos.training import BACKGROUND


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path):
    """Runs in an empty folder, compiles into no cache, and leaves warnings as they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "enable_cache", lambda: None)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


def test_an_interrupt_is_exit_code_130_and_a_hint(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("randpos.run.train", interrupted)
    assert main(["train", "--preset", "smoke"]) == 130
    assert "run the same command again to continue" in capsys.readouterr().err


def test_an_interrupt_does_not_wait_for_what_is_compiled_in_the_background(capsys, monkeypatch):
    compiled, left = threading.Event(), []
    thread = threading.Thread(target=compiled.wait, args=(60,), name=BACKGROUND)

    def interrupted(*_, **__):
        thread.start()
        raise KeyboardInterrupt

    monkeypatch.setattr("randpos.run.train", interrupted)
    monkeypatch.setattr(os, "_exit", left.append)
    main(["train", "--preset", "smoke"])
    compiled.set()
    assert left == [130]
    assert "run the same command again to continue" in capsys.readouterr().err
    thread.join()


def test_a_reader_that_stops_reading_is_no_error(monkeypatch):
    def closed(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr(listing, "show", closed)
    assert main(["tasks"]) == 0


def gone() -> int:
    """A pipe whose reader has left."""
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize(
    "arguments",
    [["--version"], [], ["tasks"], ["tasks", "--format", "json"], ["tasks", "--help"]],
    ids=" ".join,
)
def test_an_output_that_takes_nothing_is_a_sentence_or_no_error(capsys, monkeypatch, arguments):
    def run(output: int) -> int:
        monkeypatch.setattr(sys, "stdout", open(output, "w", closefd=False))  # noqa: SIM115
        try:
            return main(arguments)
        finally:
            sys.stdout.flush()  # as Python does at its end
            os.close(output)

    assert run(gone()) == 0
    assert capsys.readouterr().err == ""
    assert run(os.open("/dev/full", os.O_WRONLY)) == 2
    said = capsys.readouterr().err
    assert said == "randpos: the output cannot be used: No space left on device.\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_closed_streams_are_no_error(monkeypatch, stream):
    monkeypatch.setattr(sys, stream, None)
    assert main(["tasks"]) == 0
    assert main(["trian"]) == 2


def test_a_terminal_without_unicode_is_served_too(monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    assert main(["tasks"]) == 0
    sys.stdout.flush()
    assert b"reverse_string" in out.getvalue()


def test_a_warning_is_one_line(capsys, monkeypatch):
    def warn(*_, **__):
        warnings.showwarning(UserWarning("beware."), UserWarning, "file", 1)

    monkeypatch.setattr(listing, "show", warn)
    assert main(["tasks"]) == 0
    assert capsys.readouterr().err == "randpos: beware.\n"


def test_a_polite_kill_is_an_interrupt(capsys, monkeypatch):
    monkeypatch.setattr("randpos.run.train", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert main(["train", "--preset", "smoke"]) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "run the same command again to continue" in capsys.readouterr().err


def test_asked_a_second_time_to_end_it_does_so_at_once(monkeypatch):
    left = []

    def wait(*_, **__):
        with contextlib.suppress(KeyboardInterrupt):  # a library that does not listen
            os.kill(os.getpid(), signal.SIGTERM)
        left.append(signal.getsignal(signal.SIGTERM))

    monkeypatch.setattr(listing, "show", wait)
    before = signal.getsignal(signal.SIGTERM)
    try:
        main(["tasks"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert left == [signal.SIG_DFL]


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own."""
    line = [sys.executable, "-m", "randpos", *arguments]
    return subprocess.run(line, stderr=subprocess.PIPE, text=True, timeout=900, **options)


def test_an_interrupt_while_libraries_are_imported_shows_no_traceback(tmp_path):
    (tmp_path / "jax.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run("train", env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 130
    (line,) = done.stderr.splitlines()
    assert line.startswith("randpos: stopped")


def test_listing_the_commands_imports_no_library():
    code = "import sys; from randpos.cli.main import main; main(['--help']); main(['--version'])"
    code += "; print({'jax', 'tyro', 'rich', 'polars'} & set(sys.modules), file=sys.stderr)"
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900)
    assert done.stderr == "set()\n"


def test_the_command_line_silences_the_compilers_alarms():
    code = "import sys; sys.argv = ['randpos']; import os, randpos.cli"
    code += "; print(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    line, clean = [sys.executable, "-c", code], {**os.environ}
    clean.pop("TF_CPP_MIN_LOG_LEVEL", None)
    for level, wanted in ((None, "3"), ("0", "0")):
        env = clean if level is None else {**clean, "TF_CPP_MIN_LOG_LEVEL": level}
        done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=300)
        assert done.stdout == f"{wanted}\n"


def test_a_crash_inside_a_library_is_a_sentence_and_a_file(capsys, monkeypatch, tmp_path):
    def crash(*_, **__):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory\nwhile allocating")

    monkeypatch.setattr(listing, "show", crash)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["tasks"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "RuntimeError: RESOURCE_EXHAUSTED" in said
    assert "smaller --batch" in said
    (details,) = tmp_path.glob("randpos-crash-*.txt")
    assert str(details) in said
    assert "in crash\n" in details.read_text()


def test_a_full_output_is_reported_once():
    with open("/dev/full", "w") as full:
        done = run("--version", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "randpos: the output cannot be used: No space left on device.\n"
