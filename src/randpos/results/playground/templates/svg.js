// Small pictures from vectors.

function draw(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const label = (x, y, text, attributes = {}) => draw("text", { x, y, ...attributes }, document.createTextNode(clean(text)));

// Calls back with the width of an element, now and whenever it changes.
function watchWidth(node, change) {
  let known = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(contentRect.width);
    if (width && width !== known) change((known = width));
  }).observe(node);
}
