// One model on the current input: its verdict, its answer, its positions and its attention.

function makeCard(side, about) {
  const run = makeRunner(about);
  const state = { index: null, task: null, tokens: null, place: null, pointed: null, look: { layer: 0, head: 0 } };
  let wanted = 0, running = false;
  const title = make("h2", {});
  const how = make("p", { class: "note" });
  const verdict = make("p", { class: "verdict", role: "status" });
  const message = make("p", { class: "warning", hidden: true });
  const answers = makeAnswers(`answer-${side}`, (i) => point(state.tokens.length + i));
  const line = makeNumberLine();
  const redraw = make("button", { type: "button", class: "redraw", onclick: drawAgain }, "Draw positions again");
  const attention = makeAttention(side, point);
  const pick = (name, change) => make("select", { "aria-label": name, onchange: change });
  const layer = pick("Layer", () => look({ layer: Number(layer.value) }));
  const head = pick("Head", () => look({ head: Number(head.value) }));
  const token = make("input", { type: "number", min: 1, "aria-label": "Token", onchange: () => point(token.valueAsNumber - 1) });
  const source = make("p", { class: "note source" });
  const looks = make(
    "div",
    { class: "tools looks" },
    ["Layer", layer, "Head", head, "Token", token].map((part) => (part instanceof Node ? part : make("span", {}, part))),
  );
  // Closed on a narrow screen, where the other model would be far away; then it is not computed either.
  const inside = make("details", { class: "inside", ontoggle: refreshIfShown }, make("summary", {}, "Attention"), looks, attention.nodes);
  inside.open = window.matchMedia("(min-width: 48rem)").matches;
  const result = make(
    "div",
    { class: "result" },
    make("p", { class: "note" }, "Circles are right, squares are wrong; the truth stands beneath."),
    answers.node,
    make("div", { class: "heading" }, make("h3", {}, "Positions"), redraw),
    line.nodes,
    inside,
  );
  const node = make("article", { class: `panel card side-${side}`, id: `card-${side}` }, title, how, verdict, message, result, source);

  // Every part of the card shows the same token.
  function point(at) {
    if (!Number.isInteger(at) || at < 0 || at >= Number(token.max)) return;
    state.pointed = at;
    token.value = at + 1;
    answers.mark(at - state.tokens.length);
    line.point(at);
    attention.mark(at);
  }

  const model = () => about.models[state.index];
  function describe() {
    const { label, randomized, maximum, encoding, run, steps, batch, training_length, test_length, score, in_domain } = model();
    title.replaceChildren(make("span", { class: "dot", "aria-hidden": "true" }), clean(label));
    const where = randomized
      ? `Tokens get random, increasing positions from 1 to ${number(maximum)}.`
      : encoding === "none" ? "Tokens get no positions." : "Tokens get the positions 1, 2, 3, …";
    how.replaceChildren(where);
    redraw.hidden = !randomized;
    const tested = score === null || in_domain === null ? ""
      : ` In tests: ${percent(in_domain)} right up to length ${training_length}, ${percent(score)} at ${training_length + 1}–${test_length}.`;
    source.replaceChildren(
      clean(`Run ${run}: ${number(steps)} steps of ${number(batch)} inputs with up to ${training_length} symbols.${tested}`),
    );
    const { layers, heads } = model().architecture;
    const fill = (select, count) => select.replaceChildren(...Array.from({ length: count }, (_, i) => make("option", { value: i }, i + 1)));
    fill(layer, layers);
    fill(head, heads);
    state.look = { layer: layers - 1, head: 0 };
    [layer.value, head.value] = [layers - 1, 0];
  }

  function look(change) {
    Object.assign(state.look, change);
    refresh();
  }

  function drawAgain() {
    state.place = null;
    refresh();
  }

  function refreshIfShown() {
    if (inside.open && state.tokens) refresh();
  }

  // Runs the newest request only: while the worker is busy, older ones are dropped.
  async function refresh() {
    wanted++;
    node.setAttribute("aria-busy", "true");
    if (running) return;
    running = true;
    try {
      while (node.getAttribute("aria-busy") === "true") {
        const wish = wanted;
        await compute();
        if (wish === wanted) node.setAttribute("aria-busy", "false");
      }
    } catch (error) {
      showProblem(error);
    } finally {
      running = false;
    }
  }

  async function compute() {
    const { index, task, tokens, look } = state;
    const facts = about.tasks[task];
    const { sequence, answers: count } = sequenceOf(task, facts, tokens);
    const time = sequence.length;
    const refusal = tooLong(model(), time);
    message.hidden = !refusal;
    result.hidden = verdict.hidden = Boolean(refusal);
    message.replaceChildren(refusal ?? "");
    if (refusal) return;
    const place = (state.place ??= drawPlace(model(), time));
    const { logits, attention: weights } = await run(index, sequence, place, count, inside.open ? { ...look } : null);
    if (index !== state.index || tokens !== state.tokens || place !== state.place) return;
    const judged = judge(logits, TASKS[task].answer(tokens, facts.symbols), facts.terminator);
    showVerdict(judged);
    answers.show(judged, facts.output_symbols);
    line.show(model(), place, time, totalLength(task, LONGEST));
    token.max = time;
    const heading = `Attention of head ${look.head + 1} in layer ${look.layer + 1} over ${time} tokens`;
    if (weights) attention.show(weights, time, tokens.length, tokens.map((one) => facts.symbols[one]), heading);
    point(state.pointed ?? tokens.length);
  }

  function showVerdict(judged) {
    const counted = judged.filter((one) => one.counts);
    const right = counted.filter((one) => one.right).length;
    const whole = right === counted.length;
    verdict.className = `verdict ${whole ? "good" : "poor"}`;
    const sign = whole ? "✓" : "✗";
    const text = counted.length === 1 ? (whole ? "right" : "wrong") : `${number(right)} of ${number(counted.length)} right`;
    verdict.replaceChildren(make("b", {}, `${sign} ${text}`), counted.length > 1 ? ` ${percent(right / counted.length)}` : "");
  }

  return {
    node,
    model: () => state.index,
    choose(index) {
      if (state.index === index) return;
      Object.assign(state, { index, place: null });
      describe();
    },
    show(task, tokens) {
      Object.assign(state, { task, tokens, place: null, pointed: null });
      refresh();
    },
    // Runs the model on another input, with positions of its own, and judges the answer.
    async test(task, tokens) {
      const facts = about.tasks[task];
      const { sequence, answers: count } = sequenceOf(task, facts, tokens);
      const { logits } = await run(state.index, sequence, drawPlace(model(), sequence.length), count);
      return judge(logits, TASKS[task].answer(tokens, facts.symbols), facts.terminator).filter((one) => one.counts);
    },
    fits: (task, n) => !tooLong(model(), totalLength(task, n)),
  };
}
