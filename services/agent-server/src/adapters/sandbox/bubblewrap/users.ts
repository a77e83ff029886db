/** Host uid and gid of the supervisor's user namespace root, and of commands; no account need exist for them. */
export const supervisorUid = 10_000;
export const commandUid = 10_001;

/** One row a uid: inside, outside, count. */
export type IdMap = string;

/** The two uids of a sandbox: the supervisor is root of its namespace, commands are nobody in particular. */
export const sandboxIdMap: IdMap = `0 ${supervisorUid} 1\n${commandUid} ${commandUid} 1\n`;

/** One uid, the same inside and outside. */
export function singleIdMap(id: number): IdMap {
  return `${id} ${id} 1\n`;
}
