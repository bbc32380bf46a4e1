/** A tool's context for tests: by default a silent log and a signal that never ends. */
import { createLog } from '../../../src/ops/log.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { ToolContext } from '../../../src/protocol/agent/tool.ts';

/** A log whose lines go to `lines`, or nowhere. */
export function testLog(lines: string[] = []): Log {
  return createLog({ level: 'debug', redact: (text) => text, write: (line) => void lines.push(line) });
}

export function toolContext(over: Partial<ToolContext> = {}): ToolContext {
  return {
    sessionKey: 'telegram:1',
    address: 'telegram:1',
    userId: 'telegram:1',
    memoryOwner: over.userId ?? 'telegram:1',
    userRole: 'user',
    turnId: 'turn-1',
    profileId: 'default',
    workspace: '/nonexistent',
    folder: 'nonexistent',
    callKey: 'turn-1.1.0',
    sources: [],
    signal: new AbortController().signal,
    log: testLog(),
    emit: () => undefined,
    progress: () => undefined,
    ...over,
  };
}
