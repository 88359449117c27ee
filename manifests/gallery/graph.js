"use strict";
// The states of a sample as a picture: a column per turn that is needed to get there, an arrow per option that leads on.

const CELL = 64, ACROSS = 104, DOWN = 92;

function graph(sample, episode) {
  const places = layout(sample), at = state => places.get(state);
  const [columns, rows] = [0, 1].map(axis => 1 + Math.max(...[...places.values()].map(place => place[axis])));
  const walks = shortestWalks(sample), onPath = new Set(episode.path);
  const arrows = sample.states.flatMap(({ moves }, from) => moves.filter(to => to !== END).map(to => arrow(at(from), at(to), goes(episode, from, to))));
  const nodes = sample.states.map((view, state) => {
    const [x, y] = at(state).map((place, axis) => place * [ACROSS, DOWN][axis]);
    const kind = [onPath.has(state) && "walked", sameView(view, sample.reference) && "reference"].filter(Boolean).join(" ");
    const label = `State ${state}${state === sample.start ? ", the start" : ""}${kind ? `, ${kind}` : ""}`;
    return draw("a", { href: sampleLink(sample.id, walks.get(state)), "aria-label": label, class: `node ${kind}` },
      draw("title", {}, label),
      draw("rect", { x, y, width: CELL, height: CELL, rx: 4 }),
      sample.files.length ? small(sample, view, x + 2, y + 2, CELL - 4) : null,
      draw("text", { x: x + CELL / 2, y: y + CELL + 14, "text-anchor": "middle" }, String(state)));
  });
  const [width, height] = [columns * ACROSS, rows * DOWN];
  return draw("svg", { class: "graph", viewBox: `-8 -24 ${width + 8} ${height + 24}`, width: width + 8, height: height + 24, role: "group", "aria-label": "The states, each a link to itself" },
    draw("defs", {}, draw("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, draw("path", { d: "M0 0 8 4 0 8z" }))),
    arrows, nodes);
}

/** state -> [column, row]: columns by turns from the start. */
function layout(sample) {
  const filledTo = [], places = new Map();
  for (const [state, walk] of shortestWalks(sample)) {
    const column = walk.length, row = filledTo[column] || 0;
    filledTo[column] = row + 1;
    places.set(state, [column, row]);
  }
  return places;
}

const goes = (episode, from, to) => episode.path.some((state, at) => state === from && episode.path[at + 1] === to);
const sameView = (a, b) => a.frame === b.frame && String(a.crop) === String(b.crop);

function arrow([fromColumn, fromRow], [toColumn, toRow], walked) {
  const middle = ([column, row]) => [column * ACROSS + CELL / 2, row * DOWN + CELL / 2];
  const [x, y] = middle([fromColumn, fromRow]), [toX, toY] = middle([toColumn, toRow]);
  const forward = toColumn > fromColumn, side = CELL / 2;
  const straight = Math.abs(toColumn - fromColumn) <= 1 && (fromColumn !== toColumn || Math.abs(toRow - fromRow) === 1);
  const lift = forward ? 0 : 8;
  let d = `M${x + (forward ? side : -side)} ${y - lift}L${toX + (forward ? -side : side)} ${toY - lift}`;
  if (fromColumn === toColumn) d = `M${x + side} ${y}C${x + side + 24} ${y} ${toX + side + 24} ${toY} ${toX + side} ${toY}`;
  else if (!straight) d = `M${x} ${y - side}C${x} ${y - side - 24} ${toX} ${toY - side - 24} ${toX} ${toY - side}`;
  return draw("path", { d, class: walked ? "move walked" : "move", "marker-end": "url(#head)" });
}

/** A view in a square. */
function small(sample, view, x, y, side) {
  const box = boxOf(sample, view);
  return draw("svg", { x, y, width: side, height: side, viewBox: box.join(" "), "aria-hidden": "true" },
    draw("svg", { x: box[0], y: box[1], width: box[2], height: box[3], viewBox: box.join(" ") }, frame(sample, view)));
}
