// The answer, token by token: a circle where it is right, a crossed square where it is wrong, the truth beneath.

const percent = (share) => `${number(100 * share, 1)} %`;

function makeAnswers(id, point) {
  const list = make("div", { class: "answers", role: "listbox", tabindex: "0", "aria-label": "Answer, token by token" });
  let judged = [];
  let cells = [];
  let symbols = "";
  let active = null;

  function rows(i) {
    const { said, truth, right, counts, shares } = judged[i];
    const line = (name, value) => make("div", {}, make("span", {}, name), make("strong", {}, value));
    const order = shares.map((_, c) => c).sort((a, b) => shares[b] - shares[a]).slice(0, 3);
    return [
      line(`Answer ${i + 1} of ${judged.length}`, counts ? (right ? "right" : "wrong") : "does not count"),
      line("says", symbols[said]),
      line("truth", symbols[truth]),
      ...order.map((c) => line(`probability of ${symbols[c]}`, percent(shares[c]))),
    ];
  }

  function activate(i, tip = true) {
    cells[active]?.classList.remove("pointed");
    cells[active]?.setAttribute("aria-selected", "false");
    active = i;
    if (i === null) {
      list.removeAttribute("aria-activedescendant");
      hideTip();
      return;
    }
    cells[i].classList.add("pointed");
    cells[i].setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", cells[i].id);
    if (tip) showTip(cells[i], rows(i));
  }

  function choose(i) {
    activate(i);
    point(i);
  }

  const indexOf = (event) => cells.indexOf(event.target.closest(".cell"));
  list.addEventListener("pointerover", (event) => indexOf(event) >= 0 && choose(indexOf(event)));
  list.addEventListener("click", (event) => indexOf(event) >= 0 && choose(indexOf(event)));
  list.addEventListener("pointerleave", hideTip);
  list.addEventListener("blur", hideTip);
  list.addEventListener("focus", () => cells.length && choose(active ?? 0));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || !cells.length) return;
    event.preventDefault();
    choose(Math.min(Math.max((active ?? 0) + step, 0), cells.length - 1));
    cells[active].scrollIntoView({ block: "nearest" });
  });

  function show(results, outputSymbols) {
    [judged, symbols, active] = [results, outputSymbols, null];
    cells = judged.map(({ said, truth, right, counts, shares }, i) => {
      const kind = counts ? (right ? "right" : "wrong") : "free";
      const words = `${i + 1}: ${symbols[said]}, ${counts ? kind : "does not count"}, truth ${symbols[truth]}, ${percent(shares[said])}`;
      const attributes = { class: `cell ${kind}`, id: `${id}-${i}`, role: "option", "aria-selected": "false", "aria-label": words };
      return make("span", attributes, make("b", {}, symbols[said]), make("i", {}, symbols[truth]));
    });
    list.replaceChildren(...cells);
  }

  // Marks answer i without a tip, when another part of the card points at its token.
  const mark = (i) => activate(i >= 0 && i < cells.length ? i : null, false);
  return { node: list, show, mark };
}

function showTip(near, rows) {
  const tip = byId("tip");
  tip.replaceChildren(...rows);
  tip.hidden = false;
  const box = near.getBoundingClientRect();
  const left = Math.min(box.left, window.innerWidth - tip.offsetWidth - 8);
  const over = box.top - tip.offsetHeight - 8;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${over > 4 ? over : box.bottom + 8}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
