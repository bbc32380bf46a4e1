/** Keeps the definitions of tools that stored prompts refer to: a replay offers them as they were, whatever became of the tools. */
import { toGatewayError } from '../../protocol/errors.ts';
import type { ReplayStore } from '../../protocol/agent/replays.ts';
import type { ToolSchema } from '../../protocol/agent/provider.ts';
import type { Log } from '../../protocol/log.ts';
import type { SentPrompt } from '../../protocol/store/traces.ts';

/** How often a list that is in use is noted again, in milliseconds: those that are not are deleted after their traces. */
const NOTED_EVERY_MS = 24 * 3_600_000;
/** Lists that are remembered as kept; a forgotten one is only written once more. */
const MAX_REMEMBERED = 200;

/** The lists that this process has kept. */
export class ToolLists {
  /** By key, when that was, by `performance.now()`. */
  readonly #kept = new Map<string, number>();

  /** Keeps the list of a prompt, once a day. Never throws: without it, a replay offers the tools of its day. */
  async keep(
    { stores: { replays }, log }: { stores: { replays: Pick<ReplayStore, 'keepTools'> }; log: Log },
    prompt: SentPrompt | undefined,
    tools: readonly ToolSchema[],
  ): Promise<void> {
    const key = prompt?.toolsKey;
    if (key === undefined) return;
    const now = performance.now();
    if (now - (this.#kept.get(key) ?? -Infinity) < NOTED_EVERY_MS) return;
    // Before it is written: turns that end at the same time write it once.
    this.#kept.set(key, now);
    if (this.#kept.size > MAX_REMEMBERED) this.#kept.delete(this.#kept.keys().next().value ?? key);
    try {
      await replays.keepTools(key, tools);
    } catch (error) {
      this.#kept.delete(key);
      log.info({ err: toGatewayError(error) }, 'tools_not_kept');
    }
  }
}
