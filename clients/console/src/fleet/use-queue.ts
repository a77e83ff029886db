import { useQuery } from '@tanstack/react-query';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';

const lookEveryMs = 3_000;

/** What waits for a server now. */
export function useQueue() {
  return useQuery({
    queryKey: ['fleet', 'queue'],
    refetchInterval: lookEveryMs,
    queryFn: () => ask(api.GET('/v1/fleet/queue')),
  });
}
