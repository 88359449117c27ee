"use strict";
// One walk through a sample, choice for choice as src/build_bench/episode.py.

const END = -1;

class Episode {
  constructor(row) {
    this.row = row;
    this.state = row.start;
    this.turns = 0;
    this.done = false;
    this.correct = false;
    this.path = [this.state];
    this.chosen = [];
  }

  /** What is seen: a frame's number and its crop. */
  get view() { return this.row.states[this.state]; }

  get options() { return this.view.options.map(option => this.row.options[option]); }

  /** The open options, then the categories: lettered A, B, C... when shown. */
  get choices() { return [...this.options.map(option => option.text), ...this.row.categories]; }

  /** Answer with choices[choice]. */
  choose(choice) {
    if (this.done) throw new Error("the episode has ended");
    const { row, view } = this, category = row.categories[choice - view.options.length];
    this.turns += 1;
    this.chosen.push(choice);
    let move = END;
    if (choice >= 0 && choice < view.options.length) move = view.moves[choice];
    else if (category !== undefined) this.correct = category === row.answer && (this.turns > 1 || row.first_turn_answerable);
    if (move === END || this.turns >= row.max_turns) this.done = true;
    else this.path.push(this.state = move);
  }
}

/** The episode after these choices; those after its end, and from the first that isn't open, are passed over. */
function walked(row, choices) {
  const episode = new Episode(row);
  for (const choice of choices) {
    if (episode.done || !(choice in episode.choices)) break;
    episode.choose(choice);
  }
  return episode;
}

/** By state: the fewest choices that lead there from the start. */
function shortestWalks(row) {
  const walks = new Map([[row.start, []]]);
  for (const [state, walk] of walks) {
    row.states[state].moves.forEach((move, choice) => {
      if (move !== END && !walks.has(move)) walks.set(move, [...walk, choice]);
    });
  }
  return walks;
}
