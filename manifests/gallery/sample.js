"use strict";
// A sample's page: it is played, then everything about it is shown. The walk is in the address, so a link leads to any state.

const sampleLink = (id, walk = []) => `#sample/${encodeURIComponent(id)}${walk.length ? `?walk=${walk.join(".")}` : ""}`;
const KINDS = { proactive: "a valid request", invalid: "a request that can't help", abstain: "abstains" };

async function showSample(id, query) {
  const index = await loadIndex(), number = index.numbers.get(id);
  if (number === undefined) return [make("h1", { tabindex: -1 }, "No such sample"), make("p", {}, `The gallery has no sample ${id}.`)];
  const [sample, { models }] = await Promise.all([loadSample(number), load("overview")]);
  const wanted = new URLSearchParams(query), walk = (wanted.get("walk") || "").split(".").filter(Boolean).map(Number);
  const episode = walked(sample, walk);
  const everything = wanted.has("look") || episode.done || !sample.files.length;
  return [
    heading(index, number),
    sample.files.length ? stage(sample, episode) : textOnly(sample),
    !everything && make("p", { class: "dim" }, make("a", { href: `${sampleLink(id, episode.chosen)}${episode.chosen.length ? "&" : "?"}look=1` }, "Show everything instead")),
    everything && [walkSection(sample, episode), sourceFrame(sample, episode), statesSection(sample, episode), modelsSection(sample, models), aboutSection(sample)],
  ].flat();
}

function heading(index, number) {
  const all = listed?.includes(number) ? listed : null, at = all ? all.indexOf(number) : number;
  const step = (to, text, rel) => to >= 0 && to < (all ?? index.ids).length && make("a", { href: sampleLink(index.ids[all ? all[to] : to]), rel }, text);
  return make("div", { class: "heading" },
    make("h1", { tabindex: -1 }, titleOf(index, number)),
    make("nav", { "aria-label": "Neighbours" }, step(at - 1, "← Previous", "prev"), step(at + 1, "Next →", "next")));
}

/** What a model sees, and what can be answered. */
function stage(sample, episode) {
  const turn = Math.min(episode.turns + 1, sample.max_turns);
  const [, , width, height] = boxOf(sample, episode.view), size = `${width} × ${height} pixels`;
  const seen = episode.done ? `What was seen last, at turn ${episode.turns}` : `What is seen at turn ${turn}`;
  return make("div", { class: "stage", "data-turn": episode.turns + 1 },
    sized(picture(sample, episode.view, seen), () => width, `${seen}: ${size}`),
    make("div", {},
      make("p", { class: "dim" }, episode.done ? `Ended at turn ${episode.turns}` : `Turn ${turn} of at most ${sample.max_turns}`),
      make("p", { class: "question", id: "question" }, [sample.context, sample.question].filter(Boolean).join(" ")),
      episode.done ? [verdict(sample, episode), marked(sample, episode)] : choiceList(sample, episode),
      make("p", { class: "under" },
        episode.turns > 0 && make("a", { href: sampleLink(sample.id), class: "button" }, "Start over"),
        !episode.done && sample.hint && make("details", {}, make("summary", {}, "Hint"), sample.hint))));
}

function choiceList(sample, episode) {
  const choose = choice => () => { location.hash = sampleLink(sample.id, [...episode.chosen, choice]); };
  return make("ol", { class: "choices", "aria-labelledby": "question" }, episode.choices.map((text, choice) => make("li", {},
    make("button", { type: "button", "data-choice": choice, "aria-keyshortcuts": choice < 26 && letter(choice), onclick: choose(choice) },
      make("kbd", {}, letter(choice)), make("span", {}, text)))));
}

function verdict(sample, episode) {
  const last = episode.chosen.at(-1), { options } = episode.view, category = sample.categories[last - options.length];
  const because = episode.correct ? ""
    : category === sample.answer ? "That is the right category, but here it counts as wrong at the first turn."
    : category !== undefined ? "That is another category."
    : episode.view.moves[last] !== END ? "No turns are left."
    : { abstain: "Abstaining ends the episode.", invalid: "That request can't help.", proactive: "There is nothing more to see that way." }[episode.options[last].kind];
  return make("div", { class: `verdict ${episode.correct ? "right" : "wrong"}`, role: "status", tabindex: -1 },
    make("strong", {}, episode.correct ? `Right, at turn ${episode.turns}.` : "Wrong."),
    ` ${because}`, make("br"), "The answer is: ", make("strong", {}, sample.answer));
}

/** The last choices once more: which was taken, and which is right. */
function marked(sample, episode) {
  const right = episode.options.length + sample.categories.indexOf(sample.answer), last = episode.chosen.at(-1);
  return make("ol", { class: "choices plain" }, episode.choices.map((text, choice) => {
    const mark = [choice === last && "chosen", choice === right && "the answer"].filter(Boolean).join(", ");
    return make("li", { class: choice === right ? "right" : choice === last ? "wrong" : null }, make("kbd", {}, letter(choice)), make("span", {}, text), mark && make("em", {}, mark));
  }));
}

/** A sample whose pictures were not written. */
function textOnly(sample) {
  const [slice, place] = placeOf(arrived.get("index"), sample.number);
  return make("div", { class: "stage" },
    make("figure", {}, make("img", { src: `pictures/${slice}/${place}.jpg`, class: "pair", alt: "Left the first view, right the reference, small" })),
    make("div", {},
      make("p", { class: "question" }, [sample.context, sample.question].filter(Boolean).join(" ")),
      make("ol", { class: "choices plain" }, walked(sample, []).choices.map((text, choice) => make("li", {}, make("kbd", {}, letter(choice)), make("span", {}, text)))),
      make("p", {}, "The answer is: ", make("strong", {}, sample.answer)),
      make("p", { class: "note" }, "The pictures of this sample were not written, so it can't be played here. To play it: ", make("code", {}, `build-bench preview --sample ${sample.id}`))));
}

/** The way that was gone, and the reference beside it. */
function walkSection(sample, episode) {
  if (!sample.files.length) return null;
  const steps = episode.path.map((state, at) => {
    const choice = episode.chosen[at], { options } = sample.states[state], option = sample.options[options[choice]];
    const text = choice === undefined ? "not answered" : `${letter(choice)}. ${option ? option.text : sample.categories[choice - options.length]}`;
    return make("li", {}, make("a", { href: sampleLink(sample.id, episode.chosen.slice(0, at)) },
      picture(sample, sample.states[state], `The view at turn ${at + 1}, state ${state}`)),
      make("span", {}, make("strong", {}, `Turn ${at + 1}: `), text), option && make("span", { class: "dim" }, KINDS[option.kind]));
  });
  const full = make("li", { class: "reference" }, picture(sample, sample.reference, "The reference view"),
    make("span", {}, "Reference: the view with full information"), sample.reference_question !== sample.question && make("span", { class: "dim" }, sample.reference_question));
  return section("The way", make("ol", { class: "way" }, steps, full));
}

/** Crops as frames on the picture that they are parts of. */
function sourceFrame(sample, episode) {
  const views = episode.path.map(state => sample.states[state]);
  if (!sample.files.length || !views.some(view => view.crop.length)) return null;
  const [width, height] = sample.sizes[views[0].frame];
  const boxes = views.filter(view => view.frame === views[0].frame && view.crop.length).map((view, at, all) => {
    const [x, y, w, h] = boxOf(sample, view);
    return draw("rect", { x, y, width: w, height: h, class: at === all.length - 1 ? "crop last" : "crop" });
  });
  const label = `The source picture with a frame around each of the ${boxes.length} views seen`;
  return section("On the source picture", draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "source", role: "img", "aria-label": label }, frame(sample, views[0]), boxes));
}

function statesSection(sample, episode) {
  const rows = sample.states.map(({ options, moves, crop, frame }, state) => [
    make("a", { href: sampleLink(sample.id, shortestWalks(sample).get(state)) }, String(state)),
    `frame ${frame}${crop.length ? `, crop ${crop.join(", ")}` : ""}`,
    options.map((option, at) => `${sample.options[option].text} → ${moves[at] === END ? "end" : moves[at]}`).join(" / "),
  ]);
  return section(sample.states.length === 1 ? "The only state" : `The ${sample.states.length} states`,
    make("p", { class: "dim" }, "From the start on the left; thick and blue is the way that was gone, green the reference view. Each is a link to itself."),
    make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Graph of the states" }, graph(sample, episode)),
    make("details", {}, make("summary", {}, "The same as a table"), table("States, what is seen there, and where each option leads", ["state", "seen", "options"], rows)));
}

function modelsSection(sample, models) {
  const rows = sample.said.map(([model, verdict, answer, error]) => [
    named(models[model]),
    make("span", { class: `tag ${verdict}` }, verdict || "failed"),
    error || answer || "–",
  ]);
  return section("Answers at the first turn",
    make("p", {}, sample.why[0].toUpperCase() + sample.why.slice(1), "."),
    sample.now && make("p", { class: "note" }, `The keep list in the work folder says by now: ${sample.now}. Assemble again.`),
    rows.length ? table("Answers", ["who", "verdict", "answer"], rows) : make("p", { class: "dim" }, "No answer to it is in the work folder."),
    rows.some(([, tag]) => tag.textContent === "stale") && make("p", { class: "dim" }, "Stale: an answer to what the sample showed formerly; it doesn't count."));
}

function aboutSection(sample) {
  const { dataset, key, url, license } = sample.source;
  const facts = { id: sample.id, question: sample.question_kind, hint: sample.hint || "–", source: dataset, item: key, address: address(url), licence: license };
  return section("About it", make("dl", { class: "facts" }, Object.entries(facts).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat()));
}

function section(title, ...children) { return make("section", {}, make("h2", {}, title), children); }
