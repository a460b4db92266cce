// Where positions enter the model: the embeddings, the queries and keys, or the logits.
// `place` says where the tokens stand: {positions} for each token, or {distances}, where tokens t apart have the
// distance distances[t].

// 10000^(-i / count) for i below count.
function frequencies(count) {
  return Float64Array.from({ length: count }, (_, i) => 10000 ** (-i / count));
}

// Equations 1 and 2 of the paper: the sines of a position before its cosines.
function sinusoid(position, rates, out, at) {
  for (let i = 0; i < rates.length; i++) {
    const angle = position * rates[i];
    out[at + i] = Math.sin(angle);
    out[at + rates.length + i] = Math.cos(angle);
  }
}

function embed(model, tokens, place) {
  const { dim } = model.architecture;
  const table = model.arrays.embedding;
  const x = new Float64Array(tokens.length * dim);
  const wave = new Float64Array(dim), rates = frequencies(dim / 2);
  tokens.forEach((token, t) => {
    for (let i = 0; i < dim; i++) x[t * dim + i] = table[token * dim + i] * Math.sqrt(dim);
    if (model.encoding === "sincos") {
      sinusoid(place.positions[t], rates, wave, 0);
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
  const pairs = width / 2, rates = frequencies(pairs);
  for (let t = 0; t < time; t++) {
    for (let i = 0; i < pairs; i++) {
      const angle = positions[t] * rates[i];
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
// a table of them the position term costs no more than the product of a query and a key. Sines change their sign with
// the offset and cosines do not, so half of the table follows from the other.
function offsetTable(model, layer) {
  if (model.tables[layer]) return model.tables[layer];
  const { dim, heads } = model.architecture;
  const half = dim / 2, rows = model.reach + 1, width = dim / heads;
  if (!model.waves || model.waves.length !== rows * dim) {
    const rates = frequencies(half);
    model.waves = new Float64Array(rows * dim); // all sines, then all cosines
    for (let r = 0; r < rows; r++) {
      for (let i = 0; i < half; i++) {
        model.waves[r * half + i] = Math.sin(r * rates[i]);
        model.waves[(rows + r) * half + i] = Math.cos(r * rates[i]);
      }
    }
  }
  const projection = model.arrays[`encodings.${layer}.projection`]; // a row per input
  const [odd, even] = [0, 1].map((part) => {
    const turned = new Float64Array(dim * half);
    for (let i = 0; i < half; i++) for (let o = 0; o < dim; o++) turned[o * half + i] = projection[(part * half + i) * dim + o];
    return linear(model.waves.subarray(part * rows * half, (part + 1) * rows * half), rows, turned);
  });
  const table = Array.from({ length: heads }, () => new Float64Array((2 * model.reach + 1) * width));
  for (let r = 0; r < rows; r++) {
    for (let o = 0; o < dim; o++) {
      const part = table[(o / width) | 0], i = o % width, at = r * dim + o;
      part[(model.reach + r) * width + i] = even[at] + odd[at];
      part[(model.reach - r) * width + i] = even[at] - odd[at];
    }
  }
  return (model.tables[layer] = table);
}

// Adds (q + v) · W_r R(δ) to the logits of a query; `p` holds q + v, and `offsets` the rows of the table.
function addPositionTerm(p, at, width, table, offsets, from, count, row) {
  if (width !== 8) {
    for (let j = 0; j < count; j++) row[j] += dot(p, at, table, offsets[from + j] * width, width);
    return;
  }
  const p0 = p[at], p1 = p[at + 1], p2 = p[at + 2], p3 = p[at + 3];
  const p4 = p[at + 4], p5 = p[at + 5], p6 = p[at + 6], p7 = p[at + 7];
  for (let j = 0; j < count; j++) {
    const r = offsets[from + j] << 3;
    row[j] +=
      p0 * table[r] + p1 * table[r + 1] + p2 * table[r + 2] + p3 * table[r + 3] +
      (p4 * table[r + 4] + p5 * table[r + 5] + p6 * table[r + 6] + p7 * table[r + 7]);
  }
}

// ALiBi: keys on the left are half a step nearer.
function subtractDistances(slope, offsets, from, reach, count, row) {
  for (let j = 0; j < count; j++) {
    const offset = offsets[from + j] - reach;
    row[j] -= slope * (Math.abs(offset) - (offset > 0 ? 0.5 : 0));
  }
}
