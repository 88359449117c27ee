"use strict";
// Data come as scripts that call put(name, value): pages that are opened from the file system may not fetch.

const arrived = new Map();
function put(name, value) { arrived.set(name, value); }

const asked = new Map();
/** The value of data/<name>.js, loaded once. */
function load(name) {
  if (!asked.has(name)) {
    asked.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onload = () => arrived.has(name) ? resolve(arrived.get(name)) : script.onerror();
      script.onerror = () => { asked.delete(name); reject(new Error(`data/${name}.js is missing or damaged`)); };
      document.head.append(script);
    }));
  }
  return asked.get(name);
}

/** The index with what is looked up often: a number per id, and where each slice starts. */
let indexed = null;
function loadIndex() {
  return indexed ??= load("index").then(index => {
    let start = 0;
    index.starts = index.slices.map(([, count]) => { start += count; return start - count; });
    index.firsts = index.values.scenario.map((_, scenario) => index.scenario.indexOf(scenario));
    index.numbers = new Map(index.ids.map((id, number) => [id, number]));
    return index;
  });
}

/** [slice's name, place in it] of the sample with that number. */
function placeOf(index, number) {
  let slice = index.starts.findIndex(start => start > number);
  slice = (slice < 0 ? index.starts.length : slice) - 1;
  return [index.slices[slice][0], number - index.starts[slice]];
}

/** What a sample is called: an id may name the answer. */
function titleOf(index, number) {
  const scenario = index.scenario[number];
  return `${index.values.scenario[scenario]} ${number - index.firsts[scenario] + 1}`;
}

/** A sample's row, with its number and the folder of its pictures. */
async function loadSample(number) {
  const [slice, place] = placeOf(await loadIndex(), number);
  const row = (await load(`rows/${slice}`))[place];
  return { ...row, number, folder: `pictures/${slice}` };
}
