import type { NoticePlace } from '@lemniscate/shared/api/notify.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';

/** One message as it leaves. `body` is the JSON of the payload, the same bytes at every try. */
export interface OutgoingNotice {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, JsonValue>>;
  readonly body: string;
}

/** What the receiver said. */
export type NoticeOutcome =
  | {
      readonly ok: true;
      readonly status: number | null;
      /** The comment that it has become there, as the system's own webhooks name it. */
      readonly posted?: { readonly key: string; readonly url: string | null };
    }
  | {
      readonly ok: false;
      readonly status: number | null;
      /** A sentence for people, without secrets. */
      readonly fault: string;
      /** The receiver wants nothing any more. */
      readonly gone?: boolean;
      /** The receiver says when to come again. Seconds. */
      readonly retryAfterSeconds?: number;
    };

/**
 * A kind of place where something is told. One file each in `adapters/notify/`, one line in the registry, one run of the
 * contract.
 */
export interface Notifier {
  readonly kind: NoticePlace['kind'];
  /**
   * Sends one message; resolves with what became of it and rejects for nothing that the receiver does.
   * @param secret what the place's owner has set; empty where the kind needs none
   * @param at when it leaves: what is signed
   */
  send(
    notice: OutgoingNotice,
    place: NoticePlace,
    secret: string,
    at: Date,
    signal: AbortSignal,
  ): Promise<NoticeOutcome>;
  close(): Promise<void>;
}

export type Notifiers = Readonly<Record<NoticePlace['kind'], Notifier>>;
