import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { EntriesPage, StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api, isApiError } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { plural } from '../parts/format.ts';
import { Badge, Button, Loaded, PageBody } from '../parts/parts.tsx';
import { isIncluded, proveChain, readNote } from './chain-proof.ts';
import type { ChainProof } from './chain-proof.ts';
import { EntryTable } from './entry-table.tsx';

interface Chain {
  readonly entries: readonly StoredEntry[];
  readonly head: EntriesPage['head'];
  readonly people: EntriesPage['people'];
}

/** Most entries that one page reads; a session has at most some per tool call. */
const maxEntries = 20_000;

async function readChain(chain: string): Promise<Chain> {
  const entries: StoredEntry[] = [];
  const people: EntriesPage['people'] = {};
  let after: number | null = 0;
  let head: EntriesPage['head'] = { seq: 0, digest: '', closed: false };
  while (after !== null && entries.length < maxEntries) {
    const page: EntriesPage = await ask(
      api.GET('/v1/audit/chains/{chain}/entries', {
        params: { path: { chain }, query: { after, limit: 1000 } },
      }),
    );
    entries.push(...page.entries);
    Object.assign(people, page.people);
    ({ nextAfter: after, head } = page);
  }
  return { entries, head, people };
}

/** Whether the chain's last entry lies in the log that was signed last; null where nothing was signed yet. */
async function proveInclusion(chain: string, last: StoredEntry): Promise<Inclusion> {
  const { last: newest } = await ask(api.GET('/v1/audit/checkpoints', { params: { query: { limit: 1 } } }));
  if (newest === null) return { state: 'unsigned' };
  const { checkpoints } = await ask(
    api.GET('/v1/audit/checkpoints', { params: { query: { after: newest - 1, limit: 1 } } }),
  );
  const [checkpoint] = checkpoints;
  const stated = checkpoint === undefined ? null : readNote(checkpoint.note);
  if (checkpoint === undefined || stated === null) return { state: 'unsigned' };
  const proof = await ask(
    api.GET('/v1/audit/proofs/inclusion', {
      params: { query: { chain, seq: last.seq, size: stated.size } },
    }),
  ).catch((error: unknown) => {
    // Not sealed so far. Any other failure says nothing about the log and must not look like that.
    if (isApiError(error) && error.problem.status === 404) return null;
    throw error;
  });
  if (proof === null) return { state: 'not yet', checkpoint: checkpoint.number };
  const holds = await isIncluded(last.digest, proof.index, stated.size, proof.path, stated.root);
  return {
    state: holds ? 'included' : 'broken',
    checkpoint: checkpoint.number,
    index: proof.index,
    note: checkpoint.note,
  };
}

interface Inclusion {
  readonly state: 'included' | 'broken' | 'not yet' | 'unsigned';
  readonly checkpoint?: number;
  readonly index?: number;
  readonly note?: string;
}

/** One chain: its entries, and a proof that this browser makes itself. */
export function ChainPage({ chain }: { chain: string }): ReactNode {
  const loaded = useQuery({ queryKey: ['audit', 'chain', chain], queryFn: () => readChain(chain) });
  const session = chain.startsWith('session:') ? chain.slice('session:'.length) : null;
  return (
    <>
      <header className="page-head">
        <Link href="/audit" className="muted">
          Audit log
        </Link>
        <span className="faint" aria-hidden="true">
          /
        </span>
        <h1 className="mono truncate">{chain}</h1>
        {loaded.data === undefined ? null : (
          <Badge tone={loaded.data.head.closed ? 'green' : 'blue'}>
            {loaded.data.head.closed ? 'closed' : 'open'}
          </Badge>
        )}
        <span className="grow" />
        {session === null ? null : (
          <Link href={`/sessions/${session}`} className="button">
            Show the session
          </Link>
        )}
      </header>
      <PageBody>
        <div className="page-inner grid">
          <Loaded query={loaded} rows={10}>
            {(found) => (
              <>
                <Proof chain={chain} found={found} />
                <section className="card" style={{ overflow: 'hidden' }} aria-label="Entries">
                  <EntryTable entries={found.entries} people={found.people} />
                </section>
              </>
            )}
          </Loaded>
        </div>
      </PageBody>
    </>
  );
}

function Proof({ chain, found }: { chain: string; found: Chain }): ReactNode {
  const [proof, setProof] = useState<ChainProof | null>(null);
  const [inclusion, setInclusion] = useState<Inclusion | null>(null);
  const verify = useAct(async () => {
    const last = found.entries.at(-1);
    setProof(await proveChain(chain, found.entries, found.head));
    setInclusion(last === undefined ? null : await proveInclusion(chain, last));
  });
  return (
    <section className="card card-body stack" aria-label="Proof">
      <div className="spread">
        <p className="muted">
          {plural(found.entries.length, 'entry').replace('entrys', 'entries')}, each carrying the digest of
          the one before. This browser recomputes them from the hashed bytes, and checks the last one against
          the signed log.
        </p>
        <Button look="primary" icon="audit" disabled={verify.isPending} onClick={() => verify.mutate()}>
          {verify.isPending ? 'Verifying…' : 'Verify chain'}
        </Button>
      </div>
      <div role="status" className="stack">
        {proof === null ? null : (
          <p className={`note-box ${proof.fault === null ? 'green' : 'red'}`}>
            {proof.fault === null
              ? `Whole: ${proof.entries} entries, ${proof.closed ? 'closed' : 'still open'}, ends in ${proof.head}`
              : `Broken: ${proof.fault}. ${proof.entries} entries before it are whole.`}
          </p>
        )}
        {inclusion === null ? null : <InclusionNote inclusion={inclusion} />}
      </div>
    </section>
  );
}

function InclusionNote({ inclusion }: { inclusion: Inclusion }): ReactNode {
  const { state, checkpoint, index, note } = inclusion;
  if (state === 'unsigned')
    return <p className="note-box">The log has not been signed yet; nothing to compare with.</p>;
  if (state === 'not yet')
    return (
      <p className="note-box">
        Its last entry comes after checkpoint {checkpoint}; the next one will hold it.
      </p>
    );
  return (
    <>
      <p className={`note-box ${state === 'included' ? 'green' : 'red'}`}>
        {state === 'included'
          ? `In the signed log: its last entry is number ${index} of checkpoint ${checkpoint}.`
          : `The proof that its last entry is in checkpoint ${checkpoint} does not hold.`}
      </p>
      {note === undefined ? null : (
        <details>
          <summary className="link-button">The signed checkpoint</summary>
          <pre className="command" style={{ marginTop: 6 }}>
            {note}
          </pre>
          <p className="hint">
            With the log’s public key its signature is checked by npx lemniscate audit verify.
          </p>
        </details>
      )}
    </>
  );
}
