/** Tools and subagents of a turn as a few lines below its text, removed as soon as the text continues or the turn ends. */
import type { AgentEvent } from '../../protocol/event.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';

/** Work that ends sooner gets no line, in milliseconds. */
export const SHOW_AFTER_MS = 1_000;

/** Maximum number of lines; more are counted. */
export const MAX_ACTIVITY_LINES = 4;

/** Maximum number of subagents with separate lines; further ones are not shown. */
export const MAX_AGENTS_SHOWN = 32;

/** Longest name or task in a line, in UTF-16 units. */
const MAX_LABEL = 60;

interface Tool {
  name: string;
  since: number;
  /** Undefined while it runs. */
  isError?: boolean;
  progress?: string;
}

interface Agent {
  name: string;
  task: string;
  since: number;
  tools: Map<string, string>;
}

/** The thinking of one model call; a title names a call that is about something else than the answer. */
interface Thinking {
  title: string | undefined;
  since: number;
  /** Its end, in which the last whole sentence is looked for. */
  tail: string;
  sentence: string;
}

/** Longest end of the thinking that is kept, and longest sentence of it in a line, in UTF-16 units. */
const MAX_THOUGHT = 1_000;
const MAX_SENTENCE = 160;
const SENTENCE_END = /[.!?。！？]/u;
const SENTENCE_BREAK = /(?<=[.!?])\s+|(?<=[。！？])|\n+/u;

/** Follows the tools, the subagents and the thinking of one turn. Times are monotonic milliseconds. */
export class Activity {
  readonly #tools = new Map<string, Tool>();
  readonly #agents = new Map<string, Agent>();
  readonly #say: Say;
  #thinking: Thinking | undefined;
  /** The chat wants to see the thinking. */
  showsThinking = false;

  constructor(say: Say = inEnglish) {
    this.#say = say;
  }

  /** Applies one event of the turn; true if the lines may be different now, or later. */
  apply(event: AgentEvent, now: number): boolean {
    if (event.type === 'subagent_spawned' || event.type === 'subagent_completed') {
      return this.#applySubagent(event, now);
    }
    if (event.isSubagent === true) return this.#applyNested(event);
    switch (event.type) {
      case 'thinking_started':
        this.#thinking = { title: event.title, since: now, tail: '', sentence: '' };
        return this.showsThinking;
      case 'thinking_delta':
        return this.#think(event.delta);
      case 'thinking_finished':
        this.#thinking = undefined;
        return this.showsThinking;
      case 'tool_call':
        // A later call makes the result of an earlier one irrelevant.
        this.#removeFinished();
        this.#tools.set(event.toolCallId, { name: event.name, since: now });
        return true;
      case 'tool_progress': {
        const tool = this.#tools.get(event.toolCallId);
        if (tool === undefined || tool.isError !== undefined) return false;
        tool.progress = event.text;
        return true;
      }
      case 'tool_result': {
        const since = this.#tools.get(event.toolCallId)?.since ?? now;
        this.#tools.set(event.toolCallId, { name: event.name, since, isError: event.isError });
        return true;
      }
      case 'stream_chunk':
      case 'stream_reset':
      case 'snapshot':
        return this.#removeFinished();
      default:
        return false;
    }
  }

  /** The lines at `now`; undefined if there is nothing to show. */
  lines(now: number): string | undefined {
    const tools = [...this.#tools.values()].filter(
      // A call that spawns only waits: the subagent has a separate line.
      ({ name, since }) => isOld(since, now) && !(name === SPAWN_TOOL && this.#agents.size > 0),
    );
    const running = tools.filter(({ isError }) => isError === undefined);
    const visible = running.length > 0 ? running : tools.slice(-1);
    const agents = [...this.#agents.values()].filter(({ since }) => isOld(since, now));
    const all = [...this.#thinkingLine(now), ...visible.map(toolLine), ...agents.map(agentLine)];
    if (all.length === 0) return undefined;
    const more = all.length - MAX_ACTIVITY_LINES;
    const lines =
      more > 0 ? [...all.slice(0, MAX_ACTIVITY_LINES), this.#say('activity.more', { more })] : all;
    return lines.join('\n');
  }

  /** Time at which the next line will appear; undefined if none is waiting. */
  nextLineAt(now: number): number | undefined {
    const thinking = this.showsThinking && this.#thinking !== undefined ? [this.#thinking] : [];
    if (this.#tools.size === 0 && this.#agents.size === 0 && thinking.length === 0) return undefined;
    const young = [...this.#tools.values(), ...this.#agents.values(), ...thinking]
      .map(({ since }) => since + SHOW_AFTER_MS)
      .filter((at) => at > now);
    return young.length === 0 ? undefined : Math.min(...young);
  }

  #applySubagent(
    event: AgentEvent & { type: 'subagent_spawned' | 'subagent_completed' },
    now: number,
  ): boolean {
    const { agentId } = event;
    if (agentId === undefined) return false;
    if (event.type === 'subagent_completed') return this.#agents.delete(agentId);
    if (this.#agents.size >= MAX_AGENTS_SHOWN) return false;
    this.#agents.set(agentId, { name: event.profileId, task: event.task, since: now, tools: new Map() });
    return true;
  }

  /** A subagent's own events: only the tools that it is running now are shown. */
  #applyNested(event: AgentEvent): boolean {
    const agent = event.agentId === undefined ? undefined : this.#agents.get(event.agentId);
    if (agent === undefined) return false;
    if (event.type === 'tool_call') agent.tools.set(event.toolCallId, event.name);
    else if (event.type !== 'tool_result' || !agent.tools.delete(event.toolCallId)) return false;
    return true;
  }

  /** True if a sentence has ended: single words would use up the chat's pace. */
  #think(delta: string): boolean {
    const thinking = this.#thinking;
    if (thinking === undefined) return false;
    thinking.tail = (thinking.tail + delta).slice(-MAX_THOUGHT);
    if (!this.showsThinking || !SENTENCE_END.test(delta)) return false;
    const sentence = thinking.tail.split(SENTENCE_BREAK).findLast((part) => SENTENCE_END.test(part));
    if (sentence === undefined || sentence === thinking.sentence) return false;
    thinking.sentence = sentence;
    return true;
  }

  #thinkingLine(now: number): string[] {
    const thinking = this.#thinking;
    if (!this.showsThinking || thinking === undefined || !isOld(thinking.since, now)) return [];
    const seconds = Math.round((now - thinking.since) / 1_000);
    const about = thinking.title ?? clipEnd(oneLine(thinking.sentence), MAX_SENTENCE);
    const line = this.#say('activity.thinking', { seconds });
    return [about === '' ? `💭 ${line}` : `💭 ${line} · ${about}`];
  }

  /** Removes tools that have ended, because text follows them; true if there were any. */
  #removeFinished(): boolean {
    const count = this.#tools.size;
    if (count === 0) return false;
    for (const [id, { isError }] of this.#tools) if (isError !== undefined) this.#tools.delete(id);
    return this.#tools.size < count;
  }
}

function isOld(since: number, now: number): boolean {
  return now - since >= SHOW_AFTER_MS;
}

function toolLine({ name, isError, progress }: Tool): string {
  const status = progress === undefined || isError !== undefined ? '' : `: ${clip(progress)}`;
  return `⚙ ${clip(name)}${status} ${isError === undefined ? '…' : isError ? '✗' : '✓'}`;
}

function agentLine({ name, task, tools }: Agent): string {
  const tool = [...tools.values()].at(-1);
  return `◆ ${clip(name)}: ${tool === undefined ? clip(task) : `⚙ ${clip(tool)} …`}`;
}

function clip(text: string): string {
  return clipEnd(oneLine(text), MAX_LABEL);
}
