import type { DirectoryPerson } from '../access/logins.ts';
import type { TokenAudience } from '../identity.ts';

/** What a browser login is checked against when the issuer sends the browser back. */
export interface BrowserFlow {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

/** What a person sees who logs in with a code on another device. */
export interface DeviceFlow {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string | null;
  readonly intervalSeconds: number;
  readonly expiresInSeconds: number;
}

/**
 * The organisation's OpenID Connect issuer.
 * Every method throws CodedError `service_unreachable` when it does not answer.
 */
export interface Issuer {
  /** Where to send the browser, and what to keep until it comes back. */
  beginBrowser(redirectUri: string): Promise<{ readonly url: string; readonly flow: BrowserFlow }>;
  /** @throws CodedError `login_failed` for an answer that does not fit the flow */
  finishBrowser(flow: BrowserFlow, callback: URL): Promise<DirectoryPerson>;
  /** @throws CodedError `login_failed` where the issuer has no device login */
  beginDevice(): Promise<DeviceFlow>;
  /** @throws CodedError `login_pending`; `login_failed` when refused or expired */
  finishDevice(deviceCode: string): Promise<DirectoryPerson>;
  /**
   * Checks a token that the issuer made for this API, or for the MCP endpoint, which takes both.
   * @throws CodedError `unauthenticated`
   */
  verifyAccessToken(token: string, audience: TokenAudience): Promise<DirectoryPerson>;
}

/** Asks a directory for the groups of somebody whom the issuer has vouched for. */
export type LookUpGroups = (person: DirectoryPerson) => Promise<readonly string[]>;
