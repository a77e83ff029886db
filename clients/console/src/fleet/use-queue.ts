import { useQuery } from '@tanstack/react-query';
import type { QueueReport } from '@lemniscate/shared/api/fleet-health.ts';
import { api } from '../api/client.ts';

const lookEveryMs = 3_000;

/** What waits for a server now. */
export function useQueue() {
  return useQuery({
    queryKey: ['fleet', 'queue'],
    refetchInterval: lookEveryMs,
    queryFn: () => api<QueueReport>('/v1/fleet/queue'),
  });
}
