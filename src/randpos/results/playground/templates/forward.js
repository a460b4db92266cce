// The Transformer's forward pass: encoder-only, post-norm, softmax attention (appendix A of the paper).

// Copies one head out of rows of all heads.
function headOf(x, time, heads, head) {
  const width = x.length / time / heads;
  const part = new Float64Array(time * width);
  for (let t = 0; t < time; t++) {
    const from = (t * heads + head) * width;
    for (let i = 0; i < width; i++) part[t * width + i] = x[from + i];
  }
  return part;
}

const plus = (x, bias) => x.map((value, i) => value + bias[i % bias.length]);

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
  const row = new Float64Array(time);
  for (let h = 0; h < heads; h++) {
    const keys = headOf(k, time, heads, h).map((value) => value * scale);
    const values = headOf(v, time, heads, h);
    const queries = headOf(q, time, heads, h);
    const content = relative ? plus(queries, extra("content_bias", h)) : queries;
    const position = relative ? plus(queries, extra("position_bias", h)).map((value) => value * scale) : null;
    for (let t = first; t < time; t++) {
      const count = causal ? t + 1 : time, from = t * time;
      contentRow(content, t * width, width, keys, count, row);
      if (relative) addPositionTerm(position, t * width, width, table[h], place.offsets, from, count, row);
      if (alibi) subtractDistances(model.slopes[h], place.offsets, from, model.reach, count, row);
      const to = (t - first) * dim + h * width;
      const total = averageRow(row, count, values, width, joined, to);
      for (let i = 0; i < width; i++) joined[to + i] /= total;
      if (look && look.head === h) for (let j = 0; j < count; j++) look.weights[from + j] = row[j] / total;
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
