import { randomBytes } from 'node:crypto';

/** Prefixes tell a reader what an id names. */
export const idPrefixes = {
  session: 's',
  approval: 'apr',
  sandbox: 'sbx',
  usage: 'use',
  agentServer: 'srv',
  upload: 'upl',
  carry: 'car',
  request: 'req',
  serviceToken: 'tok',
  hold: 'hold',
  resend: 'rsd',
  object: 'obj',
  comment: 'cmt',
  delivery: 'dlv',
  inboxItem: 'inb',
  trigger: 'trg',
  hook: 'hook',
  environment: 'env',
  notifyTarget: 'tgt',
} as const;
export type IdKind = keyof typeof idPrefixes;

/** Makes ids; injected so that tests can count them. */
export type NewId = (kind: IdKind) => string;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Ids that sort by birth: a prefix, ten digits of milliseconds and sixteen random ones, Crockford base 32 in
 * lower case. They hold no `:` and are never all digits, which BullMQ would refuse as job ids.
 */
export function createNewId(
  now: () => number = Date.now,
  random: (size: number) => Uint8Array = randomBytes,
): NewId {
  return (kind) => {
    let time = now();
    let head = '';
    for (let index = 0; index < 10; index += 1) {
      head = alphabet.charAt(time % 32) + head;
      time = Math.floor(time / 32);
    }
    const tail = Array.from(random(16), (byte) => alphabet.charAt(byte % 32)).join('');
    return `${idPrefixes[kind]}_${head}${tail}`;
  };
}

/** What an id of the kind looks like, for schemas. */
export function idPattern(kind: IdKind): RegExp {
  return new RegExp(`^${idPrefixes[kind]}_[0-9a-hjkmnp-tv-z]{26}$`);
}
