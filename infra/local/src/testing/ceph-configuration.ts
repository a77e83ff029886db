import { join } from 'node:path';

/** Debian's packages of a small Ceph, with what they lean on. */
export const cephPackages: readonly string[] = ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-base', 'ceph-common']
  .concat(['librados2', 'librbd1', 'librgw2', 'libcephfs2', 'libradosstriper1'])
  .concat(['libboost-thread1.74.0', 'libboost-context1.74.0', 'libboost-iostreams1.74.0'])
  .concat(['libboost-program-options1.74.0', 'libfmt9', 'libnl-3-200', 'libnl-route-3-200', 'libibverbs1'])
  .concat([
    'librdmacm1',
    'libtcmalloc-minimal4',
    'libgoogle-perftools4',
    'liblua5.3-0',
    'liboath0',
    'libunwind8',
  ])
  .concat([
    'librabbitmq4',
    'librdkafka1',
    'libaio1',
    'libsnappy1v5',
    'libleveldb1d',
    'libdaxctl1',
    'libndctl6',
  ])
  .concat(['libpmem1', 'libfuse2', 'python3-rados', 'python3-ceph-argparse', 'python3-ceph-common'])
  .concat(['python3-prettytable', 'python3-wcwidth']);

/** Where a cluster's parts are. */
export interface CephPlaces {
  /** Where the packages are unpacked. */
  readonly root: string;
  /** Where its data lies. */
  readonly folder: string;
  readonly fsid: string;
  readonly monPort: number;
  readonly rgwPort: number;
}

/** `ceph.conf` of one monitor, one OSD in memory and one gateway, on loopback and without passwords among themselves. */
export function cephConfiguration({ root, folder, fsid, monPort, rgwPort }: CephPlaces): string {
  const library = join(root, 'usr/lib', process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu');
  return `[global]
fsid = ${fsid}
mon host = [v2:127.0.0.1:${monPort}]
mon initial members = a
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms bind msgr1 = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 2
osd pool default pgp num = 2
mon allow pool size one = true
mon max pg per osd = 1000
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 1073741824
osd journal =
plugin dir = ${library}/ceph
erasure code dir = ${library}/ceph/erasure-code
osd class dir = ${library}/rados-classes
run dir = ${folder}/run
admin socket = ${folder}/run/$cluster-$name.asok
pid file = ${folder}/run/$name.pid
log file = ${folder}/run/$name.log
mon cluster log to file = false
crash dir = ${folder}/run
mon data = ${folder}/mon
osd data = ${folder}/osd
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${rgwPort}
rgw data = ${folder}/rgw
rgw thread pool size = 8
# without it the gateway wants an encrypted connection to the monitor, which there is not without passwords
ms mon client mode = crc
`;
}
