import { useId, useState } from 'react';
import type { ReactNode } from 'react';

/** One bar: its name and its parts from the bottom up. */
export interface Bar {
  readonly name: string;
  readonly parts: readonly { readonly group: string; readonly value: number }[];
}

const height = 220;
const axis = 22;
const left = 56;

/** A round number at or above the largest bar, so that the scale reads well. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

/** Stacked bars over time. The same numbers stand in a table for whoever does not see them. */
export function BarChart({
  title,
  bars,
  groups,
  show,
  nameOf = (group) => group,
  width = 960,
  colours,
}: {
  title: string;
  bars: readonly Bar[];
  /** In the order of their colours. */
  groups: readonly string[];
  show: (value: number) => string;
  nameOf?: (group: string) => string;
  /** In units of the drawing: about as many as there are pixels, so that its words keep their size. */
  width?: number;
  /** Number of each group's colour, where their order is not it. */
  colours?: readonly number[];
}): ReactNode {
  const [at, setAt] = useState<number | null>(null);
  const id = useId();
  const colourOf = (group: string): number => colours?.[groups.indexOf(group)] ?? groups.indexOf(group);
  const top = niceTop(Math.max(...bars.map((bar) => sum(bar)), 0));
  const step = (width - left) / Math.max(1, bars.length);
  const y = (value: number): number => height - (value / top) * (height - 12);
  const shownBar = at === null ? undefined : bars[at];
  // Of small numbers some quarters read the same: each reading stands once.
  const ticks = [0, 0.25, 0.5, 0.75, 1].filter(
    (share, index, all) => all.findIndex((other) => show(top * other) === show(top * share)) === index,
  );
  const labelEvery = Math.ceil(bars.length / (width / 96));
  return (
    <figure aria-labelledby={id} className="chart">
      <figcaption id={id} className="visually-hidden">
        {title}
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height + axis}`}
        width="100%"
        aria-hidden="true"
        onMouseLeave={() => setAt(null)}
      >
        {ticks.map((share) => (
          <g key={share}>
            <line className="grid-line" x1={left} x2={width} y1={y(top * share)} y2={y(top * share)} />
            <text className="axis" x={left - 8} y={y(top * share) + 4} textAnchor="end">
              {show(top * share)}
            </text>
          </g>
        ))}
        {bars.map((bar, index) => {
          let base = 0;
          return (
            <g
              key={bar.name}
              onMouseEnter={() => setAt(index)}
              opacity={at === null || at === index ? 1 : 0.45}
            >
              <rect x={left + index * step} y={0} width={step} height={height} fill="transparent" />
              {bar.parts.map((part) => {
                const from = base;
                base += part.value;
                return (
                  <rect
                    key={part.group}
                    className={`series-${colourOf(part.group)}`}
                    x={left + index * step + step * 0.14}
                    width={step * 0.72}
                    y={y(base)}
                    height={Math.max(0, y(from) - y(base))}
                    rx={Math.min(2, step * 0.1)}
                  />
                );
              })}
              {index % labelEvery === 0 ? (
                <text
                  className="axis"
                  x={Math.min(width, left + (index + 0.5) * step)}
                  y={height + 16}
                  // a name at the edge stays inside
                  textAnchor={left + (index + 0.5) * step > width - 48 ? 'end' : 'middle'}
                >
                  {bar.name.slice(5)}
                </text>
              ) : null}
            </g>
          );
        })}
      </svg>
      <div className="chart-legend num">
        {groups.map((group) => (
          <span key={group} className="row" style={{ gap: 6 }}>
            <i className={`swatch series-${colourOf(group)}`} aria-hidden="true" />
            {nameOf(group)}
            {shownBar === undefined ? null : (
              <span className="muted">
                {show(shownBar.parts.find((part) => part.group === group)?.value ?? 0)}
              </span>
            )}
          </span>
        ))}
        <span className="muted" style={{ marginLeft: 'auto' }}>
          {shownBar === undefined ? ' ' : `${shownBar.name}: ${show(sum(shownBar))}`}
        </span>
      </div>
      <div className="visually-hidden">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th>Day</th>
              {groups.map((group) => (
                <th key={group}>{nameOf(group)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.name}>
                <th>{bar.name}</th>
                {groups.map((group) => (
                  <td key={group}>{show(bar.parts.find((part) => part.group === group)?.value ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function sum(bar: Bar): number {
  return bar.parts.reduce((total, part) => total + part.value, 0);
}
