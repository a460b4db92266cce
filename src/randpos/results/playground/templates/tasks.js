// The tasks: how to draw an input, which inputs are valid, and the true answer. All work on tokens, which index
// the symbols of the task. `check` returns what is wrong with an input, as a sentence, or null.

const mod5 = (value) => ((value % 5) + 5) % 5;
const below = (bound, random) => Math.floor(random() * bound);
const draws = (count, bound, random) => Array.from({ length: count }, () => below(bound, random));
const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);
const valid = () => null;

// A uniform string over the first `size` symbols.
const string = (size) => (n, random) => draws(n, size, random);

// Two positive numbers, lowest bit first, and what is made of them; below three symbols there is only one number.
const SEPARATOR = 2, END = 2;
const toNumber = (bits) => bits.reduceRight((total, bit) => 2n * total + BigInt(bit), 0n);
const toBits = (value) => [...value.toString(2)].reverse().map(Number);
const isZero = (bits) => bits.every((bit) => bit === 0);

function positive(size, random) {
  const bits = draws(size, 2, random);
  return isZero(bits) ? positive(size, random) : bits;
}

const operands = {
  sample(n, random) {
    if (n < 3) return toBits(BigInt(below(2 ** n - 1, random))).concat(0).slice(0, n);
    const size = 1 + below(n - 2, random);
    return [...positive(size, random), SEPARATOR, ...positive(n - 1 - size, random)];
  },
  check(tokens, sign) {
    if (tokens.length < 3) {
      if (tokens.includes(SEPARATOR)) return `An input of ${tokens.length} has no room for ${sign}: it is one number.`;
      if (!tokens.includes(0)) return "An input this short may not be all ones.";
      return null;
    }
    const at = tokens.indexOf(SEPARATOR);
    if (at < 0 || at !== tokens.lastIndexOf(SEPARATOR)) return `An input is two numbers with one ${sign} between them.`;
    const [first, second] = this.split(tokens);
    if (isZero(first) || isZero(second)) return `Both numbers must be at least 1, lowest bit first.`;
    return null;
  },
  split(tokens) {
    const at = tokens.indexOf(SEPARATOR);
    return [tokens.slice(0, at), tokens.slice(at + 1)];
  },
};
const ended = (bits, size) => [...bits, END, ...Array(size - bits.length - 1).fill(0)];

// ⌊√x⌋ by Newton's method.
function squareRoot(x) {
  let root = 1n << BigInt((x.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + x / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

const TASKS = {
  even_pairs: {
    outputs: () => 1,
    sample: string(2),
    check: valid,
    answer: (tokens) => [Number(tokens[0] !== tokens.at(-1))], // each 01 or 10 changes sides
  },
  modular_arithmetic_simple: {
    inputs: (n) => n - 1 + (n % 2),
    outputs: () => 1,
    sample: (n, random) => Array.from({ length: inputLength("modular_arithmetic_simple", n) }, (_, i) => (i % 2 ? 5 + below(3, random) : below(5, random))),
    check(tokens) {
      if (tokens.length % 2 === 0 || tokens.some((token, i) => token > 4 !== (i % 2 === 1)))
        return "Digits and operators must take turns, with a digit at both ends.";
      return null;
    },
    answer(tokens) {
      let total = 0, term = tokens[0];
      for (let i = 1; i < tokens.length; i += 2) {
        const [operator, digit] = [tokens[i], tokens[i + 1]];
        if (operator === 7) term = mod5(term * digit);
        else [total, term] = [total + term, operator === 6 ? -digit : digit];
      }
      return [mod5(total + term)];
    },
  },
  parity_check: {
    outputs: () => 1,
    sample: string(2),
    check: valid,
    answer: (tokens) => [tokens.filter((token) => token === 1).length % 2],
  },
  cycle_navigation: {
    outputs: () => 1,
    sample: string(3),
    check: valid,
    answer: (tokens) => [mod5(tokens.reduce((place, token) => place + token - 1, 0))],
  },
  stack_manipulation: {
    outputs: (n) => n + 1,
    sample(n, random) {
      const size = 1 + below(Math.max(n - 1, 1), random);
      return Array.from({ length: n }, (_, i) => (i < size ? below(2, random) : 2 + below(3, random)));
    },
    check(tokens) {
      const found = tokens.findIndex((token) => token > 1);
      const size = found < 0 ? tokens.length : found;
      if (size === 0) return "The stack comes first: start with 0 or 1.";
      if (tokens.slice(size).some((token) => token < 2)) return "After the first action only actions may follow.";
      if (found < 0 && tokens.length > 1) return "At least one action must follow the stack.";
      return null;
    },
    answer(tokens) {
      const stack = [];
      for (const token of tokens) {
        if (token === 2) stack.pop();
        else stack.push(token === 1 || token === 4 ? 1 : 0);
      }
      return ended(stack.reverse(), tokens.length + 1);
    },
  },
  reverse_string: { outputs: (n) => n, sample: string(2), check: valid, answer: (tokens) => tokens.slice().reverse() },
  modular_arithmetic: {
    outputs: () => 1,
    sample: (n, random) => grow(n, 3, random, { plus: 5, minus: 6, open: 8, close: 9 }),
    check: (tokens, symbols) => problemWith(tokens.map((token) => symbols[token]).join("")),
    answer: (tokens, symbols) => [evaluate(tokens.map((token) => symbols[token]).join(""), 0)],
  },
  solve_equation: {
    outputs: () => 1,
    sample(n, random) {
      if (n < 3) return Array(n).fill(0);
      const tokens = grow(n - 2, 2, random, { plus: 5, minus: 6, open: 7, close: 8 });
      const value = evaluate(tokens.map((token) => "01234+-()"[token]).join(""), 0);
      let hidden = below(n - 2, random);
      while (tokens[hidden] > 4) hidden = (hidden + 1) % (n - 2);
      tokens[hidden] = 9;
      return [...tokens, 10, value];
    },
    check(tokens, symbols) {
      if (tokens.length < 3) return tokens.some((token) => token) ? "An input this short must be all zeros." : null;
      const text = tokens.map((token) => symbols[token]).join("");
      if (text.indexOf("=") !== text.length - 2 || !"01234".includes(text.at(-1)))
        return "An equation ends in = and one digit, and has no other =.";
      if (text.split("x").length !== 2) return "An equation has exactly one x.";
      return problemWith(text.slice(0, -2));
    },
    answer(tokens, symbols) {
      if (tokens.length < 3) return [0];
      const text = tokens.slice(0, -2).map((token) => symbols[token]).join("");
      return [[0, 1, 2, 3, 4].find((x) => evaluate(text, x) === tokens.at(-1))];
    },
  },
  duplicate_string: { outputs: (n) => 2 * n, sample: string(2), check: valid, answer: (tokens) => [...tokens, ...tokens] },
  missing_duplicate: {
    outputs: () => 1,
    sample(n, random) {
      if (n === 1) return [1];
      const half = draws(Math.floor(n / 2), 2, random);
      const twice = [...half, ...half];
      twice[below(twice.length, random)] = 2;
      return n % 2 ? [...twice, 3] : twice;
    },
    check(tokens) {
      if (tokens.length === 1) return tokens[0] === 1 ? null : "An input of one symbol must be 1.";
      const odd = tokens.length % 2 === 1;
      if (odd !== (tokens.at(-1) === 3)) return odd ? "An input of odd length must end in #." : "Only an input of odd length ends in #.";
      const pairs = odd ? tokens.slice(0, -1) : tokens;
      if (pairs.includes(3)) return "The symbol # may stand at the end only.";
      if (pairs.filter((token) => token === 2).length !== 1) return "Exactly one bit must be hidden by _.";
      const half = pairs.length / 2;
      const differs = pairs.slice(0, half).findIndex((token, i) => token !== pairs[half + i] && token !== 2 && pairs[half + i] !== 2);
      return differs < 0 ? null : `The second half must repeat the first; place ${differs + 1} differs.`;
    },
    answer(tokens) {
      if (tokens.length === 1) return [1];
      const half = Math.floor(tokens.length / 2);
      const hidden = tokens.indexOf(2);
      return [tokens[hidden < half ? hidden + half : hidden - half]];
    },
  },
  odds_first: {
    outputs: (n) => n,
    sample: string(2),
    check: valid,
    answer: (tokens) => [...tokens.filter((_, i) => i % 2 === 0), ...tokens.filter((_, i) => i % 2 === 1)],
  },
  binary_addition: {
    outputs: (n) => n + 1,
    sample: operands.sample,
    check: (tokens, symbols) => operands.check(tokens, symbols[SEPARATOR]),
    answer(tokens) {
      const size = tokens.length + 1;
      if (tokens.length < 3) return ended(toBits(toNumber(tokens)), size);
      const [first, second] = operands.split(tokens).map(toNumber);
      return ended(toBits(first + second), size);
    },
  },
  binary_multiplication: {
    outputs: (n) => n,
    sample: operands.sample,
    check: (tokens, symbols) => operands.check(tokens, symbols[SEPARATOR]),
    answer(tokens) {
      if (tokens.length < 3) return [...Array(tokens.length - 1).fill(0), END];
      const [first, second] = operands.split(tokens).map(toNumber);
      return ended(toBits(first * second), tokens.length);
    },
  },
  compute_sqrt: {
    outputs: (n) => Math.ceil(n / 2),
    sample: positive,
    check: (tokens) => (isZero(tokens) ? "The number must be at least 1." : null),
    answer(tokens) {
      const root = squareRoot(toNumber(tokens.slice().reverse()));
      return [...root.toString(2).padStart(Math.ceil(tokens.length / 2), "0")].map(Number);
    },
  },
  bucket_sort: { outputs: (n) => n, sample: string(5), check: valid, answer: (tokens) => tokens.slice().sort((a, b) => a - b) },
};

const LONGEST = 500; // as far as the paper tests
const inputLength = (task, n) => TASKS[task].inputs?.(n) ?? n;
// The tokens of a sequence: the input and a placeholder for every answer.
const totalLength = (task, n) => inputLength(task, n) + TASKS[task].outputs(n);
