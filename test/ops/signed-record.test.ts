/** A signed record: it proves what was stored, and names the line of any byte that is not what was signed. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { array, assert, asyncProperty, integer, string } from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  fingerprint,
  SIGNING_KEY_FILE,
  signedRecord,
  signingKey,
  verifyRecord,
} from '../../src/ops/signed-record.ts';
import type { RecordedTurn } from '../../src/protocol/operator/record.ts';
import { writeWhole } from '../../src/settings/index.ts';

const { privateKey: key } = generateKeyPairSync('ed25519');
const now = new Date('2026-11-30T04:00:00Z');

const turn = (laneSeq: number, content: string): RecordedTurn => ({
  laneSeq,
  turn: { id: `t${laneSeq}`, created_at: '2026-11-30T03:00:00Z', state: 'done' },
  messages: [{ role: 'user', content, created_at: '2026-11-30T03:00:00Z' }],
  journal: [{ kind: 'tool_intent', payload: { toolName: 'wipe' } }],
  approvals: [
    { state: 'approved', decided_by: 'telegram:7', detail: { digest: 'ab', args: { word: content } } },
  ],
});

/** The record of turns that a store gives in pages. */
async function recordOf(turns: readonly RecordedTurn[]): Promise<Buffer> {
  const store = {
    recordedTurns: (_session: string, { after, limit }: { after: number; limit: number }) =>
      Promise.resolve(turns.filter(({ laneSeq }) => laneSeq > after).slice(0, limit)),
  };
  const lines: string[] = [];
  for await (const line of signedRecord(store, 'http:work', { key, program: 'Parley 0.1.0', now }))
    lines.push(line);
  return Buffer.from(lines.join(''));
}

/** Verifies it in pieces of this many bytes; the reason of a refusal, or the verdict. */
async function verdictOn(bytes: Buffer, piece = 50) {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
  }
  return await verifyRecord(pieces()).catch((error: unknown) => String(error));
}

/** The line of a byte, from 1. */
const lineAt = (bytes: Buffer, at: number): number =>
  bytes.subarray(0, at).filter((byte) => byte === 10).length + 1;

describe('a signed record', () => {
  it('is verified with the key of its gateway, page after page', async () => {
    const record = await recordOf(Array.from({ length: 45 }, (_, n) => turn(n - 2, `do "${n}" — ok\u2028`)));
    expect(await verdictOn(record)).toEqual({
      session: 'http:work',
      program: 'Parley 0.1.0',
      at: now.toISOString(),
      lines: 45 * 4 + 2,
      fingerprint: fingerprint(key),
    });
    expect(fingerprint(createPublicKey(key))).toMatch(/^([0-9a-f]{4} ){7}[0-9a-f]{4}$/);
    expect(await verdictOn(await recordOf([]))).toMatchObject({ lines: 2 });
  });

  it('names the line of every byte of it that is flipped, whichever bit', async () => {
    const record = await recordOf([turn(1, 'wipe it'), turn(2, 'and this')]);
    for (let at = 0; at < record.length - 1; at += 1)
      for (const bit of [1, 32]) {
        const changed = Buffer.from(record);
        changed[at]! ^= bit;
        const line = lineAt(record, at);
        const verdict = await verdictOn(changed, 10_000);
        expect(JSON.stringify(verdict), `byte ${at}`).toMatch(
          new RegExp(`not what was signed: .*\\bline ${line}\\b`),
        );
      }
  });

  it.each([
    ['nothing', () => '', /line 1 is not the first line/],
    ['another file', () => '{"session": 1}\n', /line 1 is not the first line/],
    [
      'no last line',
      (text: string) => text.split('\n').slice(0, -2).join('\n'),
      /ends after line 9: its last lines are missing/,
    ],
    [
      'a line fewer',
      (text: string) => text.split('\n').toSpliced(4, 1).join('\n'),
      /line 4 .*was changed, or lines after it are missing/,
    ],
    [
      'two lines that changed places',
      (text: string) => {
        const lines = text.split('\n');
        return lines.toSpliced(3, 2, lines[4]!, lines[3]!).join('\n');
      },
      /line [345]/,
    ],
    [
      'something after its end',
      (text: string) => `${text}{"type":"message"}\n`,
      /something was added after line 10/,
    ],
    ['carriage returns', (text: string) => text.replaceAll('\n', '\r\n'), /line [12]/],
  ])('is refused with %s', async (_, change, reason) => {
    const record = await recordOf([turn(1, 'a'), turn(2, 'b')]);
    expect(JSON.stringify(await verdictOn(Buffer.from(change(record.toString()))))).toMatch(reason);
  });

  it('names an approval whose bytes were changed', async () => {
    const text = (await recordOf([turn(1, 'harmless')])).toString();
    const forged = text.replace('"args":{"word":"harmless"}', '"args":{"word":"terrible"}');
    expect(JSON.stringify(await verdictOn(Buffer.from(forged)))).toContain(
      'line 5 (an approval) was changed',
    );
  });

  it('holds whatever the rows contain and however the file arrives', async () => {
    await assert(
      asyncProperty(
        array(string({ unit: 'binary' }), { maxLength: 4 }),
        integer({ min: 1, max: 300 }),
        async (contents, piece) => {
          const record = await recordOf(contents.map((content, at) => turn(at, content)));
          expect(await verdictOn(record, piece)).toMatchObject({ lines: contents.length * 4 + 2 });
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is signed with a key that a home makes once and keeps to itself', async () => {
    const home = await mkdtemp(path.join(os.tmpdir(), 'parley-key-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const first = signingKey(home, writeWhole);
    expect(fingerprint(signingKey(home, writeWhole))).toBe(fingerprint(first));
    const file = path.join(home, SIGNING_KEY_FILE);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await writeFile(file, 'not a key');
    expect(() => signingKey(home, writeWhole)).toThrow('is no private key that can be read');
  });
});
