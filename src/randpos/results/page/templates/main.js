// Puts the page together.

let chosenBudget = 0;
let showRun = () => {};

async function main() {
  const page = readData("summary");
  chosenBudget = Math.min(memory.read("budget", 0), page.budgets.length - 1);
  showOverview(page);
  const places = [...document.querySelectorAll(".table")];
  const redraw = places.map((place) => makeTable(place, page.tables[place.dataset.table]));
  redraw.push(makeCurves(page));
  const select = byId("budget");
  select.append(...page.budgets.map((text, i) => make("option", { value: i }, text)));
  select.value = chosenBudget;
  select.addEventListener("change", () => {
    chosenBudget = Number(select.value);
    memory.write("budget", chosenBudget);
    redraw.forEach((draw) => draw());
  });
  byId("budget-choice").hidden = page.budgets.length < 2;
  redraw.forEach((draw) => draw());
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
