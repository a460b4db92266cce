// The attention of one head as a heat map: a row for each query, a column for each key.

const PIXELS = 384; // a longer sequence shows the largest weight of each small square

function makeAttention(side, point) {
  const canvas = make("canvas", { width: 1, height: 1 });
  const rowMark = make("div", { class: "row-mark", hidden: true });
  const borders = ["across", "down"].map((kind) => make("div", { class: `border ${kind}` }));
  const map = make("div", { class: "map", role: "img" }, canvas, ...borders, rowMark);
  const scale = make("p", { class: "note scale" });
  const words = make("p", { class: "note reading" });
  let shown = null;

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const parse = (name) => {
      const hex = style.getPropertyValue(name).trim().slice(1);
      return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
    };
    return [parse("--paper"), parse(`--side-${side}`)];
  }

  function paint() {
    if (!shown) return;
    const { weights, time } = shown;
    const size = Math.min(time, PIXELS);
    const strongest = new Float32Array(size * size);
    for (let q = 0; q < time; q++) {
      const row = Math.floor((q * size) / time) * size;
      for (let k = 0; k < time; k++) {
        const at = row + Math.floor((k * size) / time);
        if (weights[q * time + k] > strongest[at]) strongest[at] = weights[q * time + k];
      }
    }
    const top = strongest.reduce((a, b) => Math.max(a, b), 0);
    scale.replaceChildren(`Rows: queries. Columns: keys. Full colour: ${percent(top)}`);
    const [low, high] = colours();
    const image = new ImageData(size, size);
    strongest.forEach((weight, i) => {
      const share = Math.sqrt(weight / top); // small weights are seen too
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = low[c] + share * (high[c] - low[c]);
      image.data[4 * i + 3] = 255;
    });
    [canvas.width, canvas.height] = [size, size];
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  const nameOf = (token) =>
    token < shown.inputs ? `input ${token + 1} “${shown.symbols[token]}”` : `answer ${token - shown.inputs + 1}`;

  function mark(token) {
    rowMark.hidden = !shown || token === null || token >= shown.time;
    if (rowMark.hidden) {
      words.replaceChildren("Point at a token or a row to see what it attends to.");
      return;
    }
    const { weights, time } = shown;
    rowMark.style.top = `${(100 * token) / time}%`;
    rowMark.style.height = `max(3px, ${100 / time}%)`;
    const row = Array.from(weights.subarray(token * time, (token + 1) * time), (weight, key) => [weight, key]);
    const top = row.sort((a, b) => b[0] - a[0]).slice(0, 3);
    const list = top.map(([weight, key]) => `${nameOf(key)} ${percent(weight)}`).join(", ");
    words.replaceChildren(make("strong", {}, clean(nameOf(token))), clean(` attends to ${list}`));
  }

  function at(event) {
    const box = canvas.getBoundingClientRect();
    const token = Math.floor(((event.clientY - box.top) / box.height) * (shown?.time ?? 0));
    if (shown && token >= 0 && token < shown.time) point(token);
  }
  map.addEventListener("pointermove", at);
  map.addEventListener("pointerdown", at);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  function show(weights, time, inputs, symbols, title) {
    shown = { weights, time, inputs, symbols };
    map.setAttribute("aria-label", title);
    borders[0].style.top = borders[1].style.left = `${(100 * inputs) / time}%`;
    paint();
  }

  return { nodes: [map, scale, words], show, mark };
}
