import type { Tracer } from '@lemniscate/shared/telemetry/tracer.ts';
import type { BeginTerm, Term } from '../application/ports/term.ts';
import type { Sink } from '../application/ports/sink.ts';
import type { ExportStatus, SinkStatus } from '../application/export-status.ts';
import { createShippedTrace } from '../application/trace-shipped.ts';
import type { Log } from '../log.ts';
import { startOrderEntries } from './order-entries.ts';
import type { SealDeps } from '../application/seal-log.ts';
import type { Job } from './loop.ts';
import { startSeal } from './seal.ts';
import { startTellSettings } from './tell-settings.ts';
import { startShip } from './ship.ts';
import type { ShipJob } from './ship.ts';
import { startTerms } from './terms.ts';

export interface Export {
  /** @throws where the record does not answer */
  status(): Promise<ExportStatus>;
  /** Orders and ships what is there, then lets go of everything. */
  stop(): Promise<void>;
}

export interface ExportDeps {
  readonly begin: BeginTerm;
  readonly sinks: readonly Sink[];
  /** Null where no key is configured: the log is chained and not sealed. */
  readonly seal: Pick<SealDeps, 'signer' | 'everyMs'> | null;
  /** The exporter's name in the entries that it writes. */
  readonly subject: string;
  /** What it is set to, as text; told in the log where it changes. */
  readonly settings: ReadonlyMap<string, string>;
  readonly log: Log;
  readonly now: () => Date;
  readonly tracer?: Tracer | null;
}

/** Orders the log and ships it to every sink whenever this exporter leads. */
export function startExport(deps: ExportDeps): Export {
  const { begin, sinks, seal, subject, settings, log, now, tracer = null } = deps;
  let wakeOrder = (): void => undefined;
  let ships: readonly ShipJob[] = [];
  let seals: Job | null = null;

  const work = async (term: Term, until: Promise<void>): Promise<void> => {
    const traced = tracer === null ? null : { onShipped: createShippedTrace(tracer, term.store), now };
    ships = sinks.map((sink) => startShip(term, sink, log, traced));
    const wakeShips = (): void => ships.forEach((ship) => ship.wake());
    const configured = startTellSettings(term.settings, { subject, settings }, log);
    const order = startOrderEntries(term.store, log, wakeShips);
    const sealing =
      seal === null ? null : startSeal({ ...seal, subject, store: term.seals, now }, log, wakeShips);
    seals = sealing;
    wakeOrder = order.wake;
    await until;
    await configured.stop();
    // ordering first, so that what has committed by now is shipped too
    await order.stop();
    await sealing?.stop();
    await Promise.all(ships.map((ship) => ship.stop()));
    ships = [];
    seals = null;
  };
  const terms = startTerms({ begin, log, work, notified: () => wakeOrder() });

  const status = async (): Promise<ExportStatus> => {
    const [role, term, shipping] = [terms.role(), terms.term(), ships];
    if (term === null) return { role, pending: 0, size: 0, sealFailure: null, sinks: [] };
    const { pending, size, at } = await term.store.backlog(shipping.map((ship) => ship.next() ?? 0));
    const setAside = await term.store.setAside();
    const status = shipping.map((ship, place): SinkStatus => {
      const oldest = at[place] ?? null;
      return {
        name: ship.sink,
        behind: Math.max(0, size - (ship.next() ?? 0)),
        lagSeconds: oldest === null ? 0 : Math.max(0, (now().getTime() - Date.parse(oldest)) / 1_000),
        setAside: setAside.get(ship.sink) ?? 0,
        failure: ship.failure(),
      };
    });
    return { role, pending, size, sealFailure: seals?.failure() ?? null, sinks: status };
  };
  return { status, stop: terms.stop };
}
