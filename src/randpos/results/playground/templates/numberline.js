// A number line with the positions of this sequence; those that occurred in training are shaded.

function makeNumberLine() {
  const place = make("div", { class: "numberline", role: "img" });
  const words = make("p", { class: "note" });
  let shown = null;
  let width = 0;
  let pointed = null;
  watchWidth(place, (now) => {
    width = now;
    paint();
  });

  function paint() {
    if (!shown || !width) return;
    const { values, seen, last } = shown;
    const x = (value) => 6 + ((value - 1) / Math.max(last - 1, 1)) * (width - 12);
    const ticks = (chosen, kind) =>
      draw("path", { class: kind, d: chosen.map((value) => `M${x(value).toFixed(1)} 8V34`).join("") });
    const edge = (value, anchor) => label(x(value), 54, number(value), { "text-anchor": anchor });
    const marked = values[pointed];
    const numbers = [edge(1, "start"), edge(last, "end")];
    if (seen > last / 12 && seen < last * 0.88) numbers.push(edge(seen, "middle"));
    const svg = draw(
      "svg",
      { width, height: 60, "aria-hidden": "true" },
      draw("rect", { class: "seen", x: 0, y: 4, width: Math.min(x(seen) + 6, width), height: 34, rx: 4 }),
      draw("line", { class: "axis", x1: 0, x2: width, y1: 38, y2: 38 }),
      ticks(values.filter((value) => value <= seen), "tick"),
      ticks(values.filter((value) => value > seen), "tick unseen"),
      ...numbers,
    );
    if (marked !== undefined) {
      svg.append(draw("path", { class: "tick pointed", d: `M${x(marked)} 2V42` }));
      const anchor = x(marked) < 40 ? "start" : x(marked) > width - 40 ? "end" : "middle";
      svg.append(label(x(marked), 54, number(marked), { class: "pointed", "text-anchor": anchor }));
      numbers.forEach((node) => Math.abs(node.getAttribute("x") - x(marked)) < 60 && node.remove());
    }
    place.replaceChildren(svg);
  }

  // `longest` is the largest number of tokens that the slider allows.
  function show(model, positions, time, longest) {
    pointed = null;
    const bare = model.encoding === "none";
    place.hidden = bare;
    if (bare) {
      words.replaceChildren("This model has no positions: it cannot tell the order of its tokens.");
      return;
    }
    const distances = positions.distances?.slice(1);
    const values = distances ?? positions.positions;
    const seen = model.randomized ? model.maximum - (distances ? 1 : 0) : model.training_total;
    shown = { values, seen, last: model.randomized ? seen : Math.max(longest, seen) };
    const what = distances ? "distances between tokens" : "positions";
    const unseen = values.filter((value) => value > seen).length;
    const text = unseen
      ? make("span", { class: "bad" }, `${number(unseen)} of ${number(time)} tokens have positions that never occurred in training.`)
      : `All ${number(values.length)} ${what} occurred in training.`;
    words.replaceChildren(text);
    place.setAttribute("aria-label", `Number line from 1 to ${shown.last} with ${values.length} ${what}, ${unseen} of them never seen in training`);
    paint();
  }

  // With random distances a token has no position of its own to point at.
  function point(token) {
    pointed = shown && shown.values.length > token ? token : null;
    paint();
  }

  return { nodes: [place, words], show, point };
}
