import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { App } from './app.ts';
import type { RequestMeasures } from './measure-requests.ts';
import { traceRequests } from './trace-requests.ts';

export interface WatchDeps {
  readonly tracer: Tracer | null;
  readonly measures: RequestMeasures;
}

/** What is seen of every request of a listener. */
export function measureAndTrace(app: App, deps: WatchDeps, listener: 'public' | 'internal'): void {
  traceRequests(app, deps.tracer, listener);
  deps.measures.measure(app, listener);
}
