/** What a turn does while it runs, noted in bounded memory for its trace. Costs nothing per token. */
import {
  type LiveCounts,
  type LivePoint,
  MAX_SPAN_CHARS,
  MAX_SPANS,
  type ModelCallSpan,
  type NoteValues,
  type Redact,
  sentPrompt,
  type TraceAttempt,
  type TraceSpan,
} from '../../protocol/store/traces.ts';
import type { EventBody } from '../../protocol/event.ts';
import type { ChatRequest, ToolSchema } from '../../protocol/agent/provider.ts';
import type { LaneHead } from '../../protocol/store/lanes.ts';
import type { OpenedTurn } from '../../protocol/store/records.ts';
import { clipEnd } from '../../lib/text.ts';

/** What is known about an attempt when it begins. */
export type AttemptStart = Pick<
  TraceAttempt,
  'node' | 'epoch' | 'resumed' | 'askedAgain' | 'attempts' | 'crashes' | 'afterMs'
>;

/** How the attempt begins, for its trace: the journal of a question that is asked again begins with that question. */
export function beginningOf(
  failures: number,
  { journal, askedAgain }: Pick<OpenedTurn, 'journal' | 'askedAgain'>,
): Pick<TraceAttempt, 'resumed' | 'askedAgain'> {
  const hasBegun = journal.some(({ entry }) => askedAgain === undefined || entry.kind !== 'user');
  if (failures > 0 || hasBegun) return { resumed: true };
  return askedAgain === undefined ? {} : { askedAgain };
}

/** How the attempt at this head of a lane begins. */
export function attemptStart(head: LaneHead, turn: OpenedTurn): AttemptStart {
  const { node, epoch, attempts, crashes } = head;
  const failures = crashes + attempts;
  return { node, epoch, ...beginningOf(failures, turn), attempts, crashes, afterMs: turn.afterMs };
}

type ToolSpan = Extract<TraceSpan, { kind: 'tool' }>;

/** The notes of one attempt. */
export class TraceNotes {
  readonly #start: AttemptStart;
  readonly #redact: Redact;
  readonly #begunAt = performance.now();
  readonly #spans: TraceSpan[] = [];
  /** Tool calls without a result, by their id. */
  readonly #open = new Map<string, ToolSpan>();
  /** Model calls outside the conversation that have not ended. */
  readonly #titled = new Map<string, { title: string; atMs: number }>();
  #calling: ModelCallSpan | undefined;
  /** The newest request of the conversation; it is cut and stored only when the attempt ends. */
  #sent: { iteration: number; request: ChatRequest } | undefined;
  #dropped = 0;
  /** Epoch milliseconds of this machine. */
  readonly startedAt = Date.now();

  /** `redact` takes secrets out of the prompt that is kept. */
  constructor(start: AttemptStart, redact: Redact) {
    this.#start = start;
    this.#redact = redact;
  }

  /** Milliseconds since the attempt began. */
  get nowMs(): number {
    return Math.round((performance.now() - this.#begunAt) * 10) / 10;
  }

  /** The definitions that the newest request of the conversation offers. */
  get offered(): readonly ToolSchema[] {
    return this.#sent?.request.tools ?? [];
  }

  /** Notes that a model call begins now. */
  calling(iteration: number, request: ChatRequest): void {
    this.#calling = { kind: 'model_call', atMs: this.nowMs, iteration, model: request.model };
    this.#sent = { iteration, request };
  }

  /** Notes a model call that began at `atMs` and has ended now. */
  modelCall(atMs: number, call: Omit<ModelCallSpan, 'kind' | 'atMs' | 'ms'>): void {
    this.#calling = undefined;
    const error = call.error && { ...call.error, message: clipEnd(call.error.message, MAX_SPAN_CHARS) };
    this.#add({ kind: 'model_call', atMs, ms: this.#since(atMs), ...call, ...(error && { error }) });
  }

  /** Notes the pause before a call is repeated. */
  retry(ms: number, code: string): void {
    this.#add({ kind: 'retry', atMs: this.nowMs, ms: Math.round(ms), code });
  }

  /** Notes what an event of the turn reports; deltas report nothing. */
  event(event: EventBody): void {
    switch (event.type) {
      case 'tool_call':
        this.#beginTool(event.toolCallId, withSkill(event.name, event.args));
        return;
      case 'tool_result':
        this.#endTool(event.toolCallId, event.name, event.isError);
        return;
      case 'thinking_started':
        // Thinking with a title is a separate call: planning, or the thinking about a step.
        if (event.title !== undefined)
          this.#titled.set(event.msgId, { title: event.title, atMs: this.nowMs });
        return;
      case 'thinking_finished':
        this.#endTitled(event);
        return;
      case 'notice':
        this.#note(event.code, event.text);
        return;
      case 'context_compressed':
        this.#note(event.type, '', { before: event.before, after: event.after });
        return;
      case 'messages_joined':
        this.#note(event.type, '', { count: event.turnIds.length });
        return;
      case 'profile_switched':
        this.#note(event.type, '', { profile: clipEnd(event.profileId, MAX_SPAN_CHARS) });
        return;
      case 'plan_ready':
        this.#note(event.type, '', { count: event.plan.steps.length });
        return;
      case 'plan_completed':
      case 'plan_ignored':
      case 'plan_paused':
      case 'plan_resumed':
      case 'plan_cancelled':
      case 'agent_stuck':
        this.#note(event.type, '');
        return;
      default:
    }
  }

  /** The attempt as it ends now. */
  end(outcome: string, profile: string, live?: LiveCounts): TraceAttempt {
    const hasCounts = live !== undefined && live.sent + live.edited + live.refused + live.failed > 0;
    return {
      ...this.#start,
      afterMs: Math.round(this.#start.afterMs * 10) / 10,
      ms: this.nowMs,
      profile,
      outcome,
      spans: this.#spans,
      ...(this.#dropped > 0 && { dropped: this.#dropped }),
      ...(this.#sent && { prompt: sentPrompt(this.#sent, this.#redact) }),
      ...(hasCounts && {
        live: {
          ...live,
          points: live.points?.map((point) => this.#fromHere(point)),
        },
      }),
    };
  }

  /** The attempt so far. */
  snapshot(profile: string): TraceAttempt {
    const now = this.end('running', profile);
    return {
      ...now,
      spans: [...now.spans, ...(this.#calling === undefined ? [] : [this.#calling])],
    };
  }

  /** A call of delivery, whose times are those of this machine. */
  #fromHere(point: LivePoint): LivePoint {
    return {
      ...point,
      atMs: Math.max(0, Math.round(point.atMs - this.startedAt)),
    };
  }

  #since(atMs: number): number {
    return Math.round((this.nowMs - atMs) * 10) / 10;
  }

  #beginTool(callId: string, name: string): void {
    const span: ToolSpan = { kind: 'tool', atMs: this.nowMs, name: clipEnd(name, MAX_SPAN_CHARS), callId };
    if (this.#add(span)) this.#open.set(callId, span);
  }

  /** A result without a call is one of a call before a crash, or that was refused. */
  #endTool(callId: string, name: string, isError: boolean): void {
    const open = this.#open.get(callId);
    this.#open.delete(callId);
    const error = isError ? { isError } : {};
    if (open !== undefined) Object.assign(open, { ms: this.#since(open.atMs), ...error });
    else
      this.#add({
        kind: 'tool',
        atMs: this.nowMs,
        ms: 0,
        name: clipEnd(name, MAX_SPAN_CHARS),
        callId,
        ...error,
      });
  }

  #endTitled({ msgId, usage, model = '' }: Extract<EventBody, { type: 'thinking_finished' }>): void {
    const call = this.#titled.get(msgId);
    this.#titled.delete(msgId);
    if (call === undefined) return;
    const title = clipEnd(call.title, MAX_SPAN_CHARS);
    this.modelCall(call.atMs, { iteration: 0, model, title, usage });
  }

  #note(code: string, text: string, values?: NoteValues): void {
    const note = { code, text: clipEnd(text, MAX_SPAN_CHARS), ...(values && { values }) };
    this.#add({ kind: 'note', atMs: this.nowMs, ...note });
  }

  #add(span: TraceSpan): boolean {
    if (this.#spans.length >= MAX_SPANS) {
      this.#dropped += 1;
      return false;
    }
    this.#spans.push(span);
    return true;
  }
}

/** The name of a call that reads a skill or names one of its programs, with the skill's folder. */
function withSkill(name: string, args: Readonly<Record<string, unknown>>): string {
  const reads = name === 'read_file' && typeof args['path'] === 'string' ? args['path'] : '';
  const runs = name === 'exec' ? [args['command'], args['argv']].flat().join(' ') : '';
  const [, folder] =
    /^(?:\.\/)*skills\/+([\w.-]+)\//.exec(reads) ?? /(?:^|[\s"'=])\/skills\/+([\w.-]+)\//.exec(runs) ?? [];
  return folder === undefined ? name : `${name} (skill ${folder})`;
}
