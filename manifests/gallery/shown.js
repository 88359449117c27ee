"use strict";
// What all pages build their elements of. Texts of the data become text nodes and attributes, never markup.

/** An element with attributes, handlers (onclick: function) and children (elements or texts). */
function make(tag, attributes = {}, ...children) { return filled(document.createElement(tag), attributes, children); }

/** The same in SVG. */
function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

/** What a choice is marked with: its letter, after Z its number. */
const letter = place => place < 26 ? String.fromCharCode(65 + place) : String(place + 1);
/** The button of a choice by the key that was pressed. */
const choiceOf = key => /^[a-z]$/i.test(key) ? document.querySelector(`button[data-choice="${key.toUpperCase().charCodeAt(0) - 65}"]`) : null;
const counted = number => number.toLocaleString("en");
const percent = (part, whole) => whole ? `${Math.round(100 * part / whole)} %` : "–";

/** A view as a model gets it: the frame, or its crop and nothing around it. */
function picture(sample, view, label) {
  const [left, top, width, height] = boxOf(sample, view);
  const inner = draw("svg", { x: 0, y: 0, width, height, viewBox: `${left} ${top} ${width} ${height}` }, frame(sample, view));
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "view", role: "img", "aria-label": label }, inner);
}

/** A figure whose picture a click shows in its own size, in a box that scrolls, and another fits to the page again. */
function sized(seen, width, ...caption) {
  const box = make("div", { class: "box", onclick: () => toggle.click() }, seen);
  const toggle = make("button", { type: "button", class: "button", "aria-pressed": "false", onclick: event => {
    event.stopPropagation();
    const own = box.classList.toggle("own");
    toggle.setAttribute("aria-pressed", String(own));
    seen.style.width = own ? `${width()}px` : "";
    if (own) box.tabIndex = 0; else box.removeAttribute("tabindex");
  } }, "Actual size");
  return make("figure", {}, box, make("figcaption", { class: "dim" }, caption, toggle));
}

/** The whole frame, in its own pixels. */
function frame(sample, view) {
  const [width, height] = sample.sizes[view.frame];
  return draw("image", { href: `${sample.folder}/${sample.files[view.frame]}`, width, height, preserveAspectRatio: "none" });
}

/** [left, top, width, height] of what is seen, in pixels of the frame. */
function boxOf(sample, { frame, crop }) {
  if (!crop.length) return [0, 0, ...sample.sizes[frame]];
  const [left, top, right, bottom] = crop;
  return [left, top, right - left, bottom - top];
}

/** A table under a caption that scrolls by itself where it is too wide. */
function table(caption, heads, rows) {
  const [head, body] = [make("thead"), make("tbody")];
  head.append(make("tr", {}, heads.map(text => make("th", { scope: "col" }, text))));
  for (const [first, ...cells] of rows) {
    body.append(make("tr", {}, make("th", { scope: "row" }, first), cells.map(cell => make("td", {}, cell))));
  }
  const whole = make("table", {}, make("caption", {}, caption), head, body);
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption }, whole);
}

/** An address as a link if it is one of the web's, else as text. */
function address(url) {
  return /^https?:\/\//i.test(url) ? make("a", { href: url, rel: "noreferrer noopener" }, url) : url || "–";
}
