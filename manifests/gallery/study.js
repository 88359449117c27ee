"use strict";
// A person answers the first turn of each sample. What is chosen is kept in this browser at once, and saved as a table
// for `build-bench predict --import`. Which choice is right is not in this folder, nor what the samples are called.

const MOMENT = 400;  // milliseconds after a picture is there before it can be answered: a double click answers once

let study = null, at = 0, state = empty(), since = null, keeps = true, note = "";

function empty() { return { name: "", answers: {} }; }
const storeName = () => `build-bench study ${study.study}`;

/** What this browser keeps, without what can't be an answer. */
function stored() {
  const text = localStorage.getItem(storeName());
  if (text === null) return empty();
  let found = null;
  try { found = JSON.parse(text); } catch { /* damaged, as is any other value */ }
  const answers = Object.entries(found?.answers ?? {}), sound = answers.filter(isAnswer);
  if (typeof found?.answers !== "object" || sound.length < answers.length) note = "Some of what this browser kept was damaged and is left out.";
  return { name: typeof found?.name === "string" ? found.name : "", answers: Object.fromEntries(sound) };
}

function isAnswer([place, answer]) {
  return Number.isInteger(answer?.choice) && answer.choice in (study.samples[place]?.choices ?? [])
    && Number.isFinite(answer.seconds) && typeof answer.created === "string";
}

/** Changes the state that is kept by now: another window may have added to it. */
function change(act) {
  try { if (keeps) state = stored(); } catch { keeps = false; }
  act(state);
  try { localStorage.setItem(storeName(), JSON.stringify(state)); keeps = true; } catch { keeps = false; }
}

const finished = () => Object.keys(state.answers).length;
/** "3 answers of Anna". */
const kept = () => `${finished()} ${finished() === 1 ? "answer" : "answers"}${state.name && ` of ${state.name}`}`;
const firstOpen = () => study.samples.findIndex((_, place) => !(place in state.answers));

function choose(choice) {
  if (since === null) return;
  const answer = { choice, seconds: Math.round((performance.now() - since) / 100) / 10, created: new Date().toISOString().slice(0, 19) + "+00:00" };
  change(now => { now.answers[at] = answer; });
  go(at + 1);
}

/** Shows a sample; past the last one: the end. */
function go(to) {
  at = Math.min(Math.max(0, to), study.samples.length);
  since = null;
  const main = document.getElementById("main");
  main.replaceChildren(...[note && make("p", { class: "note", role: "status" }, note), ...(at < study.samples.length ? question() : end())].filter(Boolean));
  note = "";
  counts();
  scrollTo(0, 0);
  main.querySelector("h1").focus();
}

function counts() {
  document.getElementById("kept").textContent = `${finished()} of ${study.samples.length} answered${keeps ? "" : "; this browser keeps nothing, so save before you close it"}`;
}

const button = (text, act, more = {}) => make("button", { type: "button", class: "button", onclick: act, ...more }, text);

function question() {
  const { picture, question, choices } = study.samples[at], mine = state.answers[at]?.choice;
  const seen = make("img", { class: "studied", alt: "The picture that is asked about" });
  const list = make("ol", { class: "choices", "aria-labelledby": "question", "aria-busy": "true" }, choices.map(([text], choice) => make("li", {},
    make("button", { type: "button", "data-choice": choice, "aria-keyshortcuts": choice < 26 && letter(choice), "aria-pressed": String(mine === choice), onclick: () => choose(choice) },
      make("kbd", {}, letter(choice)), make("span", {}, text), mine === choice && make("em", {}, "your answer")))));
  ready(seen, picture, list);
  return [
    make("h1", { tabindex: -1 }, `Question ${at + 1} of ${study.samples.length}`),
    make("progress", { max: study.samples.length, value: at, "aria-label": "Questions passed" }),
    at === 0 && make("p", {}, "Choose one answer to each question, from the picture alone, with a click or by its letter. Some "
      + "answers ask to see more or say that it can't be told. They are answers like the others: choose what fits best."),
    at === 0 && make("p", {}, "You can stop at any time: this browser keeps what you chose."),
    make("div", { class: "stage" },
      sized(seen, () => seen.naturalWidth),
      make("div", {},
        make("p", { class: "question", id: "question" }, question),
        list,
        make("p", { class: "under" },
          button("← Back", () => go(at - 1), { disabled: at === 0 }),
          button(mine === undefined ? "Skip →" : "Next →", () => go(at + 1)),
          button("Save", () => go(study.samples.length)),
          startAnew()))),
  ];
}

/** Takes answers once the picture is there and a moment has passed; the clock starts then. */
function ready(seen, picture, list) {
  seen.addEventListener("load", () => setTimeout(() => {
    if (!list.isConnected) return;
    since = performance.now();
    list.removeAttribute("aria-busy");
  }, MOMENT));
  seen.addEventListener("error", () => list.replaceWith(make("p", { class: "note", role: "alert" }, `The picture ${picture} is missing or damaged: skip this question.`)));
  seen.src = picture;
}

function startAnew() {
  return finished() > 0 && button("Start anew", () => {
    if (!confirm(`This removes ${kept()} from this browser. Saved files stay. Go on?`)) return;
    change(now => Object.assign(now, empty()));
    go(0);
  });
}

function end() {
  const open = firstOpen();
  const name = make("input", { type: "text", name: "person", value: state.name, autocomplete: "off", "aria-describedby": "about-name" });
  name.addEventListener("input", () => change(now => { now.name = name.value.trim(); }));
  return [
    make("h1", { tabindex: -1 }, open < 0 ? "That was the last one" : `Still open: ${study.samples.length - finished()}`),
    make("form", { class: "saving", onsubmit: event => { event.preventDefault(); save(name); } },
      make("label", {}, "Your name, as it will stand beside the models", name),
      make("p", { class: "dim", id: "about-name" }, "For example Anna. Then give the saved file to whoever asked you."),
      make("p", { class: "under" },
        make("button", { class: "button main" }, "Save as a file"),
        open >= 0 && button("To the next open one", () => go(open)),
        button("← Back", () => go(study.samples.length - 1)),
        startAnew())),
    make("p", { role: "status", id: "saved" }),
  ];
}

/** A row per answer, as predict --import reads it; which samples they are, the work folder knows. */
function rows() {
  return Object.entries(state.answers).map(([place, { choice, seconds, created }]) => {
    const { digest, choices } = study.samples[place], id = `study-${study.study}-${Number(place) + 1}`;
    return { model: state.name, id, answer: choices[choice][1], input_digest: digest, created, runtime: { person: true, study: study.study, seconds } };
  });
}

function save(name) {
  change(() => {});  // what other windows added
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
  const found = choiceOf(event.key);
  if (found) { event.preventDefault(); found.click(); }
});
addEventListener("storage", event => {  // of another window
  if (!study || event.key !== storeName()) return;
  const before = state.answers[at]?.created;
  state = stored();
  if (at < study.samples.length && state.answers[at]?.created !== before) go(at);  // what was answered there is marked here
  else counts();
});
load("study").then(found => {
  study = found;
  change(() => {});
  if (finished() && !note) note = `This browser keeps ${kept()}. If you are someone else, choose “Start anew”.`;
  const open = firstOpen();
  go(open < 0 ? study.samples.length : open);
}).catch(error => document.getElementById("main").replaceChildren(make("h1", {}, "This can't be shown"), make("p", { role: "alert" }, error.message)));
