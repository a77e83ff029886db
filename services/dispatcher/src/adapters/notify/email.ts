import { createTransport } from 'nodemailer';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import type { NoticeOutcome, Notifier } from '../../application/ports/notifier.ts';
import { noticeText } from './notice-text.ts';

/** The fleet's one mail server, as its operator names it. */
export interface MailServer {
  /** `smtp:` or `smtps:`, with the login, host and port. */
  readonly url: Secret;
  readonly from: string;
}

const timeoutMs = 10_000;

/**
 * Tells people by e-mail. The message's id is its Message-ID, so that a second delivery is the same mail.
 * @param server null: the fleet sends no mail, and says so for each message
 */
export function createEmailNotifier(server: MailServer | null): Notifier {
  const url = server === null ? null : new URL(server.url.reveal());
  const local = url !== null && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  const transport =
    url === null
      ? null
      : createTransport({
          host: url.hostname.replace(/^\[|\]$/g, ''),
          port: Number(url.port) || (url.protocol === 'smtps:' ? 465 : 587),
          secure: url.protocol === 'smtps:',
          // A mail that leaves the machine never goes in the clear.
          requireTLS: !local && url.protocol === 'smtp:',
          ignoreTLS: local && url.protocol === 'smtp:',
          ...(url.username === ''
            ? {}
            : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
          connectionTimeout: timeoutMs,
          greetingTimeout: timeoutMs,
          socketTimeout: timeoutMs,
          disableFileAccess: true,
          disableUrlAccess: true,
        });
  return {
    kind: 'email',
    send: async (notice, place): Promise<NoticeOutcome> => {
      if (place.kind !== 'email') return { ok: false, status: null, fault: 'This is no e-mail.' };
      if (transport === null || server === null)
        return {
          ok: false,
          status: null,
          fault: 'This fleet sends no mail. Its operator sets LEMNISCATE_SMTP_URL and LEMNISCATE_SMTP_FROM.',
        };
      try {
        const sent = await transport.sendMail({
          from: server.from,
          // Nobody sees who else is told.
          bcc: [...place.addresses],
          messageId: `<${notice.id}@lemniscate>`,
          ...noticeText(notice),
        });
        const refused = sent.rejected.length;
        if (refused === 0) return { ok: true, status: codeOf(sent.response) };
        return { ok: false, status: codeOf(sent.response), fault: `${refused} addresses were refused.` };
      } catch (error) {
        const code = (error as { responseCode?: unknown }).responseCode;
        const why = (error as { code?: unknown }).code;
        return {
          ok: false,
          status: typeof code === 'number' ? code : null,
          fault: `The mail server did not take it (${typeof why === 'string' ? why : 'no answer'}).`,
        };
      }
    },
    close: async () => transport?.close(),
  };
}

const codeOf = (response: string): number | null => Number(/^\d{3}/.exec(response)?.[0]) || null;
