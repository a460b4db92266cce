"""A user's own task, by `module:Class`, and every way to get that wrong."""

from pathlib import Path

import jax
import numpy as np
import pytest

from randpos.errors import UserError
from randpos.tasks import TASKS, Task, get_task
from randpos.tasks.render import show

EXAMPLES = Path(__file__).parents[2] / "examples"

WRONG = """
from randpos.tasks import Task

class NotATask:
    pass

class Nameless(Task):
    level = "R"
    symbols = output_symbols = "01"
    chance = 0.5

class Abstract(Nameless):
    name = description = "abstract"

class Misplaced(Abstract):
    level = "regular"

class Picky(Abstract):
    def __init__(self, size): ...
    def output_length(self, length): return 1
    def example(self, key, length, maximum): ...
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    (tmp_path / "wrong_tasks.py").write_text(WRONG)
    (tmp_path / "broken_tasks.py").write_text("1 / 0")
    (tmp_path / "needy_tasks.py").write_text("import no_such_library")
    monkeypatch.chdir(tmp_path)


def test_a_task_in_the_current_directory(monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    task = get_task("my_task:Majority")
    assert isinstance(task, Task)
    assert task.name == "majority"
    inputs, outputs, counted = jax.jit(lambda key: task.sample(key, 9, 50, 16))(jax.random.key(0))
    np.testing.assert_array_equal(outputs[:, 0], inputs.sum(axis=1) > 4)
    assert counted.shape == (50, 1)
    assert len(show(task, 9, 3, 0)) == 3


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:MyTask", "there is no module 'no_such_module'"),
        (":MyTask", "write it as module:Class"),
        ("wrong_tasks:", "write it as module:Class"),
        ("wrong_tasks:Missing", "no class 'Missing'; it has Nameless, Abstract, Misplaced, Picky"),
        ("wrong_tasks:NotATask", "NotATask is not a subclass of randpos.Task"),
        ("wrong_tasks:Nameless", r"attribute\(s\) name, description"),
        ("wrong_tasks:Misplaced", "level is 'regular'; it must be one of R, DCF, CS"),
        ("wrong_tasks:Abstract", r"method\(s\) example, output_length"),
        ("wrong_tasks:Picky", r"Picky\(\) failed: .*size"),
        ("broken_tasks:MyTask", "ZeroDivisionError"),
        ("needy_tasks:MyTask", "No module named 'no_such_library'"),
    ],
)
@pytest.mark.usefixtures("directory")
def test_mistakes_are_one_sentence(path, message):
    with pytest.raises(UserError, match=message) as error:
        get_task(path)
    sentence = str(error.value)
    assert sentence.startswith(f"Task {path!r}: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UserError, match=r"did you mean 'reverse_string'.* stack_manipulation"):
        get_task("reverse_strin")


def test_known_names_give_their_task():
    for name in TASKS:
        assert get_task(name) is TASKS[name]
        assert get_task(name).name == name
