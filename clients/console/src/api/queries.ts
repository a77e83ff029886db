import { QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Role } from '@lemniscate/shared/identity/roles.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api, isApiError } from './client.ts';
import { mayBeLoggedIn, rememberLogin } from './login-hint.ts';
import { toastError } from '../parts/toasts.tsx';

/** What the API said stays fresh for a moment; streams and acts say when it is not. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        refetchOnWindowFocus: true,
        retry: (failures, error) => failures < 3 && isApiError(error) && error.problem.status === 0,
        retryDelay: (failures) => 500 * 2 ** failures,
      },
    },
  });
}

/** Who is logged in; null: nobody. */
export function useMe() {
  return useQuery({
    queryKey: ['me'],
    staleTime: 60_000,
    queryFn: async () => {
      if (!mayBeLoggedIn()) return null;
      try {
        return await ask(api.GET('/v1/me'));
      } catch (error) {
        if (!isApiError(error) || error.problem.status !== 401) throw error;
        rememberLogin(false);
        return null;
      }
    },
  });
}

/** Whether the person has one of the roles. What they may not do is refused by the API, whatever is shown here. */
export function useHasRole(...roles: readonly Role[]): boolean {
  const me = useMe().data;
  return roles.some((role) => me?.roles.includes(role) === true);
}

export function useSession(id: string) {
  return useQuery({
    queryKey: ['session', id],
    queryFn: () => ask(api.GET('/v1/sessions/{id}', { params: { path: { id } } })),
  });
}

export function useApprovals() {
  return useQuery({
    queryKey: ['approvals'],
    queryFn: () => ask(api.GET('/v1/approvals')).then(({ approvals }) => approvals),
  });
}

export function useExtensions(sessionId: string) {
  return useQuery({
    queryKey: ['extensions', sessionId],
    queryFn: () =>
      ask(api.GET('/v1/sessions/{id}/extensions', { params: { path: { id: sessionId } } })).then(
        ({ extensions }) => extensions,
      ),
  });
}

export function useProjects() {
  return useQuery({
    queryKey: ['projects'],
    staleTime: 30_000,
    queryFn: () => ask(api.GET('/v1/projects')).then(({ projects }) => projects),
  });
}

/** The agents that the person may see. */
export function useAgents() {
  return useQuery({
    queryKey: ['agents'],
    staleTime: 10_000,
    queryFn: () => ask(api.GET('/v1/agents')).then(({ agents }) => agents),
  });
}

/** An act of the person: what it changes is read anew, and a failure is told. */
export function useAct<Input = void, Answer = unknown>(
  act: (input: Input) => Promise<Answer>,
  changes: readonly (readonly unknown[])[] = [],
  done?: (answer: Answer, input: Input) => void,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (answer, input) => done?.(answer, input),
    onError: toastError,
    onSettled: () => Promise.all(changes.map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
}
