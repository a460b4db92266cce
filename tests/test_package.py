"""What is installed: every file that the code reads, and the marker for type checkers."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_has_every_file_of_the_package(tmp_path):
    build = "import hatchling.build as b, sys; print(b.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("randpos/")}
    source = ROOT / "src"
    files = (p for p in (source / "randpos").rglob("*") if p.is_file())
    wanted = {str(p.relative_to(source)) for p in files if "__pycache__" not in p.parts}
    assert packed == wanted
    assert "randpos/py.typed" in packed


def test_importing_frameworks_does_not_load_jax():
    program = "import sys, importlib\n"
    program += "for name in sys.argv[1:]:\n"
    program += "    importlib.import_module(name); assert 'jax' not in sys.modules, name"
    modules = ("randpos", "randpos.numpy", "randpos.torch", "randpos.huggingface")
    done = subprocess.run([sys.executable, "-c", program, *modules], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_importing_the_library_leaves_signals_and_arguments_alone():
    program = (
        "import signal, sys; before = signal.getsignal(signal.SIGINT), list(sys.argv); "
        "sys.argv[0] = 'randpos'; before[1][0] = 'randpos'; import randpos, randpos.run; "
        "sys.exit((signal.getsignal(signal.SIGINT), sys.argv) != before)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_public_names_are_all_that_dir_shows():
    program = "import randpos; print(*dir(randpos)); [getattr(randpos, n) for n in randpos.__all__]"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    import randpos

    assert set(done.stdout.split()) == {*randpos.__all__, "__version__"}
