import { useEffect, useId, useRef } from 'react';
import type { FormEvent, KeyboardEvent, ReactNode } from 'react';
import { isApiError } from '../api/client.ts';
import { Button } from './parts.tsx';
import { Secret } from './secret.tsx';
import { modKey } from './shortcuts.ts';

/** A modal dialog. The browser keeps the focus inside and gives it back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    element.current?.showModal();
    // The browser takes the first button; what the dialog was opened for comes first.
    element.current?.querySelector<HTMLElement>('[data-first]')?.focus();
  }, []);
  return (
    <dialog ref={element} className="dialog" aria-labelledby={id} onClose={onClose}>
      <div className="dialog-head">
        <h1 id={id}>{title}</h1>
        <Button look="quiet" icon="cross" onClick={onClose} aria-label="Close" />
      </div>
      {children}
    </dialog>
  );
}

/** What a dialog's form does, as `useAct` has it. */
interface Act {
  readonly isPending: boolean;
  readonly error: unknown;
}

/**
 * A dialog that asks for something and does it: fields, what went wrong, and the two ways out. The button does it, and
 * so do Enter in a field and Ctrl-Enter anywhere, unless it destroys something: then the button alone does.
 */
export function FormDialog({
  title,
  act,
  submit,
  submitWord,
  pendingWord = submitWord,
  look = 'primary',
  ready = true,
  aside,
  onClose,
  children,
}: {
  title: string;
  act: Act;
  submit: () => void;
  /** What the button says: the act itself, such as “Create token”. */
  submitWord: string;
  pendingWord?: string;
  look?: 'primary' | 'danger-solid';
  /** False while something is missing that the browser does not see for itself. */
  ready?: boolean;
  /** Another act, at the other end of the foot. */
  aside?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const isClosed = act.isPending || !ready;
  const destroys = look === 'danger-solid';
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isClosed && !destroys) submit();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLFormElement>): void => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit();
  };
  const way = destroys
    ? ({ type: 'button', onClick: submit } as const)
    : ({ type: 'submit', shortcut: `${modKey} ↵` } as const);
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit} onKeyDown={onKeyDown}>
        <div className="dialog-body">
          {children}
          {isApiError(act.error) ? (
            <div className="note-box red" role="alert">
              {act.error.problem.detail}
            </div>
          ) : null}
        </div>
        <div className="dialog-foot">
          {aside}
          <span className="grow" />
          <Button onClick={onClose}>Cancel</Button>
          <Button look={look} disabled={isClosed} {...way}>
            {act.isPending ? pendingWord : submitWord}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** A dialog that shows once what was made and cannot be read again. */
export function SecretDialog({
  title,
  secrets,
  onClose,
  children,
}: {
  title: string;
  secrets: readonly { readonly label: string; readonly value: string }[];
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">
        <p>{children}</p>
        {secrets.map(({ label, value }) => (
          <Secret key={label} label={label} value={value} />
        ))}
      </div>
      <div className="dialog-foot">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
