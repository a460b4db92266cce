"use strict";
// Dense layers over a sequence: x holds `time` rows, one per token, in a Float64Array.
// Doubles are as fast as floats here, and JavaScript computes in doubles anyway.

function dot(x, from, y, start, size) {
  let total = 0;
  for (let i = 0; i < size; i++) total += x[from + i] * y[start + i];
  return total;
}

// y = x Wᵀ + b; the weight has one row per output, as in PyTorch. Blocks of two rows and four outputs stay in registers.
function linear(x, rows, weight, bias) {
  const size = x.length / rows;
  const outputs = weight.length / size;
  const y = new Float64Array(rows * outputs);
  const pairs = rows - (rows % 2), quads = outputs - (outputs % 4);
  for (let t = 0; t < pairs; t += 2) {
    const row = t * size, next = row + size;
    for (let o = 0; o < quads; o += 4) {
      const w0 = o * size, w1 = w0 + size, w2 = w1 + size, w3 = w2 + size;
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let i = 0; i < size; i++) {
        const first = x[row + i], second = x[next + i];
        const p = weight[w0 + i], q = weight[w1 + i], r = weight[w2 + i], s = weight[w3 + i];
        a += first * p; b += first * q; c += first * r; d += first * s;
        e += second * p; f += second * q; g += second * r; h += second * s;
      }
      const at = t * outputs + o, below = at + outputs;
      y[at] = a; y[at + 1] = b; y[at + 2] = c; y[at + 3] = d;
      y[below] = e; y[below + 1] = f; y[below + 2] = g; y[below + 3] = h;
    }
  }
  for (let t = 0; t < rows; t++) {
    const first = t < pairs ? quads : 0; // what the blocks have left over
    for (let o = first; o < outputs; o++) y[t * outputs + o] = dot(x, t * size, weight, o * size, size);
    if (bias) for (let o = 0; o < outputs; o++) y[t * outputs + o] += bias[o];
  }
  return y;
}

// LayerNorm of x + y, row by row.
function addAndNormalize(x, y, time, scale, offset) {
  const size = x.length / time;
  const out = new Float64Array(x.length);
  for (let t = 0; t < time; t++) {
    const row = t * size;
    let mean = 0;
    for (let i = 0; i < size; i++) mean += out[row + i] = x[row + i] + y[row + i];
    mean /= size;
    let variance = 0;
    for (let i = 0; i < size; i++) variance += (out[row + i] - mean) ** 2;
    const factor = 1 / Math.sqrt(variance / size + 1e-5);
    for (let i = 0; i < size; i++) out[row + i] = (out[row + i] - mean) * factor * scale[i] + offset[i];
  }
  return out;
}

function relu(x) {
  for (let i = 0; i < x.length; i++) if (x[i] < 0) x[i] = 0;
  return x;
}

// e^x for x ≤ 0 with a relative error below 1e-8; Math.exp is a call, and softmax makes millions of them.
// e^x = 2^-w · 2^-(f / 256) · e^z with whole w and f and |z| ≤ ln(2) / 512. Below e^-20 it is 0: in a sum that has a 1, a
// thousand of these do not count.
const WHOLE = Float64Array.from({ length: 32 }, (_, w) => 2 ** -w);
const PARTS = Float64Array.from({ length: 256 }, (_, f) => 2 ** (-f / 256));
function exponential(x) {
  if (x < -20) return 0;
  const y = x * -369.3299304675746; // 256 / ln(2)
  const k = (y + 0.5) | 0;
  const z = (k - y) * 0.0027076061740622863;
  return WHOLE[k >> 8] * PARTS[k & 255] * (1 + z * (1 + z * 0.5));
}
