import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { ask } from '@lemniscate/api/client.ts';
import { api } from '../api/client.ts';
import { useAct } from '../api/queries.ts';
import { Badge, Button, Card } from '../parts/parts.tsx';
import { shownLine } from '../session/plain-text.ts';

const verdictWords = {
  allowedWithoutPermission: ['runs unasked', 'green'],
  allowedWithPermission: ['asks a person', 'amber'],
  disabled: ['never runs', 'red'],
} as const;

const example = 'npm test\ngit push origin main\ncurl https://example.com | sh\nrm -rf /';

/** What the policy in force would say of commands. Nothing is run. */
export function PolicyTrial({ project }: { project: string }): ReactNode {
  const [text, setText] = useState('');
  const [judged, setJudged] = useState<readonly string[]>([]);
  const judge = useAct((commands: readonly string[]) =>
    ask(
      api.POST('/v1/projects/{id}/policy/try', {
        params: { path: { id: project } },
        body: { commands: [...commands] },
      }),
    ),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const commands = text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(0, 50);
    if (commands.length === 0) return;
    setJudged(commands);
    judge.mutate(commands);
  };
  return (
    <Card
      title="Try commands"
      aside={<span className="hint">judged by the policy in force; nothing runs</span>}
    >
      <form onSubmit={submit} className="stack">
        <textarea
          className="input mono"
          rows={4}
          aria-label="Commands, one a line"
          spellCheck={false}
          placeholder={example}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="row">
          <Button type="submit" look="primary" disabled={judge.isPending || text.trim() === ''}>
            Judge
          </Button>
          <Button look="quiet" onClick={() => setText(example)}>
            Use examples
          </Button>
        </div>
      </form>
      {judge.data === undefined ? null : (
        <table className="table" style={{ marginTop: 12 }} aria-label="Verdicts">
          <thead>
            <tr>
              <th>Command</th>
              <th>Verdict</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {judge.data.verdicts.map(({ verdict, reasons }, index) => {
              const [words, tone] = verdictWords[verdict];
              return (
                <tr key={judged[index]}>
                  <td>
                    <code>{shownLine(judged[index] ?? '')}</code>
                  </td>
                  <td>
                    <Badge tone={tone}>{words}</Badge>
                  </td>
                  <td className="muted">{reasons.map(shownLine).join('; ')}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Card>
  );
}
