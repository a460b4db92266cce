"""Speed and memory of reading a store of 6,000 runs, each tested at 500 lengths.

    python benchmarks/store.py            # makes the store in a temporary folder first
    python benchmarks/store.py FOLDER     # reads this one

Each reading is a process of its own; the fastest of three counts, the machines being shared.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 6000
READ = """
import resource, sys, time
from pathlib import Path
from randpos.store.tables import read_store
began, busy = time.perf_counter(), time.process_time()
runs, accuracies = read_store(Path(sys.argv[1]))
seconds, busy = time.perf_counter() - began, time.process_time() - busy
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(len(runs), len(accuracies), seconds, busy, memory)
"""


def measure(store: str) -> None:
    found = []
    for _ in range(3):
        line = [sys.executable, "-c", READ, store]
        printed = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
        found.append(tuple(float(word) for word in printed))
    runs, accuracies, seconds, busy, memory = min(found, key=lambda row: row[2])
    print(f"{runs:,.0f} runs, {accuracies:,.0f} accuracies")
    print(f"{seconds:.1f} s, of which {busy:.1f} s of processor time; {memory:.2f} GiB at most")


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as store:
        line = [sys.executable, "-m", "tests.sweeps.synthetic", store, str(RUNS)]
        subprocess.run(line, check=True, cwd=ROOT)
        measure(store)


if __name__ == "__main__":
    main()
