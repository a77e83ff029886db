/** As much of a browser as logging in takes: cookies by host, redirects, and the first form of a page. */
export interface TestBrowser {
  readonly cookies: Map<string, string>;
  /** Follows redirects; stops where `until` fits an address, without asking it. */
  open(address: string, until?: (address: URL) => boolean): Promise<Page>;
  submit(
    page: Page,
    fields: Readonly<Record<string, string>>,
    until?: (address: URL) => boolean,
  ): Promise<Page>;
}

export interface Page {
  readonly address: URL;
  readonly status: number;
  readonly html: string;
}

export function createTestBrowser(): TestBrowser {
  const cookies = new Map<string, string>();
  const keep = (address: URL, answer: Response): void => {
    for (const line of answer.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const [name = '', value = ''] = pair.split('=');
      const key = `${address.host} ${name}`;
      const ended = attributes.some(
        (word) => /^max-age=0$/i.test(word) || /^expires=thu, 01 jan 1970/i.test(word),
      );
      if (ended) cookies.delete(key);
      else cookies.set(key, value);
    }
  };
  const send = async (first: string, init: RequestInit, until?: (address: URL) => boolean): Promise<Page> => {
    let address = new URL(first);
    let request = init;
    for (let hop = 0; hop < 20; hop += 1) {
      if (until?.(address) === true) return { address, status: 0, html: '' };
      const sent = [...cookies]
        .filter(([key]) => key.startsWith(`${address.host} `))
        .map(([key, value]) => `${key.split(' ')[1]}=${value}`);
      const answer = await fetch(address, {
        ...request,
        redirect: 'manual',
        headers: { ...(request.headers as Record<string, string>), cookie: sent.join('; ') },
      });
      keep(address, answer);
      const next = answer.headers.get('location');
      if (next === null) return { address, status: answer.status, html: await answer.text() };
      await answer.body?.cancel();
      address = new URL(next, address);
      request = {};
    }
    throw new Error(`${first} redirects without end`);
  };
  return {
    cookies,
    open: (address, until) => send(address, {}, until),
    submit: (page, fields, until) => {
      const action = /<form[^>]*action="([^"]+)"/.exec(page.html)?.[1] ?? page.address.href;
      const hidden = [...page.html.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value] as const,
      );
      const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields });
      return send(
        new URL(action, page.address).href,
        {
          method: 'POST',
          body: body.toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        },
        until,
      );
    },
  };
}
