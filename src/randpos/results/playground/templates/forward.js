// The Transformer's forward pass: encoder-only, post-norm, softmax attention (appendix A of the paper).

const BLOCK = 64; // queries at a time: their logits stay in the processor's cache

// Copies one head out of rows of all heads; with `turned`, channels become rows.
function headOf(x, time, heads, head, turned = false) {
  const width = x.length / time / heads;
  const part = new Float64Array(time * width);
  for (let t = 0; t < time; t++) {
    const from = (t * heads + head) * width;
    for (let i = 0; i < width; i++) part[turned ? i * time + t : t * width + i] = x[from + i];
  }
  return part;
}

const plus = (x, bias) => x.map((value, i) => value + bias[i % bias.length]);

// Turns rows of `count` logits into weights, in place, that still have to be divided by the totals it returns.
function softmax(logits, count) {
  const totals = new Float64Array(logits.length / count);
  for (let row = 0, from = 0; row < totals.length; row++, from += count) {
    const end = from + count;
    let largest = -Infinity, total = 0;
    for (let j = from; j < end; j++) if (logits[j] > largest) largest = logits[j];
    for (let j = from; j < end; j++) total += logits[j] = exponential(logits[j] - largest);
    totals[row] = total;
  }
  return totals;
}

// Attention of the queries from `first` on. `look` receives the weights of one head.
function attend(model, layer, x, place, first, look) {
  const { dim, heads, causal } = model.architecture;
  const width = dim / heads, time = x.length / dim, scale = 1 / Math.sqrt(width);
  const own = (name) => model.arrays[`blocks.${layer}.${name}.weight`];
  const extra = (name, h) => model.arrays[`encodings.${layer}.${name}`].subarray(h * width, (h + 1) * width);
  const [q, k, v] = ["query", "key", "value"].map((name) => linear(x, time, own(name)));
  if (model.encoding === "rope") for (const part of [q, k]) rotate(part, heads, place.positions);
  const relative = model.encoding === "relative", alibi = model.encoding === "alibi";
  const table = relative ? offsetTable(model, layer) : null;
  const joined = new Float64Array((time - first) * dim);
  for (let h = 0; h < heads; h++) {
    const keys = headOf(k, time, heads, h).map((value) => value * scale);
    const values = headOf(v, time, heads, h, true);
    const queries = headOf(q, time, heads, h);
    const content = relative ? plus(queries, extra("content_bias", h)) : queries;
    const position = relative ? plus(queries, extra("position_bias", h)).map((value) => value * scale) : null;
    for (let start = first; start < time; start += BLOCK) {
      const end = Math.min(start + BLOCK, time);
      const weights = linear(content.subarray(start * width, end * width), end - start, keys);
      const offsets = place.offsets?.subarray(start * time, end * time);
      if (relative) addPositionTerm(position.subarray(start * width, end * width), table[h], offsets, weights, time);
      if (alibi) subtractDistances(model.slopes[h], offsets, model.reach, weights);
      if (causal) for (let t = start; t < end; t++) weights.fill(-Infinity, (t - start) * time + t + 1, (t - start + 1) * time);
      const totals = softmax(weights, time);
      if (look && look.head === h) look.weights.set(weights.map((weight, j) => weight / totals[(j / time) | 0]), start * time);
      const averages = linear(weights, end - start, values);
      for (let t = start; t < end; t++) {
        const from = (t - start) * width, to = (t - first) * dim + h * width;
        for (let i = 0; i < width; i++) joined[to + i] = averages[from + i] / totals[t - start];
      }
    }
  }
  return linear(joined, time - first, own("output"));
}

// Returns the logits of the last `answers` tokens, a row of classes for each. With `look`, a {layer, head}, also the
// attention weights of that head, a row for each query.
function forward(model, tokens, place, answers, look = null) {
  const { layers, dim } = model.architecture;
  const time = tokens.length;
  const where = withOffsets(model, place, time);
  const seen = look && { ...look, weights: new Float32Array(time * time) };
  let x = embed(model, tokens, place);
  for (let layer = 0; layer < layers; layer++) {
    const own = (name) => model.arrays[`blocks.${layer}.${name}`];
    const looked = seen && seen.layer === layer ? seen : null;
    // Only the answers leave the last layer.
    const first = layer === layers - 1 && !looked ? time - answers : 0;
    const attended = attend(model, layer, x, where, first, looked);
    const rows = time - first;
    x = addAndNormalize(x.subarray(first * dim), attended, rows, own("attention_norm.weight"), own("attention_norm.bias"));
    const hidden = relu(linear(x, rows, own("expand.weight"), own("expand.bias")));
    const fed = linear(hidden, rows, own("contract.weight"), own("contract.bias"));
    x = addAndNormalize(x, fed, rows, own("feed_forward_norm.weight"), own("feed_forward_norm.bias"));
  }
  const last = x.subarray(x.length - answers * dim);
  const logits = linear(last, answers, model.arrays["head.weight"], model.arrays["head.bias"]);
  return { logits, attention: seen && seen.weights };
}
