import type { ReactNode } from 'react';
import { PageBody } from './parts.tsx';

/** A page of cards below each other. */
export function CardPage({
  title,
  about,
  tools,
  width = 1080,
  children,
}: {
  title: ReactNode;
  about?: string;
  tools?: ReactNode;
  width?: number;
  children: ReactNode;
}): ReactNode {
  return (
    <>
      <header className="page-head">
        {typeof title === 'string' ? <h1>{title}</h1> : title}
        {about === undefined ? null : <span className="muted">{about}</span>}
        <span className="grow" />
        {tools}
      </header>
      <PageBody>
        <div className="page-inner grid" style={{ maxWidth: width }}>
          {children}
        </div>
      </PageBody>
    </>
  );
}
