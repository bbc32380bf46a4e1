/** What was sent to the model, as the trace of a turn shows it. */
import { expect, it } from 'vitest';
import { pricesRule } from '../../../src/protocol/agent/usage.ts';
import { traceCommand } from '../../../src/ops/trace/commands.ts';
import { createTraces } from '../../../src/ops/trace/traces.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { describeGateway } from '../setup.ts';

const SECRET = 'brave-key-0123456789';
const OTHER = 'a-token-of-another-0123456';

describeGateway('the prompt in a trace', { env: { BRAVE_API_KEY: SECRET } }, (fixture) => {
  const asked = async (): Promise<string> => {
    const turnId = await fixture().post('prompt', `My key is ${SECRET}. What is two plus two?`);
    await fixture().idle('http:prompt');
    return turnId;
  };

  it('is read over HTTP only when requested, without secrets, and not by others', async () => {
    const turnId = await asked();
    const path = `/v1/turns/${turnId}/trace`;
    expect(await (await fixture().call(path)).json()).not.toHaveProperty('prompt');
    const { prompt } = await (await fixture().call(`${path}?include=prompt`)).json();
    expect(prompt.messages[0]).toMatchObject({ role: 'system', tokens: expect.any(Number) });
    const question = prompt.messages.find(({ role }: { role: string }) => role === 'user');
    expect(question.content).toContain('My key is [secret]. What is two plus two?');
    expect(prompt.tools.map(({ name }: { name: string }) => name)).toContain('read_file');
    expect(JSON.stringify(prompt)).not.toContain(SECRET);
    expect((await fixture().call(`${path}?include=everything`)).status).toBe(400);
    await fixture().store.access.putToken({ hash: hashSecret(OTHER), name: 'other', scopes: ['chat'] });
    const other = await fixture().call(`${path}?include=prompt`, { token: OTHER });
    expect(other.status).toBe(404);
  });

  it('is printed by `parley trace --prompt`, part by part', async () => {
    const turnId = await asked();
    const traces = createTraces(fixture().store.traces, () => pricesRule.parse({}));
    expect(await traceCommand(traces, [turnId])).not.toContain('two plus two');
    const printed = await traceCommand(traces, [turnId, '--prompt']);
    expect(printed).toMatch(/Prompt of model call 1 to fake:latest\nTools: .*read_file \(≈ \d+\)/);
    expect(printed).toMatch(/--- system, ≈ [\d,]+ tokens\n/);
    expect(printed).toContain('My key is [secret]. What is two plus two?');
    await expect(traceCommand(traces, ['--promt'])).rejects.toThrow('--prompt');
  });
});
