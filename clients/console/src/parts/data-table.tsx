import type { ReactNode } from 'react';

export interface Column {
  readonly title: string;
  /** The title is for screen readers alone. */
  readonly hidden?: boolean;
  readonly right?: boolean;
  /** Takes what room there is, and is cut where that is too little. */
  readonly wide?: boolean;
}

/** A column whose cells are buttons. */
export const actsColumn: Column = { title: 'Acts', hidden: true, right: true };

/** A table of few rows: heads, and one list of cells for each row. */
export function DataTable({
  columns,
  rows,
}: {
  columns: readonly Column[];
  rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[];
}): ReactNode {
  return (
    <table className="table">
      <thead>
        <tr>
          {columns.map(({ title, hidden, right }) => (
            <th key={title} className={right === true ? 'right' : undefined}>
              {hidden === true ? <span className="visually-hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {columns.map(({ title, right, wide }, index) => (
              <td
                key={title}
                className={`${right === true ? 'right ' : ''}${wide === true ? 'truncate' : ''}`}
                style={wide === true ? { maxWidth: 0, width: '100%' } : { whiteSpace: 'nowrap' }}
              >
                {cells[index]}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
