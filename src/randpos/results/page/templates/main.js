// Puts the page together.

let chosenBudget = 0;
let showAll = false;
let showRun = () => {};

async function main() {
  const page = readData("summary");
  chosenBudget = Math.min(memory.read("budget", 0), page.budgets.length - 1);
  showAll = memory.read("all", false);
  showOverview(page);
  const places = [...document.querySelectorAll(".table")];
  const tables = places.map((place) => makeTable(place, page.tables[place.dataset.table]));
  const drawTables = () => {
    tables.forEach((draw) => draw());
    hideEmpty();
  };
  const drawCurves = makeCurves(page);
  const drawAll = () => {
    showHeadline(page);
    drawTables();
    drawCurves();
  };
  const select = byId("budget");
  select.append(...page.budgets.map((text, i) => make("option", { value: i }, text)));
  select.value = chosenBudget;
  select.addEventListener("change", () => {
    chosenBudget = Number(select.value);
    memory.write("budget", chosenBudget);
    drawAll();
  });
  select.disabled = page.budgets.length < 2;
  byId("show-all").checked = showAll;
  byId("show-all").addEventListener("change", () => {
    showAll = byId("show-all").checked;
    memory.write("all", showAll);
    drawTables();
  });
  drawAll();
  followLinks();
  if (live) followStore();
  const data = await unpack();
  const show = makeDetails(data);
  makeRuns(data);
  showRun = show;
  show(memory.read("run", null), true);
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
  byId("problem").hidden = false;
  byId("problem").replaceChildren(clean(`The page could not be shown: ${error.message}`));
  console.error(error);
});
