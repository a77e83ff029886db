import { lazy, Suspense } from 'react';
import type { ReactNode } from 'react';
import { Route, Router, Switch } from 'wouter';
import { useMe } from './api/queries.ts';
import { LoginPage } from './login/login-page.tsx';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { Empty, Failure, Loading } from './parts/parts.tsx';
import { Toasts } from './parts/toasts.tsx';
import { SessionsPage } from './sessions/sessions-page.tsx';
import { Shell } from './shell/shell.tsx';

// The list comes with the first load; what is opened from there comes when it is opened.
const SessionPage = lazy(() =>
  import('./session/session-page.tsx').then((page) => ({ default: page.SessionPage })),
);
const ReviewPage = lazy(() =>
  import('./review/review-page.tsx').then((page) => ({ default: page.ReviewPage })),
);
const InboxPage = lazy(() => import('./inbox/inbox-page.tsx').then((page) => ({ default: page.InboxPage })));

const FleetPage = lazy(() => import('./fleet/fleet-page.tsx').then((page) => ({ default: page.FleetPage })));
const CostsPage = lazy(() => import('./costs/costs-page.tsx').then((page) => ({ default: page.CostsPage })));

const AuditPage = lazy(() =>
  import('./security/audit-page.tsx').then((page) => ({ default: page.AuditPage })),
);
const ChainPage = lazy(() =>
  import('./security/chain-page.tsx').then((page) => ({ default: page.ChainPage })),
);
const ExportersPage = lazy(() =>
  import('./security/exporters-page.tsx').then((page) => ({ default: page.ExportersPage })),
);
const RevocationsPage = lazy(() =>
  import('./security/revocations-page.tsx').then((page) => ({ default: page.RevocationsPage })),
);
const PoliciesPage = lazy(() =>
  import('./security/policies-page.tsx').then((page) => ({ default: page.PoliciesPage })),
);

const ObjectsPage = lazy(() =>
  import('./workspace/objects-page.tsx').then((page) => ({ default: page.ObjectsPage })),
);
const ObjectPage = lazy(() =>
  import('./workspace/object-page.tsx').then((page) => ({ default: page.ObjectPage })),
);
const AgentsPage = lazy(() =>
  import('./workspace/agents-page.tsx').then((page) => ({ default: page.AgentsPage })),
);
const AgentPage = lazy(() =>
  import('./workspace/agent-page.tsx').then((page) => ({ default: page.AgentPage })),
);
const TriggersPage = lazy(() =>
  import('./workspace/triggers-page.tsx').then((page) => ({ default: page.TriggersPage })),
);
const EnvironmentsPage = lazy(() =>
  import('./fleet/environments-page.tsx').then((page) => ({ default: page.EnvironmentsPage })),
);
const AccessPage = lazy(() =>
  import('./access/access-page.tsx').then((page) => ({ default: page.AccessPage })),
);

export function App(): ReactNode {
  const me = useMe();
  if (me.data === undefined)
    return me.error === null ? (
      <Loading rows={0} />
    ) : (
      <Failure error={me.error} retry={() => void me.refetch()} />
    );
  return (
    <Router base="/console">
      {me.data === null ? (
        <LoginPage />
      ) : (
        <Shell me={me.data}>
          <ErrorBoundary>
            <Suspense fallback={<Loading />}>
              <Switch>
                <Route path="/" component={SessionsPage} />
                <Route path="/login" component={SessionsPage} />
                <Route path="/audit" component={AuditPage} />
                <Route path="/audit/:chain">
                  {({ chain }) => <ChainPage chain={decodeURIComponent(chain)} key={chain} />}
                </Route>
                <Route path="/exporters" component={ExportersPage} />
                <Route path="/revocations" component={RevocationsPage} />
                <Route path="/policies" component={PoliciesPage} />
                <Route path="/fleet" component={FleetPage} />
                <Route path="/costs" component={CostsPage} />
                <Route path="/inbox" component={InboxPage} />
                <Route path="/objects" component={ObjectsPage} />
                <Route path="/objects/:id">{({ id }) => <ObjectPage id={id} key={id} />}</Route>
                <Route path="/agents" component={AgentsPage} />
                <Route path="/agents/:id">{({ id }) => <AgentPage id={id} key={id} />}</Route>
                <Route path="/triggers" component={TriggersPage} />
                <Route path="/environments" component={EnvironmentsPage} />
                <Route path="/access" component={AccessPage} />
                <Route path="/sessions/:id">{({ id }) => <SessionPage id={id} key={id} />}</Route>
                <Route path="/sessions/:id/diff">{({ id }) => <ReviewPage id={id} key={id} />}</Route>
                <Route>
                  <Empty icon="search" title="There is no such page">
                    The address may be from another version of the console.
                  </Empty>
                </Route>
              </Switch>
            </Suspense>
          </ErrorBoundary>
        </Shell>
      )}
      <Toasts />
    </Router>
  );
}
