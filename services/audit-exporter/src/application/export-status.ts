/** Any number of exporters may run: one leads, the others stand by. */
export type Role = 'leading' | 'standby' | 'disconnected';

export interface SinkStatus {
  readonly name: string;
  /** Entries that have an index and are not proved to be there. */
  readonly behind: number;
  /** Age of the oldest of them. */
  readonly lagSeconds: number;
  /** How often something was set aside because it refuses it for good. */
  readonly setAside: number;
  readonly failure: string | null;
}

export interface ExportStatus {
  readonly role: Role;
  /** Entries that have no index yet. */
  readonly pending: number;
  /** Entries that have one. */
  readonly size: number;
  /** What the last attempt to seal the log failed with; null while it works and while another exporter leads. */
  readonly sealFailure: string | null;
  /** Empty while another exporter leads. */
  readonly sinks: readonly SinkStatus[];
}
