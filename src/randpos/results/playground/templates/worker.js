// Models run in workers, so that the page stays responsive. A worker runs this script as the page does.

const loaded = new Map();

async function work({ id, index, facts, text, precision, tokens, place, answers, look }) {
  if (!loaded.has(index)) loaded.set(index, await unpackModel(facts, text, precision));
  const { logits, attention } = forward(loaded.get(index), tokens, place, answers, look);
  const buffers = attention ? [logits.buffer, attention.buffer] : [logits.buffer];
  self.postMessage({ id, logits, attention }, buffers);
}

if (typeof document === "undefined") {
  // One job after the other: the first may still be unpacking its model.
  let before = Promise.resolve();
  self.onmessage = ({ data }) => {
    before = before.then(() => work(data)).catch((error) => self.postMessage({ id: data.id, error: String(error) }));
  };
}
