import type { App } from './app.ts';
import { registerAuditSearchRoutes } from './audit-search-routes.ts';
import type { AuditSearchDeps } from './audit-search-routes.ts';
import { registerBrowserLoginRoutes } from './browser-login-routes.ts';
import type { BrowserLoginDeps } from './browser-login-routes.ts';
import { registerConsoleFiles } from './console-files.ts';
import { registerFleetHealthRoutes } from './fleet-health-routes.ts';
import { registerPolicyTrialRoutes } from './policy-trial-routes.ts';
import type { PolicyTrialDeps } from './policy-trial-routes.ts';
import { registerSessionRowsRoutes } from './session-rows-routes.ts';
import type { SessionRowsDeps } from './session-rows-routes.ts';

export type ConsoleDeps = BrowserLoginDeps &
  SessionRowsDeps &
  AuditSearchDeps &
  PolicyTrialDeps & {
    /** Folder of the built console; null: none is served. */
    readonly consoleFolder: string | null;
  };

/** Public listener: the console's files, and what it asks that no other client asked before. */
export function registerConsoleRoutes(app: App, deps: ConsoleDeps): void {
  registerConsoleFiles(app, deps.consoleFolder);
  registerBrowserLoginRoutes(app, deps);
  registerSessionRowsRoutes(app, deps);
  registerFleetHealthRoutes(app, deps);
  registerAuditSearchRoutes(app, deps);
  registerPolicyTrialRoutes(app, deps);
}
