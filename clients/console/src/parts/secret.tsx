import type { ReactNode } from 'react';
import { Button } from './parts.tsx';
import { toast } from './toasts.tsx';

/** Something that is shown this once, and can be copied. */
export function Secret({ label, value }: { label: string; value: string }): ReactNode {
  const copy = (): void => {
    void navigator.clipboard.writeText(value).then(
      () => toast(`${label} copied.`),
      () => toast('This browser does not let pages copy; select the text.'),
    );
  };
  return (
    <label className="field">
      <span>{label}</span>
      <span className="row">
        <input
          className="input mono grow"
          readOnly
          value={value}
          onFocus={(event) => event.target.select()}
        />
        <Button onClick={copy}>Copy</Button>
      </span>
    </label>
  );
}
