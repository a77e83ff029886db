import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { openCertificateAuthority } from '../certificate-authority.ts';
import type { Fleet } from '../fleet.ts';

export interface Scraped {
  readonly status: number;
  readonly body: string;
}

/** Who a scraper is to a fleet's services: an operator's token for the dispatcher, a certificate for agent servers. */
export interface FleetScraper {
  dispatcher(accept?: string): Promise<Scraped>;
  agentServer(path?: string): Promise<Scraped>;
  exporter(): Promise<Scraped>;
}

/** @param fleet an embedded fleet that runs */
export async function scrapeFleet(fleet: Fleet): Promise<FleetScraper> {
  const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
  const ports = JSON.parse(readFileSync(fleet.data.path('ports.json'), 'utf8')) as Record<string, number>;
  const authority = await openCertificateAuthority(fleet.data.folder('certificates'));
  const monitor = await authority.certificateFor('monitor', 'prometheus');
  const plain = async (url: string, headers: Record<string, string>): Promise<Scraped> => {
    const answer = await fetch(url, { headers });
    return { status: answer.status, body: await answer.text() };
  };
  return {
    dispatcher: (accept = '*/*') =>
      plain(`${fleet.apiUrl}/metrics`, { authorization: `Bearer ${token}`, accept }),
    agentServer: async (path = '/metrics') => {
      const asking = request({
        host: '127.0.0.1',
        port: ports['agent-server-1'],
        path,
        ca: readFileSync(authority.certificate),
        cert: readFileSync(monitor.certificate),
        key: readFileSync(monitor.key),
        agent: false,
        checkServerIdentity: () => undefined,
      }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      return { status: answer.statusCode ?? 0, body: await text(answer) };
    },
    exporter: () => plain(`http://127.0.0.1:${ports['audit-exporter']}/metrics`, {}),
  };
}
