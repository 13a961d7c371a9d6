// What cells use, kept for the last minutes. Pure: no document.

export const KEEP_MS = 5 * 60 * 1000;

// Rises without end, or is there: of two samples the difference, of one the value.
function pointOf(info, before, now) {
  const cpu = Number(info.cpu_usec);
  const cores = before ? Math.max(0, cpu - before.cpu) / 1000 / Math.max(1, now - before.at) : null;
  return { at: now, memory: Number(info.memory_bytes), cores, processes: info.processes, cpu };
}

export class Samples {
  constructor() {
    this.cells = new Map();  // cell id → { info, limits, points }, in the order of the answer
  }

  // `cells` as GET /cells has them, `now` in milliseconds. Cells that are gone are forgotten.
  add(cells, now) {
    const next = new Map();
    for (const { info, limits = null } of cells) {
      const points = (this.cells.get(info.cell_id)?.points ?? []).filter(({ at }) => at > now - KEEP_MS);
      points.push(pointOf(info, points[points.length - 1], now));
      next.set(info.cell_id, { info, limits, points });
    }
    this.cells = next;
  }
}

// The end of a scale: the limit where something comes near it, else a round number above what there is.
export function scaleEnd(peak, limit, round) {
  if (limit > 0 && peak > limit / 4) return Math.max(limit, peak);
  let end = round;
  while (end < peak * 1.25) end *= 2;
  return limit > 0 ? Math.min(end, limit) : end;
}

// SVG path data of [time, value] pairs; a value of null interrupts the line.
export function pathOf(points, { from, to, end, width, height }) {
  let draws = false;
  return points.map(([at, value]) => {
    if (value === null) {
      draws = false;
      return "";
    }
    const x = ((at - from) / (to - from)) * width, y = height - Math.min(1, value / end) * height;
    const command = `${draws ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    draws = true;
    return command;
  }).join("");
}
