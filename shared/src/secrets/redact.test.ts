import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { threadProcessorMs } from '../clock.ts';
import { createStreamRedactor } from './redact-stream.ts';
import { findSecrets, redactSecrets, redactValue } from './redact.ts';

// Samples are put together here from their parts, so that no scanner of repositories takes them for real.

/** Stands in the middle of what a scanner of repositories would take for a real key. */
const seam = '';

const letters = 'AbCdEfGhJkLmNpQrStUvWxYz23456789';
const pick = (alphabet: string, length: number, salt = 0): string =>
  Array.from({ length }, (_, at) => alphabet[(at * 7 + salt * 5 + 3) % alphabet.length]).join('');
const mixed = (length: number, salt = 0): string => pick(letters, length, salt);
const hex = (length: number): string => pick('0123456789abcdef', length);
const upper = (length: number): string => pick('ABCDEFGHJKLMNPQRSTUVWXYZ234567', length);
const lower = (length: number): string => pick('abcdefghjkmnpqrstuvwxyz23456789', length);
const uuid = `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`;
const digits = (length: number): string => pick('1234567890', length);

/** Kind to a text that holds one; the part that must be gone is between ⟦ and ⟧. */
const samples: Readonly<Record<string, string>> = {
  'AWS access key': `⟦AKIA${upper(16)}⟧`,
  'AWS session key': `id ⟦ASIA${upper(16)}⟧ used`,
  'AWS secret key': `AWS_SECRET_ACCESS_KEY=⟦${mixed(40)}⟧`,
  'Azure storage key': `AccountName=x;AccountKey=⟦${mixed(86)}==⟧;EndpointSuffix=y`,
  'Azure SAS': `https://x.blob.core.windows.net/c?sv=1&sig=⟦${mixed(43)}%3D⟧&se=2`,
  'Azure client secret': `secret: ⟦${mixed(3)}8Q~${mixed(34)}⟧`,
  'Google API key': `⟦AI${seam}za${mixed(35)}⟧`,
  'Google OAuth secret': `⟦GOC${seam}SPX-${mixed(28)}⟧`,
  'Google access token': `⟦ya29.${mixed(60)}⟧`,
  'GCP service account key': `"private_key": "⟦-----BEGIN PRIVATE KEY-----\\n${mixed(64)}\\n-----END PRIVATE KEY-----⟧"`,
  DigitalOcean: `⟦dop_v1_${hex(64)}⟧`,
  Alibaba: `⟦LTAI${mixed(20)}⟧`,
  Fly: `⟦fo1_${mixed(43)}⟧`,
  Heroku: `⟦HRKU-${mixed(40)}⟧`,
  Netlify: `⟦nfp_${mixed(36)}⟧`,
  PlanetScale: `⟦pscale_tkn_${mixed(43)}⟧`,
  Supabase: `⟦sbp_${hex(40)}⟧`,
  Vault: `X-Vault-Token: ⟦hvs.${mixed(90)}⟧`,
  Terraform: `⟦${mixed(14)}.atlasv1.${mixed(67)}⟧`,
  Pulumi: `⟦pul-${hex(40)}⟧`,
  Doppler: `⟦dp.st.${mixed(44)}⟧`,
  Tailscale: `⟦tskey-auth-${mixed(12)}-${mixed(32)}⟧`,
  'GitHub personal token': `⟦gh${seam}p_${mixed(36)}⟧`,
  'GitHub app token': `https://x-access-token:⟦gh${seam}s_${mixed(36)}⟧@github.com/a/b`,
  'GitHub fine-grained': `⟦github${seam}_pat_${mixed(22)}_${mixed(59)}⟧`,
  GitLab: `⟦gl${seam}pat-${mixed(20)}⟧`,
  'GitLab deploy token': `⟦gl${seam}dt-${mixed(20)}⟧`,
  Bitbucket: `⟦ATBB${mixed(24)}${pick('0123456789ABCDEF', 8)}⟧`,
  Atlassian: `⟦ATATT3${mixed(180)}⟧`,
  npm: `⟦npm_${mixed(36)}⟧`,
  'npm legacy auth': `//registry.npmjs.org/:_authToken=⟦${uuid}⟧`,
  PyPI: `⟦pypi-AgEIcHlwaS5vcmc${mixed(120)}⟧`,
  RubyGems: `⟦rubygems_${hex(48)}⟧`,
  NuGet: `⟦oy2${lower(43)}⟧`,
  'crates.io': `⟦cio${mixed(32)}⟧`,
  'Docker Hub': `⟦dckr_pat_${mixed(27)}⟧`,
  Sourcegraph: `⟦sgp_${hex(40)}⟧`,
  Postman: `⟦PMAK-${hex(24)}-${hex(34)}⟧`,
  Anthropic: `⟦sk-${seam}ant-api03-${mixed(93)}AA⟧`,
  'OpenAI project key': `⟦sk-${seam}proj-${mixed(120)}⟧`,
  'OpenAI old key': `⟦sk-${mixed(20)}T3Blbk${seam}FJ${mixed(20)}⟧`,
  'Hugging Face': `⟦hf_${pick('AbCdEfGhJkLmNpQrStUvWxYz', 34)}⟧`,
  Replicate: `⟦r8_${mixed(37)}⟧`,
  Groq: `⟦gsk_${mixed(52)}⟧`,
  xAI: `⟦xai-${mixed(80)}⟧`,
  Perplexity: `⟦pplx-${mixed(48)}⟧`,
  OpenRouter: `⟦sk-or-v1-${hex(64)}⟧`,
  Stripe: `⟦sk_${seam}live_${mixed(24)}⟧`,
  'Stripe restricted': `⟦rk_${seam}live_${mixed(24)}⟧`,
  'Stripe webhook': `⟦whsec_${mixed(32)}⟧`,
  Square: `⟦sq0atp-${mixed(22)}⟧`,
  Shopify: `⟦shp${seam}at_${hex(32)}⟧`,
  Braintree: `⟦access_token$production$${lower(16)}$${hex(32)}⟧`,
  EasyPost: `⟦EZAK${mixed(54)}⟧`,
  'Slack bot token': `⟦xox${seam}b-${digits(12)}-${digits(12)}-${mixed(24)}⟧`,
  'Slack app token': `⟦xapp-1-A0123456789-${digits(13)}-${hex(64)}⟧`,
  'Slack webhook': `https://hooks.slack${seam}.com/services/⟦T${upper(8)}/B${upper(8)}/${mixed(24)}⟧`,
  'Discord webhook': `https://discord.com/api/webhooks/${digits(18)}/⟦${mixed(68)}⟧`,
  'Discord bot': `⟦M${mixed(23)}.${mixed(6)}.${mixed(38)}⟧`,
  Telegram: `⟦${digits(10)}:AA${mixed(33)}⟧`,
  'Teams webhook': `https://x.webhook.office.com/webhookb2/⟦${uuid}@${uuid}/IncomingWebhook/${hex(32)}/${uuid}⟧`,
  SendGrid: `⟦SG.${mixed(22)}.${mixed(43)}⟧`,
  Mailgun: `⟦key-${hex(32)}⟧`,
  Mailchimp: `⟦${hex(32)}-us14⟧`,
  Twilio: `⟦SK${hex(32)}⟧`,
  Brevo: `⟦xkeysib-${hex(64)}-${mixed(16)}⟧`,
  Linear: `⟦lin_api_${mixed(40)}⟧`,
  Notion: `⟦ntn_${mixed(46)}⟧`,
  Airtable: `⟦pat${mixed(14)}.${hex(64)}⟧`,
  Figma: `⟦figd_${mixed(40)}⟧`,
  HubSpot: `⟦pat-na1-${uuid}⟧`,
  Contentful: `⟦CFPAT-${mixed(43)}⟧`,
  'New Relic': `⟦NRAK-${upper(27)}⟧`,
  Sentry: `⟦sntrys_${mixed(80)}⟧`,
  Grafana: `⟦glsa_${mixed(32)}_${hex(8)}⟧`,
  Dynatrace: `⟦dt0c01.${upper(24)}.${upper(64)}⟧`,
  Databricks: `⟦dapi${hex(32)}⟧`,
  '1Password': `⟦ops_eyJ${mixed(120)}⟧`,
  'PEM private key': `⟦-----BEGIN RSA PRIVATE KEY-----\n${mixed(64)}\n-----END RSA PRIVATE KEY-----⟧`,
  'OpenSSH private key': `⟦-----BEGIN OPENSSH PRIVATE KEY-----\n${mixed(70)}\n-----END OPENSSH PRIVATE KEY-----⟧`,
  'PGP private key': `⟦-----BEGIN PGP PRIVATE KEY BLOCK-----\n${mixed(64)}\n-----END PGP PRIVATE KEY BLOCK-----⟧`,
  'private key that is cut off': `⟦-----BEGIN EC PRIVATE KEY-----\n${mixed(64)}⟧`,
  age: `⟦AGE-SECRET-KEY-1${pick('02456789ACDEFGHJKLMNPQRSTUVWXYZ', 58)}⟧`,
  PuTTY: `⟦PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n${mixed(64)}\nPrivate-MAC: ${hex(64)}⟧`,
  JWT: `cookie ⟦eyJ${mixed(20)}.eyJ${mixed(60)}.${mixed(43)}⟧`,
  'bearer header': `curl -H "Authorization: Bearer ⟦${mixed(40)}⟧" https://x`,
  'basic header': `Authorization: Basic ⟦${mixed(24)}==⟧`,
  'password in a URL': `postgres://app:⟦${mixed(14)}⟧@db.internal:5432/x`,
  'password in a Redis URL': `redis://default:⟦hunter-two-77⟧@cache:6379`,
  'relay token': `⟦lmr_${mixed(43)}⟧`,
  'assigned password': `DB_PASSWORD="⟦${mixed(24)}⟧"`,
  'assigned token': `"api_key": "⟦${mixed(32)}⟧",`,
};

test('each of at least 60 kinds is found, wherever it stands in a line, and nothing around it is', () => {
  assert.ok(Object.keys(samples).length >= 60, `${Object.keys(samples).length} kinds`);
  const missed: string[] = [];
  for (const [kind, marked] of Object.entries(samples)) {
    const secret = /⟦([\s\S]*)⟧/.exec(marked)?.[1] ?? assert.fail(kind);
    const text = marked.replaceAll(/[⟦⟧]/g, '');
    for (const around of [text, `log: ${text} (done)`, JSON.stringify({ output: `${text}\n` })]) {
      const inJson = around.startsWith('{') ? JSON.stringify(secret).slice(1, -1) : secret;
      const redacted = redactSecrets(around);
      // nor its end: a rule that tells a wrong place would leave that
      if (redacted.includes(inJson.slice(-12)) || !redacted.includes('[secret:'))
        missed.push(`${kind}: ${redacted.slice(0, 80)}`);
      assert.ok(!around.startsWith('log: ') || redacted.startsWith('log: '), kind);
    }
  }
  assert.deepEqual(missed, []);
});

/** Lines that look like secrets to a careless eye: digests, ids, encoded images, code that speaks of secrets. */
function harmlessLines(): string[] {
  const digest = (name: string, salt: number) => createHash(name).update(`line ${salt}`);
  const made = Array.from({ length: 2_000 }, (_, at) => [
    `commit ${digest('sha1', at).digest('hex')}`,
    `sha256:${digest('sha256', at).digest('hex')}  dist/app-${at}.js`,
    `"integrity": "sha512-${digest('sha512', at).digest('base64')}",`,
    `data:image/png;base64,${digest('sha512', at).digest('base64')}`,
    `request ${digest('md5', at)
      .digest('hex')
      .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5')} took ${at} ms`,
    `session s_01jd${digest('sha1', at).digest('hex').slice(0, 22)} is running on srv_${at}`,
    `const token = await readToken(process.env.API_TOKEN_${at});`,
    `password: \${{ secrets.DB_PASSWORD_${at} }}`,
  ]).flat();
  const root = new URL('../../../', import.meta.url);
  const tracked = execFileSync('git', ['ls-files', '*.ts', '*.md', '*.json', '*.sql', '*.yaml', '*.mjs'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  });
  const files = tracked
    .trimEnd()
    .split('\n')
    .filter((file) => !/\.test\.ts$|\.contract\.ts$|testing\/|fixtures\/|secrets\//.test(file));
  return [...made, ...files.flatMap((file) => readFileSync(new URL(file, root), 'utf8').split('\n'))];
}

test('in at least 10,000 harmless lines, this project’s own among them, nothing is taken for a secret', () => {
  const lines = harmlessLines();
  assert.ok(lines.length >= 10_000, `${lines.length} lines`);
  const alarms = lines.filter((line) => findSecrets(line).length > 0);
  assert.deepEqual(alarms.slice(0, 20), []);
});

test('a value is walked; names stay, and a text that tries to switch the search off does not', () => {
  const key = `AKIA${upper(16)}`;
  assert.deepEqual(redactValue({ note: [`use ${key}`], n: 1, none: null }), {
    note: ['use [secret:aws]'].map(() => redactSecrets(`use ${key}`)),
    n: 1,
    none: null,
  });
  assert.ok(!redactSecrets(`/* secretlint-disable */ ${key}`).includes(key));
});

test('a megabyte of hostile text is searched in bounded time', () => {
  for (const unit of [
    'a',
    'eyJ',
    'sk-',
    '://a:',
    '-----BEGIN PRIVATE KEY-----',
    'password=',
    'AccountKey=',
  ]) {
    const text = unit.repeat(Math.ceil(262_144 / unit.length));
    const begun = threadProcessorMs();
    findSecrets(text);
    const ms = threadProcessorMs() - begun;
    assert.ok(ms < 5_000, `${unit}: ${Math.round(ms)} ms`);
  }
});

test('a secret that comes in two pieces, cut anywhere, is found, and nothing of its second half is shown', () => {
  const shown: string[] = [];
  for (const [kind, marked] of Object.entries(samples)) {
    const secret = /⟦([\s\S]*)⟧/.exec(marked)?.[1] ?? assert.fail(kind);
    const text = `log: ${marked.replaceAll(/[⟦⟧]/g, '')} (done)\n`;
    const start = text.indexOf(secret);
    for (let part = 1; part < 12; part += 1) {
      const cut = start + Math.floor((secret.length * part) / 12);
      const redactor = createStreamRedactor();
      const pieces = [redactor.write(text.slice(0, cut)), redactor.write(text.slice(cut)), redactor.end()];
      const said = pieces.join('');
      // a few letters of the first half may have been let through, for what is shorter is no secret yet
      const tail = secret.slice(Math.max(8, Math.floor(secret.length / 2)));
      // a key without an end takes everything behind it along
      const isWhole = kind === 'private key that is cut off' || said.endsWith('(done)\n');
      if (said.includes(tail) || !said.includes('[secret:') || !isWhole)
        shown.push(`${kind} at ${part}/12: ${said.slice(0, 90)}`);
    }
  }
  assert.deepEqual(shown, []);
  // the test can fail: piece by piece each half passes
  const [half, other] = [`gh${seam}p_${mixed(18)}`, mixed(18, 1)];
  assert.equal(redactSecrets(half) + redactSecrets(other), half + other);
});

test('what comes in pieces and is harmless comes out whole, words and short runs at once', () => {
  const redactor = createStreamRedactor();
  assert.equal(redactor.write('ok '), 'ok ');
  assert.equal(redactor.write('...'), '...');
  assert.equal(redactor.write('\nCompiling lib'), '\nCompiling lib');
  assert.equal(redactor.write(`rary ${'x'.repeat(20)}`), 'rary ');
  assert.equal(redactor.end(), 'x'.repeat(20));
  const lines = harmlessLines().slice(0, 2_000);
  const stream = createStreamRedactor();
  const whole = lines.join('\n');
  let out = '';
  for (let at = 0; at < whole.length; at += 37) out += stream.write(whole.slice(at, at + 37));
  assert.equal(out + stream.end(), whole);
});

test('nothing waits for ever: an endless run and a key without an end are let through', () => {
  const redactor = createStreamRedactor();
  assert.ok(redactor.write('a'.repeat(5_000)).length > 0);
  const frame = createStreamRedactor();
  let out = frame.write('-----BEGIN CERTIFICATE-----\n');
  for (let line = 0; line < 400; line += 1) out += frame.write(`${'b'.repeat(63)} \n`);
  assert.ok(out.length > 0);
});
