// Puts the page together.

function showProblem(error) {
  byId("problem").hidden = false;
  byId("problem").replaceChildren(clean(`The playground stopped: ${error.message}`));
  console.error(error);
}

// A randomized model and its plain form come first, then any two.
function firstPair(models) {
  for (const [, one] of models) {
    const plain = models.find(([, other]) => one.randomized && !other.randomized && other.encoding === one.encoding);
    if (plain) return [plain[0], models.find(([, other]) => other === one)[0]];
  }
  return models.slice(0, 2).map(([index]) => index);
}

// Several runs of one encoding show their names.
function optionsOf(models) {
  const count = (label) => models.filter(([, one]) => one.label === label).length;
  return models.map(([index, one]) => make("option", { value: index }, count(one.label) > 1 ? `${one.label} · ${one.run}` : one.label));
}

function main() {
  const about = readData("about-data");
  const cards = [0, 1].map((side) => makeCard(side, about));
  const selects = [0, 1].map((side) => byId(`model-${side}`));
  const state = { task: null, tokens: null, length: 0 };
  const of = (task) => about.models.map((one, index) => [index, one]).filter(([, one]) => one.task === task);
  const shownCards = () => cards.slice(0, of(state.task).length);
  const seen = () => Math.max(...shownCards().map((card) => about.models[card.model()].training_length));
  byId("cards").append(...cards.map((card) => card.node));
  byId("made").replaceChildren(clean(`Made with randpos ${about.version}.`));

  const input = makeInput(about, (tokens, length) => {
    state.tokens = tokens;
    for (const card of cards) card.node.classList.toggle("stale", tokens === null);
    if (tokens === null) return;
    state.length = length ?? tokens.length;
    input.showLength(state.length, seen());
    for (const card of shownCards()) card.show(state.task, tokens);
    tests.paint();
    remember();
  });
  const tests = makeTests(about, shownCards, () => state);

  function chooseModel(side, index) {
    tests.stop();
    selects[side].value = index;
    cards[side].choose(index);
  }

  function chooseTask(task) {
    tests.stop();
    const models = of(task);
    state.task = task;
    byId("task").value = task;
    selects.forEach((select) => select.replaceChildren(...optionsOf(models)));
    firstPair(models).forEach((index, side) => chooseModel(side, index));
    [cards[1].node, selects[1].parentElement].forEach((node) => (node.hidden = models.length < 2));
    byId("seen").replaceChildren(number(seen()));
    input.prepare(task, seen());
  }

  // The address names what is shown, so that it can be linked to.
  function remember() {
    const { symbols } = about.tasks[state.task];
    const models = shownCards().map((card) => about.models[card.model()].run);
    const fields = { task: state.task, models: models.join(" "), input: state.tokens.map((token) => symbols[token]).join("") };
    history.replaceState(null, "", `#${new URLSearchParams(fields)}`);
  }

  function recall() {
    const fields = new URLSearchParams(location.hash.slice(1));
    const task = fields.get("task");
    chooseTask(task in about.tasks ? task : about.first);
    const runs = (fields.get("models") ?? "").split(" ");
    shownCards().forEach((_, side) => {
      const found = of(state.task).find(([, one]) => one.run === runs[side]);
      if (found) chooseModel(side, found[0]);
    });
    input.showLength(Math.ceil(seen() / 2), seen());
    const text = fields.get("input");
    if (task === state.task && text) input.type(text);
    if (!state.tokens) input.drawRandom();
  }

  const names = Object.entries(about.tasks).map(([task, { label }]) => make("option", { value: task }, label));
  byId("task").replaceChildren(...names);
  byId("task").addEventListener("change", () => {
    chooseTask(byId("task").value);
    input.drawRandom();
  });
  selects.forEach((select, side) =>
    select.addEventListener("change", () => {
      chooseModel(side, Number(select.value));
      input.prepare(state.task, seen());
      if (state.tokens) cards[side].show(state.task, state.tokens);
      if (state.tokens) remember();
      tests.paint();
    }),
  );
  recall();
  document.documentElement.dataset.ready = "yes";
}

try {
  main();
} catch (error) {
  showProblem(error);
}
