/** Draws the parts of an answer. */
import { Component, type ComponentChildren, type JSX } from 'preact';
import { Markdown } from '../../markdown/markdown.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../texts.ts';
import { isOwnDecision } from '../approvals/own-decisions.ts';
import {
  type AgentPart,
  type Answer,
  type Decision,
  isRunning,
  type Part,
  type TextPart,
  type ThinkingPart,
  type ToolPart,
} from './answer.ts';

/** Characters shown of arguments and results; the model may have read more. */
const MAX_SHOWN = 20_000;

/** The parts of an answer, in order. */
export function Parts({ answer }: { answer: Answer }): JSX.Element {
  return (
    <>
      {answer.parts.map((part, nth) => (
        <PartView key={part.kind === 'note' ? nth : `${part.kind} ${part.id}`} part={part} />
      ))}
    </>
  );
}

/** A part that did not change stays the same object, and is not drawn again. */
class PartView extends Component<{ part: Part }> {
  override shouldComponentUpdate({ part }: { part: Part }): boolean {
    return part !== this.props.part;
  }

  override render(): JSX.Element {
    const { part } = this.props;
    switch (part.kind) {
      case 'text':
        return <Text part={part} />;
      case 'thinking':
        return <Thinking part={part} />;
      case 'tool':
        return <Tool part={part} />;
      case 'agent':
        return <Agent part={part} />;
      case 'note':
        return <Note text={part.text} />;
      default:
        return part satisfies never;
    }
  }
}

function Text({ part: { text, isGrowing, isError } }: { part: TextPart }): JSX.Element {
  return (
    <div class={`md${isError ? ' turn-error' : ''}`}>
      <Markdown text={text} isGrowing={isGrowing} />
    </div>
  );
}

/** A note of the gateway. */
export function Note({ text }: { text: string }): JSX.Element {
  return (
    <div class="turn-note md">
      <Markdown text={text} />
    </div>
  );
}

function Thinking({ part }: { part: ThinkingPart }): JSX.Element {
  return (
    <details class={`thinking${part.isRunning ? ' running' : ''}`}>
      <summary>
        <Icon name="right" />
        <span dir="auto">{thinkingTitle(part)}</span>
      </summary>
      <div class="thinking-text" dir="auto">
        {part.text}
      </div>
    </details>
  );
}

function thinkingTitle({ title, isRunning: isThinking, seconds }: ThinkingPart): string {
  if (title !== undefined) return seconds === undefined || seconds < 1 ? title : `${title} · ${seconds} s`;
  if (isThinking) return say('page.part.thinking');
  if (seconds === undefined) return say('page.part.thought');
  return seconds < 1 ? say('page.part.thought_moment') : say('page.part.thought_for', { count: seconds });
}

/** A tool call, folded, with its arguments and, once it is done, its result. */
function Tool({ part }: { part: ToolPart }): JSX.Element {
  const { name, args, state, result, decision, agents } = part;
  return (
    <div class={`tool ${state === 'waiting' ? 'running waiting' : state}`}>
      <details>
        <summary>
          <Icon name="right" />
          <code>{name}</code>
          <span class="tool-args">{preview(args)}</span>
          <span class="tool-state">{stateOf(part)}</span>
        </summary>
        <div class="tool-body">
          <Labelled label={say('page.part.arguments')}>{clip(JSON.stringify(args, null, 2))}</Labelled>
          {result !== undefined && (
            <Labelled label={say(state === 'done' ? 'page.part.result' : 'page.part.error')}>
              {clip(result)}
            </Labelled>
          )}
        </div>
      </details>
      {decision && <Decided decision={decision} />}
      {agents.map((agent) => (
        <Agent key={agent.id} part={agent} />
      ))}
    </div>
  );
}

function Labelled({ label, children }: { label: string; children: string }): JSX.Element {
  return (
    <>
      <p class="tool-label">{label}</p>
      <pre tabIndex={0}>{children}</pre>
    </>
  );
}

function stateOf({ state, progress }: ToolPart): string {
  switch (state) {
    case 'running':
      return progress ?? say('page.part.running');
    case 'waiting':
      return say('page.row.waiting');
    case 'denied':
      return say('page.part.is_denied');
    default:
      return say(`page.part.${state}`);
  }
}

/** Who decided about a call, and when. */
function Decided({ decision }: { decision: Decision }): JSX.Element {
  const { decidedAt, reason } = decision;
  return (
    <p class="tool-decided">
      {decidedBy(decision)}
      {decidedAt !== undefined && <>, {<Time at={decidedAt} />}</>}
      {reason !== undefined && say('page.part.reason', { reason })}
    </p>
  );
}

function decidedBy({ approvalId, decision, how: cause = 'person', by }: Decision): string {
  if (cause === 'expiry') return say('page.part.expired');
  if (cause === 'stop') return say('page.part.stopped');
  const isApproved = decision === 'approved';
  if (isOwnDecision(approvalId)) return say(isApproved ? 'page.part.approved_own' : 'page.part.denied_own');
  if (by === undefined) return say(isApproved ? 'page.part.approved' : 'page.part.denied');
  return isApproved ? say('page.part.approved_by', { by }) : say('page.part.denied_by', { by });
}

/** A subagent: its task and current tool in one line, its steps folded below. */
function Agent({ part }: { part: AgentPart }): JSX.Element {
  const { profile, task, state, answer } = part;
  const call = isRunning(part)
    ? answer.parts.findLast((one): one is ToolPart => one.kind === 'tool' && isRunning(one))
    : undefined;
  const isWaiting = state === 'waiting';
  return (
    <details class={`agent ${isWaiting ? 'running waiting' : state}`}>
      <summary>
        <Icon name="right" />
        <span class="agent-name">{profile}</span>
        <span class={`agent-doing${call === undefined ? '' : ' at-tool'}`}>{call?.name ?? task}</span>
        <span class="tool-state">{agentStateOf(state)}</span>
      </summary>
      <div class="agent-steps">
        <p class="tool-label">{say('page.part.task')}</p>
        <p dir="auto">{task}</p>
        <AnswerFrame isEmpty={answer.parts.length === 0}>
          <Parts answer={answer} />
        </AnswerFrame>
      </div>
    </details>
  );
}

function AnswerFrame({ isEmpty, children }: { isEmpty: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <div class="answer" aria-live="off" hidden={isEmpty}>
      {children}
    </div>
  );
}

function agentStateOf(state: AgentPart['state']): string {
  if (state === 'waiting') return say('page.row.waiting');
  if (state === 'running') return say('page.part.working');
  return state === 'done' ? say('page.part.done') : say('page.part.unfinished');
}

/**
 * The arguments of a call in a line, in an order that is the same after a reload: the database sorts names by their length.
 */
function preview(args: Record<string, unknown>): string {
  const plainArgs = Object.entries(args).filter(([, value]) => typeof value !== 'object');
  const inOrder = plainArgs.toSorted(
    ([one], [other]) =>
      Number(other === 'action') - Number(one === 'action') ||
      one.length - other.length ||
      (one < other ? -1 : 1),
  );
  return inOrder
    .map(([, value]) => value)
    .join(' ')
    .slice(0, 80);
}

function clip(text: string): string {
  return text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)}\n${say('page.part.clipped', { count: text.length - MAX_SHOWN })}`;
}
