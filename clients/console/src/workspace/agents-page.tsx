import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAgents } from '../api/queries.ts';
import { bytes, moment, plural } from '../parts/format.ts';
import { DataTable } from '../parts/data-table.tsx';
import { CardPage } from '../parts/page.tsx';
import { Badge, Card, Empty, Loaded } from '../parts/parts.tsx';
import { useProjectChoice } from '../parts/project-select.tsx';
import { shownLine } from '../session/plain-text.ts';

/** The agents that sessions run as, and the skills that they can read. */
export function AgentsPage(): ReactNode {
  const { project, choice } = useProjectChoice();
  return (
    <CardPage title="Agents" about="colleagues that sessions run as, and what they have learned">
      <Agents />
      {project === '' ? null : <Skills project={project} choice={choice} />}
    </CardPage>
  );
}

function Agents(): ReactNode {
  return (
    <Card title="Agents" flush>
      <Loaded query={useAgents()} rows={4}>
        {(agents) =>
          agents.length === 0 ? (
            <Empty icon="agent" title="There is no agent">
              Sessions work without one. Define one with: lemniscate agents define NAME FILE
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Agent' },
                { title: 'Prompt', wide: true },
                { title: 'Works in' },
                { title: 'Memory' },
                { title: 'Skills', right: true },
                { title: 'Version', right: true },
              ]}
              rows={agents.map(({ id, project, version, definition }) => ({
                key: id,
                cells: [
                  <Link key="a" href={`/agents/${id}`} className="link mono">
                    {id}
                  </Link>,
                  <span key="p" className="muted">
                    {definition.disabled ? <Badge tone="red">disabled</Badge> : null}{' '}
                    {shownLine(definition.systemPrompt.slice(0, 200))}
                  </span>,
                  project === '*' ? 'every project' : project,
                  definition.memory,
                  definition.skills.length,
                  version,
                ],
              }))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function Skills({ project, choice }: { project: string; choice: ReactNode }): ReactNode {
  const skills = useQuery({
    queryKey: ['skills', project],
    queryFn: () =>
      ask(api.GET('/v1/projects/{id}/skills', { params: { path: { id: project } } })).then(
        (answer) => answer.skills,
      ),
  });
  return (
    <Card title="Skills" aside={choice} flush>
      <Loaded query={skills} rows={3}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="file" title="This project has no skills">
              A skill is a folder with a SKILL.md: lemniscate skills push FOLDER --project {project}
            </Empty>
          ) : (
            <DataTable
              columns={[
                { title: 'Skill' },
                { title: 'When it is used', wide: true },
                { title: 'Files', right: true },
                { title: 'Version', right: true },
                { title: 'Pushed' },
              ]}
              rows={list.map((skill) => ({
                key: skill.name,
                cells: [
                  <span key="n" className="mono">
                    {shownLine(skill.name)}
                  </span>,
                  <span key="d" title={shownLine(skill.description)}>
                    {shownLine(skill.description)}
                  </span>,
                  <span key="f" title={skill.files.map(({ path }) => shownLine(path)).join('\n')}>
                    {plural(skill.files.length, 'file')},{' '}
                    {bytes(skill.files.reduce((sum, file) => sum + file.bytes, 0))}
                  </span>,
                  skill.version,
                  `${moment(skill.pushedAt)} · ${shownLine(skill.pushedBy)}`,
                ],
              }))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
