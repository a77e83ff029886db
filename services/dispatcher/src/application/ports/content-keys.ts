/** The fleet's master key for retained content. It wraps keys and never sees content. */
export interface ContentKeys {
  /** Names the master key, as `file:ID` or `kms:ARN`: which one is needed to open what it wrapped. */
  readonly name: string;
  wrap(key: Uint8Array): Promise<Uint8Array>;
  /** @throws CodedError `storage_failed` where the master key does not open it */
  unwrap(wrapped: Uint8Array, by: string): Promise<Uint8Array>;
}
