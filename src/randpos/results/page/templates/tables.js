// Tables: one view of the numbers at a time, sorted by any column.

function makeTable(place, variants) {
  const name = place.dataset.table;
  const state = memory.read(`table ${name}`, { view: "ours", column: null, descending: true });

  function change(values) {
    Object.assign(state, values);
    memory.write(`table ${name}`, state);
    draw();
  }

  // The rows and columns of which something was run, or all.
  function measured(table) {
    const ran = (row, column) => "ours" in table.cells[row][column];
    const rows = table.rows.map((_, i) => i), columns = table.columns.map((_, i) => i);
    if (showAll) return { rows, columns };
    const kept = rows.filter((i) => columns.filter((j) => ran(i, j)).length >= table.least);
    return { rows: kept, columns: columns.filter((j) => kept.some((i) => ran(i, j))) };
  }

  function draw() {
    const table = variants[Math.min(chosenBudget, variants.length - 1)];
    table.shown = measured(table);
    place.parentElement.hidden = !showAll && !table.shown.rows.length;
    if (!table.views.includes(state.view)) state.view = "ours";
    // Keep the keyboard focus after redrawing.
    const focus = place.contains(document.activeElement) ? document.activeElement.id : "";
    place.replaceChildren(toggle(table), scroll(table), table.rows.length ? notes(table) : "");
    if (focus && byId(focus)) byId(focus).focus();
  }

  function toggle(table) {
    const set = make("fieldset", { class: "toggle" }, make("legend", {}, "Numbers shown"));
    for (const view of table.views) {
      const attributes = { type: "radio", name: `view-${name}`, value: view, id: `${name}-${view}` };
      const input = make("input", { ...attributes, onchange: () => change({ view }) });
      input.checked = view === state.view;
      set.append(make("label", {}, input, table.labels[view]));
    }
    return make("div", { class: "bar" }, table.views.length > 1 ? set : null);
  }

  function sort(column) {
    if (state.column !== column) change({ column, descending: true });
    else if (state.descending) change({ descending: false });
    else change({ column: null, descending: true });
  }

  function heading(label, column, kind) {
    const sorted = state.column === column && (state.descending ? "descending" : "ascending");
    const attributes = { class: "plain", type: "button", id: `${name}-sort-${column}` };
    const button = make("button", { ...attributes, onclick: () => sort(column) }, label);
    return make("th", { scope: "col", class: kind, "aria-sort": sorted || "none" }, button);
  }

  function head(table) {
    const rows = [];
    if (table.columns.some(([, group]) => group)) {
      const cells = [make("td", { class: "task" }), make("td", { class: "level" })];
      const groups = table.shown.columns.map((i) => table.columns[i][1]);
      for (let i = 0; i < groups.length; ) {
        const group = groups[i];
        let span = 1;
        while (i + span < groups.length && groups[i + span] === group) span++;
        const attributes = { colspan: span, scope: "colgroup", class: "group" };
        cells.push(group ? make("th", attributes, group) : make("td", { colspan: span }));
        i += span;
      }
      rows.push(make("tr", {}, cells));
    }
    const labels = [heading("Task", -1, "text task"), make("th", { scope: "col", class: "text level" }, "Level")];
    const numbers = table.shown.columns.map((i) => heading(table.columns[i][0], i, ""));
    rows.push(make("tr", {}, labels, numbers));
    return make("thead", {}, rows);
  }

  function order(table) {
    const rows = [...table.shown.rows];
    if (state.column === null || state.column >= table.columns.length) return rows;
    const value = (row) =>
      state.column < 0 ? table.rows[row][0] : table.cells[row][state.column][state.view]?.[1];
    return rows.sort((a, b) => compare(value(a), value(b), state.descending));
  }

  function shade(node, table, row, column, value) {
    const heat = (share) => node.style.setProperty("--heat", Math.max(0, Math.min(1, share)));
    const chance = table.rows[row][3];
    if (state.view === "seeds") return;
    if (state.view !== "in_domain" && (table.signed || table.columns[column][2] || state.view === "difference")) {
      if (table.unit !== "%" || !value) return;
      node.classList.add(value > 0 ? "plus" : "minus");
      heat(Math.abs(value) / 40);
    } else if (table.unit === "%" && chance !== null) {
      node.classList.add("shade");
      heat((value - chance) / (100 - chance));
    }
  }

  function cell(table, row, column) {
    const data = table.cells[row][column];
    const shown = data[state.view];
    if (!shown) return make("td", { class: "none", title: "not run, or not in the paper" }, "–");
    const [text, value, best] = shown;
    const title = state.view === "paper" ? null : data.detail;
    const open = data.run && state.view === "ours";
    const label = `${text}, show the run`;
    const attributes = { class: "plain", type: "button", "aria-label": label };
    const inner = open ? make("button", { ...attributes, onclick: () => showRun(data.run) }, text) : text;
    const node = make("td", { class: best ? "best" : null, title }, inner);
    shade(node, table, row, column, value);
    return node;
  }

  function body(table) {
    const grouped = state.column === null;
    let before = null;
    return make("tbody", {}, order(table).map((row) => {
      const [label, level, dagger] = table.rows[row];
      const fresh = grouped && before !== null && level !== before;
      before = level;
      const first = make("th", { scope: "row" }, label + (dagger ? "†" : ""));
      const cells = table.shown.columns.map((column) => cell(table, row, column));
      return make("tr", { class: fresh ? "level" : null }, first, make("td", { class: "level" }, level), cells);
    }));
  }

  function scroll(table) {
    if (!table.rows.length) return make("p", {}, "Nothing of this kind was run.");
    const caption = make("caption", {}, make("span", {}, table.title));
    const content = make("table", { id: `table-${name}` }, caption, head(table), body(table));
    return scrollable(table.title, content);
  }

  function notes(table) {
    const every = table.notes.map((note) => make("p", {}, note));
    return make("details", { class: "note" }, make("summary", {}, "Notes: budget, seeds, signs"), every);
  }
  return draw;
}
