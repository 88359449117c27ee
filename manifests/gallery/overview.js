"use strict";

async function showOverview() {
  const data = await load("overview"), main = document.getElementById("main");
  const sum = name => data.scenarios.reduce((total, each) => total + each[name], 0);
  const [samples, playable] = [sum("samples"), sum("playable")];
  const notes = data.scenarios.flatMap(each => each.notes.map(note => `${each.name}: ${note}`));
  return [
    make("h1", { tabindex: -1 }, data.name, data.release ? ` ${data.release}` : ""),
    make("p", {}, data.training ? `${counted(samples)} examples to train on, each one picture and one turn. Whoever can't see `
      + "enough should ask for help rather than guess, and whoever can should answer."
      : `${counted(samples)} samples, each a sequence of pictures from hopeless to clear. Whoever can't see `
      + "enough should ask for help rather than guess: choose a sample and try."),
    playable < samples && make("p", {}, `${counted(playable)} of them have their pictures here and can be played; `
      + "of the others there is a small picture and the text."),
    make("p", { class: "dim" }, data.full ? "The pictures are the originals."
      : `Pictures are scaled to ${data.side} pixels, unless a sample crops them.`),
    !data.training && make("p", { class: "dim" }, data.models.length ? `First answers are those of ${data.models.map(named).join(", ")}.`
      : "What models answered is not known here: there are no predictions in the work folder."),
    data.filtered_by && make("p", { class: "dim" }, `Kept are ${data.filtered_by}.`),
    notes.length && make("div", { class: "note" }, make("strong", {}, "In the work folder, but not up to date:"),
      make("ul", {}, notes.map(note => make("li", {}, note)))),
    countsTable(data.scenarios),
    !data.training && make("p", {}, make("label", { class: "check" }, make("input", { type: "checkbox", name: "whole", checked: main.classList.contains("whole"),
      onchange: event => main.classList.toggle("whole", event.target.checked) }), "show the whole sequences, which end with what is to be found out")),
    data.scenarios.map(each => scenarioSection(each)),
  ];
}

const named = ([model, what]) => what ? `${model} (${what})` : model;

function countsTable(scenarios) {
  const heads = ["scenario", "samples", "kept", "dropped", "to play", "right at turn 1"];
  return table("Samples by scenario", heads, scenarios.map(each => [
    make("a", { href: `#list?scenario=${encodeURIComponent(each.name)}` }, each.name),
    counted(each.samples),
    each.kept === null ? "–" : counted(each.kept),
    each.kept === null ? "–" : counted(each.samples - each.kept),
    counted(each.playable),
    percent(each.correct, each.answers),
  ]));
}

function scenarioSection(each) {
  const id = `scenario-${each.name}`;
  return make("section", { "aria-labelledby": id },
    make("h2", { id }, each.heading),
    each.sequence && make("p", {}, each.sequence),
    make("p", {}, make("a", { href: `#list?scenario=${encodeURIComponent(each.name)}` }, `All ${counted(each.samples)} of ${each.name}`)),
    make("ul", { class: "strips" }, each.examples.map(({ id, strip, views }, place) => make("li", {},
      make("a", { href: sampleLink(id) },
        make("img", { src: strip, loading: "lazy", decoding: "async", width: views * 184 - 8, height: 176, alt: `Play ${each.name}, example ${place + 1}, one of ${views} views` }))))),
  );
}
