// Writes a software bill of materials (SPDX 2.3, JSON): Debian packages from standard input (name, version,
// architecture, tab-separated), then Node and the npm packages whose package.json are named.
//   sbom.mjs IMAGE EPOCH NODE_BINARY [PACKAGE_JSON…] <packages
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [image = '', epoch = '0', node = '', ...manifests] = process.argv.slice(2);
const lines = readFileSync(0, 'utf8').trim().split('\n').sort();

const debian = lines.map((line) => {
  const [name = '', version = '', architecture = ''] = line.split('\t');
  return { name, version, url: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}` };
});
const npm = manifests.map((file) => {
  const { name, version } = JSON.parse(readFileSync(file, 'utf8'));
  return { name, version, url: `pkg:npm/${name.replace('@', '%40')}@${version}` };
});
const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
const all = [...debian, { name: 'node', version, url: `pkg:generic/node@${version}` }, ...npm];

const packages = all.map(({ name, version: versionInfo, url }, index) => ({
  SPDXID: `SPDXRef-${index + 1}`,
  name,
  versionInfo,
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: url }],
}));
const digest = createHash('sha256').update(JSON.stringify(all)).digest('hex');
const bill = {
  spdxVersion: 'SPDX-2.3',
  dataLicense: 'CC0-1.0',
  SPDXID: 'SPDXRef-DOCUMENT',
  name: image,
  documentNamespace: `https://lemniscate.invalid/sbom/${digest}`,
  creationInfo: {
    created: new Date(Number(epoch) * 1000).toISOString().replace('.000', ''),
    creators: ['Tool: lemniscate-image-build'],
  },
  packages,
  relationships: packages.map(({ SPDXID }) => ({
    spdxElementId: 'SPDXRef-DOCUMENT',
    relationshipType: 'DESCRIBES',
    relatedSpdxElement: SPDXID,
  })),
};
process.stdout.write(`${JSON.stringify(bill, null, 1)}\n`);
