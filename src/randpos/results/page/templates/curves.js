// Accuracy over length: a panel for each chosen task, a line for each chosen encoding.

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
  set.append(make("button", { type: "button", onclick: all(true) }, "all"));
  set.append(make("button", { type: "button", onclick: all(false) }, "none"));
  return set;
}

function makeCurves(page) {
  const encodings = Object.keys(page.styles);
  const chosen = new Set(memory.read("encodings", encodings));
  const tasks = () => page.curves[chosenBudget].map((panel) => panel.label);
  const wanted = new Set(memory.read("tasks", tasks()));

  let pending = new Map();
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !pending.has(target)) continue;
      drawPanel(pending.get(target), target);
      pending.delete(target);
      watcher.unobserve(target);
    }
  }, { rootMargin: "400px" });

  function choose() {
    memory.write("encodings", [...chosen]);
    memory.write("tasks", [...wanted]);
    drawPanels();
  }

  function draw() {
    if (!tasks().some((task) => wanted.has(task))) tasks().forEach((task) => wanted.add(task));
    const name = (encoding) => [sample(page.styles[encoding]), page.styles[encoding].label];
    const none = make("p", {}, "No run of this budget was tested.");
    byId("curve-choice").replaceChildren(
      ...(tasks().length
        ? [chips("Encodings", encodings, chosen, name, choose), chips("Tasks", tasks(), wanted, (task) => task, choose)]
        : [none]),
    );
    drawPanels();
  }

  function drawPanels() {
    document.querySelectorAll("#panels .chart").forEach(dropChart);
    const shown = page.curves[chosenBudget].filter((panel) => wanted.has(panel.label));
    const places = shown.map((panel) => {
      const words = `Accuracy over length on ${panel.label}, one line for each chosen encoding`;
      const chart = make("div", { class: "chart", role: "img", "aria-label": words });
      return [panel, chart, make("div", { class: "panel" }, make("h3", {}, panel.label), make("p", { class: "note" }, `Best of ${panel.over}`), chart)];
    });
    byId("panels").replaceChildren(...places.map(([, , node]) => node));
    // Far panels wait until somebody scrolls to them.
    watcher.disconnect();
    pending = new Map(places.map(([panel, chart]) => [chart, panel]));
    pending.forEach((_, chart) => watcher.observe(chart));
  }

  function drawPanel(panel, place) {
    const series = panel.series.filter((line) => chosen.has(line.encoding));
    const spec = copy(specs.curves);
    const ids = series.map((_, i) => `s${i}`);
    const styles = series.map((line) => page.styles[line.encoding]);
    const [seen, , lines, points, rule] = spec.layer;
    lines.encoding.color.scale = points.encoding.color.scale = { domain: ids, range: styles.map((s) => s.colour) };
    lines.encoding.strokeDash.scale = { domain: ids, range: styles.map((s) => s.dash) };
    const longest = Math.max(panel.seen, ...panel.series.flatMap((line) => line.x));
    for (const layer of [seen, lines, points, rule]) layer.encoding.x.scale = { domain: [1, longest], nice: false };
    spec.datasets = {
      facts: [{ first: 1, last: panel.seen, chance: panel.chance }],
      curves: series.flatMap((line, i) => line.x.map((x, j) => ({ series: ids[i], x, y: line.y[j] / 10 }))),
    };
    const rows = (at) => {
      const known = ids.map((id, i) => [at[id], i]).filter(([y]) => y !== undefined && y !== null);
      known.sort((a, b) => b[0] - a[0]);
      const name = (i) => make("span", { class: "name" }, sample(styles[i]), styles[i].label);
      const lines = known.map(([y, i]) => make("div", {}, name(i), make("strong", {}, number(y, 1))));
      return [make("div", {}, make("span", {}, `length ${at.x}`)), ...lines];
    };
    return drawChart(place, spec, rows);
  }

  dark.addEventListener("change", drawPanels);
  return draw;
}
