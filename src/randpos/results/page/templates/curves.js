// Accuracy over length and over training: a panel for each chosen task, a line for each chosen encoding.

function chips(title, names, chosen, label, change) {
  const set = make("fieldset", { class: "chips" }, make("legend", {}, title));
  const boxes = names.map((name, i) => {
    const box = make("input", { type: "checkbox", value: name });
    box.checked = chosen.has(name);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(name);
      else chosen.delete(name);
      change();
    });
    set.append(make("label", {}, box, label(name, i)));
    return box;
  });
  const all = (on) => () => {
    names.forEach((name) => (on ? chosen.add(name) : chosen.delete(name)));
    boxes.forEach((box) => (box.checked = on));
    change();
  };
  if (names.length > 2) {
    set.append(make("button", { type: "button", onclick: all(true) }, "all"));
    set.append(make("button", { type: "button", onclick: all(false) }, "none"));
  }
  return set;
}

// Measured points get a marker unless they are so many that markers would touch.
const MOST_MARKERS = 40;

function makeCurves(page) {
  const kept = new Set(memory.read("encodings", Object.keys(page.styles)));
  const panels = () => page.curves[chosenBudget];
  const tasks = () => panels().lengths.map((panel) => panel.label);
  const wanted = new Set(memory.read("tasks", tasks()));
  let round = 0;

  function choose() {
    memory.write("encodings", [...kept]);
    memory.write("tasks", [...wanted]);
    drawPanels();
  }

  function draw() {
    if (!tasks().some((task) => wanted.has(task))) tasks().forEach((task) => wanted.add(task));
    const drawn = new Set(panels().lengths.flatMap((panel) => panel.series.map((line) => line.encoding)));
    const encodings = Object.keys(page.styles).filter((name) => drawn.has(name));
    const name = (encoding) => [sample(page.styles[encoding]), page.styles[encoding].label];
    const choices = [chips("Encodings", encodings, kept, name, choose)];
    if (tasks().length > 1) choices.push(chips("Tasks", tasks(), wanted, (task) => task, choose));
    byId("curve-choice").replaceChildren(...(tasks().length ? choices : [make("p", {}, "No run of this budget was tested.")]));
    byId("reading").hidden = !tasks().length;
    byId("along").hidden = !panels().steps.length;
    drawPanels();
  }

  // One after the other, so that the page stays responsive; all of them, so that they can be printed.
  async function drawPanels() {
    const own = ++round;
    document.querySelectorAll("#panels .chart, #steps .chart").forEach(dropChart);
    const place = (id, list, words) => {
      const shown = list.filter((panel) => wanted.has(panel.label));
      const made = shown.map((panel) => {
        const label = `${words} on ${panel.label}, one line for each chosen encoding`;
        const chart = make("div", { class: "chart", role: "img", "aria-label": label });
        const note = make("p", { class: "note" }, panel.over);
        return [panel, chart, make("div", { class: "panel" }, make("h3", {}, panel.label), note, chart)];
      });
      byId(id).replaceChildren(...made.map(([, , node]) => node));
      return made.map(([panel, chart]) => [panel, chart, id]);
    };
    const waiting = [
      ...place("panels", panels().lengths, "Accuracy over length"),
      ...place("steps", panels().steps, "Score over training steps"),
    ];
    for (const [panel, chart, id] of waiting) {
      if (own !== round) return;
      await drawPanel(panel, chart, id === "steps");
      await new Promise((done) => setTimeout(done));
    }
  }

  function drawPanel(panel, place, overSteps) {
    const series = panel.series.filter((line) => kept.has(line.encoding));
    const spec = copy(specs.curves);
    const ids = series.map((_, i) => `s${i}`);
    const styles = series.map((line) => page.styles[line.encoding]);
    const [seen, , bands, lines, points, near, rule] = spec.layer;
    const colours = { domain: ids, range: styles.map((s) => s.colour) };
    for (const layer of [bands, lines, points, near]) layer.encoding.color.scale = colours;
    lines.encoding.strokeDash.scale = { domain: ids, range: styles.map((s) => s.dash) };
    const longest = Math.max(overSteps ? 1 : panel.seen, ...panel.series.flatMap((line) => line.x));
    const [title, domain] = overSteps ? ["training step", [0, longest]] : ["length", [1, longest]];
    for (const layer of [seen, bands, lines, points, near, rule]) layer.encoding.x.scale = { domain, nice: false };
    for (const layer of [bands, lines, points, near, rule]) {
      layer.encoding.x.title = title;
      layer.encoding.x.axis = { format: overSteps ? "~s" : "d" };
    }
    for (const layer of [bands, lines, points, near]) layer.encoding.y.title = overSteps ? "score in %" : "accuracy in %";
    const measured = (line) => line.x.map((x, j) => ({ x, y: line.y[j] / 10, low: (line.y[j] - line.s[j]) / 10, high: (line.y[j] + line.s[j]) / 10 }));
    const rows = series.flatMap((line, i) => measured(line).map((point) => ({ series: ids[i], ...point })));
    spec.datasets = {
      facts: [{ first: overSteps ? null : 1, last: overSteps ? null : panel.seen, chance: panel.chance }],
      curves: rows,
      bands: rows.filter((row) => row.high > row.low),
      marks: rows.filter((row) => series[Number(row.series.slice(1))].x.length <= MOST_MARKERS),
    };
    const tooltip = (at) => {
      const known = ids.map((id, i) => [at[id], i]).filter(([y]) => y !== undefined && y !== null);
      known.sort((a, b) => b[0] - a[0]);
      const name = (i) => make("span", { class: "name" }, sample(styles[i]), styles[i].label);
      const values = known.map(([y, i]) => make("div", {}, name(i), make("strong", {}, number(y, 1))));
      return [make("div", {}, make("span", {}, `${overSteps ? "step" : "length"} ${number(at.x)}`)), ...values];
    };
    return drawChart(place, spec, tooltip);
  }

  return draw;
}
