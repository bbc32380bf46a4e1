/** Addresses of inner networks are taken out of texts that anyone may read. */
import { describe, expect, it } from 'vitest';
import { hideAddresses } from '../../src/lib/connection-url.ts';

describe('a text for anyone', () => {
  it.each([
    ['http://127.0.0.1:11434 does not answer', '… does not answer'],
    ['dial tcp 10.0.0.7:8000: connect: refused', 'dial tcp …: connect: refused'],
    ['no route to 192.168.1.20.', 'no route to ….'],
    ['at http://gpu-box/v1, again', 'at …, again'],
    ['at http://gpu.lan/v1/models', 'at …'],
    ['at https://models.corp.example:8443/v1', 'at …'],
    ['lookup vllm-0.vllm.svc:8000 failed', 'lookup … failed'],
    ['connect localhost:1234', 'connect …'],
    ['at [fd00::1]:8000', 'at …'],
    ['unix:///run/llama.sock', '…'],
  ])('hides the address in "%s"', (text, hidden) => {
    expect(hideAddresses(text)).toBe(hidden);
  });

  it.each([
    'upgrade at https://ollama.com/upgrade.',
    'see https://console.groq.com/docs/rate-limits for more',
    'use qwen3:27b or llama3.2:latest',
    'the file config.json: line 12',
    'at 12:30, version 1.2.3',
    'Limit 6000, Requested 12328',
  ])('keeps "%s"', (text) => {
    expect(hideAddresses(text)).toBe(text);
  });

  it('is made in time that grows with its length only', () => {
    const begun = performance.now();
    for (const part of ['a-', 'a.', '1.', 'http://', 'a:', '[::']) hideAddresses(part.repeat(20_000));
    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});
