import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { SessionRow } from '@lemniscate/shared/api/session-row.ts';
import { ask, given } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { followStream } from '../api/event-stream.ts';
import type { StreamState } from '../api/event-stream.ts';
import { mergeRows } from './row-list.ts';
import type { ListFilter } from './row-list.ts';

/** Rows of one page: some screens, so that scrolling rarely waits. */
const pageRows = 200;
const facetsEveryMs = 3_000;

function paramsOf(filter: ListFilter): Record<keyof ListFilter, string> {
  return { ...filter, states: filter.states.join(',') };
}

/** The sessions that match, newest first, page by page and live. */
export function useRows(filter: ListFilter) {
  const queries = useQueryClient();
  const [live, setLive] = useState<ReadonlyMap<string, SessionRow>>(new Map());
  const [stream, setStream] = useState<StreamState>('connecting');
  const pages = useInfiniteQuery({
    queryKey: ['rows', filter],
    staleTime: 10_000,
    placeholderData: keepPreviousData,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      ask(
        api.GET('/v1/session-rows', {
          params: { query: { ...given({ ...paramsOf(filter), cursor: pageParam }), limit: pageRows } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.nextCursor,
  });

  useEffect(() => {
    let facetsDue: ReturnType<typeof setTimeout> | undefined;
    const stop = followStream({
      address: () => '/v1/session-rows/events',
      event: 'rows',
      onState: setStream,
      onMessage: (data) => {
        const { rows } = data as { rows: readonly SessionRow[] };
        setLive((before) => new Map([...before, ...rows.map((row) => [row.id, row] as const)]));
        facetsDue ??= setTimeout(() => {
          facetsDue = undefined;
          void queries.invalidateQueries({ queryKey: ['facets'] });
        }, facetsEveryMs);
      },
    });
    return () => {
      clearTimeout(facetsDue);
      stop();
    };
  }, [queries]);

  const read = useMemo(() => pages.data?.pages.flatMap((page) => page.rows) ?? [], [pages.data]);
  const rows = useMemo(
    () => mergeRows(read, live, filter, pages.hasNextPage),
    [read, live, filter, pages.hasNextPage],
  );
  return { ...pages, rows, stream };
}

/** How many sessions there are of each state, project and person. */
export function useFacets(filter: ListFilter) {
  return useQuery({
    queryKey: ['facets', filter],
    placeholderData: keepPreviousData,
    queryFn: () => ask(api.GET('/v1/session-facets', { params: { query: given(paramsOf(filter)) } })),
  });
}
