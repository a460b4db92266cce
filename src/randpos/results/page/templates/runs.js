// All runs in a list that can be filtered and sorted; one of them in detail.

const PAGE = 25;
const COLUMNS = [
  ["task", "Task"], ["encoding", "Encoding"], ["seed", "Seed"], ["learning_rate", "Rate"], ["steps", "Steps"],
  ["status", "Status"], ["score", "Score %"], ["in_domain", "In-domain %"], ["hours", "Time"], ["run", "Run"],
];
const TEXT = new Set(["task", "encoding", "status", "run"]);

// The runs are most of the page: packed, and unpacked only here.
async function unpack() {
  const bytes = Uint8Array.from(atob(byId("details").textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function makeRuns(data) {
  const usual = { task: "", encoding: "", status: "", text: "", column: null, descending: true, page: 0 };
  const state = memory.read("runs", usual);
  const value = {
    task: (i) => data.tasks[data.task[i]],
    encoding: (i) => data.encodings[data.encoding[i]],
  };
  const of = (name, i) => (value[name] ? value[name](i) : data[name][i]);
  const shown = {
    learning_rate: (rate) => String(rate),
    steps: (steps) => number(steps),
    score: (score) => (score === null ? "–" : number(100 * score, 1)),
    in_domain: (share) => (share === null ? "–" : number(100 * share, 1)),
    hours: (hours) => duration(hours),
  };

  function change(values) {
    Object.assign(state, { page: 0 }, values);
    memory.write("runs", state);
    draw();
  }

  function control(name, label, values) {
    const input = values
      ? make("select", {}, make("option", { value: "" }, "all"), values.map((v) => make("option", { value: v }, v)))
      : make("input", { type: "search", placeholder: "digest, seed, rate or reason" });
    input.id = `runs-${name}`;
    input.value = state[name];
    input.addEventListener("input", () => change({ [name]: input.value }));
    return make("label", {}, label, input);
  }

  function matches(i) {
    if (state.task && of("task", i) !== state.task) return false;
    if (state.encoding && of("encoding", i) !== state.encoding) return false;
    if (state.status && data.status[i] !== state.status) return false;
    const facts = [data.run[i], `seed ${data.seed[i]}`, `rate ${data.learning_rate[i]}`, data.reason[i] ?? ""];
    return !state.text || facts.join(" ").toLowerCase().includes(state.text.toLowerCase());
  }

  function sort(column) {
    if (state.column !== column) change({ column, descending: true });
    else if (state.descending) change({ descending: false });
    else change({ column: null, descending: true });
  }

  function heading([name, label]) {
    const sorted = state.column === name && (state.descending ? "descending" : "ascending");
    const attributes = { class: "plain", type: "button", id: `runs-sort-${name}`, onclick: () => sort(name) };
    const kind = TEXT.has(name) ? "text" : null;
    return make("th", { scope: "col", class: kind, "aria-sort": sorted || "none" }, make("button", attributes, label));
  }

  function row(i) {
    return make("tr", {}, COLUMNS.map(([name]) => {
      if (name !== "run") {
        const text = shown[name] ? shown[name](of(name, i)) : of(name, i);
        return make("td", { class: TEXT.has(name) ? "text" : null, title: name === "status" ? data.reason[i] : null }, text);
      }
      const attributes = { class: "plain", type: "button", "aria-label": `Show run ${data.run[i]}` };
      const open = make("button", { ...attributes, onclick: () => showRun(data.run[i]) }, make("code", {}, data.run[i].slice(0, 10)));
      return make("td", { class: "text" }, open);
    }));
  }

  function draw() {
    const found = data.run.map((_, i) => i).filter(matches);
    if (state.column) found.sort((a, b) => compare(of(state.column, a), of(state.column, b), state.descending));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages - 1);
    const focus = byId("run-list").contains(document.activeElement) ? document.activeElement.id : "";
    const part = found.slice(state.page * PAGE, (state.page + 1) * PAGE);
    const head = make("thead", {}, make("tr", {}, COLUMNS.map(heading)));
    const caption = make("caption", { class: "hidden" }, "Runs that fit the filter");
    const table = make("table", { id: "table-runs" }, caption, head, make("tbody", {}, part.map(row)));
    const step = (by, label) => {
      const button = make("button", { type: "button", id: `runs-page${by}`, onclick: () => change({ page: state.page + by }) }, label);
      button.disabled = state.page + by < 0 || state.page + by >= pages;
      return button;
    };
    const count = make("span", { role: "status" }, `${number(found.length)} runs, page ${state.page + 1} of ${pages}`);
    byId("run-list").replaceChildren(
      scrollable("Runs", table, "wide"),
      make("div", { class: "bar" }, pages > 1 ? [step(-1, "← previous"), step(1, "next →")] : null, count),
    );
    if (focus && byId(focus)) byId(focus).focus();
  }

  byId("run-choice").addEventListener("submit", (event) => event.preventDefault());
  byId("run-choice").replaceChildren(
    control("task", "Task", data.tasks), control("encoding", "Encoding", data.encodings),
    control("status", "Status", [...new Set(data.status)].sort()), control("text", "Search", null),
  );
  draw();
}
