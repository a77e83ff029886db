import { useQuery } from '@tanstack/react-query';
import { createTwoFilesPatch } from 'diff';
import { useState } from 'react';
import type { ReactNode } from 'react';
import type { PolicyVersion } from '@lemniscate/shared/api/project.ts';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useProjects } from '../api/queries.ts';
import { moment } from '../parts/format.ts';
import { Badge, Card, Empty, Loaded, PageBody } from '../parts/parts.tsx';
import { FileDiff } from '../review/file-diff.tsx';
import { readPatch } from '../review/patch-model.ts';
import { shown, shownLine } from '../session/plain-text.ts';
import { PolicyTrial } from './policy-trial.tsx';

/** Policies of the projects: their versions, what changed between two, and what one would say of a command. */
export function PoliciesPage(): ReactNode {
  const projects = useProjects();
  const [chosen, setChosen] = useState('');
  const project = chosen === '' ? (projects.data?.[0]?.id ?? '') : chosen;
  return (
    <>
      <header className="page-head">
        <h1>Policies</h1>
        <select
          className="input small"
          style={{ width: 'auto' }}
          aria-label="Project"
          value={project}
          onChange={(event) => setChosen(event.target.value)}
        >
          {(projects.data ?? []).map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      </header>
      <PageBody>
        <div className="page-inner grid">
          <Loaded query={projects} rows={3}>
            {(list) =>
              list.length === 0 ? (
                <Empty icon="policy" title="There is no project" />
              ) : (
                <>
                  <PolicyTrial project={project} key={`try/${project}`} />
                  <Versions project={project} key={project} />
                </>
              )
            }
          </Loaded>
        </div>
      </PageBody>
    </>
  );
}

function useVersion(project: string, version: number | undefined) {
  return useQuery({
    queryKey: ['policy', project, version],
    enabled: version !== undefined && version > 0,
    staleTime: Infinity,
    queryFn: () =>
      ask(
        api.GET('/v1/projects/{id}/policies/{version}', {
          params: { path: { id: project, version: version ?? 0 } },
        }),
      ),
  });
}

function Versions({ project }: { project: string }): ReactNode {
  const [picked, setPicked] = useState<number | null>(null);
  const versions = useQuery({
    queryKey: ['policies', project],
    queryFn: () =>
      ask(api.GET('/v1/projects/{id}/policies', { params: { path: { id: project } } })).then((answer) =>
        answer.versions.toSorted((left, right) => right.version - left.version),
      ),
  });
  return (
    <Loaded query={versions} rows={4}>
      {(list) => {
        const current = picked ?? list[0]?.version ?? 0;
        return (
          <div className="grid policy-grid">
            <Card title="Versions" flush>
              <ul>
                {list.map((version) => (
                  <li key={version.version}>
                    <button
                      type="button"
                      className="version"
                      aria-current={version.version === current}
                      onClick={() => setPicked(version.version)}
                    >
                      <span className="spread">
                        <strong>Version {version.version}</strong>
                        {version === list[0] ? <Badge tone="green">in force</Badge> : null}
                      </span>
                      <span className="hint">
                        {moment(version.changedAt)} · {shownLine(version.changedBy)}
                        {version.origin === 'file' ? ' · from the file' : ''}
                      </span>
                      <code className="faint">{version.digest.slice(0, 16)}</code>
                    </button>
                  </li>
                ))}
              </ul>
            </Card>
            <Shown
              project={project}
              version={current}
              before={list.find(({ version }) => version < current)?.version}
            />
          </div>
        );
      }}
    </Loaded>
  );
}

/** A policy as it is evaluated, every default filled in; its members in one order, so that a diff shows changes alone. */
function textOf(policy: PolicyVersion | undefined): string {
  return policy === undefined ? '' : `${JSON.stringify(sorted(policy.policy), null, 2)}\n`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

function Shown({
  project,
  version,
  before,
}: {
  project: string;
  version: number;
  before: number | undefined;
}): ReactNode {
  const now = useVersion(project, version);
  const old = useVersion(project, before);
  return (
    <Loaded query={now} rows={6}>
      {(policy) => {
        const patch =
          before === undefined || old.data === undefined
            ? null
            : readPatch(
                createTwoFilesPatch(
                  `version ${before}`,
                  `version ${version}`,
                  textOf(old.data),
                  textOf(policy),
                ),
              )[0];
        return (
          <div className="grid">
            {patch === null || patch === undefined ? null : (
              <FileDiff
                file={{
                  path: `version ${before ?? 0} → version ${version}`,
                  change: 'modified',
                  insertions: null,
                  deletions: null,
                  flags: [],
                }}
                patch={patch}
                layout="unified"
                place={0}
                current={false}
                seen={false}
                onSeen={undefined}
                leftOut={false}
                onLeaveOut={undefined}
              />
            )}
            <Card title={policy.written === null ? 'As it is evaluated' : 'As it was written'}>
              <pre>{shown(policy.written ?? textOf(policy))}</pre>
            </Card>
          </div>
        );
      }}
    </Loaded>
  );
}
