// Attention of one query at a time: its row of logits stays in the processor's cache.
// The paper's heads are 8 wide; for these the loops are unrolled, so that a query stays in registers.

// Writes the logits of a query with `count` keys, each a row of `width` numbers.
function contentRow(q, at, width, keys, count, row) {
  if (width !== 8) {
    for (let j = 0; j < count; j++) row[j] = dot(q, at, keys, j * width, width);
    return;
  }
  const q0 = q[at], q1 = q[at + 1], q2 = q[at + 2], q3 = q[at + 3];
  const q4 = q[at + 4], q5 = q[at + 5], q6 = q[at + 6], q7 = q[at + 7];
  for (let j = 0, k = 0; j < count; j++, k += 8) {
    row[j] =
      q0 * keys[k] + q1 * keys[k + 1] + q2 * keys[k + 2] + q3 * keys[k + 3] +
      (q4 * keys[k + 4] + q5 * keys[k + 5] + q6 * keys[k + 6] + q7 * keys[k + 7]);
  }
}

// Turns logits into weights that still have to be divided by the total it returns, and writes the sum of the values,
// each a row of `width` numbers, times their weights.
function averageRow(row, count, values, width, out, to) {
  let largest = -Infinity, total = 0;
  for (let j = 0; j < count; j++) if (row[j] > largest) largest = row[j];
  if (width !== 8) {
    out.fill(0, to, to + width);
    for (let j = 0; j < count; j++) {
      const weight = (row[j] = exponential(row[j] - largest));
      total += weight;
      for (let i = 0; i < width; i++) out[to + i] += weight * values[j * width + i];
    }
    return total;
  }
  let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  for (let j = 0, v = 0; j < count; j++, v += 8) {
    const weight = (row[j] = exponential(row[j] - largest));
    total += weight;
    a += weight * values[v]; b += weight * values[v + 1]; c += weight * values[v + 2]; d += weight * values[v + 3];
    e += weight * values[v + 4]; f += weight * values[v + 5]; g += weight * values[v + 6]; h += weight * values[v + 7];
  }
  out[to] = a; out[to + 1] = b; out[to + 2] = c; out[to + 3] = d;
  out[to + 4] = e; out[to + 5] = f; out[to + 6] = g; out[to + 7] = h;
  return total;
}
