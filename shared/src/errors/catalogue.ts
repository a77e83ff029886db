/**
 * Every error that a person or a program can meet, by its stable code. `status` is the HTTP status of its
 * problem document, `title` the short text that never changes with the occurrence (RFC 9457 section 3.1.3).
 * Codes are never renamed and never reused.
 */
export const errorCatalogue = {
  // requests
  request_invalid: { status: 400, title: 'The request is not valid' },
  unauthenticated: { status: 401, title: 'No valid login' },
  login_revoked: { status: 401, title: 'This login was revoked' },
  forbidden: { status: 403, title: 'Not allowed' },
  not_found: { status: 404, title: 'Not found' },
  method_refused: { status: 405, title: 'This address takes another method' },
  rate_limited: { status: 429, title: 'Too many requests' },
  login_pending: { status: 425, title: 'The person has not answered yet' },
  login_failed: { status: 401, title: 'The login did not succeed' },
  conflict: { status: 409, title: 'The thing is not in a state that allows this' },
  version_required: { status: 428, title: 'The request must name the version that it saw' },
  version_conflict: { status: 412, title: 'Somebody changed it first' },
  idempotency_mismatch: { status: 422, title: 'The idempotency key belongs to another request' },
  payload_too_large: { status: 413, title: 'Too large' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'A fault of ours' },
  unavailable: { status: 503, title: 'Not available right now' },
  wait_elapsed: { status: 504, title: 'Not finished within the wait' },
  // the words of a session request
  project_unknown: { status: 404, title: 'Unknown project' },
  agent_unknown: { status: 404, title: 'Unknown agent' },
  credential_missing: { status: 422, title: 'A credential has no value' },
  credential_refused: { status: 422, title: 'The policy does not name the credential' },
  model_unknown: { status: 422, title: 'Unknown model' },
  runtime_unknown: { status: 422, title: 'Unknown runtime' },
  execution_refused: { status: 422, title: 'Execution place refused' },
  backlog_full: { status: 429, title: 'Too many sessions of the project wait already' },
  session_unknown: { status: 404, title: 'Unknown session' },
  session_ended: { status: 409, title: 'The session has ended' },
  diff_missing: { status: 404, title: 'No diff is offered' },
  diff_decided: { status: 409, title: 'The diff is already decided' },
  approval_unknown: { status: 404, title: 'Unknown approval' },
  approval_decided: { status: 409, title: 'The approval is already decided' },
  // between services
  attempt_stale: { status: 409, title: 'The attempt is no longer the session’s' },
  certificate_refused: { status: 403, title: 'The certificate does not allow this' },
  server_full: { status: 429, title: 'No free slot on this server' },
  server_unknown: { status: 404, title: 'Unknown agent server' },
  // state machines
  transition_refused: { status: 409, title: 'The state table has no such step' },
  // repositories
  repository_missing: { status: 422, title: 'The repository does not exist' },
  repository_empty: { status: 422, title: 'The repository has no commit' },
  repository_bare: { status: 422, title: 'The repository is bare' },
  repository_too_large: { status: 422, title: 'The repository is too large' },
  repository_broken: { status: 422, title: 'The repository cannot be read' },
  repository_source_refused: { status: 422, title: 'This kind of repository address is refused' },
  large_file_missing: { status: 422, title: 'Contents of a large file cannot be had' },
  revision_missing: { status: 422, title: 'The revision does not exist' },
  diff_conflict: { status: 409, title: 'The diff does not apply' },
  // sandboxes
  sandbox_driver_missing: { status: 500, title: 'The sandbox driver cannot work on this machine' },
  sandbox_limit_missing: { status: 500, title: 'A bound of sandboxes cannot be held on this machine' },
  sandbox_start_failed: { status: 500, title: 'The sandbox did not start' },
  sandbox_lost: { status: 500, title: 'The sandbox is gone' },
  sandbox_leaked: { status: 500, title: 'The sandbox could not be removed' },
  // environments
  environment_failed: { status: 422, title: 'The environment could not be prepared' },
  environment_unknown: { status: 404, title: 'Unknown environment' },
  // checkpoints
  checkpoint_failed: { status: 500, title: 'The checkpoint could not be taken' },
  checkpoint_unreadable: { status: 500, title: 'The checkpoint cannot be restored' },
  // model gateway
  provider_unknown: { status: 422, title: 'Unknown model provider' },
  provider_failed: { status: 502, title: 'The model provider failed' },
  provider_timeout: { status: 504, title: 'The model provider did not answer in time' },
  request_refused_by_gateway: { status: 400, title: 'The gateway does not pass this request on' },
  budget_exhausted: { status: 402, title: 'The budget is used up' },
  awaiting_extension: { status: 503, title: 'The budget is used up and its person is asked' },
  // runtimes
  runtime_failed: { status: 500, title: 'The agent’s program failed' },
  price_book_invalid: { status: 400, title: 'The price book is not valid' },
  // storage, set-up
  storage_failed: { status: 503, title: 'The object store failed' },
  digest_mismatch: { status: 422, title: 'The bytes are not the ones announced' },
  configuration_invalid: { status: 500, title: 'The configuration is not valid' },
  port_in_use: { status: 500, title: 'The port is taken' },
  disk_full: { status: 507, title: 'The disk is full' },
  package_missing: { status: 500, title: 'A program is missing on this machine' },
  service_unreachable: { status: 503, title: 'A service cannot be reached' },
  certificate_expired: { status: 500, title: 'The certificate has expired' },
  key_mismatch: { status: 500, title: 'The key does not belong to the certificate' },
  // audit
  audit_chain_broken: { status: 500, title: 'The audit chain is broken' },
} as const satisfies Readonly<Record<string, { status: number; title: string }>>;

/** A stable error code. */
export type ErrorCode = keyof typeof errorCatalogue;
