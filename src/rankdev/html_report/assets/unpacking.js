// @ts-check
// Reads what packed() in html.py wrote: a JSON header, then arrays of integers.

/** @typedef {{at: (...place: number[]) => number | null, shape: number[]}} Packed */
const TYPES = { Int8: Int8Array, Int16: Int16Array, Int32: Int32Array, Float64: Float64Array };

/** @param {string} text @returns {Promise<{header: any, arrays: Record<string, Packed>}>} */
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = await new Response(stream).arrayBuffer();
  const length = new DataView(content).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(content, 4, length)));
  /** @type {Record<string, Packed>} */
  const arrays = {};
  for (const [name, entry] of Object.entries(header.arrays)) arrays[name] = packedArray(content, 4 + length, entry);
  delete header.arrays;
  return { header, arrays };
}

/** @param {ArrayBuffer} content @param {number} start @param {any} entry @returns {Packed} */
function packedArray(content, start, entry) {
  const kind = TYPES[/** @type {keyof typeof TYPES} */ (entry.type)];
  const size = entry.shape.reduce((/** @type {number} */ product, /** @type {number} */ length) => product * length, 1);
  const values = new kind(content.slice(start + entry.at, start + entry.at + size * kind.BYTES_PER_ELEMENT));
  const whole = entry.type !== "Float64";
  const limit = 2 ** (8 * kind.BYTES_PER_ELEMENT - 1) - 1;
  const scale = 10 ** entry.digits;
  const at = (/** @type {number[]} */ ...place) => {
    let index = 0;
    for (let axis = 0; axis < place.length; axis++) index = index * entry.shape[axis] + place[axis];
    const value = values[index];
    if (!whole) return Number.isNaN(value) ? null : value;
    if (value === -limit - 1) return null;
    return Math.abs(value) === limit ? Math.sign(value) * Infinity : value / scale;
  };
  return { at, shape: entry.shape };
}
