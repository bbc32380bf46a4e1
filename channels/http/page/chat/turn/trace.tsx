/** What became of a turn: one sentence, its timeline, and what the model was sent, in a dialog. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WireTrace as Trace } from '../../../wire.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Dialog, showDialog } from '../../parts/dialog.tsx';
import { Time } from '../../parts/time.tsx';
import { duration, exactly, money, number, say } from '../../texts.ts';
import { MarkButton, ReplayPart } from './replay.tsx';

type Read = (include?: { prompt: boolean }) => Promise<Trace>;
type Prompt = NonNullable<Trace['prompt']>;

/** What is known of something that is read when it is opened. */
type Reading<Value> = Value | { problem: string } | undefined;

/** Opens the dialog; it is filled when the trace has arrived. */
export function showTrace(read: Read): void {
  const trace = signal<Reading<Trace>>(undefined);
  read().then(
    (value) => (trace.value = value),
    (error: unknown) => (trace.value = { problem: messageOf(error) }),
  );
  showDialog((close) => (
    <Dialog class="trace widest" title={say('page.trace.of')} close={close}>
      <div class="trace-body" aria-live="polite">
        {isRead(trace.value) ? (
          <Timeline trace={trace.value} read={read} />
        ) : (
          <NotRead reading={trace.value} />
        )}
      </div>
    </Dialog>
  ));
}

function isRead<Value extends object>(reading: Reading<Value>): reading is Value {
  return reading !== undefined && !('problem' in reading);
}

function NotRead({ reading }: { reading: { problem: string } | object | undefined }): JSX.Element {
  if (reading !== undefined && 'problem' in reading) return <p class="error-text">{reading.problem}</p>;
  return <p class="quiet">{say('page.trace.reading')}</p>;
}

function Timeline({ trace, read }: { trace: Trace; read: Read }): JSX.Element {
  const { why: reason, turnId, acceptedAt, cost, timeline } = trace;
  const startMs = new Date(acceptedAt).getTime();
  return (
    <>
      <p class="trace-why">{reason}</p>
      <p class="trace-id">
        <Time at={acceptedAt} format={exactly} /> · {turnId}
      </p>
      {cost !== null && <p class="trace-id">{say('page.trace.cost', { cost: money(cost) })}</p>}
      <table>
        <tbody>
          {timeline.map((line, nth) => (
            <tr key={nth} class={line.isError === true ? 'failed' : undefined}>
              <td class="trace-at">
                <Time at={startMs + line.atMs} format={() => `+${duration(line.atMs)}`} />
              </td>
              <td class="trace-at">{line.ms === undefined ? '' : duration(line.ms)}</td>
              <td dir="auto">{line.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <PromptPart read={read} />
      <ReplayPart turnId={turnId} />
      <MarkButton turnId={turnId} />
    </>
  );
}

/** What the newest model call of the turn was sent: read when it is opened for the first time. */
function PromptPart({ read }: { read: Read }): JSX.Element {
  const [trace, setTrace] = useState<Reading<Trace>>(undefined);
  const [isAsked, setAsked] = useState(false);
  const open = async (): Promise<void> => {
    setAsked(true);
    setTrace(undefined);
    try {
      setTrace(await read({ prompt: true }));
    } catch (error) {
      setAsked(false);
      setTrace({ problem: messageOf(error) });
    }
  };
  const prompt = isRead(trace) ? trace.prompt : undefined;
  return (
    <details onToggle={({ currentTarget }) => currentTarget.open && !isAsked && void open()}>
      <summary>{say('page.trace.prompt')}</summary>
      <div class="trace-prompt">
        {prompt && <PromptText prompt={prompt} />}
        {isRead(trace) && !prompt && <p>{say('page.trace.no_prompt')}</p>}
        {!isRead(trace) && <NotRead reading={trace} />}
      </div>
    </details>
  );
}

function PromptText({ prompt }: { prompt: Prompt }): JSX.Element {
  const { iteration, model, messages, omitted, tools } = prompt;
  const names = tools.map(({ name, tokens }) => `${name} (≈ ${number(tokens)})`).join(', ');
  return (
    <>
      <p>{say('page.trace.prompt_of', { number: iteration, model: model || '?' })}</p>
      <p class="trace-id">
        {names === '' ? say('page.trace.no_tools') : say('page.trace.tools', { tools: names })}
      </p>
      {messages.map(({ role, tokens, content }, nth) => (
        <div key={nth}>
          <details class="trace-message">
            <summary>
              <span class="trace-role">{say(`page.trace.role_${role}`)}</span>
              <span class="trace-at">{say('page.trace.tokens', { tokens: number(tokens) })}</span>
              <span class="trace-first" dir="auto">
                {content.slice(0, 120)}
              </span>
            </summary>
            <pre dir="auto" tabIndex={0}>
              {content}
            </pre>
          </details>
          {omitted > 0 && nth === 0 && <p class="quiet">{say('page.trace.omitted', { count: omitted })}</p>}
        </div>
      ))}
    </>
  );
}
