// The result in words, what was run, and on which machines.

function showHeadline(page) {
  const [first, ...others] = page.headlines[chosenBudget];
  byId("headline").replaceChildren(make("p", { class: "lead" }, first), ...others.map((text) => make("p", {}, text)));
}

// Hours in the unit that suits them.
function duration(hours) {
  if (hours === null) return "–";
  if (hours >= 1) return `${number(hours, hours < 10 ? 1 : 0)} h`;
  return hours >= 1 / 60 ? `${number(60 * hours)} min` : `${number(3600 * hours)} s`;
}

function showOverview(page) {
  const { overview } = page;
  const status = Object.entries(overview.status).map(([name, count]) => `${number(count)} ${name}`);
  const facts = [
    `${number(overview.runs)} runs (${status.join(", ") || "none yet"})`,
    `tasks × encodings: ${overview.tasks} × ${overview.encodings}`,
    `${duration(overview.hours)} of training`,
  ];
  byId("counts").replaceChildren(facts.join(" · "));
  const budgets = overview.what.map((row) => [
    number(row.steps), number(row.batch), row.training_length, row.tasks, row.encodings, row.seeds, row.rates,
    `${number(row.complete)} of ${number(row.runs)}`, duration(row.hours), row.variant || "the paper's",
  ]);
  const heads = ["Steps", "Batch", "N", "Tasks", "Encodings", "Seeds of a cell", "Rates of a cell", "Complete", "Time", "Model and schedule"];
  const numerics = make("p", { class: "note" }, overview.numerics);
  byId("what").replaceChildren(make("h3", {}, "Budgets"), simpleTable("Runs by budget", heads, budgets, 1), numerics);
  const machines = overview.where.map((row) => [
    number(row.runs), row.device, row.platform, row.python, row.packages, row.commit,
  ]);
  const columns = ["Runs", "Device", "Platform", "Python", "Packages", "Commit"];
  byId("where").replaceChildren(make("h3", {}, "Machines and versions"), simpleTable("Machines and versions", columns, machines, 5));
  byId("made").replaceChildren(`Made with randpos ${page.version}. The page is one file and needs no network.`);
}

function simpleTable(title, heads, rows, texts) {
  const kind = (i) => (i >= heads.length - texts ? "text" : null);
  const head = make("tr", {}, heads.map((label, i) => make("th", { scope: "col", class: kind(i) }, label)));
  const body = rows.map((row) => make("tr", {}, row.map((value, i) => make("td", { class: kind(i) }, value))));
  const caption = make("caption", { class: "hidden" }, title);
  return scrollable(title, make("table", {}, caption, make("thead", {}, head), make("tbody", {}, body)));
}
