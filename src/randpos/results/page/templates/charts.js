// Vega-Lite charts in the colours of the page.

const specs = readData("specs");
// Variables of the style, so that charts follow the colours of the system, and of paper.
const colour = (name) => `var(--${name})`;

function theme() {
  const text = { labelColor: colour("faint"), titleColor: colour("faint"), titleFontWeight: "normal" };
  return {
    background: null,
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: { ...text, gridColor: colour("grid"), domainColor: colour("line"), tickColor: colour("line"), labelOverlap: true },
  };
}

// Vega would write tooltips as markup and add a style of its own; these are text.
const tip = make("div", { id: "tip", hidden: true });
document.body.append(tip);

function tooltip(lines) {
  return (_, event, __, value) => {
    const shown = value && typeof value === "object" ? lines(value) : null;
    tip.hidden = !shown;
    if (!shown) return;
    tip.replaceChildren(...shown);
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8);
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  };
}

const shownCharts = new Map();

// Expressions are interpreted, not compiled: the page's policy forbids making code from text.
async function drawChart(place, spec, lines) {
  shownCharts.get(place)?.finalize();
  const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, config: theme(), tooltip: tooltip(lines) };
  const chart = await vegaEmbed(place, spec, options);
  // The label of its container describes the chart.
  place.querySelector("svg")?.setAttribute("aria-hidden", "true");
  shownCharts.set(place, chart);
}

function dropChart(place) {
  shownCharts.get(place)?.finalize();
  shownCharts.delete(place);
}

const copy = (spec) => structuredClone(spec);

function sample(style) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const set = (node, values) => Object.entries(values).forEach(([k, v]) => node.setAttribute(k, v));
  set(svg, { width: 26, height: 8, "aria-hidden": "true" });
  const dash = style.dash[1] ? style.dash.join(" ") : "none";
  set(line, { x1: 0, y1: 4, x2: 26, y2: 4, stroke: style.colour, "stroke-width": 2.5, "stroke-dasharray": dash });
  svg.append(line);
  return svg;
}

// One quantity over steps or lengths.
function lineChart(place, points, { x, y, domain, digits }) {
  const spec = copy(specs.line);
  spec.datasets = { line: points.filter((point) => point.y !== null) };
  for (const layer of spec.layer) {
    layer.encoding.x.title = x;
    layer.encoding.x.axis = { format: "~s" };
    layer.encoding.y.title = y;
    if (domain) layer.encoding.y.scale = { domain };
  }
  const row = (name, value) => make("div", {}, make("span", {}, name), make("strong", {}, value));
  return drawChart(place, spec, (at) => [row(x, number(at.x)), row(y, number(at.y, digits))]);
}
