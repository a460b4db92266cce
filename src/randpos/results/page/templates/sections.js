// Sections: which are shown and open, and how wide tables show that they scroll.

const open = (part) => {
  const details = part?.querySelector(":scope > details");
  if (details) details.open = true;
};

// Hides sections of which nothing was run, and the links to them.
function hideEmpty() {
  for (const part of document.querySelectorAll(".part")) {
    const artifacts = [...part.querySelectorAll(".artifact")];
    part.hidden = part.id !== "overview" && artifacts.every((artifact) => artifact.hidden);
    document.querySelector(`nav a[href="#${part.id}"]`).hidden = part.hidden;
  }
}

function followLinks() {
  const follow = () => open(document.getElementById(decodeURIComponent(location.hash.slice(1))));
  window.addEventListener("hashchange", follow);
  // A second click on the same link does not change the address.
  document.querySelector("nav").addEventListener("click", (event) => event.target.hash && open(document.querySelector(event.target.hash)));
  follow();
  // Open all sections for printing.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => closed.forEach((details) => (details.open = false)));
}

// Wraps a wide table: a shadow and an arrow show that there is more on the right.
function scrollable(label, table, kind = "fit") {
  const inner = make("div", { class: `scroll ${kind}`, tabindex: "0", role: "region", "aria-label": label }, table);
  const outer = make("div", { class: "scrollbox" }, inner, make("span", { class: "hint", "aria-hidden": "true" }, "›"));
  const update = () => {
    const more = inner.scrollWidth - inner.clientWidth - inner.scrollLeft > 4;
    outer.classList.toggle("more", more);
  };
  inner.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(inner);
  return outer;
}
