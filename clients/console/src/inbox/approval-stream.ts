import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import { followStream } from '../api/event-stream.ts';

/** Keeps the list of what waits for a person as it is now. */
export function useApprovalStream(): void {
  const queries = useQueryClient();
  useEffect(
    () =>
      followStream({
        address: () => '/v1/approvals/events',
        event: 'approvals',
        onState: () => undefined,
        onMessage: (data) => {
          queries.setQueryData(['approvals'], (data as { approvals: ApprovalView[] }).approvals);
        },
      }),
    [queries],
  );
}
