/** What the meters record for an attempt, and how many time series there can be. */
import { describe, expect, it } from 'vitest';
import type { TracedTurn } from '../../../src/protocol/agent/subagents.ts';
import { createMeters, MAX_LABEL_VALUES } from '../../../src/ops/telemetry/meters.ts';

const attempt: TracedTurn['attempt'] = {
  node: 'n1',
  epoch: 1,
  attempts: 0,
  crashes: 0,
  afterMs: 500,
  ms: 2_000,
  profile: 'default',
  outcome: 'completed',
  spans: [],
};
const traced = (more: Partial<TracedTurn['attempt']>, ended = true): TracedTurn => ({
  turnId: 't1',
  sessionKey: 'telegram:1',
  attempt: { ...attempt, ...more },
  startedAt: 0,
  ended,
});

describe('the meters', () => {
  it('count approvals by their outcome, starts after a death, and turns that a crash had interrupted', async () => {
    const meters = createMeters('1.2.3', 2);
    meters.ended(traced({ resumed: true, crashes: 1 }));
    for (const outcome of ['approved', 'denied', 'expired', 'approved'] as const) meters.decided(outcome);
    const text = await meters.registry.metrics();
    expect(text).toContain('parley_approvals_total{outcome="approved"} 2\n');
    expect(text).toContain('parley_approvals_total{outcome="expired"} 1\n');
    expect(text).toContain('parley_process_restarts_total 2\n');
    expect(text).toContain('parley_turns_after_crash_total 1\n');
    expect(text).toMatch(/process_start_time_seconds \d{10}\n/);
  });

  it('measure a turn from its acceptance, its wait once, and count resumed attempts separately', async () => {
    const meters = createMeters('1.2.3');
    meters.ended(traced({ outcome: 'parked' }, false));
    meters.ended(traced({ resumed: true, afterMs: 60_000 }));
    const text = await meters.registry.metrics();
    expect(text).toContain('parley_turns_paused_total{outcome="parked"} 1');
    expect(text).toContain('parley_queue_wait_seconds_sum 0.5\n');
    expect(text).toContain('parley_turn_seconds_sum{outcome="completed"} 62\n');
  });

  it('count failed calls, retries and calls of growing answers', async () => {
    const meters = createMeters('1.2.3');
    const error = { code: 'unavailable', message: 'http://10.0.0.7 refused' };
    const points = [{ kind: 'sent' as const, atMs: 304 }];
    const live = { sent: 1, edited: 4, refused: 2, failed: 0, points };
    meters.ended(
      traced({
        live,
        spans: [
          { kind: 'model_call', atMs: 0, ms: 100, iteration: 1, model: 'qwen', error },
          { kind: 'retry', atMs: 100, ms: 50, code: 'unavailable' },
        ],
      }),
    );
    const text = await meters.registry.metrics();
    expect(text).toContain('parley_model_call_seconds_count{model="qwen",outcome="unavailable"} 1');
    expect(text).toContain('parley_model_retries_total{code="unavailable"} 1');
    expect(text).toContain('parley_live_calls_total{outcome="edited"} 4');
    expect(text).not.toContain('10.0.0.7');
  });

  it('count the runs of subagents, and their calls and tools like those of turns', async () => {
    const meters = createMeters('1.2.3');
    const spans = [
      { kind: 'model_call' as const, atMs: 0, ms: 100, iteration: 1, model: 'qwen', firstTokenMs: 40 },
      { kind: 'tool' as const, atMs: 100, ms: 50, callId: 'c1', name: 'read_file' },
    ];
    const { sessionKey, startedAt, attempt: run } = traced({ spans });
    meters.ended(traced({ spans }));
    meters.subagentEnded({
      sessionKey,
      startedAt,
      attempt: run,
      agentId: 'a1',
      turnId: 't1',
      background: false,
    });
    const text = await meters.registry.metrics();
    expect(text).toContain('parley_subagent_seconds_count{outcome="completed"} 1\n');
    expect(text).toContain('parley_turn_seconds_count{outcome="completed"} 1\n');
    expect(text).toContain('parley_model_call_seconds_count{model="qwen",outcome="ok"} 2\n');
    expect(text).toContain('parley_first_token_seconds_count{model="qwen"} 2\n');
    expect(text).toContain('parley_tool_seconds_count{tool="read_file",outcome="ok"} 2\n');
  });

  it('count refused messages by channel and reason, and bound the channels', async () => {
    const meters = createMeters('1.2.3');
    const refuse = (address: string) =>
      meters.refused({ address, senderId: '1', code: 'rate_limited', detail: '' });
    refuse('telegram:1');
    refuse('telegram:-100/5');
    for (let nth = 0; nth < MAX_LABEL_VALUES; nth += 1) refuse(`made${nth}:1`);
    const text = await meters.registry.metrics();
    expect(text).toContain('parley_messages_refused_total{channel="telegram",code="rate_limited"} 2\n');
    expect(text).toContain('parley_messages_refused_total{channel="other",code="rate_limited"} 1\n');
  });

  it(`give a label at most ${MAX_LABEL_VALUES} values, and assign the rest to "other"`, async () => {
    const meters = createMeters('1.2.3');
    const spans = Array.from({ length: MAX_LABEL_VALUES + 2 }, (_, n) => ({
      kind: 'tool' as const,
      atMs: 0,
      ms: 1,
      name: `tool${n}`,
      callId: `${n}`,
    }));
    meters.ended(traced({ spans }));
    const text = await meters.registry.metrics();
    expect(text).toContain(`parley_tool_seconds_count{tool="tool${MAX_LABEL_VALUES - 1}",outcome="ok"} 1`);
    expect(text).toContain('parley_tool_seconds_count{tool="other",outcome="ok"} 2');
  });
});
