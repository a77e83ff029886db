/** What a session asks of its server, beside a free slot. */
export interface Requirements {
  readonly pool: string;
  /** `native` is everywhere and asks for nothing. */
  readonly runtime: string;
  /** Node's name, such as `arm64`; absent: any. */
  readonly architecture?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  /** Of the sandbox; `default` is everywhere, as every server has one. */
  readonly profile?: string | undefined;
}

/** What a server offers. */
export interface Offer {
  readonly runtimes?: readonly string[] | undefined;
  readonly architecture?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly profiles?: readonly string[] | undefined;
}

/** A name of a pool, a label, an architecture. */
export const placementName = /^[a-z][a-z0-9_-]{0,31}$/;

/**
 * Sessions that the same servers can take have the same class, and every class has its own queue: one that waits for a
 * rare server stands in nobody's way. Form: `pool;token;token`, tokens sorted.
 */
export function placementClass(wanted: Requirements): string {
  const tokens = offerTokens({
    runtimes: wanted.runtime === 'native' ? [] : [wanted.runtime],
    architecture: wanted.architecture,
    labels: wanted.labels,
    profiles: wanted.profile === undefined ? [] : [wanted.profile],
  });
  return [wanted.pool, ...tokens].join(';');
}

/** The words in which classes and servers meet: a server fits a class if it has all of its tokens. */
export function offerTokens(offer: Offer): string[] {
  const tokens = [
    ...(offer.runtimes ?? []).map((name) => `runtime=${name}`),
    ...(offer.architecture === undefined ? [] : [`arch=${offer.architecture}`]),
    ...(offer.labels ?? []).map((name) => `label=${name}`),
    // a policy may write any name; one with a `;` must not read as two tokens
    ...(offer.profiles ?? [])
      .filter((name) => name !== 'default')
      .map((name) => `profile=${encodeURIComponent(name)}`),
  ];
  return [...new Set(tokens)].sort();
}

/** The pool of a class. */
export function poolOfClass(name: string): string {
  return name.split(';', 1)[0] ?? name;
}
