import { buildApp } from 'fauxqs';

// The embedded S3 as a process: `node s3-server.ts PORT FOLDER [HOST]`. fauxqs' own starter listens on every address of the
// machine and checks no signatures, so the app is built here and listens on the loopback address alone. The parts
// that keep objects on disk are not among its exports; they are loaded by their place beside the exported file.

interface ObjectStore {
  persistence?: unknown;
}
interface FilePersistence {
  loadS3(store: ObjectStore): void;
  close(): void;
}

const [port, folder, host = '127.0.0.1'] = process.argv.slice(2);
if (port === undefined || folder === undefined) throw new Error('usage: s3-server.ts PORT FOLDER [HOST]');

const load = async <Module>(file: string) =>
  (await import(new URL(file, import.meta.resolve('fauxqs')).href)) as Module;
const { S3Store } = await load<{ S3Store: new () => ObjectStore }>('s3/s3Store.js');
const { SqsStore } = await load<{ SqsStore: new () => unknown }>('sqs/sqsStore.js');
const { SnsStore } = await load<{ SnsStore: new () => unknown }>('sns/snsStore.js');
const { FileS3Persistence } = await load<{ FileS3Persistence: new (folder: string) => FilePersistence }>(
  's3/fileS3Persistence.js',
);

const s3Store = new S3Store();
const persistence = new FileS3Persistence(folder);
persistence.loadS3(s3Store);
s3Store.persistence = persistence;
type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>;
const stores = { s3Store, sqsStore: new SqsStore(), snsStore: new SnsStore() } as unknown as Stores;
const app = buildApp({ logger: false, stores });

// fauxqs takes bodies up to 11 MiB; real S3 takes a single put of 5 GiB, and here it is held in memory
const largestPut = 256 * 1024 * 1024;
app.removeContentTypeParser('*');
app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: largestPut }, (_request, body, done) => {
  done(null, body);
});
app.addHook('preClose', () => persistence.close());
process.once('SIGTERM', () => {
  app.close().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
await app.listen({ port: Number(port), host });
console.log('ready');
