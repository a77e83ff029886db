import { useState } from 'react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { ask } from '@lemniscate/api/client.ts';
import type { BodyOf } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct, useProjects } from '../api/queries.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Segments } from '../parts/parts.tsx';

type SourceKind = 'git' | 'path';
const lastKey = 'lemniscate-last-order';

interface Remembered {
  readonly project: string;
  readonly kind: SourceKind;
  readonly place: string;
}

function remembered(): Remembered {
  const fallback = { project: 'local', kind: 'git', place: '' } as const;
  try {
    return { ...fallback, ...(JSON.parse(localStorage.getItem(lastKey) ?? '{}') as Partial<Remembered>) };
  } catch {
    // What another version of the console remembered is no use, and no fault either.
    return fallback;
  }
}

/** Asks for an instruction and a repository, and opens the session. */
export function NewSession({ onClose }: { onClose: () => void }): ReactNode {
  const [, navigate] = useLocation();
  const [before] = useState(remembered);
  const [instruction, setInstruction] = useState('');
  const [project, setProject] = useState(before.project);
  const [kind, setKind] = useState<SourceKind>(before.kind);
  const [place, setPlace] = useState(before.place);
  const [revision, setRevision] = useState('');
  const [model, setModel] = useState('');
  const [followUps, setFollowUps] = useState(false);
  const [key] = useState(() => crypto.randomUUID());
  const projects = useProjects().data ?? [];
  const open = useAct(
    (order: BodyOf<'/v1/sessions', 'post'>) =>
      ask(api.POST('/v1/sessions', { body: order, params: { header: { 'idempotency-key': key } } })),
    [['rows'], ['facets']],
    (session) => {
      localStorage.setItem(lastKey, JSON.stringify({ project, kind, place }));
      onClose();
      navigate(`/sessions/${session.id}`);
    },
  );

  const submit = (): void => {
    const at = revision.trim() === '' ? {} : { revision: revision.trim() };
    open.mutate({
      instruction: instruction.trim(),
      project,
      repository: kind === 'git' ? { kind, url: place.trim(), ...at } : { kind, path: place.trim(), ...at },
      ...(model.trim() === '' ? {} : { model: model.trim() }),
      surface: 'api',
      // Whoever looks at the console can answer.
      interactive: true,
      followUps,
    });
  };

  return (
    <FormDialog
      title="New session"
      act={open}
      submit={submit}
      submitWord="Start session"
      pendingWord="Opening…"
      ready={instruction.trim() !== '' && place.trim() !== ''}
      onClose={onClose}
    >
      <label className="field">
        <span>Instruction</span>
        <textarea
          className="input"
          rows={4}
          data-first
          required
          placeholder="What should the agent do? Name the test that fails, the behaviour that is wrong, the files that matter."
          value={instruction}
          onChange={(event) => setInstruction(event.target.value)}
        />
      </label>
      <div className="stack">
        <div className="spread">
          <span className="label">Repository</span>
          <Segments
            label="Where the repository is"
            value={kind}
            onChange={setKind}
            options={[
              ['git', 'Git address'],
              ['path', 'Folder on the server'],
            ]}
          />
        </div>
        <input
          className="input mono"
          aria-label="Repository"
          required
          spellCheck={false}
          placeholder={
            kind === 'git' ? 'https://git.example.com/team/service.git' : '/srv/repositories/service'
          }
          value={place}
          onChange={(event) => setPlace(event.target.value)}
        />
        <p className="hint">
          {kind === 'git'
            ? 'https or ssh. For uncommitted changes of your own use the terminal: npx lemniscate run.'
            : 'Agent servers of a local fleet alone read folders.'}
        </p>
      </div>
      <div className="row" style={{ alignItems: 'flex-start' }}>
        <label className="field grow">
          <span>Project</span>
          <select className="input" value={project} onChange={(event) => setProject(event.target.value)}>
            {projects.some(({ id }) => id === project) ? null : <option value={project}>{project}</option>}
            {projects.map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span>Revision</span>
          <input
            className="input mono"
            placeholder="default branch"
            spellCheck={false}
            value={revision}
            onChange={(event) => setRevision(event.target.value)}
          />
        </label>
        <label className="field grow">
          <span>Model</span>
          <input
            className="input mono"
            placeholder="fleet’s default"
            spellCheck={false}
            value={model}
            onChange={(event) => setModel(event.target.value)}
          />
        </label>
      </div>
      <label className="check">
        <input type="checkbox" checked={followUps} onChange={(event) => setFollowUps(event.target.checked)} />
        <span>
          Stay for follow-up messages
          <span className="hint" style={{ display: 'block' }}>
            The session waits for you when it has answered, until you finish it.
          </span>
        </span>
      </label>
    </FormDialog>
  );
}
