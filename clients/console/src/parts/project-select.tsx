import { useState } from 'react';
import type { ReactNode } from 'react';
import { useProjects } from '../api/queries.ts';

/** The project that a page is about, and the field in which another one is chosen. */
export function useProjectChoice(): { project: string; choice: ReactNode } {
  const projects = useProjects().data ?? [];
  const [chosen, setChosen] = useState('');
  const project = chosen === '' ? (projects[0]?.id ?? '') : chosen;
  const choice = (
    <select
      className="input small"
      style={{ width: 'auto' }}
      aria-label="Project"
      value={project}
      onChange={(event) => setChosen(event.target.value)}
    >
      {projects.map(({ id }) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );
  return { project, choice };
}
