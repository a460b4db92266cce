"use strict";
// Everything that is shown goes through here: as text, never as markup.

const byId = (id) => document.getElementById(id);
const readData = (id) => JSON.parse(byId(id).textContent);

// Control characters and marks that turn the direction of text could disguise a name.
const clean = (text) => String(text).replace(/\p{C}/gu, "\ufffd");

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : clean(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(clean(child)));
  }
  return node;
}

// Choices survive a reload: the page reloads itself while a sweep runs.
const live = document.querySelector("meta[name=version]").content;
const memory = {
  read(key, usual) {
    if (!live) return usual;
    const kept = sessionStorage.getItem(`randpos ${key}`);
    return kept === null ? usual : JSON.parse(kept);
  },
  write(key, value) {
    if (live) sessionStorage.setItem(`randpos ${key}`, JSON.stringify(value));
  },
};

const number = (value, digits = 0) =>
  value === null || value === undefined
    ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

// Missing values come last, whichever way the rest is sorted.
function compare(a, b, descending) {
  const [left, right] = [a ?? null, b ?? null];
  if (left === null || right === null) return (left === null) - (right === null);
  const order = typeof left === "string" ? left.localeCompare(right) : left - right;
  return descending ? -order : order;
}
