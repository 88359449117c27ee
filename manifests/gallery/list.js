"use strict";
// The list: all filters work on columns of numbers, and one page of cards is in the document at a time.

const PAGE = 48;
const FILTERS = ["scenario", "category", "kept", "accuracy", "kind", "turns", "playable", "text"];
const SHARES = {
  none: ["0 %", (correct, models) => models > 0 && correct === 0],
  low: ["over 0, under 25 %", (correct, models) => correct > 0 && 4 * correct < models],
  quarter: ["25 to under 50 %", (correct, models) => models > 0 && 4 * correct >= models && 2 * correct < models],
  half: ["50 % and more", (correct, models) => models > 0 && 2 * correct >= models],
  unasked: ["no model asked", (correct, models) => models === 0],
};
const SIDES = { 1: "kept", 0: "dropped", [-1]: "not filtered" };

/** The numbers of the samples that pass, in their order. */
function filtered(index, wanted) {
  const number = (values, value) => value ? values.indexOf(value) : -1;
  const scenario = number(index.values.scenario, wanted.scenario), kind = number(index.values.kind, wanted.kind);
  const answer = number(index.values.answer, wanted.category), share = SHARES[wanted.accuracy]?.[1];
  const text = wanted.text?.toLowerCase(), found = [];
  for (let at = 0; at < index.ids.length; at++) {
    if (wanted.scenario && index.scenario[at] !== scenario) continue;
    if (wanted.category && index.answer[at] !== answer) continue;
    if (wanted.kind && index.kind[at] !== kind) continue;
    if (wanted.kept && SIDES[index.kept[at]] !== wanted.kept) continue;
    if (share && !share(index.correct[at], index.models[at])) continue;
    if (wanted.turns && index.turns[at] !== Number(wanted.turns)) continue;
    if (wanted.playable && !index.playable[at]) continue;
    if (text && !index.ids[at].toLowerCase().includes(text)) continue;
    found.push(at);
  }
  return found;
}

let listed = null, answersShown = false;  // the samples last listed, for "next" on a sample's page

async function showList(query) {
  const index = await loadIndex(), wanted = Object.fromEntries(new URLSearchParams(query));
  const results = make("div", { id: "results" });
  const form = filterForm(index, wanted, change => {
    for (const name of FILTERS) delete wanted[name];
    Object.assign(wanted, change, { page: 1 });
    categories(form.elements.category, index, wanted);
    offered(form, wanted);
    history.replaceState(null, "", listLink(wanted));
    showResults(index, wanted, results);
  });
  offered(form, wanted);
  showResults(index, wanted, results);
  return [make("h1", { tabindex: -1 }, "Samples"), form, results];
}

/** Drops what the form doesn't offer: a category of another scenario, a value from an old address. */
function offered(form, wanted) {
  for (const { name, value } of form.querySelectorAll("select")) if (wanted[name] !== value) delete wanted[name];
}

function listLink(wanted, page = 1) {
  const set = Object.entries({ ...wanted, page }).filter(([name, value]) => value && (name !== "page" || value > 1));
  return `#list${set.length ? `?${new URLSearchParams(set)}` : ""}`;
}

function filterForm(index, wanted, changed) {
  const select = (name, label, options) => make("label", {}, label,
    make("select", { name }, make("option", { value: "" }, "any"), options.map(([value, text]) =>
      make("option", { value, selected: wanted[name] === String(value) }, text))));
  const same = values => values.map(value => [value, value]);
  const [sides, turns] = [new Set(index.kept), [...new Set(index.turns)].sort((a, b) => a - b)];
  const check = (name, label, checked, act) => make("label", { class: "check" }, make("input", { type: "checkbox", name, value: "yes", checked, onchange: act }), label);
  const form = make("form", { class: "filters", "aria-label": "Filters" },
    select("scenario", "Scenario", same(index.values.scenario)),
    select("category", "Category", []),
    select("kept", "Filter", same([1, 0, -1].filter(side => sides.has(side)).map(side => SIDES[side]))),
    select("accuracy", "Right at the first turn", Object.entries(SHARES).map(([value, [text]]) => [value, text])),
    select("kind", "Question", same(index.values.kind)),
    select("turns", "Turns", same(turns)),
    make("label", {}, "Part of the id", make("input", { name: "text", type: "search", value: wanted.text || "", autocomplete: "off" })),
    check("playable", "can be played here", wanted.playable === "yes"),
    check("answers", "show answers", answersShown, event => {
      answersShown = event.target.checked;
      event.stopPropagation();
      document.getElementById("results").classList.toggle("answers", answersShown);
    }));
  categories(form.elements.category, index, wanted);
  const change = () => {
    const { answers, ...fields } = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
    changed(fields);
  };
  form.addEventListener("change", change);
  form.addEventListener("input", event => { if (event.target.name === "text") change(); });
  form.addEventListener("submit", event => event.preventDefault());
  return form;
}

/** The categories of the scenario that is chosen. */
function categories(select, index, wanted) {
  if (select.dataset.of === (wanted.scenario || "")) return;
  const scenario = index.values.scenario.indexOf(wanted.scenario);
  const there = new Set(index.answer.filter((_, at) => !wanted.scenario || index.scenario[at] === scenario));
  const texts = index.values.answer.filter((_, answer) => there.has(answer));
  select.dataset.of = wanted.scenario || "";
  select.replaceChildren(make("option", { value: "" }, "any"), ...texts.map(text =>
    make("option", { value: text, selected: wanted.category === text }, text)));
}

function showResults(index, wanted, results) {
  listed = filtered(index, wanted);
  const pages = Math.max(1, Math.ceil(listed.length / PAGE)), page = Math.min(Math.max(1, Number(wanted.page) || 1), pages);
  const step = (to, text, rel) => to >= 1 && to <= pages ? make("a", { href: listLink(wanted, to), rel }, text) : make("span", { class: "dim" }, text);
  const turn = label => pages > 1 && make("nav", { class: "turn", "aria-label": label },
    step(page - 1, "← Previous", "prev"), `Page ${counted(page)} of ${counted(pages)}`, step(page + 1, "Next →", "next"));
  results.classList.toggle("answers", answersShown);
  const said = `${counted(listed.length)} of ${counted(index.ids.length)} samples`;
  results.replaceChildren(...[
    make("p", { role: "status" }, said),
    turn("Pages of samples, above"),
    make("ul", { class: "cards" }, listed.slice((page - 1) * PAGE, page * PAGE).map(number => card(index, number))),
    turn("Pages of samples, below"),
  ].filter(Boolean));
}

function card(index, number) {
  const [slice, place] = placeOf(index, number);
  const [correct, models] = [index.correct[number], index.models[number]];
  const about = [SIDES[index.kept[number]], `${index.turns[number]} turns`, models && `${correct} of ${models} right`, !index.playable[number] && "text only"];
  return make("li", {}, make("a", { href: sampleLink(index.ids[number]) },
    make("img", { src: `pictures/${slice}/${place}.jpg`, loading: "lazy", decoding: "async", alt: "" }),
    make("strong", {}, titleOf(index, number)),
    make("span", { class: "dim" }, about.filter(Boolean).join(" · ")),
    make("span", { class: "answer" }, index.values.answer[index.answer[number]], make("br"), make("span", { class: "dim" }, index.ids[number]))));
}
