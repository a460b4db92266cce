// Sends models to a worker to run.

function makeRunner(about) {
  const source = new Blob([byId("engine").textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(source));
  const waiting = new Map();
  const sent = new Set();
  let count = 0;
  worker.onmessage = ({ data: { id, error, ...result } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(new Error(error));
    else resolve(result);
  };

  // Returns {logits, attention} of model number `index`; see `forward`.
  return (index, tokens, place, answers, look = null) => {
    const id = count++;
    const text = sent.has(index) ? null : byId(`weights-${index}`).textContent;
    sent.add(index);
    worker.postMessage({ id, index, facts: about.models[index], text, precision: about.precision, tokens, place, answers, look });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
}

// The sequence that a model reads: the input, then a placeholder for every answer.
function sequenceOf(task, facts, tokens) {
  const answers = TASKS[task].outputs(tokens.length);
  return { sequence: [...tokens, ...Array(answers).fill(facts.symbols.length)], answers };
}

// The output of a model: for every answer its class, the probabilities, whether it is right, and whether it counts.
function judge(logits, truth, terminator) {
  const classes = logits.length / truth.length;
  const end = terminator === null ? -1 : truth.indexOf(terminator);
  return truth.map((right, i) => {
    const row = logits.slice(i * classes, (i + 1) * classes);
    const largest = Math.max(...row);
    const weights = Array.from(row, (logit) => Math.exp(logit - largest));
    const total = weights.reduce((a, b) => a + b);
    const said = row.indexOf(largest);
    return { said, truth: right, right: said === right, counts: end < 0 || i <= end, shares: weights.map((w) => w / total) };
  });
}
