import type { ReactNode } from 'react';
import type { DiffFile } from '@lemniscate/shared/repository/diff.ts';
import { Badge } from '../parts/parts.tsx';
import { shown, shownLine } from '../session/plain-text.ts';
import type { PatchFile, PatchHunk, PatchLine, PatchRow } from './patch-model.ts';

export type DiffStyle = 'split' | 'unified';

const flagWords = {
  ci: 'runs in CI',
  build_script: 'build script',
  hook: 'hook',
  dependencies: 'dependencies',
  agent_instructions: 'steers agents',
  nested_git: 'nested git',
  policy: 'named by the policy',
} as const;

/** One file of a diff: why it is flagged, and its hunks. */
export function FileDiff({
  file,
  patch,
  layout,
  place,
  current,
  seen,
  onSeen,
  leftOut,
  onLeaveOut,
}: {
  file: DiffFile;
  patch: PatchFile | undefined;
  layout: DiffStyle;
  place: number;
  current: boolean;
  seen: boolean;
  onSeen: (() => void) | undefined;
  /** Not part of what is or was accepted. */
  leftOut: boolean;
  onLeaveOut: (() => void) | undefined;
}): ReactNode {
  const hunks = patch?.hunks ?? [];
  return (
    <section className="diff-file" data-file={place} data-current={current} aria-label={shownLine(file.path)}>
      <div className="diff-file-head">
        <code className="truncate" title={shownLine(file.path)}>
          {file.previousPath === undefined ? '' : `${shownLine(file.previousPath)} → `}
          {shownLine(file.path)}
        </code>
        {file.flags.map((flag) => (
          <Badge key={flag} tone="amber" icon="flag">
            {flagWords[flag]}
          </Badge>
        ))}
        <span className="grow" />
        {file.insertions === null ? null : (
          <span className="num row" style={{ gap: 6 }}>
            <span className="ins">+{file.insertions}</span>
            <span className="del">−{file.deletions ?? 0}</span>
          </span>
        )}
        {leftOut ? <Badge tone="red">left out</Badge> : null}
        {onLeaveOut === undefined ? null : (
          <button type="button" className="link-button" onClick={onLeaveOut}>
            {leftOut ? 'Take it' : 'Leave out'}
          </button>
        )}
        {onSeen === undefined ? null : (
          <label className="check" style={{ alignItems: 'center' }}>
            <input type="checkbox" checked={seen} onChange={onSeen} style={{ margin: 0 }} />
            <span className="hint">seen</span>
          </label>
        )}
      </div>
      {leftOut ? null : hunks.length === 0 ? (
        <p className="faint" style={{ padding: '14px 16px' }}>
          {file.insertions === null ? 'A binary file: there are no lines to show.' : 'No lines to show.'}
        </p>
      ) : (
        <table className="diff-table" aria-label={`Lines of ${shownLine(file.path)}`}>
          {layout === 'split' ? (
            <colgroup>
              <col style={{ width: 48 }} />
              <col />
              <col style={{ width: 48 }} />
              <col />
            </colgroup>
          ) : (
            <colgroup>
              <col style={{ width: 48 }} />
              <col style={{ width: 48 }} />
              <col />
            </colgroup>
          )}
          {hunks.map((hunk) => (
            <Hunk key={hunk.header} hunk={hunk} layout={layout} />
          ))}
        </table>
      )}
    </section>
  );
}

function Hunk({ hunk, layout }: { hunk: PatchHunk; layout: DiffStyle }): ReactNode {
  return (
    <tbody>
      <tr className="hunk">
        <td colSpan={layout === 'split' ? 4 : 3}>{hunk.header}</td>
      </tr>
      {layout === 'split'
        ? hunk.rows.map((row) => (
            <tr key={`${row.left?.number ?? '-'}/${row.right?.number ?? '-'}`}>
              <Side line={row.left} />
              <Side line={row.right} />
            </tr>
          ))
        : unify(hunk.rows).map((line) => (
            <tr key={`${line.change}/${line.number}`} className={line.change}>
              <td className="no">{line.change === 'added' ? '' : line.number}</td>
              <td className="no">{line.change === 'deleted' ? '' : line.other}</td>
              <td className="code">
                <Sign change={line.change} />
                <Pieces line={line} />
              </td>
            </tr>
          ))}
    </tbody>
  );
}

function Side({ line }: { line: PatchLine | null }): ReactNode {
  if (line === null)
    return (
      <>
        <td className="no none" />
        <td className="code none" />
      </>
    );
  return (
    <>
      <td className={`no ${line.change}`}>{line.number}</td>
      <td className={`code ${line.change}`}>
        <Sign change={line.change} />
        <Pieces line={line} />
      </td>
    </>
  );
}

/** Colour alone says nothing to many people. */
function Sign({ change }: { change: PatchLine['change'] }): ReactNode {
  if (change === 'same') return null;
  return <span className="visually-hidden">{change === 'added' ? 'added: ' : 'deleted: '}</span>;
}

function Pieces({ line }: { line: PatchLine }): ReactNode {
  return line.pieces.map((piece, index) => {
    const text = shown(piece.text);
    // Pieces of a line never change their place.
    // oxlint-disable-next-line react/no-array-index-key
    return piece.changed ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>;
  });
}

/** Rows as one column: what is deleted before what is added. */
function unify(rows: readonly PatchRow[]): (PatchLine & { readonly other: number })[] {
  const lines: (PatchLine & { readonly other: number })[] = [];
  let added: (PatchLine & { readonly other: number })[] = [];
  const flush = (): void => {
    lines.push(...added);
    added = [];
  };
  for (const { left, right } of rows) {
    if (left?.change === 'same') {
      flush();
      lines.push({ ...left, other: right?.number ?? left.number });
      continue;
    }
    if (left !== null) lines.push({ ...left, other: left.number });
    if (right !== null) added.push({ ...right, other: right.number });
  }
  flush();
  return lines;
}
