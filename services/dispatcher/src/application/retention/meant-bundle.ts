/**
 * SQL: whether something works or is to work from the repository with this digest: a session, an object, a project, a
 * trigger, what is about to start, or a build that is made anew by its schedule.
 * @param sha256 SQL of the digest
 */
export const isMeantBundle = (sha256: string): string => `(
  EXISTS (SELECT FROM sessions b WHERE b.repository ->> 'sha256' = ${sha256})
  OR EXISTS (SELECT FROM objects b WHERE b.repository ->> 'sha256' = ${sha256})
  OR EXISTS (SELECT FROM project_workspaces b WHERE b.repository ->> 'sha256' = ${sha256})
  OR EXISTS (SELECT FROM triggers b WHERE position(${sha256} IN b.definition::text) > 0)
  OR EXISTS (SELECT FROM deliveries b WHERE b.terms IS NOT NULL AND position(${sha256} IN b.terms::text) > 0)
  OR EXISTS (SELECT FROM environments b WHERE b.state = 'ready' AND b.repository ->> 'sha256' = ${sha256}))`;
