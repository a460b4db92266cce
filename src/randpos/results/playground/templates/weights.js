// Weights come as base64 of compressed bytes: first the low bytes of all numbers, last the high ones.

const SCALES = Float64Array.from({ length: 32 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25));

// A number in half precision: sign, 5 bits of exponent, 10 of fraction; the least exponent has no leading one.
function fromHalf(bits) {
  const exponent = (bits >> 10) & 31;
  const size = ((bits & 1023) + (exponent ? 1024 : 0)) * SCALES[exponent];
  return bits & 0x8000 ? -size : size;
}

async function unpackModel(facts, text, precision) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const half = precision === "float16";
  const count = planes.length / (half ? 2 : 4);
  const numbers = new Float64Array(count);
  if (half) {
    for (let i = 0; i < count; i++) numbers[i] = fromHalf(planes[i] | (planes[count + i] << 8));
  } else {
    const bits = new Uint32Array(count);
    for (let p = 0; p < 4; p++) for (let i = 0; i < count; i++) bits[i] |= planes[p * count + i] << (8 * p);
    numbers.set(new Float32Array(bits.buffer));
  }
  const arrays = {};
  let from = 0;
  for (const [name, length] of facts.arrays) arrays[name] = numbers.subarray(from, (from += length));
  return { ...facts, arrays };
}
