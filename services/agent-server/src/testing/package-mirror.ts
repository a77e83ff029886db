import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Outside } from '../adapters/egress/connect-proxy.ts';

/** A server of packages with a certificate of its own, as far away as an environment's egress reaches. */
export interface PackageMirror {
  /** What stands in an egress rule: name and port. */
  readonly rule: string;
  readonly url: string;
  /** PEM that a client has to trust. */
  readonly authority: string;
  /** Makes bytes readable below the address. */
  publish(path: string, bytes: Buffer): void;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** The internet, in which the mirror is all there is. */
  readonly outside: Outside;
}

const host = 'packages.example.org';

export async function startPackageMirror(t: TestContext): Promise<PackageMirror> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-mirror-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = `-subj /CN=${host} -addext subjectAltName=DNS:${host} -days 2`.split(' ');
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', keyFile, '-out', certFile, ...subject],
    { stdio: 'ignore' },
  );
  const authority = readFileSync(certFile, 'utf8');
  const contents = new Map<string, Buffer>();
  const asked: string[] = [];
  const server = createServer({ key: readFileSync(keyFile), cert: authority }, (request, response) => {
    const path = (request.url ?? '').replace('/./', '/');
    asked.push(path);
    const found = contents.get(path);
    response.writeHead(found === undefined ? 404 : 200).end(found ?? 'nothing here');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    rule: `${host}:${port}`,
    url: `https://${host}:${port}`,
    authority,
    publish: (path, bytes) => void contents.set(path, bytes),
    asked,
    outside: {
      resolve: (name) =>
        name === host ? Promise.resolve(['127.0.0.1']) : Promise.reject(new Error('no such name')),
      isPublic: () => true,
    },
  };
}

/**
 * Publishes an installed npm package as its registry would.
 * @returns its entry for a lockfile
 */
export function publishPackage(mirror: PackageMirror, folder: string) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
  };
  const tarball = execFileSync(
    'tar',
    ['-C', dirname(folder), '--transform', 's,^[^/]*,package,', '-cz', name],
    {
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const path = `/${name}/-/${name}-${version}.tgz`;
  mirror.publish(path, tarball);
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  return { [`node_modules/${name}`]: { version, resolved: `${mirror.url}${path}`, integrity } };
}

/** Publishes an installed package of this machine's distribution as a flat repository that apt reads. */
export function publishDistributionPackage(t: TestContext, mirror: PackageMirror, name: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-deb-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, 'root');
  const listed = execFileSync('dpkg', ['-L', name], { encoding: 'utf8' }).split('\n');
  const files = listed.filter((path) => path.startsWith('/usr/lib/'));
  mkdirSync(join(root, 'DEBIAN'), { recursive: true });
  execFileSync('sh', ['-c', 'tar -C / --no-recursion -c -T - | tar -C "$1" -x', 'sh', root], {
    input: files.map((path) => path.slice(1)).join('\n'),
  });
  const version = execFileSync('dpkg-query', ['-W', '-f', '${Version}', name], { encoding: 'utf8' });
  const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: Test <test@test.invalid>\nDescription: as this machine has it\n`;
  writeFileSync(join(root, 'DEBIAN/control'), control);
  const file = join(folder, 'package.deb');
  execFileSync('dpkg-deb', ['--root-owner-group', '-b', root, file], { stdio: 'ignore' });
  const bytes = readFileSync(file);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  mirror.publish(`/${name}.deb`, bytes);
  mirror.publish(
    '/Packages',
    Buffer.from(`${control}Filename: ./${name}.deb\nSize: ${bytes.length}\nSHA256: ${sha256}\n`),
  );
}
