import { startLeadership } from '../adapters/postgres/leadership.ts';

// A process that wants to lead: tells each half second over its channel whether it does.

const told = () => undefined;
const log = { debug: told, info: told, warn: told, error: told };
const leadership = await startLeadership(new URL(process.argv[2] ?? ''), log);
const tell = (): void => void process.send?.(leadership.leads());
tell();
setInterval(tell, 200);
process.on('disconnect', () => process.exit(0));
