/** What a joining server is given a certificate for. */
export interface CertificateRequest {
  readonly serverId: string;
  /** PEM of an EC P-256 public key. */
  readonly publicKeyPem: string;
  readonly validForMs: number;
}

/**
 * Signs a certificate that names an agent server, with the fleet's authority.
 * @returns PEM
 * @throws CodedError `request_invalid` for a key that cannot be read
 */
export type IssueCertificate = (request: CertificateRequest) => Promise<string>;
