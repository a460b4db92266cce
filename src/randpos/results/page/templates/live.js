// Served by `randpos report --serve`, the page reloads when the store has changed.

async function followStore() {
  const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
  for (;;) {
    await pause(3);
    try {
      const answer = await fetch("version", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== live) location.reload();
    } catch {
      await pause(10); // the server has stopped; it may come back
    }
  }
}
