$START
//
//   import { load } from "./$WRAPPER";
//   const model = await load();
//   model.predict(row);

$CLASS
/** Loads the model from `source`: a URL, or the bytes of the module. */
export async function load(source = new URL("./$FILE", import.meta.url)) {
  let bytes = source;
  if (typeof source === "string" || source instanceof URL) {
    const url = new URL(source, import.meta.url);
    if (url.protocol === "file:") {
      bytes = await (await import("node:fs/promises")).readFile(url);
    } else {
      const answer = await fetch(url);
      if (!answer.ok) {
        throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
      }
      bytes = await answer.arrayBuffer();
    }
  }
  return new Model((await WebAssembly.instantiate(bytes)).instance.exports);
}
