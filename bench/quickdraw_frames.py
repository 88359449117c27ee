"""Quick, Draw! strokes to cumulative PNG frames: build_bench against the cairo recipe and Pillow.

    python bench/quickdraw_frames.py [--data DIR] [--drawings N] [--rounds N] [--json FILE]

Draws seeded random drawings, or those of the ndjson files in DIR (simplified or raw). All ways take turns within each
round of one process; times are medians over the rounds, in microseconds a frame. Needs cairocffi and libcairo for the
peer, and deflate for the runner-up among the encoders: whichever is not there is left out.
"""

import io
import json
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np
from parts import results
from PIL import Image

from build_bench.png import encode_grey
from build_bench.strokes import frames, frames_many

try:
    import cairocffi as cairo
except (ImportError, OSError):  # OSError: no libcairo on this machine
    cairo = None
try:
    import deflate
except ImportError:
    deflate = None

SIZE, WIDTH, MARGIN = 256, 3.0, 2.5


def random_drawings(count):
    """About 5 strokes a drawing and 9 points a stroke in 0..255: jittered walks that turn little by little."""
    rng = np.random.default_rng(20170302)
    drawings = []
    for _ in range(count):
        strokes = []
        for _ in range(1 + rng.poisson(4)):
            n = 2 + rng.poisson(7)
            turns = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.7, n))
            path = rng.uniform(40, 215, (2, 1)) + np.cumsum(
                rng.lognormal(2.9, 0.7, n) * np.array([np.cos(turns), np.sin(turns)]), axis=1
            )
            strokes.append(np.clip(path + rng.normal(0, 1, path.shape), 0, 255).round().astype(int).tolist())
        drawings.append(strokes)
    return drawings


def real_drawings(folder, count):
    """Up to `count` drawings, as many from each *.ndjson of the folder."""
    files = sorted(Path(folder).glob("*.ndjson"))
    drawings = []
    for file in files:
        with file.open(encoding="utf-8") as lines:
            drawings += [json.loads(line)["drawing"] for line in islice(lines, -(-count // len(files)))]
    return drawings[:count]


def fitted(drawing):
    """The drawing in canvas coordinates as `frames` places it, so that every way draws the same picture."""
    low, high = (np.array([f([v for s in drawing for v in s[i]]) for i in (0, 1)]) for f in (min, max))
    scale = (SIZE - 2 * MARGIN) / ((high - low).max() or 1)
    shift = SIZE / 2 - (low + high) / 2 * scale
    return [[(np.array(s[i], float) * scale + shift[i]).tolist() for i in (0, 1)] for s in drawing]


def cairo_recipe(drawing):
    """The recipe Quick, Draw!'s users follow (its issue 19): every frame from white, one channel of ARGB32."""
    for k in range(len(drawing)):
        surface = cairo.ImageSurface(cairo.FORMAT_ARGB32, SIZE, SIZE)
        context = cairo.Context(surface)
        context.set_antialias(cairo.ANTIALIAS_BEST)
        context.set_line_cap(cairo.LINE_CAP_ROUND)
        context.set_line_join(cairo.LINE_JOIN_ROUND)
        context.set_line_width(WIDTH)
        context.set_source_rgb(1, 1, 1)
        context.paint()
        context.set_source_rgb(0, 0, 0)
        for xs, ys in drawing[: k + 1]:
            context.move_to(xs[0], ys[0])
            for x, y in zip(xs[1:] or xs, ys[1:] or ys, strict=True):
                context.line_to(x, y)
            context.stroke()
        yield np.copy(np.frombuffer(surface.get_data(), np.uint8)[::4]).reshape(SIZE, SIZE)


def pillow_png(frame):
    out = io.BytesIO()
    Image.fromarray(frame).save(out, "png")
    return out.getvalue()


def libdeflate_png(frame):
    """As long as the PNG whose rows, all with filter None, libdeflate packed at level 1: 57 bytes are around them."""
    rows = np.zeros((SIZE, SIZE + 1), np.uint8)
    rows[:, 1:] = frame
    return deflate.zlib_compress(rows.tobytes(), 1) + bytes(57)


def supersampled(drawing, factor=8):
    """The last frame of a fitted drawing from factor**2 samples a pixel, each inside or outside of the stroke."""
    grid = np.zeros((SIZE * factor, SIZE * factor), bool)
    for xs, ys in drawing:
        points = np.array([xs, ys]).T
        for a, b in zip(points, points[1:] if len(points) > 1 else points, strict=False):
            low = np.maximum((np.minimum(a, b) - WIDTH) * factor, 0).astype(int)
            high = ((np.maximum(a, b) + WIDTH) * factor).astype(int)
            box = grid[low[1] : high[1], low[0] : high[0]]
            x, y = ((np.arange(size) + start + 0.5) / factor for size, start in zip(box.shape[::-1], low, strict=True))
            x, y, d = x[None] - a[0], y[:, None] - a[1], b - a
            t = np.clip((x * d[0] + y * d[1]) / (d @ d or 1), 0, 1)
            box |= (x - t * d[0]) ** 2 + (y - t * d[1]) ** 2 <= WIDTH**2 / 4
    return 255 - 255 * grid.reshape(SIZE, factor, SIZE, factor).mean((1, 3))


def ink_error(draw, drawings, references):
    """Mean absolute error in levels over the pixels either picture inks, and the surplus of ink in per cent."""
    errors, ink, wanted = [], 0.0, 0.0
    for drawing, reference in zip(drawings, references, strict=True):
        *_, last = draw(drawing)
        errors.append(np.abs(last - reference)[(last < 255) | (reference < 255)])
        ink, wanted = ink + (255 - last.astype(int)).sum(), wanted + (255 - reference).sum()
    return {"error": float(np.concatenate(errors).mean()), "surplus_percent": float(100 * (ink / wanted - 1))}


def drain(made):
    """Makes everything and keeps nothing, as a writer of frames would."""
    deque(made, maxlen=0)


def measure(ways: dict[str, Callable[[], object]], frame_count, rounds):
    """Microseconds a frame by way: medians over rounds in which every way runs once, after one round unmeasured."""
    times = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name].append((time.perf_counter() - start) / frame_count * 1e6)
    return {name: median(values[1:]) for name, values in times.items()}


def run(drawings, rounds):
    """Times, sizes and errors of every way, by step and name."""
    ready = [fitted(d) for d in drawings]
    ours = [f for fs in frames_many(drawings, SIZE, WIDTH, MARGIN) for f in fs]
    draw = {
        "ours, a drawing a call": lambda: drain(f for d in drawings for f in frames(d, SIZE, WIDTH, MARGIN)),
        "ours, frames_many": lambda: drain(frames_many(drawings, SIZE, WIDTH, MARGIN)),
    }
    encode = {"Pillow": lambda: [pillow_png(f) for f in ours], "ours": lambda: [encode_grey(f) for f in ours]}
    both = {"ours": lambda: [encode_grey(f) for fs in frames_many(drawings, SIZE, WIDTH, MARGIN) for f in fs]}
    if deflate:
        encode["libdeflate 1"] = lambda: [libdeflate_png(f) for f in ours]
    sizes = {"encode": {name: way() for name, way in encode.items()}, "both": {"ours": both["ours"]()}}
    sample = slice(0, 40)
    references = [supersampled(d) for d in ready[sample]]
    draw_ours = partial(frames, size=SIZE, width=WIDTH, margin=MARGIN)
    errors = {"ours": ink_error(draw_ours, drawings[sample], references)}
    if cairo:
        draw["cairo recipe"] = lambda: drain(f for d in ready for f in cairo_recipe(d))
        both["cairo recipe + Pillow"] = lambda: [pillow_png(f) for d in ready for f in cairo_recipe(d)]
        sizes["both"]["cairo recipe + Pillow"] = both["cairo recipe + Pillow"]()
        errors["cairo recipe"] = ink_error(cairo_recipe, ready[sample], references)
    ways = {
        f"{step}: {k}": v
        for step, named in (("draw", draw), ("encode", encode), ("both", both))
        for k, v in named.items()
    }
    return {
        "drawings": len(drawings),
        "frames": len(ours),
        "microseconds": measure(ways, len(ours), rounds),
        "bytes": {
            f"{step}: {k}": sum(map(len, v)) / len(ours) for step, named in sizes.items() for k, v in named.items()
        },
        "ink": errors,
    }


PEERS = {"draw": "draw: cairo recipe", "encode": "encode: Pillow", "both": "both: cairo recipe + Pillow"}


def table(result):
    """The result as a markdown table; ratios are peer / way for time, way / peer for bytes."""
    lines = ["| way | us/frame | times the peer's speed | bytes/frame | of the peer's bytes |", "|---|---|---|---|---|"]
    micros, size = result["microseconds"], result["bytes"]
    for way, us in micros.items():
        peer = PEERS[way.split(":")[0]]
        speed = f"{micros[peer] / us:.1f}" if peer in micros else ""
        share = f"{size[way] / size[peer]:.2f}" if way in size and peer in size else ""
        lines.append(f"| {way} | {us:.0f} | {speed} | {f'{size[way]:.0f}' if way in size else ''} | {share} |")
    lines += ["", "| ink, against 8 x 8 samples a pixel | mean error, of 255 | surplus, % |", "|---|---|---|"]
    lines += [f"| {k} | {v['error']:.2f} | {v['surplus_percent']:+.2f} |" for k, v in result["ink"].items()]
    return "\n".join(lines)


def main():
    parser = results.options(__doc__)
    parser.add_argument("--data", help="folder of Quick, Draw! ndjson files")
    parser.add_argument("--drawings", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    drawings = real_drawings(args.data, args.drawings) if args.data else random_drawings(args.drawings)
    result = run(drawings, args.rounds)
    print(f"{result['drawings']} drawings, {result['frames']} frames, {SIZE} px, medians of {args.rounds} rounds\n")
    print(table(result))
    if not cairo:
        print("\ncairocffi or libcairo is not installed: its recipe was skipped.")
    results.write(args.json, compared(result["microseconds"], result["bytes"]))


def compared(micros, size):
    """What came of it: ours beside each step's peer."""
    for ours, wanted in (("draw: ours, frames_many", ""), ("encode: ours", ""), ("both: ours", "")):
        if (peer := PEERS[ours.partition(":")[0]]) in micros:
            what = f"QuickDraw, {ours}; peer: {peer.partition(': ')[2]}"
            yield results.Result(f"{what}, time", micros[ours], micros[peer], "us a frame", wanted)
            if ours in size:
                yield results.Result(f"{what}, bytes", size[ours], size[peer], "bytes a frame", "<= 1")


if __name__ == "__main__":
    main()
