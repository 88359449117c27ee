"use strict";
// The address says what is shown: #overview, #list?scenario=coco&page=2, #sample/ID?walk=1.0 (the choices made so far).

let shown = 0, page = null;
const TO_SAMPLES = ".cards a, .strips a";

async function show() {
  const mine = ++shown, [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s), [name, ...rest] = path.split("/");
  if (name === "random") return playAny();
  let content;
  try {
    content = name === "list" ? await showList(query)
      : name === "sample" ? await showSample(decodeURIComponent(rest.join("/")), query)
      : await showOverview();
  } catch (error) {
    content = [make("h1", { tabindex: -1 }, "This can't be shown"), make("p", { role: "alert" }, error.message)];
  }
  if (mine !== shown) return;  // another page was asked for meanwhile
  const main = document.getElementById("main"), first = page === null, same = page === path;
  page = path;
  main.replaceChildren(...content.flat().filter(Boolean));
  document.title = `${main.querySelector("h1").textContent} – Gallery`;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#${name || "overview"}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.body.dataset.page = name || "overview";
  const left = history.state?.left;  // the list or the overview was left from here
  const link = left && [...main.querySelectorAll(TO_SAMPLES)].find(one => one.getAttribute("href") === left.href);
  if (link) { scrollTo(0, left.scroll); return link.focus({ preventScroll: true }); }
  if (!first) (main.querySelector(".verdict") || main.querySelector(same ? ".choices button" : "h1") || main).focus({ preventScroll: same });
  if (!same) scrollTo(0, 0);
}

/** A sample that can be played, any. */
async function playAny() {
  const index = await loadIndex(), there = index.ids.filter((_, at) => index.playable[at]);
  location.replace(sampleLink(there[Math.floor(Math.random() * there.length)]));
}

addEventListener("hashchange", show);
history.scrollRestoration = "manual";
document.getElementById("main").addEventListener("click", event => {
  const link = event.target.closest(TO_SAMPLES);
  if (link) history.replaceState({ left: { href: link.getAttribute("href"), scroll: scrollY } }, "");
});
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); document.getElementById("main").focus(); });
addEventListener("keydown", event => {
  if (event.repeat && event.target.closest(".choices button")) event.preventDefault();  // Enter, held, would answer on and on
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.closest("input, select, textarea")) return;
  const button = choiceOf(event.key);
  if (button) { event.preventDefault(); button.click(); }
});
load("overview").then(data => { document.getElementById("name").textContent = data.name; }).catch(() => {});
show();
