/** One curve; `x` and `y` have the same length. */
export interface Curve {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
}

export interface Plot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly curves: readonly Curve[];
  /** Powers of ten instead of equal steps. */
  readonly logX?: boolean;
  readonly logY?: boolean;
  readonly xTicks?: readonly number[];
}

const [width, height] = [760, 320];
const margin = { left: 70, right: 150, top: 36, bottom: 44 } as const;
// Distinct also for people who see few colours, and in grey by their dashes.
const strokes = [
  ['#0b62a4', ''],
  ['#c44a00', '7 3'],
  ['#2a7f3f', '2 3'],
  ['#7a3fa0', '9 3 2 3'],
] as const;

/** An SVG with axes, curves and a legend; it needs no script and reads on light and dark pages. */
export function drawPlot(plot: Plot): string {
  const scaleX = scaleOf(
    plot.curves.flatMap(({ x }) => x),
    plot.logX === true,
    margin.left,
    width - margin.right,
  );
  const scaleY = scaleOf(
    [...plot.curves.flatMap(({ y }) => y), ...(plot.logY === true ? [] : [0])],
    plot.logY === true,
    height - margin.bottom,
    margin.top,
  );
  const ticksX = plot.xTicks ?? scaleX.ticks;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="${escape(plot.title)}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="${margin.left}" y="20" font-size="14" font-weight="bold">${escape(plot.title)}</text>`,
    ...scaleY.ticks.map(
      (tick) =>
        `<line x1="${margin.left}" x2="${width - margin.right}" y1="${at(scaleY.of(tick))}" y2="${at(scaleY.of(tick))}" stroke="#dddddd"/><text x="${margin.left - 6}" y="${at(scaleY.of(tick) + 4)}" text-anchor="end">${short(tick)}</text>`,
    ),
    ...ticksX.map(
      (tick) =>
        `<text x="${at(scaleX.of(tick))}" y="${height - margin.bottom + 18}" text-anchor="middle">${short(tick)}</text>`,
    ),
    `<text x="${(margin.left + width - margin.right) / 2}" y="${height - 8}" text-anchor="middle">${escape(plot.xLabel)}</text>`,
    `<text transform="translate(16 ${(margin.top + height - margin.bottom) / 2}) rotate(-90)" text-anchor="middle">${escape(plot.yLabel)}</text>`,
    ...plot.curves.flatMap((curve, index) => {
      const [stroke, dashes] = strokes[index % strokes.length] ?? strokes[0];
      const points = curve.x
        .map((x, place) => `${at(scaleX.of(x))},${at(scaleY.of(curve.y[place] ?? 0))}`)
        .join(' ');
      const y = margin.top + 14 + index * 20;
      return [
        `<polyline points="${points}" fill="none" stroke="${stroke}" stroke-width="1.6" stroke-dasharray="${dashes}"/>`,
        `<line x1="${width - margin.right + 10}" x2="${width - margin.right + 34}" y1="${y - 4}" y2="${y - 4}" stroke="${stroke}" stroke-width="2" stroke-dasharray="${dashes}"/>`,
        `<text x="${width - margin.right + 40}" y="${y}">${escape(curve.name)}</text>`,
      ];
    }),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function scaleOf(values: readonly number[], isLog: boolean, from: number, to: number) {
  const usable = values.filter((value) => Number.isFinite(value) && (!isLog || value > 0));
  const [low, high] = usable.reduce(
    ([least, largest], value) => [Math.min(least, value), Math.max(largest, value)],
    [Infinity, -Infinity],
  );
  const warp = (value: number): number => (isLog ? Math.log10(Math.max(value, low)) : value);
  const span = warp(high) - warp(low) || 1;
  return {
    of: (value: number): number => from + ((warp(value) - warp(low)) / span) * (to - from),
    ticks: isLog ? powersBetween(low, high) : stepsBetween(low, high),
  };
}

function powersBetween(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => 10 ** (first + index));
}

function stepsBetween(low: number, high: number): number[] {
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) ticks.push(tick);
  return ticks;
}

const at = (value: number): string => value.toFixed(1);

function short(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
