import type { RuntimeName } from '@lemniscate/shared/protocol/session-order.ts';
import { claudeCodeRuntime } from './claude-code/claude-code-runtime.ts';
import { codexRuntime } from './codex/codex-runtime.ts';
import { nativeRuntime } from './native/native-runtime.ts';
import type { Runtime } from './runtime.ts';

/** The runtimes by the names that an order uses; see docs/adding-an-agent-runtime.md. */
export const runtimeRegistry: Readonly<Record<RuntimeName, Runtime>> = {
  native: nativeRuntime,
  'claude-code': claudeCodeRuntime,
  codex: codexRuntime,
};
