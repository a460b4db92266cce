// Where the tokens of a sequence stand.

// A uniformly random subset of 1..maximum in ascending order.
function subset(count, maximum, random) {
  const chosen = new Set();
  for (let top = maximum - count + 1; top <= maximum; top++) {
    const drawn = 1 + below(top, random);
    chosen.add(chosen.has(drawn) ? top : drawn); // Floyd's algorithm
  }
  return [...chosen].sort((a, b) => a - b);
}

function drawPlace(model, time, random = Math.random) {
  if (!model.randomized) return { positions: Array.from({ length: time }, (_, t) => t + 1) };
  if (model.reading === "distances") return { distances: [0, ...subset(time - 1, model.maximum - 1, random)] };
  return { positions: subset(time, model.maximum, random) };
}

// Why a model cannot read a sequence of so many tokens, or null.
function tooLong(model, time) {
  if (model.limit === null || time <= model.limit) return null;
  return `This input makes a sequence of ${number(time)} tokens, but the model has only ${number(model.limit)} positions. Choose a shorter one.`;
}
