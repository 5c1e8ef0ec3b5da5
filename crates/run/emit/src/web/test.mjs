// The cover test of a model that secateur packed as WebAssembly: rows that reach every leaf and threshold, with $GIVEN.
// `node FILE` ends with 0 where all bits are right; in a page, import `wrong` from it, the number of wrong rows.
const url = new URL("./$FILE", import.meta.url);
const bytes =
  url.protocol === "file:"
    ? await (await import("node:fs/promises")).readFile(url)
    : await (await fetch(url)).arrayBuffer();
const module = (await WebAssembly.instantiate(bytes)).instance.exports;
const row = new Float64Array(module.memory.buffer, module.row(), module.features());
const scores = new BigUint64Array(module.memory.buffer, module.scores(), module.outputs());

// Each row is the one before with these changes, the first one zeros.
const changes = [
$CHANGES];
const columns = [
$FEATURES];
const values = [
$VALUES];
// The bits of the scores, and the classes; -1 where an exponential function's last bits may decide.
const expected = [
$EXPECTED];
const classes = [
$CLASSES];

export let wrong = 0;
let change = 0;
row.fill(0);
changes.forEach((count, at) => {
  for (const end = change + count; change < end; change++) {
    row[columns[change]] = values[change];
  }
  module.raw();
  let right = scores.every((bits, output) => bits === expected[at * scores.length + output]);
  right = right && (classes[at] === -1 || module.class() === classes[at]);
  wrong += right ? 0 : 1;
});
console.log(`${wrong} of ${changes.length} rows have other bits`);
if (globalThis.process !== undefined) {
  globalThis.process.exitCode = wrong === 0 ? 0 : 1;
}
