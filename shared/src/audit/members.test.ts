import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extendChain, unopened } from './chain.ts';
import { catalogueMembers, contentMembers } from './catalogue.ts';
import type { AuditDraft } from './entry.ts';
import { fitMember, memberFormats, withheld } from './members.ts';
import type { MemberFormat } from './members.ts';

/** What a model, a program, a person or a receiver might say. */
const sentences = [
  'const PLANTED = await fetch(secretUrl);',
  'the password is PLANTED',
  'first PLANTED line\nsecond line',
  '\u001b[2JPLANTED',
  `PLANTED ${'x'.repeat(5_000)}`,
];
/** Formats of one line, whose words administrators, the directory, a repository or our own rules choose. */
const lines: readonly MemberFormat[] = ['name', 'path', 'reason'];

test('no sentence gets into a member that is no line, however it comes', () => {
  const strict = [...memberFormats].filter(([, format]) => !lines.includes(format));
  assert.ok(strict.length > 80);
  for (const [member] of strict)
    for (const sentence of sentences) {
      assert.equal(fitMember(member, sentence), withheld, member);
      assert.deepEqual(fitMember(member, [sentence]), [withheld], member);
      assert.doesNotMatch(
        JSON.stringify(fitMember(member, { [sentence]: 1, a: sentence })),
        /PLANTED/,
        member,
      );
    }
});

test('members of one line are known, few, and hold one line', () => {
  const loose = [...memberFormats].filter(([, format]) => lines.includes(format)).map(([member]) => member);
  assert.deepEqual(
    loose.toSorted(),
    [
      // names that administrators, projects and the directory give
      'after',
      'agent',
      'before',
      'costCentre',
      'driver',
      'fromProject',
      'model',
      'name',
      'of',
      'owner',
      'pool',
      'priceBook',
      'principal',
      'project',
      'provider',
      'rules',
      'scope',
      'service',
      'sink',
      'skill',
      'skills',
      'target',
      'told',
      'user',
      'credential',
      // people, as the directory has them until a pseudonym stands in their place
      'acceptedBy',
      'account',
      'actor',
      'person',
      // files read and modified
      'acceptedFiles',
      'files',
      'flaggedFiles',
      'path',
      'rejectedFiles',
      // the policy's own words: `logged-reasons.test.ts`
      'reasons',
    ].toSorted(),
  );
  for (const member of loose)
    for (const sentence of sentences) {
      const fitted = fitMember(member, sentence);
      assert.ok(typeof fitted === 'string' && fitted.length <= 4096, member);
      assert.doesNotMatch(fitted, /[\n\u001b]/, member);
    }
  assert.equal(fitMember('path', 'src/übung 1.ts'), 'src/übung 1.ts');
});

test('a member that is in no line of the table is withheld where it holds text, and told without it', () => {
  const bodyOf = (body: AuditDraft['body']): string => {
    const drafts = [{ type: 'server.left', subject: 'srv', body }] as const;
    const { entries } = extendChain(unopened('fleet:main'), drafts, '2026-11-30T12:00:00.000Z');
    return Buffer.from(entries[1]?.body ?? []).toString();
  };
  assert.match(bodyOf({ somethingNew: 7, nested: { a: 1 } }), /"nested":\{"a":1\},"somethingNew":7/);
  for (const body of [
    { remark: 'PLANTED' },
    { list: ['PLANTED'] },
    { deep: { a: ['PLANTED'] } },
    { map: { 'PLANTED b': 1 } },
  ])
    assert.match(bodyOf(body), /^(?!.*PLANTED).*:"\(withheld\)"/);
  assert.deepEqual(
    contentMembers.filter((member) => memberFormats.has(member)),
    [],
  );
});

test('what the catalogue asks for is never withheld for want of a line in the table', () => {
  const wordless = ['number', 'int', 'boolean'];
  const forgotten = catalogueMembers.flatMap(([type, shape]) =>
    Object.entries(shape)
      .filter(([member, { def }]) => !memberFormats.has(member) && !wordless.includes(def.type))
      .map(([member, { def }]) => `${type} ${member} ${def.type}`),
  );
  // counts by names of ours, which hold no text
  const counts = forgotten.filter((line) => / (removed|counters|counts) record$/.test(line));
  assert.deepEqual(forgotten, counts);
});

test('what somebody outside has chosen keeps no act out of the log', () => {
  const { entries } = extendChain(
    unopened('fleet:main'),
    [
      {
        type: 'egress.refused',
        subject: 'srv',
        body: { host: 'PLANTED code();', port: 1, reason: 'I am PLANTED' },
      },
    ],
    '2026-11-30T12:00:00.000Z',
  );
  const text = Buffer.from(entries[1]?.body ?? []).toString();
  assert.doesNotMatch(text, /PLANTED/);
  assert.match(text, /"host":"\(withheld\)","port":1,"reason":"\(withheld\)"/);
});
