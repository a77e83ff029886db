import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { Refusal } from '@lemniscate/shared/api/delivery.ts';
import type { WebhookSourceName } from '@lemniscate/shared/api/trigger.ts';
import type { RepositorySource } from '@lemniscate/shared/repository/source.ts';

/** A request of another system as it came: the bytes that were signed, and the headers by lower-case name. */
export interface RawDelivery {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** What the signature says. */
export type Verified =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: Extract<Refusal, 'signature_refused' | 'stale'>;
      readonly message: string;
    };

/** A thing of the other system, in the shape that objects have here. */
export interface SeenObject {
  /** Its name there for good, such as `owner/repository#12`. */
  readonly key: string;
  readonly type: string;
  readonly title: string;
  readonly body: string;
  readonly status: string;
  readonly labels: readonly string[];
  readonly url: string | null;
  /** Whose it is; null: whoever acts. */
  readonly author: string | null;
  readonly repository: RepositorySource | null;
}

export interface SeenComment {
  readonly key: string;
  readonly body: string;
  readonly url: string | null;
  /** Whether it speaks to the fleet as such, whomever its words name. */
  readonly addressed: boolean;
  /** Comments that are answers of each other have the same thread; null: the system has none. */
  readonly thread: string | null;
}

/** What has happened there. */
export interface Happening {
  /** Becomes the event's type: `github.label.added`. */
  readonly type: string;
  readonly cause: 'event' | 'label' | 'pipeline';
  /** Who did it, as account links name it. */
  readonly account: string;
  readonly object: SeenObject | null;
  readonly comment: SeenComment | null;
  /** Whether the object's own text is new and may mention an agent. */
  readonly opened: boolean;
  /** What filters can ask about. */
  readonly data: Readonly<Record<string, JsonValue>>;
}

/** What a delivery is when its signature fits. */
export type ReadDelivery =
  /** The sender wants this answer and nothing more. */
  | { readonly kind: 'challenge'; readonly answer: Readonly<Record<string, string>> }
  /** Nothing that concerns anybody here. */
  | { readonly kind: 'ignored'; readonly why: string }
  | { readonly kind: 'happened'; readonly happenings: readonly Happening[] };

/**
 * A system whose webhooks are taken. One file each, one line in the registry, one run of the contract; see
 * docs/adding-a-webhook-source.md.
 */
export interface WebhookSource {
  readonly name: WebhookSourceName;
  /**
   * Whether the bytes are the system's own, compared in constant time, and not older than the system's own window where it
   * signs a time.
   */
  verify(delivery: RawDelivery, secret: string, now: Date): Verified;
  /** The sender's id of this delivery; null: it has none, and only the bytes tell a repeat. */
  deliveryId(delivery: RawDelivery, body: JsonValue): string | null;
  /** Reads what has happened. Believes nothing: a member that is not as documented makes it `ignored`. */
  read(delivery: RawDelivery, body: JsonValue): ReadDelivery;
}
