"""Too few files, too little memory: a sentence or a way around it, and the same results."""

import json
import subprocess
import sys

import equinox as eqx
import jax
import pytest
import safetensors.numpy

from randpos import Evaluation, PositionOptions, Schedule, UserError
from randpos.store.checkpoints import named_arrays
from randpos.store.tables import read_store
from randpos.sweeps.plan import make_plan
from randpos.training.evaluation import Evaluator
from tests.experiments import random_model, tiny
from tests.fuzz.commands import PROGRESS
from tests.sweeps.processes import PATIENCE, Command, environment, leftovers
from tests.sweeps.synthetic import write_run

# File descriptors.


def limited(command: Command, most: int, of: str = "n") -> str:
    """Runs a sweep that may have so many files open, or so large ones; it must be refused."""
    line = ["sh", "-c", f'ulimit -{of} {most}; exec "$@"', "sh", *command.line]
    process = subprocess.run(
        line, env=command.environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert process.returncode == 2, process.stderr
    assert "Traceback" not in process.stderr
    return process.stderr.splitlines()[-1]


def test_without_files_for_a_worker_it_says_so(tmp_path, cache):
    command = Command(tmp_path / "runs", cache, "--workers", "8", seeds=8)
    said = limited(command, 16)
    assert said.startswith("randpos: a worker process cannot be started: Too many open files;")


@pytest.mark.slow  # a limit on the size of files takes the same way
def test_without_files_for_the_runs_it_names_one_and_they_are_still_to_be_done(tmp_path, cache):
    command = Command(tmp_path / "runs", cache, "--workers", "1", seeds=40)
    said = limited(command, 40)
    assert said.endswith("cannot be used: Too many open files.")
    assert len(make_plan(command.experiments(), command.store).missing) == 40
    assert read_store(command.store).runs.is_empty()


# Memory.

ONE_SIZE = Schedule("fixed", 6)


@pytest.mark.parametrize(("batch", "parts"), [(17, 2), (5, 8)])
def test_a_batch_in_parts_has_the_same_accuracies(batch, parts):
    experiment = tiny(lengths=ONE_SIZE, evaluation=Evaluation(batch=batch))
    parameters = eqx.filter(random_model(experiment), eqx.is_array)
    whole, cut = Evaluator(experiment), Evaluator(experiment)
    cut.parts = parts
    lengths = [1, 3, 6]
    assert list(cut.test(parameters, lengths)) == list(whole.test(parameters, lengths))


class Machine:
    """Programs that need more memory than there is, unless the batch is cut into enough parts."""

    def __init__(self, evaluator: Evaluator, enough: int, message: str) -> None:
        self.evaluator, self.enough, self.message = evaluator, enough, message
        self.real = evaluator._measure

    def __call__(self, *arguments):
        if self.evaluator.parts < self.enough:
            raise jax.errors.JaxRuntimeError(self.message)
        return self.real(*arguments)


def starved(enough: int, message: str = "RESOURCE_EXHAUSTED: Out of memory.") -> Evaluator:
    evaluator = Evaluator(tiny(lengths=ONE_SIZE))
    evaluator._measure = Machine(evaluator, enough, message)  # type: ignore[method-assign]
    return evaluator


def test_what_does_not_fit_is_tested_in_parts_with_a_warning():
    experiment = tiny(lengths=ONE_SIZE)
    parameters = eqx.filter(random_model(experiment), eqx.is_array)
    with pytest.warns(UserWarning, match="does not fit into the memory; it is tested in") as warned:
        found = list(starved(4).test(parameters, [2, 6]))
    assert len(warned) == 2  # once for two parts, once for four, and never again
    assert found == list(Evaluator(experiment).test(parameters, [2, 6]))


@pytest.mark.filterwarnings("ignore:.*it is tested in:UserWarning")
def test_what_never_fits_is_a_sentence():
    parameters = eqx.filter(random_model(tiny()), eqx.is_array)
    with pytest.raises(UserError, match="length 6 of reverse_string does not fit into the memory"):
        list(starved(10**9).test(parameters, [6]))


def test_another_error_is_not_mistaken_for_a_lack_of_memory():
    parameters = eqx.filter(random_model(tiny()), eqx.is_array)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        list(starved(4, "INTERNAL: a bug").test(parameters, [6]))


LONG = """
import json, resource, sys, warnings
import equinox as eqx, jax
from randpos import Experiment
from randpos.training.evaluation import Evaluator
from tests.experiments import random_model
experiment = Experiment.from_dict(json.loads(sys.argv[1]))
parameters = eqx.filter(random_model(experiment), eqx.is_array)
evaluator = Evaluator(experiment)
list(evaluator.test(parameters, [1]))  # whatever it needs at all, it has from now on
if room := int(sys.argv[2]):
    pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + room, -1))
warnings.simplefilter("ignore")
print(json.dumps([list(evaluator.test(parameters, [200])), evaluator.parts]))
while not room and evaluator.parts < 8:  # compiled for the limited process, which has no room
    evaluator.parts *= 2
    list(evaluator.test(parameters, [200]))
"""


@pytest.mark.slow  # LLVM may abort under such a limit; the tests of `starved` cover the same code
@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_under_a_limit_of_memory_long_sequences_are_tested_in_parts(cache):
    """A limit as `ulimit -v` sets it: enough for a part of the batch, too little for all."""
    experiment = tiny(
        test_length=200,
        lengths=Schedule("fixed", 4),
        positions=PositionOptions(maximum=512),
        evaluation=Evaluation(batch=4000),
    )
    outputs = []
    for room in (0, 48 * 2**20):
        line = [sys.executable, "-c", LONG, json.dumps(experiment.to_dict()), str(room)]
        # Without an arena per thread, each of which takes 64 MiB of addresses at its first use.
        kept = environment(cache, MALLOC_ARENA_MAX="1")
        process = subprocess.run(line, env=kept, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        outputs.append(json.loads(process.stdout))
    (whole, pieces), (cut, parts) = outputs
    assert pieces == 1
    assert parts > 1
    assert cut == whole


CLI = """
import resource, sys
from randpos.cli.main import main
room, *line = sys.argv[1:]
assert main([*line, "--max-length", "1"]) == 0  # whatever it needs at all, it has from now on
if int(room):
    pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + int(room), -1))
sys.exit(main([*line, "--stride", "200", "--format", "json"]))
"""


@pytest.mark.slow  # the test before does the same without the command line
@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_under_a_limit_of_memory_a_command_says_what_it_does_and_ends_well(tmp_path, cache):
    experiment = tiny(
        test_length=200, lengths=Schedule("fixed", 4), positions=PositionOptions(maximum=512)
    )
    outputs = []
    for room in (0, 48 * 2**20):
        store = tmp_path / str(room)
        folder = write_run(store, experiment, lengths=[])
        arrays = named_arrays(random_model(experiment))
        folder.parameters.write_bytes(safetensors.numpy.save(arrays))
        options = ["evaluate", experiment.digest, "--batch", "4000", "--store", str(store)]
        line = [sys.executable, "-c", CLI, str(room), *options]
        process = subprocess.run(line, env=environment(cache), capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        outputs.append((process.stdout[process.stdout.index("[\n") :], process.stderr))
    (whole, quiet), (cut, said) = outputs
    assert json.loads(cut) == json.loads(whole)
    assert all(line.startswith(PROGRESS) for line in quiet.splitlines())
    assert all(line.startswith(("randpos: ", *PROGRESS)) for line in said.splitlines())
    assert "does not fit into the memory; it is tested in" in said


# Size of files.


def test_a_limit_on_the_size_of_files_is_a_sentence_and_the_runs_are_still_to_be_done(
    tmp_path, cache
):
    command = Command(tmp_path / "runs", cache, "--workers", "1", seeds=2)
    said = limited(command, 3, "f")  # settings and metrics fit, parameters do not
    assert said.endswith("cannot be used: File too large.")
    assert len(make_plan(command.experiments(), command.store).missing) == 2
    assert set(read_store(command.store).runs["status"]) <= {"unfinished"}
    left = [path.name for path in leftovers(command.store)]
    assert set(left) <= {"checkpoints"}
