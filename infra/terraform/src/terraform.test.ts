import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { declaredIn, readConfiguration, readProviderSchema, variableTypes } from './configuration.ts';
import type { ConfigurationFile } from './configuration.ts';
import { layoutFaults } from './layout.ts';
import { argumentFaults, attributeType, referenceFaults } from './provider-arguments.ts';
import { fits } from './value-types.ts';
import type { Scope } from './value-types.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const files = await readConfiguration();
const declared = declaredIn(files);
const schema = readProviderSchema();
const ofType = (type: string) => declared.filter((each) => each.type === type);

/** Folders with all that their files say together. */
function folders(): Map<string, ConfigurationFile[]> {
  return Map.groupBy(files, ({ folder }) => folder);
}

test('the configuration is there and is HCL', () => {
  assert.ok(files.length >= 20, `${files.length} files`);
  assert.ok(declared.length >= 80, `${declared.length} resources and data sources`);
});

test('every file is laid out as terraform fmt writes it', async () => {
  const faults = await Promise.all(files.map(({ path, text }) => layoutFaults(path, text)));
  assert.deepEqual(faults.flat(), []);
});

test('the check of the layout can fail: indents, alignment and needless interpolation are found', async () => {
  const good = 'resource "aws_kms_key" "x" {\n  description = var.name\n  policy      = var.policy\n}\n';
  assert.deepEqual(await layoutFaults('a.tf', good), []);
  assert.deepEqual(await layoutFaults('a.tf', good.replace('policy      =', 'policy =')), [
    'a.tf:3: terraform fmt writes "  policy      = var.policy"',
  ]);
  assert.deepEqual(await layoutFaults('a.tf', good.replace('  description', 'description')), [
    'a.tf:2: terraform fmt writes "  description = var.name"',
  ]);
  assert.deepEqual(await layoutFaults('a.tf', good.replace('= var.policy', '= "${var.policy}"')), [
    'a.tf:3: terraform fmt takes away the quotes of "${var.policy}"',
  ]);
});

const scopeOf = (folder: string): Scope => ({
  variables: variableTypes(folders().get(folder) ?? []),
  attribute: (type, name) => attributeType(schema, type, name),
});

test('every resource, argument and value is one that the provider takes', () => {
  assert.deepEqual(
    declared.flatMap((each) => argumentFaults(each, schema[each.kind][each.type], scopeOf(each.folder))),
    [],
  );
});

test('the check of arguments can fail: unknown, misplaced and missing ones are found', () => {
  const faults = (type: string, body: Record<string, unknown>): string[] =>
    argumentFaults(
      { where: 'x', folder: 'modules/control', kind: 'resources', type, body },
      schema.resources[type],
      scopeOf('modules/control'),
    );
  assert.deepEqual(faults('aws_kms_key', { enabled: true }), ['x: there is no argument enabled']);
  assert.deepEqual(faults('aws_nat_gatewayy', {}), ['x: the schema has no aws_nat_gatewayy']);
  assert.deepEqual(faults('aws_lb_target_group', { health_check: [{ pth: '/' }] }), [
    'x.health_check: there is no argument pth',
  ]);
  assert.deepEqual(faults('aws_iam_role_policy', { role: 'r' }), ['x: policy is missing']);
  assert.deepEqual(faults('aws_lb', { idle_timeout: 'long' }), ['x: idle_timeout is no number: "long"']);
  assert.deepEqual(faults('aws_lb_target_group', { health_check: [{ interval: '10 s' }] }), [
    'x.health_check: interval is no number: "10 s"',
  ]);
  assert.deepEqual(faults('aws_lb', { subnets: '${var.name}' }), [
    'x: subnets is no list(string): "${var.name}"',
  ]);
  assert.deepEqual(faults('aws_lb', { access_logs: { bucket: 'b' } }), [
    'x: access_logs is a block, and is given a value',
  ]);
  assert.deepEqual(faults('aws_lb', { access_logs: [{ bucket: 'b' }, { bucket: 'c' }] }), [
    'x: there can be one access_logs, and there are 2',
  ]);
  assert.deepEqual(faults('aws_lb', { tags: [{ of: 'x' }] }), ['x: tags is no map(string): [{"of":"x"}]']);
});

test('a value fits a type as Terraform converts it', () => {
  const scope = scopeOf('modules/control');
  const takes = (value: unknown, wanted: string): boolean => fits(value, wanted, scope);
  const good: [unknown, string][] = [
    [7, 'string'],
    [true, 'string'],
    ['7', 'number'],
    ['true', 'bool'],
    [null, 'number'],
    ['${var.dispatchers}', 'number'],
    ['${var.dispatchers}', 'string'],
    ['${var.private_subnet_ids}', 'list(string)'],
    ['${aws_lb.people.arn}', 'string'],
    [['a', '${aws_lb.people.arn}'], 'set(string)'],
    [{ a: 1 }, 'map(string)'],
    ['${var.a ? 1 : 2}', 'number'],
    ['${jsonencode({ a = 1 })}', 'string'],
  ];
  const bad: [unknown, string][] = [
    ['seven', 'number'],
    [1, 'bool'],
    ['yes', 'bool'],
    ['a', 'list(string)'],
    [['a'], 'string'],
    [[['a']], 'list(string)'],
    [{ a: ['b'] }, 'map(string)'],
    ['${var.name}', 'bool'],
    ['${var.private_subnet_ids}', 'string'],
    ['${var.secret_arns["a"]}', 'list(string)'],
    ['${aws_lb.people.arn}', 'list(string)'],
    ['${aws_lb.people.subnets}', 'string'],
    ['${aws_subnet.each[*].id}', 'string'],
    ['${var.name}-${var.name}', 'number'],
    ['${jsonencode({ a = 1 })}', 'number'],
  ];
  assert.deepEqual(
    good.filter(([value, wanted]) => !takes(value, wanted)),
    [],
  );
  assert.deepEqual(
    bad.filter(([value, wanted]) => takes(value, wanted)),
    [],
  );
});

test('every attribute that is referred to is one that its resource has', () => {
  const count = files.flatMap(({ text }) => text.match(/\baws_\w+\.\w+(\[[^\]]*\])?\.\w+/g) ?? []).length;
  assert.ok(count > 100, `${count} references`);
  assert.deepEqual(
    files.flatMap(({ path, text }) => referenceFaults(path, text, schema)),
    [],
  );
  assert.deepEqual(
    referenceFaults('x', 'a = [aws_lb.people.arm, data.aws_ssm_parameter.a["b"].name]', schema),
    ['x: aws_lb.people.arm: aws_lb has no arm'],
  );
});

test('every module is given what it wants and nothing that it does not know', () => {
  const faults: string[] = [];
  let calls = 0;
  for (const [folder, contents] of folders())
    for (const { path, content } of contents)
      for (const [name, bodies] of Object.entries(content.module))
        for (const body of bodies) {
          calls += 1;
          const source = join(folder, String(body['source']));
          const module = folders().get(source);
          if (module === undefined) {
            faults.push(`${path}: module.${name} has no source ${source}`);
            continue;
          }
          const variables = Object.assign({}, ...module.map((file) => file.content.variable)) as Record<
            string,
            Record<string, unknown>[]
          >;
          const given = Object.keys(body).filter(
            (key) => !['source', 'for_each', 'count', 'depends_on'].includes(key),
          );
          const types = variableTypes(module);
          for (const key of given)
            if (variables[key] === undefined) faults.push(`${path}: module.${name} knows no ${key}`);
            else if (!fits(body[key], types.get(key) ?? 'any', scopeOf(folder)))
              faults.push(`${path}: module.${name} wants a ${types.get(key)} as ${key}`);
          for (const [key, [variable]] of Object.entries(variables))
            if (variable?.['default'] === undefined && !given.includes(key))
              faults.push(`${path}: module.${name} wants ${key}`);
        }
  assert.ok(calls >= 14);
  assert.deepEqual(faults, []);
});

test('every default is of the type of its variable', () => {
  const faults = files.flatMap(({ path, folder, content }) =>
    Object.entries(content.variable).flatMap(([name, [variable]]) => {
      const type = variableTypes(folders().get(folder) ?? []).get(name) ?? 'any';
      return fits(variable?.['default'], type, scopeOf(folder)) ? [] : [`${path}: ${name} is no ${type}`];
    }),
  );
  assert.deepEqual(faults, []);
});

test('what is referred to is declared', () => {
  const faults: string[] = [];
  for (const [folder, contents] of folders()) {
    const text = contents.map((file) => file.text).join('\n');
    const names = (kind: 'variable' | 'module') =>
      contents.flatMap((file) => Object.keys(file.content[kind]));
    for (const [, name = ''] of text.matchAll(/\bvar\.(\w+)/g))
      if (!names('variable').includes(name)) faults.push(`${folder}: var.${name}`);
    for (const [, name = '', output = ''] of text.matchAll(/\bmodule\.(\w+)(?:\[[^\]]+\])?\.(\w+)/g)) {
      if (!names('module').includes(name)) faults.push(`${folder}: module.${name}`);
      const source = contents
        .flatMap((file) => file.content.module[name] ?? [])
        .map((body) => join(folder, String(body['source'])))[0];
      const outputs = (folders().get(source ?? '') ?? []).flatMap((file) => Object.keys(file.content.output));
      if (!outputs.includes(output)) faults.push(`${folder}: module.${name}.${output}`);
    }
    for (const [, data = '', type = '', name = ''] of text.matchAll(/\b(data\.)?(aws_\w+)\.(\w+)/g)) {
      const kind = data === '' ? 'resource' : 'data';
      if (!contents.some((file) => file.content[kind][type]?.[name] !== undefined))
        faults.push(`${folder}: ${data}${type}.${name}`);
    }
    for (const [, file = ''] of text.matchAll(/\$\{path\.module\}\/([\w.-]+)/g))
      if (!existsSync(join(root, folder, file))) faults.push(`${folder}: ${file}`);
  }
  assert.deepEqual([...new Set(faults)], []);
});

/** Names of variables of ours that a text gives to a service. */
const variablesIn = (text: string): string[] => text.match(/\bLEMNISCATE_[A-Z0-9_]+/g) ?? [];

test('every variable that a service is given is one that it reads', () => {
  const known = new Set(
    variablesIn(readFileSync(join(root, '../../docs/operations/configuration.md'), 'utf8')),
  );
  const start = readFileSync(join(root, 'modules/agents/start.sh.tftpl'), 'utf8');
  const given = [...files.map(({ text }) => text), start].flatMap(variablesIn);
  assert.ok(given.length > 15);
  assert.deepEqual(
    given.filter((name) => !known.has(name)),
    [],
  );
});

/** Names that a section of the reference calls needed and that a text does not give. */
function notGiven(section: string, text: string): string[] {
  const reference = readFileSync(join(root, '../../docs/operations/configuration.md'), 'utf8');
  const [lines = ''] = (reference.split(`\n## ${section}\n`)[1] ?? '').split('\n## ');
  const needed = [...lines.matchAll(/^\| `(\w+)` .*\*\*needed\*\*/gm)].map(([, name = '']) => name);
  assert.ok(needed.length > 0, section);
  return needed.filter((name) => !new RegExp(`\\b${name}"?\\s*[=,]`).test(text));
}

test('every variable that a service needs is one that it is given', () => {
  const control = files.find(({ path }) => path === 'modules/control/main.tf')?.text ?? '';
  const exporter = files.find(({ path }) => path === 'modules/exporter/main.tf')?.text ?? '';
  const start = readFileSync(join(root, 'modules/agents/start.sh.tftpl'), 'utf8');
  assert.deepEqual(notGiven('Dispatcher', control), []);
  assert.deepEqual(notGiven('Audit exporter', exporter), []);
  assert.deepEqual(notGiven('Agent server', start), []);
  assert.deepEqual(notGiven('Dispatcher', control.replaceAll('S3_ENDPOINT', 'S3_END')), ['S3_ENDPOINT']);
});

test('the start script is given every name that it uses', () => {
  const start = readFileSync(join(root, 'modules/agents/start.sh.tftpl'), 'utf8');
  const main = files.find(({ path }) => path.endsWith('modules/agents/main.tf'))?.text ?? '';
  const [, given = ''] = /start\.sh\.tftpl", \{([^]*?)\n {2}\}\)/.exec(main) ?? [];
  const used = new Set([...start.matchAll(/(?<!\$)\$\{(\w+)\}/g)].map(([, name]) => name));
  assert.ok(used.size > 5);
  for (const name of used) assert.match(given, new RegExp(`\\b${name}\\s+=`), `${name} is not given`);
});

test('only the balancer for people can be public, and it is not by default', () => {
  for (const subnet of ofType('aws_subnet'))
    assert.equal(subnet.body['map_public_ip_on_launch'], false, subnet.where);
  const open = ofType('aws_vpc_security_group_ingress_rule').filter(
    ({ body }) => body['cidr_ipv4'] === '0.0.0.0/0' || body['cidr_ipv6'] !== undefined,
  );
  assert.deepEqual(open, []);
  for (const { where, body } of ofType('aws_db_instance'))
    assert.equal(body['publicly_accessible'], false, where);
  for (const { where, body } of ofType('aws_lb')) {
    const internal = String(body['internal']);
    assert.ok(internal === 'true' || internal === '${var.people_internal}', where);
  }
  const control = files.find(({ path }) => path === 'modules/control/variables.tf');
  assert.equal(control?.content.variable['people_internal']?.[0]?.['default'], true);
  assert.equal(ofType('aws_s3_bucket_public_access_block').length, 1);
  for (const { where, body } of ofType('aws_s3_bucket_public_access_block'))
    for (const name of [
      'block_public_acls',
      'block_public_policy',
      'ignore_public_acls',
      'restrict_public_buckets',
    ])
      assert.equal(body[name], true, `${where}.${name}`);
});

test('everything at rest and on the wire is encrypted', () => {
  const wanted: Readonly<Record<string, readonly string[]>> = {
    aws_db_instance: ['storage_encrypted', 'kms_key_id'],
    aws_elasticache_replication_group: [
      'at_rest_encryption_enabled',
      'transit_encryption_enabled',
      'kms_key_id',
    ],
    aws_cloudwatch_log_group: ['kms_key_id'],
    aws_secretsmanager_secret: ['kms_key_id'],
    aws_sns_topic: ['kms_master_key_id'],
  };
  for (const [type, names] of Object.entries(wanted)) {
    assert.ok(ofType(type).length > 0, type);
    for (const { where, body } of ofType(type))
      for (const name of names)
        assert.ok(body[name] !== undefined && body[name] !== false, `${where}.${name}`);
  }
  const disks = JSON.stringify(
    [...ofType('aws_launch_template'), ...ofType('aws_instance')].map(({ body }) => body),
  );
  assert.equal(disks.match(/"encrypted":true/g)?.length, 2);
  for (const { where, body } of ofType('aws_lb_listener'))
    assert.ok(['HTTPS', 'TCP'].includes(String(body['protocol'])), where);
  assert.match(JSON.stringify(ofType('aws_db_parameter_group')), /rds\.force_ssl/);
  assert.match(JSON.stringify(ofType('aws_iam_policy_document')), /aws:SecureTransport/);
});

/** Statements that need a star, with the reason that stands in the file. */
const stars: Readonly<Record<string, string>> = {
  ImageToken: 'ecr:GetAuthorizationToken has no resource',
  AccountAdministersThroughIam: 'a key policy speaks of the key itself, which is *',
  LogsEncrypt: 'a key policy speaks of the key itself, which is *',
  RefusePlainHttp: 'a refusal is to hold for everything and everybody',
};

test('no star in IAM but where AWS leaves no choice', () => {
  const found: string[] = [];
  for (const { where, body } of ofType('aws_iam_policy_document')) {
    const statements = body['statement'] as Record<string, unknown>[];
    for (const statement of statements) {
      const sid = typeof statement['sid'] === 'string' ? statement['sid'] : '';
      const texts = [statement['actions'], statement['resources']].flat().map(String);
      const wide = texts.some((text) => text === '*' || /^[a-z0-9-]+:\*$/.test(text));
      if (wide && stars[sid] === undefined) found.push(`${where}: ${sid}`);
    }
  }
  assert.deepEqual(found, []);
});

test('what holds data cannot be deleted by a slip', () => {
  for (const { where, body } of ofType('aws_db_instance')) {
    assert.equal(body['deletion_protection'], true, where);
    assert.equal(body['skip_final_snapshot'], false, where);
    assert.ok(Number(body['backup_retention_period']) >= 7, where);
    assert.equal(body['multi_az'], true, where);
  }
  for (const { where, body } of ofType('aws_lb'))
    assert.equal(body['enable_deletion_protection'], true, where);
  for (const { where, body } of ofType('aws_kms_key')) {
    assert.equal(body['deletion_window_in_days'], 30, where);
    assert.equal(body['enable_key_rotation'], true, where);
  }
  assert.equal(ofType('aws_s3_bucket_versioning').length, 1);
  assert.match(JSON.stringify(ofType('aws_s3_bucket_object_lock_configuration')), /Enabled/);
  // who a person is must be erasable in the audit bucket, and what a legal hold keeps must not go by its age
  assert.doesNotMatch(JSON.stringify(ofType('aws_s3_bucket_object_lock_configuration')), /default_retention/);
  const lifecycles = ofType('aws_s3_bucket_lifecycle_configuration');
  assert.equal(lifecycles.length, 1);
  assert.doesNotMatch(JSON.stringify(lifecycles), /"expiration"/);
  assert.match(JSON.stringify(ofType('aws_elasticache_parameter_group')), /noeviction/);
});

test('an instance’s credentials are out of reach of what it runs', () => {
  const machines = [...ofType('aws_launch_template'), ...ofType('aws_instance')];
  assert.equal(machines.length, 2);
  for (const { where, body } of machines) {
    const [options] = body['metadata_options'] as Record<string, unknown>[];
    assert.equal(options?.['http_tokens'], 'required', where);
    assert.equal(options?.['http_put_response_hop_limit'], 1, where);
  }
});
