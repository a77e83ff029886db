import { testVariable } from '../test-variable.ts';

/** A store that a record keeps its objects in. */
export interface TestStore {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The store that every test has: `fauxqs`, which checks no signatures. */
export const embeddedStore = (): TestStore => ({
  endpoint: testVariable('LEMNISCATE_TEST_S3_ENDPOINT'),
  accessKeyId: 'test',
  secretAccessKey: 'test',
});

const gateway = process.env['LEMNISCATE_TEST_RGW_ENDPOINT'];
/** Why there is no Ceph; false where there is one. */
export const noCeph = gateway === undefined ? 'ceph: LEMNISCATE_TEST_RGW_ENDPOINT is not set' : false;

/** A real Ceph RADOS Gateway: it checks signatures, checksums and conditions. */
export const cephStore = (): TestStore => ({
  endpoint: gateway ?? '',
  accessKeyId: 'lemniscate-test',
  secretAccessKey: 'lemniscate-test-only',
});
