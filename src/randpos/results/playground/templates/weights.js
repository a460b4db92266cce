// Weights come as base64 of compressed bytes: first the low bytes of all numbers, last the high ones.

function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

async function unpackModel(facts, text, precision) {
  const packed = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = precision === "float16" ? 2 : 4;
  const count = planes.length / size;
  const bytes = new DataView(new ArrayBuffer(planes.length));
  planes.forEach((byte, i) => bytes.setUint8((i % count) * size + Math.floor(i / count), byte));
  const read = size === 2 ? (i) => fromHalf(bytes.getUint16(2 * i, true)) : (i) => bytes.getFloat32(4 * i, true);
  const numbers = Float64Array.from({ length: count }, (_, i) => read(i));
  const arrays = {};
  let from = 0;
  for (const [name, length] of facts.arrays) arrays[name] = numbers.subarray(from, (from += length));
  return { ...facts, arrays };
}
