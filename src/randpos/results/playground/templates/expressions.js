// Bracketed expressions modulo 5, of an exact length:
// 1: d   2: -d   3: (d)   4: (-d)   n ≥ 5: (A op B) with |A| uniform in 1..n-4.

function grow(n, operators, random, token) {
  const digit = below(5, random);
  if (n === 1) return [digit];
  if (n === 2) return [token.minus, digit];
  if (n === 3) return [token.open, digit, token.close];
  if (n === 4) return [token.open, token.minus, digit, token.close];
  const first = 1 + below(n - 4, random);
  const operator = token.plus + below(operators, random);
  const [left, right] = [first, n - 3 - first].map((size) => grow(size, operators, random, token));
  return [token.open, ...left, operator, ...right, token.close];
}

// Reads one expression from `text` at `at`; returns its value and the place after it. Throws a message for users.
function read(text, at, x) {
  const wrong = (wanted, place) => {
    const found = place < text.length ? `“${text[place]}” at place ${place + 1}` : "the end";
    return new SyntaxError(`This is not a complete expression: ${wanted} should follow instead of ${found}.`);
  };
  if (text[at] !== "(") {
    const sign = text[at] === "-" ? -1 : 1;
    const place = sign < 0 ? at + 1 : at;
    if (!"01234x".includes(text[place] ?? " ")) throw wrong("a digit", place);
    return { value: mod5(sign * (text[place] === "x" ? x : Number(text[place]))), end: place + 1, atom: true };
  }
  const first = read(text, at + 1, x);
  const operator = text[first.end];
  if (operator === ")" && first.atom) return { value: first.value, end: first.end + 1, atom: false };
  if (!["+", "-", "*"].includes(operator)) throw wrong("an operator", first.end);
  const second = read(text, first.end + 1, x);
  if (text[second.end] !== ")") throw wrong("a closing bracket", second.end);
  const joined = { "+": first.value + second.value, "-": first.value - second.value, "*": first.value * second.value };
  return { value: mod5(joined[operator]), end: second.end + 1, atom: false };
}

function evaluate(text, x) {
  return read(text, 0, x).value;
}

function problemWith(text) {
  try {
    const { end } = read(text, 0, 0);
    return end === text.length ? null : `The expression ends at place ${end}, but more symbols follow; put brackets around it all.`;
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}
