// What was run, and on which machines.

function showOverview(page) {
  const { overview } = page;
  const card = (value, text) => make("div", { class: "card" }, make("strong", {}, value), make("span", {}, text));
  const status = Object.entries(overview.status).map(([name, count]) => `${number(count)} ${name}`);
  const cards = [
    card(number(overview.runs), `runs: ${status.join(", ") || "none yet"}`),
    card(`${overview.tasks} × ${overview.encodings}`, "tasks × encodings"),
    card(number(overview.hours, overview.hours < 100 ? 1 : 0), "hours of training"),
  ];
  const gains = page.tables.gains[0];
  const mean = gains.cells[gains.rows.length - 1][2];
  if (mean.ours) {
    const tasks = gains.cells.slice(0, -1).filter((row) => row[2].ours).length;
    cards.push(card(`${mean.ours[0]} points`, `mean gain over ${tasks} ${tasks === 1 ? "task" : "tasks"} (paper ${mean.paper[0]}, same tasks and encodings)`));
  }
  byId("cards").replaceChildren(...cards);

  const budgets = overview.what.map((row) => [
    number(row.steps), number(row.batch), row.training_length, row.tasks, row.encodings, row.seeds, row.rates,
    `${number(row.complete)} of ${number(row.runs)}`, number(row.hours, 1), row.variant || "the paper's",
  ]);
  const heads = ["Steps", "Batch", "N", "Tasks", "Encodings", "Seeds of a cell", "Rates of a cell", "Complete", "Hours", "Model and schedule"];
  byId("what").replaceChildren(make("h3", {}, "Budgets"), simpleTable("Runs by budget", heads, budgets, 1));
  const machines = overview.where.map((row) => [
    number(row.runs), row.device, row.platform, row.python, row.packages, row.commit,
  ]);
  const facts = ["Runs", "Device", "Platform", "Python", "Packages", "Commit"];
  byId("where").replaceChildren(simpleTable("Machines and versions", facts, machines, 5));
  byId("made").replaceChildren(`Made with randpos ${page.version}. The page is one file and needs no network.`);
}

function simpleTable(title, heads, rows, texts) {
  const kind = (i) => (i >= heads.length - texts ? "text" : null);
  const head = make("tr", {}, heads.map((label, i) => make("th", { scope: "col", class: kind(i) }, label)));
  const body = rows.map((row) => make("tr", {}, row.map((value, i) => make("td", { class: kind(i) }, value))));
  const caption = make("caption", { class: "hidden" }, title);
  const table = make("table", {}, caption, make("thead", {}, head), make("tbody", {}, body));
  return make("div", { class: "scroll fit", tabindex: "0", role: "region", "aria-label": title }, table);
}
