// One run: what it was, how it ended, how it learned, and how far it generalizes.

function flat(value, name = "") {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[name, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key));
}

function fields(title, text) {
  const pairs = flat(JSON.parse(text));
  const list = make("dl", {}, pairs.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value ?? "")]));
  return make("details", {}, make("summary", {}, title), list);
}

function makeDetails(data) {
  const places = new Map(data.run.map((run, i) => [run, i]));
  let current = null;

  function panel(title, label) {
    const chart = make("div", { class: "chart", role: "img", "aria-label": label });
    return [chart, make("div", { class: "panel" }, make("h4", {}, title), chart)];
  }

  function draw() {
    const i = places.get(current);
    const share = (value) => (value === null ? "–" : `${number(100 * value, 1)} %`);
    const facts = [
      ["Status", data.status[i] + (data.reason[i] ? `: ${data.reason[i]}` : "")],
      ["Score, lengths beyond training", share(data.score[i]) + (data.score_error[i] === null ? "" : ` ± ${number(100 * data.score_error[i], 1)} (standard error of the test)`)],
      ["Accuracy within the training range", share(data.in_domain[i])],
      ["Seed, rate", `${data.seed[i]}, ${data.learning_rate[i]}`],
      ["Steps", `${number(data.step[i])} of ${number(data.steps[i])}, batch ${number(data.batch[i])}`],
      ["Lengths", `N=${data.training_length[i]}, M=${data.test_length[i]}`],
      ["Positions", data.maximum[i] === null ? "ordinal" : `L=${data.maximum[i]}, ${data.reading[i]}, ${data.draw[i]}`],
      ["Tested on", data.tested_batch[i] ? `${number(data.tested_batch[i])} examples per length` : "not tested"],
      ["Training time", duration(data.hours[i])],
    ];
    const charts = [];
    const curve = data.curve[i];
    const lengths = data.grids[data.lengths[i]];
    const note = (text) => make("p", { class: "note" }, text);
    const points = (y) => curve.map((point) => ({ x: point[0], y: y(point) }));
    if (curve.length) {
      charts.push([panel("Training loss", "Loss over training steps"), points((p) => p[1]), { x: "step", y: "loss", digits: 4 }]);
      const percent = points((p) => (p[2] === null ? null : 100 * p[2]));
      charts.push([panel("Training accuracy", "Accuracy over training steps"), percent, { x: "step", y: "accuracy in %", digits: 1, domain: [0, 102] }]);
    }
    if (lengths.length) {
      const tested = lengths.map((x, j) => ({ x, y: data.accuracies[i][j] / 10 }));
      charts.push([panel("Accuracy over length", "Accuracy over tested lengths"), tested, { x: "length", y: "accuracy in %", digits: 1, domain: [0, 102] }]);
    }
    if (data.tests[i]) {
      const [steps, scores] = data.tests[i];
      const along = steps.map((x, j) => ({ x, y: scores[j] / 10 }));
      charts.push([panel("Score during training", "Score over training steps"), along, { x: "step", y: "score in %", digits: 1, domain: [0, 102] }]);
    }
    document.querySelectorAll("#run .chart").forEach(dropChart);
    byId("run").replaceChildren(
      make("h3", {}, `${data.tasks[data.task[i]]} · ${data.encodings[data.encoding[i]]} · `, make("code", {}, data.run[i])),
      make("dl", {}, facts.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
      make("div", { class: "panels" }, charts.map(([[, node]]) => node)),
      curve.length ? "" : note("It has no learning curve yet."),
      make("div", { class: "facts" }, fields("Configuration", data.config[i]), fields("Environment", data.environment[i])),
      make("p", {}, make("button", { type: "button", onclick: close }, "Close")),
    );
    for (const [[place], values, options] of charts) lineChart(place, values, options);
  }

  function close() {
    document.querySelectorAll("#run .chart").forEach(dropChart);
    byId("run").replaceChildren();
    current = null;
    memory.write("run", null);
    byId("h-runs").scrollIntoView();
  }

  return (run, quiet) => {
    if (!places.has(run)) return;
    current = run;
    memory.write("run", run);
    draw();
    if (quiet) return;
    byId("run").scrollIntoView();
    byId("run").focus({ preventScroll: true });
  };
}
