import type {
  CheckpointsPage,
  ConsistencyProof,
  InclusionProof,
} from '@lemniscate/shared/audit/proof-api.ts';

/** Gives proofs out of the log's tiles. It judges nothing: whoever asks verifies. */
export interface AuditProofs {
  /** Signed checkpoints behind a number. */
  checkpoints(after: number, limit: number): Promise<CheckpointsPage>;
  /** @throws CodedError `not_found` where the entry is not among the first `size`, or nothing so large is sealed */
  inclusion(chain: string, seq: number, size: number): Promise<InclusionProof>;
  /** @throws CodedError `not_found` where nothing so large is sealed */
  consistency(from: number, to: number): Promise<ConsistencyProof>;
}
