// Tests both models on random inputs, and keeps what was measured for each model and length.

const STRINGS = 100, SWEPT = 20;
const SWEEP = [5, 10, 20, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400, 500];

function makeTests(about, cards, current) {
  const measured = new Map(); // model number -> length -> counts
  const drawChart = makeChart(byId("chart"));
  let stopped = true;
  let scheduled = false;

  function series() {
    return cards().map((card) => {
      const found = [...(measured.get(card.model()) ?? new Map())].sort((a, b) => a[0] - b[0]);
      const points = found.map(([n, counts]) => ({ n, share: counts.right / counts.tokens, ...counts }));
      return { label: about.models[card.model()].label, points };
    });
  }

  function paint() {
    scheduled = false;
    const { task } = current();
    const seen = Math.max(...cards().map((card) => about.models[card.model()].training_length));
    const lines = series();
    drawChart({ series: lines, seen, chance: about.tasks[task].chance });
    byId("table").replaceChildren(numbersTable(lines));
    byId("test").replaceChildren(`Test ${STRINGS} random inputs of length ${current().length}`);
  }

  function schedule() {
    if (!scheduled) requestAnimationFrame(paint);
    scheduled = true;
  }

  async function testOne(card, task, n, tokens) {
    if (!card.fits(task, n)) return;
    const index = card.model();
    const judged = await card.test(task, tokens);
    if (!measured.has(index)) measured.set(index, new Map());
    const counts = measured.get(index).get(n) ?? { right: 0, tokens: 0, whole: 0, strings: 0 };
    const right = judged.filter((one) => one.right).length;
    counts.right += right;
    counts.tokens += judged.length;
    counts.whole += right === judged.length;
    counts.strings += 1;
    measured.get(index).set(n, counts);
    schedule();
  }

  async function test(lengths, strings) {
    const { task } = current();
    const tell = (text) => byId("progress").replaceChildren(text);
    stopped = false;
    setRunning(true);
    try {
      for (const n of lengths) {
        for (let i = 0; i < strings && !stopped; i++) {
          const tokens = TASKS[task].sample(n, Math.random);
          await Promise.all(cards().map((card) => testOne(card, task, n, tokens)));
          tell(`length ${n}: ${i + 1} of ${strings}`);
        }
      }
      tell(stopped ? "stopped" : "done");
    } catch (error) {
      showProblem(error);
    } finally {
      stopped = true;
      setRunning(false);
    }
  }

  function setRunning(on) {
    byId("stop").hidden = !on;
    for (const id of ["test", "sweep", "clear"]) byId(id).disabled = on;
    if (on) byId("stop").focus();
    else if (document.activeElement === document.body) byId("test").focus();
  }

  byId("test").addEventListener("click", () => test([current().length], STRINGS));
  byId("sweep").addEventListener("click", () => test(SWEEP, SWEPT));
  byId("stop").addEventListener("click", stop);
  byId("clear").addEventListener("click", () => {
    measured.clear();
    byId("progress").replaceChildren();
    paint();
  });
  function stop() {
    stopped = true;
  }
  return { paint, stop };
}
