/** Who calls the public API. `kind` is `human` only for an interactive login of a person. */
export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly kind: 'human' | 'automation';
}

/** The agent server behind a mutual TLS connection, as its certificate names it. */
export interface ServerPeer {
  readonly serverId: string;
}

/** Checks a bearer token. */
export interface Authenticator {
  /** @throws CodedError `unauthenticated` */
  authenticate(token: string | null): Promise<Person>;
}
