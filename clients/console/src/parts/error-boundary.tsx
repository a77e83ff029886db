import { Component } from 'react';
import type { ReactNode } from 'react';
import { Failure } from './parts.tsx';

interface BoundaryState {
  readonly error: unknown;
}

/** A fault of one page leaves the rest of the console working. React has no function for this, so it is a class. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { error: null };

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return <Failure error={this.state.error} retry={() => this.setState({ error: null })} />;
  }
}
