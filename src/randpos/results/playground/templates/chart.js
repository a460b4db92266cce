// Accuracy over length: what was measured here, for the two models that are shown.

function makeChart(place) {
  let width = 0;
  let shown = null;
  watchWidth(place, (now) => {
    width = now;
    paint();
  });

  function paint() {
    if (!shown || !width) return;
    const { series, seen, chance } = shown;
    const [height, left, right, top, bottom] = [260, 44, 14, 12, 38];
    const x = (n) => left + ((n - 1) / (LONGEST - 1)) * (width - left - right);
    const y = (share) => top + (1 - share) * (height - top - bottom);
    const svg = draw("svg", { width, height, role: "img", "aria-label": "Accuracy over length of both models" });
    svg.append(draw("rect", { class: "seen", x: x(1), y: y(1), width: x(seen) - x(1), height: y(0) - y(1) }));
    svg.append(label((x(1) + x(seen)) / 2, y(0) - 6, width < 500 ? "" : "trained", { "text-anchor": "middle" }));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }));
      svg.append(label(left - 7, y(share) + 4, 100 * share, { "text-anchor": "end" }));
    }
    svg.append(draw("line", { class: "chance", x1: left, x2: width - right, y1: y(chance), y2: y(chance) }));
    svg.append(label(width - right, y(chance) + 14, "chance", { "text-anchor": "end" }));
    for (const n of [1, 100, 200, 300, 400, 500]) {
      svg.append(label(x(n), y(0) + 17, n, { "text-anchor": n === 1 ? "start" : n === 500 ? "end" : "middle" }));
    }
    svg.append(label((left + width - right) / 2, height - 3, "length of the input; accuracy in %", { "text-anchor": "middle" }));
    series.forEach(({ points }, side) => {
      const path = points.map(({ n, share }, i) => `${i ? "L" : "M"}${x(n).toFixed(1)} ${y(share).toFixed(1)}`).join("");
      svg.append(draw("path", { class: `curve side-${side}`, d: path }));
      for (const { n, share, strings } of points) {
        const words = `${series[side].label}, length ${n}: ${percent(share)} of ${strings} inputs`;
        const dot = side // the two curves differ in shape as well
          ? draw("circle", { cx: x(n), cy: y(share), r: 4.5 })
          : draw("rect", { x: x(n) - 4, y: y(share) - 4, width: 8, height: 8 });
        dot.setAttribute("class", `dot side-${side}`);
        dot.append(draw("title", {}, document.createTextNode(clean(words))));
        svg.append(dot);
      }
    });
    const key = series.map(({ label }, side) =>
      make("span", { class: `key side-${side}` }, make("span", { class: "sign", "aria-hidden": "true" }, side ? "●" : "■"), ` ${clean(label)}`));
    place.replaceChildren(make("div", { class: "keys" }, key), svg);
  }

  return (what) => {
    shown = what;
    paint();
  };
}

function numbersTable(series) {
  const lengths = [...new Set(series.flatMap(({ points }) => points.map(({ n }) => n)))].sort((a, b) => a - b);
  const cell = (points, n) => {
    const found = points.find((point) => point.n === n);
    return found ? `${percent(found.share)} (${number(found.whole)} of ${number(found.strings)} all right)` : "–";
  };
  const head = make("tr", {}, ["Length", ...series.map(({ label }) => label)].map((text) => make("th", { scope: "col" }, text)));
  const rows = lengths.map((n) => make("tr", {}, make("th", { scope: "row" }, n), series.map(({ points }) => make("td", {}, cell(points, n)))));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, rows));
}
