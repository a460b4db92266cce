// Where positions enter the model: the embeddings, the queries and keys, or the logits.
// `place` says where the tokens stand: {positions} for each token, or {distances}, where tokens t apart have the
// distance distances[t].

const frequency = (i, count) => 10000 ** (-i / count);

// Equations 1 and 2 of the paper, all sines before all cosines.
function sinusoid(position, dim, out, at) {
  const count = dim / 2;
  for (let i = 0; i < count; i++) {
    const angle = position * frequency(i, count);
    out[at + i] = Math.sin(angle);
    out[at + count + i] = Math.cos(angle);
  }
}

function embed(model, tokens, place) {
  const { dim } = model.architecture;
  const table = model.arrays.embedding;
  const x = new Float64Array(tokens.length * dim);
  const wave = new Float64Array(dim);
  tokens.forEach((token, t) => {
    for (let i = 0; i < dim; i++) x[t * dim + i] = table[token * dim + i] * Math.sqrt(dim);
    if (model.encoding === "sincos") {
      sinusoid(place.positions[t], dim, wave, 0);
      for (let i = 0; i < dim; i++) x[t * dim + i] += wave[i];
    } else if (model.encoding === "learned") {
      const row = (place.positions[t] - 1) * dim;
      for (let i = 0; i < dim; i++) x[t * dim + i] += model.arrays["encodings.0.rows"][row + i];
    }
  });
  return x;
}

// RoPE: rotates channels i and i + d/2 of every head; q or k holds one row of all heads per token.
function rotate(x, heads, positions) {
  const time = positions.length;
  const width = x.length / time / heads;
  const pairs = width / 2;
  for (let t = 0; t < time; t++) {
    for (let i = 0; i < pairs; i++) {
      const angle = positions[t] * frequency(i, pairs);
      const sin = Math.sin(angle), cos = Math.cos(angle);
      for (let h = 0; h < heads; h++) {
        const at = (t * heads + h) * width + i;
        const first = x[at], second = x[at + pairs];
        x[at] = first * cos - second * sin;
        x[at + pairs] = first * sin + second * cos;
      }
    }
  }
}

// Adds the offset of every query from every key, positive where the key is on the left, to a place. They are shifted by
// `model.reach`, so that they are rows of a table of all offsets.
function withOffsets(model, place, time) {
  if (model.encoding !== "relative" && model.encoding !== "alibi") return place;
  const { positions, distances } = place;
  const farthest = positions ? positions.at(-1) - positions[0] : distances.at(-1);
  if (!(model.reach >= farthest)) [model.reach, model.tables] = [farthest, []];
  const offsets = new Int32Array(time * time);
  for (let q = 0; q < time; q++) {
    for (let k = 0; k < time; k++) {
      const offset = positions ? positions[q] - positions[k] : q >= k ? distances[q - k] : -distances[k - q];
      offsets[q * time + k] = offset + model.reach;
    }
  }
  return { ...place, offsets };
}

// Relative: W_r R(δ) of a layer for every offset within reach, split into heads. Offsets are few integers, so that with
// a table of them the position term costs no more than the product of a query and a key.
function offsetTable(model, layer) {
  if (model.tables[layer]) return model.tables[layer];
  const { dim, heads } = model.architecture;
  const rows = 2 * model.reach + 1;
  const waves = new Float64Array(rows * dim);
  for (let r = 0; r < rows; r++) sinusoid(r - model.reach, dim, waves, r * dim);
  const projection = model.arrays[`encodings.${layer}.projection`]; // a row per input
  const turned = new Float64Array(dim * dim);
  for (let i = 0; i < dim; i++) for (let o = 0; o < dim; o++) turned[o * dim + i] = projection[i * dim + o];
  const projected = linear(waves, rows, turned);
  return (model.tables[layer] = Array.from({ length: heads }, (_, h) => headOf(projected, rows, heads, h)));
}

// Adds (q + v) · W_r R(δ) to rows of `time` logits; `p` holds q + v, a row for each.
function addPositionTerm(p, table, offsets, logits, time) {
  const rows = logits.length / time, width = p.length / rows;
  for (let t = 0; t < rows; t++) {
    const at = t * width, from = t * time, end = from + time;
    if (width !== 8) {
      for (let j = from; j < end; j++) logits[j] += dot(p, at, table, offsets[j] * width, width);
      continue;
    }
    // The paper's width, unrolled.
    const p0 = p[at], p1 = p[at + 1], p2 = p[at + 2], p3 = p[at + 3];
    const p4 = p[at + 4], p5 = p[at + 5], p6 = p[at + 6], p7 = p[at + 7];
    for (let j = from; j < end; j++) {
      const r = offsets[j] << 3;
      logits[j] +=
        p0 * table[r] + p1 * table[r + 1] + p2 * table[r + 2] + p3 * table[r + 3] +
        (p4 * table[r + 4] + p5 * table[r + 5] + p6 * table[r + 6] + p7 * table[r + 7]);
    }
  }
}

// ALiBi: keys on the left are half a step nearer.
function subtractDistances(slope, offsets, reach, logits) {
  for (let j = 0; j < logits.length; j++) {
    const offset = offsets[j] - reach;
    logits[j] -= slope * (Math.abs(offset) - (offset > 0 ? 0.5 : 0));
  }
}
