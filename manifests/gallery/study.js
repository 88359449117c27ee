"use strict";
// A person answers the first turn of each sample. What is chosen is kept in this browser at once, and saved as a table
// for `build-bench predict --import`. Which choice is right is not in this folder.

let study = null, at = 0, state = { name: "", answers: {} }, since = performance.now(), keeps = true;

const storeName = () => `build-bench study ${study.study}`;
function restore() {
  try { state = { ...state, ...JSON.parse(localStorage.getItem(storeName()) || "{}") }; } catch { keeps = false; }
}
function keep() {
  try { localStorage.setItem(storeName(), JSON.stringify(state)); keeps = true; } catch { keeps = false; }
}

const finished = () => Object.keys(state.answers).length;

function choose(choice) {
  state.answers[at] = { choice, seconds: Math.round((performance.now() - since) / 100) / 10, created: new Date().toISOString().slice(0, 19) + "+00:00" };
  keep();
  go(at + 1);
}

/** Shows a sample; past the last one: the end. */
function go(to) {
  at = Math.min(Math.max(0, to), study.samples.length);
  since = performance.now();
  const main = document.getElementById("main");
  main.replaceChildren(...(at < study.samples.length ? question() : end()).filter(Boolean));
  document.getElementById("kept").textContent = `${finished()} of ${study.samples.length} answered${keeps ? "" : "; this browser keeps nothing, so save before you close it"}`;
  scrollTo(0, 0);
  main.querySelector("h1").focus();
}

const button = (text, act, more = {}) => make("button", { type: "button", class: "button", onclick: act, ...more }, text);

function question() {
  const { picture, question, choices } = study.samples[at], mine = state.answers[at]?.choice;
  return [
    make("h1", { tabindex: -1 }, `Question ${at + 1} of ${study.samples.length}`),
    make("progress", { max: study.samples.length, value: at, "aria-label": "Questions passed" }),
    at === 0 && make("p", {}, "Choose one answer to each question, from the picture alone, with the mouse or by its letter. "
      + "You can stop at any time: this browser keeps what you chose."),
    make("div", { class: "stage" },
      make("figure", {}, make("img", { src: picture, class: "studied", alt: "The picture that is asked about" })),
      make("div", {},
        make("p", { class: "question", id: "question" }, question),
        make("ol", { class: "choices", "aria-labelledby": "question" }, choices.map(([text], choice) => make("li", {},
          make("button", { type: "button", "data-choice": choice, "aria-keyshortcuts": letter(choice), "aria-pressed": String(mine === choice), onclick: () => choose(choice) },
            make("kbd", {}, letter(choice)), make("span", {}, text))))),
        make("p", { class: "under" },
          button("← Back", () => go(at - 1), { disabled: at === 0 }),
          button(mine === undefined ? "Skip →" : "Next →", () => go(at + 1)),
          button("Save", () => go(study.samples.length))))),
  ];
}

function end() {
  const open = study.samples.findIndex((_, place) => !(place in state.answers));
  const name = make("input", { type: "text", name: "person", value: state.name, autocomplete: "off", "aria-describedby": "about-name" });
  name.addEventListener("input", () => { state.name = name.value.trim(); keep(); });
  return [
    make("h1", { tabindex: -1 }, open < 0 ? "That was the last one" : `Still open: ${study.samples.length - finished()}`),
    make("form", { class: "saving", onsubmit: event => { event.preventDefault(); save(name); } },
      make("label", {}, "Your name, as it will stand beside the models", name),
      make("p", { class: "dim", id: "about-name" }, "For example person:anna. Then give the saved file to whoever asked you."),
      make("p", { class: "under" },
        make("button", { class: "button main" }, "Save as a file"),
        open >= 0 && button("To the next open one", () => go(open)),
        button("← Back", () => go(study.samples.length - 1)))),
    make("p", { role: "status", id: "saved" }),
  ];
}

/** A row per answer, as predict --import reads it. */
function rows() {
  const decoded = key => new TextDecoder().decode(Uint8Array.from(atob(key), sign => sign.charCodeAt(0)));
  return Object.entries(state.answers).map(([place, { choice, seconds, created }]) => {
    const { key, digest, choices } = study.samples[place];
    return { model: state.name, id: decoded(key), answer: choices[choice][1], input_digest: digest, created, runtime: { person: true, study: study.study, seconds } };
  });
}

function save(name) {
  const said = document.getElementById("saved"), found = rows();
  if (!state.name || !found.length) {
    said.textContent = state.name ? "Nothing is answered yet." : "Please enter a name.";
    return name.focus();
  }
  const file = `study-${study.study}-${state.name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.jsonl`;
  const url = URL.createObjectURL(new Blob(found.map(row => `${JSON.stringify(row)}\n`), { type: "application/jsonl" }));
  make("a", { href: url, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  said.textContent = `Saved: ${found.length} answers, in ${file}. They stay in this browser too.`;
}

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.closest("input")) return;
  const place = event.key.length === 1 ? event.key.toUpperCase().charCodeAt(0) - 65 : -1;
  const found = document.querySelector(`button[data-choice="${place}"]`);
  if (found) { event.preventDefault(); found.click(); }
});
load("study").then(found => {
  study = found;
  restore();
  const open = study.samples.findIndex((_, place) => !(place in state.answers));
  go(open < 0 ? study.samples.length : open);
}).catch(error => document.getElementById("main").replaceChildren(make("h1", {}, "This can't be shown"), make("p", { role: "alert" }, error.message)));
