// The input: typed, pasted or drawn at random, of the length that the slider says.

// What else people type for a symbol.
const SPELLINGS = { "−": "-", "–": "-", "×": "*", "·": "*", X: "x", "＿": "_" };

// Returns the tokens of a text, or why it is refused.
function readInput(task, facts, text) {
  const signs = Array.from(text.replace(/\s/g, ""), (sign) => SPELLINGS[sign] ?? sign);
  const listed = [...facts.symbols].join(" ");
  if (!signs.length) return { refusal: `Type some of the symbols ${listed}` };
  const bad = signs.findIndex((sign) => !facts.symbols.includes(sign));
  if (bad >= 0) return { refusal: `“${clean(signs[bad])}” at place ${bad + 1} is none of the symbols ${listed}` };
  if (signs.length > LONGEST) return { refusal: `The input has ${number(signs.length)} symbols; at most ${LONGEST} are allowed.` };
  const tokens = signs.map((sign) => facts.symbols.indexOf(sign));
  const refusal = TASKS[task].check(tokens, facts.symbols);
  return refusal ? { refusal } : { tokens };
}

function makeInput(about, changed) {
  const [slider, field] = [byId("length"), byId("text")];
  let task = null;

  function showLength(n, seen) {
    slider.value = n;
    const beyond = n > seen;
    const words = beyond ? `${number(n / seen, 1)} times as long as in training` : "within the lengths of training";
    byId("length-shown").className = beyond ? "beyond" : "";
    byId("length-shown").replaceChildren(number(n), make("small", {}, words));
    slider.setAttribute("aria-valuetext", `${n}, ${words}`);
  }

  function refuse(sentence) {
    byId("refusal").replaceChildren(sentence ?? "");
    field.setAttribute("aria-invalid", String(Boolean(sentence)));
  }

  function read() {
    const { tokens, refusal } = readInput(task, about.tasks[task], field.value);
    refuse(refusal);
    changed(tokens ?? null);
  }

  function drawRandom() {
    const { symbols } = about.tasks[task];
    const tokens = TASKS[task].sample(Number(slider.value), Math.random);
    field.value = tokens.map((token) => symbols[token]).join("");
    refuse(null);
    changed(tokens, Number(slider.value));
  }

  slider.addEventListener("input", drawRandom);
  field.addEventListener("input", read);
  byId("draw-input").addEventListener("click", drawRandom);

  return {
    showLength,
    // Shows the symbols of a task, and the lengths of training.
    prepare(newTask, seen) {
      task = newTask;
      const { symbols, description } = about.tasks[task];
      byId("description").replaceChildren(clean(`The answer is ${description}.`));
      const insert = (symbol) => () => {
        field.setRangeText(symbol, field.selectionStart, field.selectionEnd, "end");
        field.focus();
        read();
      };
      byId("symbols").replaceChildren(...[...symbols].map((symbol) => make("button", { type: "button", onclick: insert(symbol) }, symbol)));
      slider.style.setProperty("--share", (seen - 1) / (LONGEST - 1));
      byId("band-seen").replaceChildren(`trained on 1–${seen}`);
      byId("band-unseen").replaceChildren(`never seen: ${seen + 1}–${LONGEST}`);
      const lengths = [...new Set([Math.ceil(seen / 2), seen, Math.ceil(1.5 * seen), 2 * seen, 5 * seen, LONGEST])];
      const jump = (n) => () => {
        slider.value = n;
        drawRandom();
      };
      const chips = lengths.filter((n) => n <= LONGEST);
      byId("lengths").replaceChildren(
        ...chips.map((n) => make("button", { type: "button", class: n > seen ? "beyond" : null, onclick: jump(n) }, n)),
      );
    },
    drawRandom,
    type(text) {
      field.value = text;
      read();
    },
  };
}
