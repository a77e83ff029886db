import type { SessionRow } from '@lemniscate/shared/api/session-row.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';

/** Which sessions the list shows. */
export interface ListFilter {
  readonly search: string;
  readonly states: readonly SessionState[];
  readonly project: string;
  readonly openedBy: string;
}

export const noFilter: ListFilter = { search: '', states: [], project: '', openedBy: '' };

/** Whether a row that came live belongs into the list, by the same rules as the API's. */
export function matches(row: SessionRow, filter: ListFilter): boolean {
  const search = filter.search.toLowerCase();
  return (
    (search === '' || row.instruction.toLowerCase().includes(search) || row.id.startsWith(search)) &&
    (filter.states.length === 0 || filter.states.includes(row.state)) &&
    (filter.project === '' || row.project === filter.project) &&
    (filter.openedBy === '' || row.openedBy === filter.openedBy)
  );
}

/**
 * The rows that were read with those that came live since: newer states of the same sessions, and sessions that were
 * born meanwhile. Ids sort by birth. What is older than the last row read belongs to a page that is not read yet.
 */
export function mergeRows(
  read: readonly SessionRow[],
  live: ReadonlyMap<string, SessionRow>,
  filter: ListFilter,
  hasMore: boolean,
): SessionRow[] {
  if (live.size === 0) return [...read];
  const known = new Set(read.map(({ id }) => id));
  const oldest = read.at(-1)?.id ?? '';
  const born = [...live.values()].filter(({ id }) => !known.has(id) && (!hasMore || id > oldest));
  return [...born, ...read.map((row) => live.get(row.id) ?? row)]
    .filter((row) => matches(row, filter))
    .sort((left, right) => (left.id < right.id ? 1 : -1));
}
