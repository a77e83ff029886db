import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { CertificateAuthority, CertificateFiles } from './certificate-authority.ts';

const answerWithinMs = 2_000;

/** Asks a service's `/readyz` over HTTP; no answer counts as no. */
export function readyOverHttp(port: number): () => Promise<boolean> {
  return () => ask((done) => requestHttp(`http://127.0.0.1:${port}/readyz`, done));
}

/** The same over mutual TLS. */
export function readyOverTls(
  port: number,
  authority: CertificateAuthority,
  own: CertificateFiles,
): () => Promise<boolean> {
  const tls = {
    ca: readFileSync(authority.certificate),
    cert: readFileSync(own.certificate),
    key: readFileSync(own.key),
    agent: false,
  };
  return () => ask((done) => requestHttps(`https://127.0.0.1:${port}/readyz`, tls, done));
}

type Answer = Parameters<NonNullable<Parameters<typeof requestHttp>[2]>>[0];

function ask(send: (done: (answer: Answer) => void) => ReturnType<typeof requestHttp>): Promise<boolean> {
  return new Promise<boolean>((settle) => {
    const request = send((answer) => {
      answer.resume();
      settle(answer.statusCode === 200);
    });
    request.setTimeout(answerWithinMs, () => request.destroy());
    // refused, reset, late: not ready yet; the deadline of the start bounds how often we ask
    request.once('error', () => settle(false));
    request.end();
    // A pair that does not fit throws at once; the service that was given it says so better.
  }).catch(() => false);
}
